//! Lasting effects of a traced command, which another execution would find as the first one left them: such a command is not run again
//! without being asked.

use model::{ObjectCount, ObjectKind, Profile};
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CHANGING: &[&str] = &[
    "open",
    "openat",
    "openat2",
    "creat",
    "truncate",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "rename",
    "renameat",
    "renameat2",
    "chmod",
    "fchmodat",
    "chown",
    "lchown",
    "fchownat",
    "utimensat",
    "setxattr",
    "lsetxattr",
];

const REMOVING: &[&str] = &[
    "unlink",
    "unlinkat",
    "rmdir",
    "rename",
    "renameat",
    "renameat2",
];

/// Directories in which file times are those of the last look.
const OF_THE_KERNEL: &[&str] = &["/proc", "/sys", "/dev"];

/// A file's times may be so much earlier than the clock: kernels use the time of their last tick.
const TICK: Duration = Duration::from_millis(10);

/// An effect beyond `home`, such as `changed ../flag` or `connected to a socket`; `None` if none is known. Files that the command made
/// and removed are not counted. A datagram that is sent without connect(2) is not seen.
pub fn effect(profile: &Profile, home: &Path, since: SystemTime) -> Option<String> {
    let outside: Vec<(&ObjectCount, PathBuf)> = profile
        .objects
        .iter()
        .filter(|object| object.kind == ObjectKind::Path)
        .map(|object| (object, located(object, home)))
        .filter(|(_, path)| is_outside(path, home))
        .collect();
    // A file that is renamed was there before, unless another call made it.
    let made: BTreeSet<&Path> = outside
        .iter()
        .filter(|(object, _)| makes(object, CHANGING) && !makes(object, REMOVING))
        .map(|(_, path)| &**path)
        .collect();
    let changed = outside
        .iter()
        .find(|(object, path)| match fs::symlink_metadata(path) {
            Ok(now) => makes(object, CHANGING) && has_changed(object, &now, since),
            Err(_) => makes(object, REMOVING) && !made.contains(&**path),
        });
    match changed {
        Some((_, path)) => Some(format!("changed {}", shown(path, home))),
        None if connects(profile) => Some("connected to a socket".to_string()),
        None => None,
    }
}

fn is_outside(path: &Path, home: &Path) -> bool {
    !path.starts_with(home) && !OF_THE_KERNEL.iter().any(|top| path.starts_with(top))
}

fn connects(profile: &Profile) -> bool {
    let calls = profile.groups.iter().flat_map(|group| &group.calls);
    calls.filter(|count| count.call == "connect").any(|count| {
        let failed: u64 = count
            .errors
            .iter()
            .filter(|(errno, _)| *errno != "EINPROGRESS")
            .map(|(_, calls)| calls)
            .sum();
        count.calls > failed
    })
}

fn makes(object: &ObjectCount, calls: &[&str]) -> bool {
    let failed: u64 = object.count.errors.values().sum();
    calls.contains(&&*object.count.call) && object.count.calls > failed
}

/// Whether a call of the command changed a file since then. Directories change with each file in them, also with one that is removed
/// again: only those that were made count.
fn has_changed(object: &ObjectCount, now: &Metadata, since: SystemTime) -> bool {
    let seconds = u64::try_from(now.ctime()).unwrap_or(0);
    let nanoseconds = u32::try_from(now.ctime_nsec()).unwrap_or(0);
    let is_late = UNIX_EPOCH + Duration::new(seconds, nanoseconds) + TICK >= since;
    is_late && (now.is_file() || object.count.call.starts_with("mkdir") || now.is_symlink())
}

/// Links are not followed.
fn located(object: &ObjectCount, home: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in home.join(&object.name).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// `../flag` if it is beside `home`.
fn shown(path: &Path, home: &Path) -> String {
    let beside = home
        .parent()
        .and_then(|parent| path.strip_prefix(parent).ok())
        .filter(|rest| !rest.as_os_str().is_empty());
    beside.map_or_else(
        || path.display().to_string(),
        |rest| format!("../{}", rest.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CallCount;

    fn object(call: &str, name: &str, failed: u64) -> ObjectCount {
        let errors = [("ENOENT".to_string(), failed)].into();
        let count = CallCount {
            call: call.into(),
            calls: 1,
            errors,
            ..CallCount::default()
        };
        ObjectCount {
            kind: ObjectKind::Path,
            name: name.into(),
            process: "x".into(),
            directory: None,
            count,
        }
    }

    fn effect_of(home: &Path, calls: &[(&str, &str, u64)], since: SystemTime) -> Option<String> {
        let objects = calls
            .iter()
            .map(|(call, name, failed)| object(call, name, *failed))
            .collect();
        effect(
            &Profile {
                objects,
                ..Profile::default()
            },
            home,
            since,
        )
    }

    #[test]
    fn a_change_beside_the_working_directory_is_named() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("work");
        fs::create_dir(&home).unwrap();
        fs::write(top.path().join("flag"), "").unwrap();
        fs::write(home.join("own"), "").unwrap();
        let (before, later) = (UNIX_EPOCH, SystemTime::now() + Duration::from_secs(60));
        for (calls, since, expected) in [
            (vec![("openat", "../flag", 0)], before, Some("../flag")),
            (vec![("openat", "../flag", 0)], later, None),
            (vec![("openat", "../flag", 1)], before, None),
            (vec![("newfstatat", "../flag", 0)], before, None),
            (vec![("openat", "own", 0)], before, None),
            (vec![("openat", "/proc/self/stat", 0)], before, None),
            (vec![("unlink", "../gone", 0)], before, Some("../gone")),
            (vec![("unlink", "../gone", 1)], before, None),
            (vec![("rename", "../gone", 0)], before, Some("../gone")),
            (
                vec![("openat", "../gone", 0), ("rename", "../gone", 0)],
                before,
                None,
            ),
            (
                vec![("openat", "../gone", 0), ("unlink", "../gone", 0)],
                before,
                None,
            ),
            (vec![("mkdir", "..", 0)], before, top.path().to_str()),
        ] {
            let expected = expected.map(|path| format!("changed {path}"));
            assert_eq!(effect_of(&home, &calls, since), expected, "{calls:?}");
        }
    }
}
