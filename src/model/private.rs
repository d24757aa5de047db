//! Profiles without what tells about their owner. Pure; `cli` applies it before a profile is written or shown.

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
        self.started_unix_s = 0;
        self.scope = self.scope.map(|_| "not told".to_string());
        self.source.iter_mut().for_each(|source| (source.title, source.note) = Default::default());
        self.warnings = vec!["the warnings of this profile were left out with its names".to_string(); self.warnings.len().min(1)];
        let (mut processes, mut cgroups) = (Names::new("process"), Names::new("cgroup"));
        for group in &mut self.groups {
            group.pid = None;
            group.name = processes.of(&group.name);
            group.cgroup = group.cgroup.take().map(|name| cgroups.of(&name));
        }
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
