//! Finds the control group of a container or a Kubernetes pod.
//!
//! Managers put the ID into the name of the group: `docker-ID.scope`, `libpod-ID.scope`, `cri-containerd-ID.scope`, `crio-ID.scope`,
//! `ID` alone, `kubepods-burstable-podUID.slice`. Names are known to the managers only, so these are asked.

use super::cgroup::Hierarchies;
use anyhow::{Result, bail};
use std::path::PathBuf;

/// The length of an ID as managers print it. Shorter ones could be names.
const SHORT_ID: usize = 12;
/// The length of an ID in a group's name: a pod's has 32 characters without dashes.
const WHOLE_ID: usize = 32;

/// The programs that know containers by name, with the arguments to ask for the whole ID.
const MANAGERS: [(&str, &[&str]); 4] = [
    ("podman", INSPECT),
    ("docker", INSPECT),
    ("nerdctl", INSPECT),
    ("crictl", &["ps", "--quiet", "--no-trunc", "--name"]),
];
const INSPECT: &[&str] = &[
    "inspect",
    "--type",
    "container",
    "--format",
    "{{.Id}}",
    "--",
];

pub type Ask<'a> = &'a dyn Fn(&str, &[&str]) -> Result<String, String>;

/// The control group of a container, by its ID, a beginning of it, or a name that a manager knows; `ask` runs a program and returns
/// its output.
///
/// # Errors
/// There is none, or several could be meant; the error names all that was tried.
pub fn find(groups: &Hierarchies, asked: &str, ask: Ask) -> Result<PathBuf> {
    if asked.is_empty() || asked.starts_with('-') {
        bail!("--container '{asked}': this is neither a name nor an ID");
    }
    let mut tried = Vec::new();
    if is_id(asked) {
        if let Some(group) = by_id(groups, asked, asked)? {
            return Ok(group);
        }
        tried.push(format!(
            "no control group has this ID below {}",
            groups.unified()?.display()
        ));
    }
    for (manager, arguments) in MANAGERS {
        let arguments: Vec<&str> = arguments.iter().copied().chain([asked]).collect();
        match ask(manager, &arguments).and_then(|printed| only_id(&printed)) {
            Ok(id) => match by_id(groups, asked, &id)? {
                Some(group) => return Ok(group),
                // A container that has stopped is known to its manager, and has no group.
                None => tried.push(format!(
                    "{manager} knows it as {id}, which has no control group: is it running?"
                )),
            },
            Err(why) => tried.push(format!("{manager}: {why}")),
        }
    }
    groups.unified()?;
    bail!("--container {asked}: not found ({})", tried.join("; "))
}

fn only_id(printed: &str) -> Result<String, String> {
    let ids: Vec<&str> = printed.split_whitespace().collect();
    match ids[..] {
        [id] if is_id(id) => Ok(id.to_string()),
        [] | [_] => Err("no such container".to_string()),
        _ => Err("several containers have this name".to_string()),
    }
}

/// Perhaps with dashes, as in a pod's UID.
fn is_id(text: &str) -> bool {
    let digits = text.chars().filter(|c| *c != '-');
    digits.clone().all(|c| c.is_ascii_hexdigit()) && digits.count() >= SHORT_ID
}

fn by_id(groups: &Hierarchies, asked: &str, id: &str) -> Result<Option<PathBuf>> {
    let id = id.replace('-', "").to_ascii_lowercase();
    let mut search = groups.search(|name| has_id(name, &id))?;
    if search.len() > 1 {
        let names: Vec<String> = search
            .iter()
            .take(4)
            .map(|path| groups.name(path))
            .collect();
        bail!(
            "--container {asked}: {} groups could be meant ({}): name one with --cgroup",
            search.len(),
            names.join(", ")
        );
    }
    Ok(search.pop())
}

