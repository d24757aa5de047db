//! `--env sandboxes`: the sandboxes that this machine has, and a note on how to install each of the others.

use crate::messages::note;
use measure::runner::{Environment, SANDBOXES};

/// Replaces the group's name by those in front of it and its members.
pub fn expand(names: &mut Vec<String>, first: &[&str]) {
    let Some(place) = names.iter().position(|name| name == SANDBOXES) else {
        return;
    };
    let mut members: Vec<String> = first.iter().map(ToString::to_string).collect();
    members.retain(|name| !names.contains(name));
    for sandbox in Environment::sandboxes() {
        match sandbox.check_needs() {
            Err(error) => note(&format!("{error:#}")),
            Ok(()) if names.contains(&sandbox.name) => {}
            Ok(()) => members.push(sandbox.name),
        }
    }
    names.splice(place..=place, members);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_becomes_its_members_once_each() {
        let expanded = |names: &[&str], first: &[&str]| {
            let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
            expand(&mut names, first);
            names
        };
        // These need no program.
        let needless = ["landlock", "namespaces", "seccomp-docker", "seccomp-notify"];
        let all = expanded(&["sandboxes"], &["native"]);
        assert_eq!(all[0], "native");
        assert!(
            needless.iter().all(|name| all.contains(&name.to_string())),
            "{all:?}"
        );
        let names = expanded(&["landlock", "sandboxes", "strace"], &[]);
        assert_eq!(
            (&names[0][..], &names[names.len() - 1][..]),
            ("landlock", "strace")
        );
        assert_eq!(names.iter().filter(|name| *name == "landlock").count(), 1);
        assert_eq!(expanded(&["native", "tmpfs"], &[]), ["native", "tmpfs"]);
    }
}
