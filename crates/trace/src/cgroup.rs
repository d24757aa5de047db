//! Finds control groups of version 2 (cgroups(7)): by path, and those of containers by their ID. Reads directories below one root,
//! so that tests can lay out a machine.

use super::mounts::mount;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::proc_stat;

pub struct Hierarchies {
    root: PathBuf,
    unified: Option<PathBuf>,
    old: Vec<PathBuf>,
}

/// The inode number of its directory.
pub fn id(directory: &Path) -> Result<u64> {
    let facts =
        fs::metadata(directory).with_context(|| format!("--cgroup {}", directory.display()))?;
    Ok(facts.ino())
}

const MOUNTS: &str = "proc/self/mountinfo";
const INSTEAD: &str = "name processes instead: -p PID[,PID...]";

impl Hierarchies {
    /// The control groups of this machine, as far as this mount namespace shows them.
    pub fn here() -> Hierarchies {
        Hierarchies::below(Path::new("/"))
    }

    /// A machine in a directory, for tests.
    pub fn below(root: &Path) -> Hierarchies {
        let text = proc_stat::read(root.join(MOUNTS)).unwrap_or_default();
        let mounts: Vec<_> = text.lines().filter_map(mount).collect();
        let [unified, old] = ["cgroup2", "cgroup"].map(|kind| {
            let places = mounts.iter().filter(move |mount| mount.kind == kind);
            places.map(|mount| PathBuf::from(&mount.place))
        });
        Hierarchies {
            root: root.to_path_buf(),
            unified: unified.clone().next(),
            old: old.collect(),
        }
    }

    /// Version 2.
    ///
    /// # Errors
    /// There is none; the error names processes as another way.
    pub fn unified(&self) -> Result<&Path> {
        match (&self.unified, self.old.first()) {
            (Some(mount), _) => Ok(mount),
            (None, Some(old)) => bail!(
                "control groups are traced in version 2 only, and this system has version 1 alone ({}): {INSTEAD}",
                old.display()
            ),
            (None, None) => {
                bail!("no control groups are mounted here (/{MOUNTS} has no cgroup2): {INSTEAD}")
            }
        }
    }

    /// The directory of a group: a path in the file system, or one below the mount, as /proc/PID/cgroup has it, with or without a
    /// leading slash.
    pub fn find(&self, asked: &Path) -> Result<PathBuf> {
        let mount = self.unified()?;
        let below = mount.join(asked.strip_prefix("/").unwrap_or(asked));
        let mut candidates = vec![below];
        if asked.is_absolute() {
            // /proc/PID/cgroup also has leading slashes, so an absolute path may still be one below the mount.
            candidates.insert(0, asked.to_path_buf());
        }
        let existing: Vec<PathBuf> = candidates
            .iter()
            .filter_map(|path| self.real(path))
            .collect();
        // After links were resolved: `../..` must not lead out of the control groups. `/` is a directory and the first of all groups.
        if let Some(group) = existing.iter().find(|path| path.starts_with(mount)) {
            return Ok(group.clone());
        }
        let Some(group) = existing.first() else {
            let looked = candidates.iter().map(|path| path.display().to_string());
            let looked: Vec<String> = looked.collect();
            bail!(
                "--cgroup {}: there is no such control group (looked for {}); 'systemd-cgls' or 'find {} -type d' \
                 lists them",
                asked.display(),
                looked.join(", "),
                mount.display()
            );
        };
        let asked = asked.display();
        ensure!(
            self.old.iter().any(|old| group.starts_with(old)),
            "--cgroup {asked}: this directory is not in a control group file system"
        );
        bail!(
            "--cgroup {asked}: this group is one of version 1, and only those of version 2 can be traced; its \
             processes can: -p $(paste -sd, {}/cgroup.procs)",
            group.display()
        )
    }

