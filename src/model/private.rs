//! Profiles without what identifies their owner. Pure; `cli` applies it before a profile is written or shown.

use super::Profile;
use std::collections::HashMap;
use std::path::Path;

impl Profile {
    /// The profile without the arguments of its command: of `/usr/bin/curl -H 'Authorization: x'`, `curl` remains.
    pub fn without_arguments(mut self) -> Profile {
        self.command.truncate(1);
        for program in &mut self.command {
            *program = Path::new(program.as_str()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        self
    }

    /// The profile without names: of the host and its user, the command, processes and their numbers, control groups, paths,
    /// functions, and the texts of warnings. When it was traced is left out too. Counts, classes, times, and what the
    /// machine is, stay. Equal names become equal numbers: `process 1`.
    pub fn anonymous(mut self) -> Profile {
        (self.host.name, self.host.user, self.host.kernel_version) = (None, None, None);
        self.host.taxes.clear();
        self.command.clear();
        self.unit_costs = self.unit_costs.map(|run| Box::new(run.anonymous()));
        self.started_unix_s = 0;
        self.scope = self.scope.map(|_| "hidden".to_string());
        self.source.iter_mut().for_each(|source| (source.title, source.note) = Default::default());
        self.warnings =
            vec!["the warnings of this profile were left out with its names".to_string(); self.warnings.len().min(1)];
        let (mut processes, mut cgroups) = (Names::new("process"), Names::new("cgroup"));
        for group in &mut self.groups {
            group.pid = None;
            group.name = processes.of(&group.name);
            group.cgroup = group.cgroup.take().map(|name| cgroups.of(&name));
        }
        self.tree.clear();
        for stack in &mut self.stacks {
            stack.process = processes.of(&stack.process);
            stack.frames.clear();
        }
        for call in &mut self.slowest {
            call.process = processes.of(&call.process);
            call.pid = None;
            call.frames.clear();
        }
        self.objects.clear();
        self
    }
}

/// Numbers in place of names.
struct Names {
    what: &'static str,
    known: HashMap<String, usize>,
}

impl Names {
    fn new(what: &'static str) -> Names {
        Names { what, known: HashMap::new() }
    }

    /// The name's number; an empty name stays empty.
    fn of(&mut self, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        let next = self.known.len() + 1;
        format!("{} {}", self.what, self.known.entry(name.to_string()).or_insert(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Host, ProcessGroup, StackCount};

    #[test]
    fn of_a_command_the_program_remains() {
        let of = |words: &[&str]| {
            let command = words.iter().map(ToString::to_string).collect();
            Profile { command, ..Profile::default() }.without_arguments().command
        };
        assert_eq!(of(&["/home/me/bin/curl", "-H", "Authorization: x"]), ["curl"]);
        assert_eq!(of(&[]), Vec::<String>::new());
    }

    #[test]
    fn names_become_numbers_which_are_the_same_everywhere() {
        let group = |name: &str, pid| ProcessGroup { name: name.into(), pid, ..ProcessGroup::default() };
        let stack = StackCount { process: "sh".into(), frames: vec!["main".into()], ..StackCount::default() };
        let profile = Profile {
            host: Host {
                name: Some("h".into()),
                user: Some("me".into()),
                kernel: Some("6.1".into()),
                ..Host::default()
            },
            groups: vec![group("make", Some(7)), group("sh", None), group("", None)],
            stacks: vec![stack],
            warnings: vec!["/home/me/x is 32-bit".into()],
            ..Profile::default()
        };
        let hidden = profile.anonymous();
        let names: Vec<&str> = hidden.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["process 1", "process 2", ""]);
        assert_eq!((hidden.stacks[0].process.as_str(), hidden.stacks[0].frames.len()), ("process 2", 0));
        assert_eq!((hidden.host.name, hidden.host.user, hidden.host.kernel), (None, None, Some("6.1".into())));
        assert!(hidden.groups[0].pid.is_none() && !format!("{:?}", hidden.warnings).contains("home"));
    }
}