/// Whether a group's name holds `id`, which may be only the beginning of the ID there. Helpers of managers (conmon) and mount units have groups with the ID, too.
fn has_id(name: &str, id: &str) -> bool {
    // Monitors and mounts of a container have its ID in their names too.
    if name.contains("conmon") || name.ends_with(".mount") {
        return false;
    }
    // Dashes and underscores of a pod's UID are dropped, those before an ID end a word that is not hexadecimal.
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let word = stem.rsplit(':').next().unwrap_or(stem);
    let hex: String = word.chars().filter(|c| !matches!(c, '-' | '_')).collect();
    let tail = hex.len() - hex.bytes().rev().take_while(u8::is_ascii_hexdigit).count();
    [WHOLE_ID, 2 * WHOLE_ID].iter().any(|length| {
        hex.len()
            .checked_sub(*length)
            .is_some_and(|start| start >= tail && hex[start..].starts_with(id))
    })
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::tests::{UNIFIED, machine};
    use super::*;

    const ID: &str = "4f1c2a9b8d7e6f504132a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8";
    const OTHER: &str = "4f1c2a9b8d7e00000000000000000000091a2b3c4d5e6f708192a3b4c5d6e7f8";

    fn nobody(_: &str, _: &[&str]) -> Result<String, String> {
        Err("not installed".to_string())
    }

    #[test]
    fn the_id_is_found_in_every_managers_layout() {
        let pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice";
        for group in [
            "/system.slice/docker-{ID}.scope",
            "/docker/{ID}",
            "/machine.slice/libpod-{ID}.scope",
            "{pod}/cri-containerd-{ID}.scope",
            "{pod}/crio-{ID}.scope",
            "/k8s.io/pod:cri-containerd:{ID}",
        ] {
            let group = group.replace("{ID}", ID).replace("{pod}", pod);
            let path = format!("/sys/fs/cgroup{group}");
            let inner = format!("{path}/container");
            let conmon = format!("/sys/fs/cgroup/machine.slice/libpod-conmon-{ID}.scope");
            let (_root, machine) = machine(UNIFIED, &[&path, &inner, &conmon]);
            for asked in [ID, &ID[..12]] {
                assert_eq!(
                    find(&machine, asked, &nobody).unwrap(),
                    PathBuf::from(&path),
                    "{asked}"
                );
            }
        }
        let (_root, machine) = machine(
            UNIFIED,
            &[&format!("/sys/fs/cgroup{pod}/cri-containerd-{ID}.scope")],
        );
        let actual = find(&machine, "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", &nobody).unwrap();
        assert_eq!(actual, PathBuf::from(format!("/sys/fs/cgroup{pod}")));
    }

    #[test]
    fn managers_know_names() {
        fn docker(program: &str, arguments: &[&str]) -> Result<String, String> {
            match (program, arguments.last()) {
                ("docker", Some(&"web")) => Ok(format!("{ID}\n")),
                ("docker", Some(&"gone")) => Ok(OTHER.to_string()),
                ("docker", _) => Err("no such object".to_string()),
                _ => Err("not installed".to_string()),
            }
        }

        let (_root, machine) = machine(UNIFIED, &[&format!("/sys/fs/cgroup/docker/{ID}")]);
        assert_eq!(
            find(&machine, "web", &docker).unwrap(),
            PathBuf::from(format!("/sys/fs/cgroup/docker/{ID}"))
        );
        let gone = format!("docker knows it as {OTHER}, which has no control group");
        for (asked, reason) in [
            ("gone", gone.as_str()),
            (
                "nosuch",
                "--container nosuch: not found (podman: not installed; docker: no such object;",
            ),
            ("-f", "neither a name nor an ID"),
            ("", "neither a name nor an ID"),
        ] {
            let error = find(&machine, asked, &docker).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_beginning_that_several_share_is_refused() {
        let groups = [ID, OTHER].map(|id| format!("/sys/fs/cgroup/docker/{id}"));
        let (_root, machine) = machine(UNIFIED, &[&groups[0], &groups[1]]);
        let refused = find(&machine, &ID[..12], &nobody).unwrap_err().to_string();
        assert!(refused.contains("2 groups could be meant"), "{refused}");
    }
}