    /// The path of a directory without links, below the root; `None` if it is not a directory.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let real = fs::canonicalize(self.resolve(path))
            .ok()
            .filter(|real| real.is_dir())?;
        let root = fs::canonicalize(&self.root).ok()?;
        Some(Path::new("/").join(real.strip_prefix(root).ok()?))
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// All groups that are `wanted` by their names, except those inside of one.
    pub fn search(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
        let mut matches = Vec::new();
        let mut left = vec![self.unified()?.to_path_buf()];
        while let Some(folder) = left.pop() {
            for path in self.groups_in(&folder) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                // A container may have groups of its own, which belong to it: they are not searched.
                if wanted(&name) {
                    &mut matches
                } else {
                    &mut left
                }
                .push(path);
            }
        }
        matches.sort();
        Ok(matches)
    }

    /// [`Self::name`] of all groups, by ID.
    pub fn names(&self) -> BTreeMap<u64, String> {
        let mut names = BTreeMap::new();
        let mut left: Vec<PathBuf> = self.unified.iter().cloned().collect();
        while let Some(folder) = left.pop() {
            // A group may be removed meanwhile.
            if let Ok(facts) = fs::metadata(self.resolve(&folder)) {
                names.insert(facts.ino(), self.name(&folder));
            }
            left.extend(self.groups_in(&folder));
        }
        names
    }

    /// Links are not followed: they could lead in circles.
    fn groups_in<'a>(&self, folder: &'a Path) -> impl Iterator<Item = PathBuf> + use<'a> {
        let entries = fs::read_dir(self.resolve(folder))
            .into_iter()
            .flatten()
            .flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        inner.map(|entry| folder.join(entry.file_name()))
    }

    /// Below the mount, as in /proc/PID/cgroup.
    pub fn name(&self, path: &Path) -> String {
        let mount = self.unified.as_deref().unwrap_or(Path::new("/"));
        let below = path.strip_prefix(mount).unwrap_or(path);
        Path::new("/").join(below).display().to_string()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A machine whose /proc/self/mountinfo is `mounts`, with these groups.
    pub fn machine(mounts: &str, groups: &[&str]) -> (TempDir, Hierarchies) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join(MOUNTS), mounts).unwrap();
        for group in groups {
            fs::create_dir_all(root.path().join(group.trim_start_matches('/'))).unwrap();
        }
        let hierarchies = Hierarchies::below(root.path());
        (root, hierarchies)
    }

    pub const UNIFIED: &str =
        "22 1 0:21 / /proc rw - proc proc rw\n24 1 0:23 / /sys/fs/cgroup rw - cgroup2 none rw\n";
    const HYBRID: &str = "22 1 0:21 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                          23 22 0:22 / /sys/fs/cgroup/cpu rw shared:4 - cgroup cgroup rw,cpu\n\
                          24 22 0:23 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n";

    #[test]
    fn a_slash_is_the_root_group_of_either_layout() {
        for (mounts, root_group) in [
            (UNIFIED, "/sys/fs/cgroup"),
            (HYBRID, "/sys/fs/cgroup/unified"),
        ] {
            let below = format!("{root_group}/tmp");
            let (_root, machine) = machine(mounts, &[&below, "/tmp", "/sys/fs/cgroup/cpu"]);
            for (asked, group) in [
                ("/", root_group),
                ("/tmp", &below),
                (root_group, root_group),
            ] {
                let path = machine.find(Path::new(asked)).unwrap();
                assert_eq!(path, Path::new(group), "{asked} of {mounts}");
            }
            assert_eq!(machine.name(Path::new(root_group)), "/");
        }
        let (_root, hybrid) = machine(HYBRID, &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"]);
        refused(&hybrid, "/sys/fs/cgroup/cpu", "is one of version 1");
    }

    fn refused(machine: &Hierarchies, asked: &str, because: &str) {
        let error = machine.find(Path::new(asked)).unwrap_err().to_string();
        assert!(error.contains(because), "{error}");
    }

    #[test]
    fn a_group_is_found_by_each_of_its_paths() {
        let (root, machine) = machine(UNIFIED, &["/sys/fs/cgroup/system.slice/a.service"]);
        let group = PathBuf::from("/sys/fs/cgroup/system.slice/a.service");
        symlink("system.slice", root.path().join("sys/fs/cgroup/short")).unwrap();
        for asked in [
            "/sys/fs/cgroup/system.slice/a.service",
            "system.slice/a.service",
            "/system.slice/a.service/",
            "short/a.service",
        ] {
            assert_eq!(machine.find(Path::new(asked)).unwrap(), group, "{asked}");
        }
        assert_eq!(machine.name(&group), "/system.slice/a.service");
        assert_eq!(machine.name(Path::new("/sys/fs/cgroup")), "/");
        let by_id = machine.names();
        let names = ["system.slice/a.service", ""].map(|group| {
            let path = root.path().join("sys/fs/cgroup").join(group);
            by_id[&id(&path).unwrap()].as_str()
        });
        assert_eq!(names, ["/system.slice/a.service", "/"]);
        // Links are not followed.
        assert_eq!(by_id.len(), 3);
    }

    #[test]
    fn a_hierarchy_may_be_mounted_at_a_path_with_spaces() {
        let (_root, machine) = machine("24 1 0:23 / /a\\040b rw - cgroup2 none rw\n", &["/a b/c"]);
        assert_eq!(machine.find(Path::new("c")).unwrap(), Path::new("/a b/c"));
    }

    #[test]
    fn a_missing_group_is_reported_with_the_places_searched() {
        let (_root, machine) = machine(UNIFIED, &["/sys/fs/cgroup/a", "/tmp/plain"]);
        let looked =
            "--cgroup /a/b: there is no such control group (looked for /a/b, /sys/fs/cgroup/a/b)";
        refused(&machine, "/a/b", looked);
        for outside in ["/tmp/plain", "../../../tmp/plain"] {
            refused(&machine, outside, "not in a control group file system");
        }
    }

    #[test]
    fn version_1_is_refused_with_a_way_out() {
        let (_root, hybrid) = machine(
            HYBRID,
            &["/sys/fs/cgroup/cpu/docker", "/sys/fs/cgroup/unified/b"],
        );
        assert_eq!(
            hybrid.find(Path::new("b")).unwrap(),
            Path::new("/sys/fs/cgroup/unified/b")
        );
        refused(
            &hybrid,
            "/sys/fs/cgroup/cpu/docker",
            "-p $(paste -sd, /sys/fs/cgroup/cpu/docker/cgroup.procs)",
        );
        let old = "23 1 0:22 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let (_root, old) = machine(old, &["/sys/fs/cgroup/cpu/a"]);
        let alone = "this system has version 1 alone (/sys/fs/cgroup/cpu)";
        refused(&old, "a", alone);
        let (_root, none) = machine("", &[]);
        refused(&none, "a", "no control groups are mounted here");
    }
}
