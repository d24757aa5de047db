//! Runs without what identifies their owner. Pure; `session` applies it before a run is written for the first time.

use super::{EntriesStatus, EnvironmentFacts, Host, Outcome, Record, Run};
use std::collections::BTreeMap;

/// In place of a path in a text.
const PATH: &str = "PATH";
/// In place of the host's name in a text.
const HOST: &str = "HOST";

impl Run {
    /// The run without names of its host and its user, command lines and paths; nor does it say when its kernel was built, or
    /// which programs tax its system calls. Environments whose names are paths or words of a command are numbered. What the user
    /// wrote stays: labels, notes, the study's texts, and the code and names of cases.
    pub fn anonymous(mut self) -> Run {
        let hosts: Vec<String> = self.runs().flat_map(all_hosts).filter_map(|host| host.name.clone()).collect();
        let hidden = Hidden { hosts, environments: renamed(&self) };
        hidden.hide_run(&mut self);
        self.repeats.iter_mut().for_each(|run| hidden.hide_run(run));
        self
    }
}

fn all_hosts(run: &Run) -> impl Iterator<Item = &Host> {
    std::iter::once(&run.host).chain(run.environments.iter().filter_map(|facts| facts.host.as_deref()))
}

/// New names of the environments whose names identify the user.
fn renamed(run: &Run) -> BTreeMap<String, String> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let facts = |name: &str| run.environments.iter().find(|facts| facts.name == name);
    for name in run.records.iter().map(|record| &record.case.environment) {
        if !names.contains_key(name) && tells(name, facts(name)) {
            names.insert(name.clone(), format!("environment {}", names.len() + 1));
        }
    }
    names
}

/// Whether the name is a path, or has a word of the command that starts its programs, behind that command's own name.
fn tells(name: &str, facts: Option<&EnvironmentFacts>) -> bool {
    let of_command = |word: &str| facts.is_some_and(|facts| facts.started_with.iter().skip(1).any(|own| own == word));
    name.contains('/') || name.split(' ').any(of_command)
}

/// What is replaced in texts.
struct Hidden {
    hosts: Vec<String>,
    environments: BTreeMap<String, String>,
}

impl Hidden {
    fn hide_run(&self, run: &mut Run) {
        hide_host(&mut run.host);
        run.warnings.iter_mut().for_each(|text| self.hide_text(text));
        for facts in &mut run.environments {
            self.rename(&mut facts.name);
            facts.started_with.clear();
            facts.host.iter_mut().for_each(|host| hide_host(host));
            facts.emulator.iter_mut().for_each(|text| self.hide_text(text));
        }
        if let Some(source) = &mut run.source {
            self.hide_text(&mut source.title);
            self.hide_text(&mut source.note);
        }
        self.hide_text(&mut run.tool.compiler);
        run.records.iter_mut().for_each(|record| self.hide_record(record));
    }

    fn hide_record(&self, record: &mut Record) {
        self.rename(&mut record.case.environment);
        record.warnings.iter_mut().for_each(|text| self.hide_text(text));
        if let Outcome::Failed(failure) = &mut record.outcome {
            self.hide_text(&mut failure.message);
        }
        if let EntriesStatus::Unverified(reason) = &mut record.entries_status {
            self.hide_text(reason);
        }
        if let Some(Err(reason)) = &mut record.latency {
            self.hide_text(reason);
        }
    }

    fn rename(&self, name: &mut String) {
        if let Some(new) = self.environments.get(name) {
            name.clone_from(new);
        }
    }

    fn hide_text(&self, text: &mut String) {
        // The longer of two names that begin alike goes first.
        let renamed = self.environments.iter().rev().fold(text.clone(), |text, (old, new)| text.replace(old, new));
        let is_end = |c: char| c.is_whitespace() || "'\"`()[]{}<>=,;:".contains(c);
        *text = renamed.split_inclusive(is_end).map(|word| self.hidden_word(word, is_end)).collect();
    }

    /// A word with what ends it.
    fn hidden_word(&self, word: &str, is_end: impl Fn(char) -> bool) -> String {
        let bare = word.trim_end_matches(is_end);
        let is_path = |start: &str| bare.len() > start.len() && bare.starts_with(start);
        let new = match bare.trim_end_matches('.') {
            host if self.hosts.iter().any(|own| own == host) => HOST,
            _ if ["/", "~/", "./", "../"].into_iter().any(is_path) => PATH,
            _ => bare,
        };
        format!("{new}{}", &word[bare.len()..])
    }
}

fn hide_host(host: &mut Host) {
    (host.name, host.user, host.kernel_version, host.command_line) = (None, None, None, None);
    host.taxes.iter_mut().for_each(|tax| tax.detail = "hidden".to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{record, run};
    use crate::model::{Failure, FailureKind, Tax};

    fn host() -> Host {
        let text = |text: &str| Some(text.to_string());
        Host {
            name: text("vm"),
            user: text("root"),
            kernel: text("6.18"),
            command_line: text("nosmt root=/dev/sda"),
            taxes: vec![Tax { kind: "seccomp".into(), detail: "by /usr/bin/agent".into() }],
            ..Host::default()
        }
    }

    #[test]
    fn nothing_tells_of_the_owner_but_what_the_owner_wrote() {
        let mut failed = record("file.stat", 1);
        failed.case.environment = "ssh db7".into();
        failed.outcome =
            Outcome::Failed(Failure::new(FailureKind::Start, "ssh db7: cannot start '/home/me/probe': EACCES"));
        let mut elsewhere = record("file.stat", 1);
        elsewhere.case.environment = "/home/me/disk".into();
        let ssh = EnvironmentFacts {
            name: "ssh db7".into(),
            started_with: ["ssh", "db7", "{program}"].map(String::from).to_vec(),
            notes: vec!["a note on /dev/shm".into()],
            host: Some(Box::new(Host { name: Some("db7".into()), ..host() })),
            ..EnvironmentFacts::default()
        };
        let labels = [("node".to_string(), "vm".to_string())].into();
        let again = Run { host: host(), ..run(vec![failed.clone(), elsewhere.clone()]) };
        let whole = Run {
            host: host(),
            environments: vec![ssh],
            labels,
            warnings: vec!["vm: TMPDIR is /home/me/tmp (kvm and/or vm), see ~/x.".into()],
            repeats: vec![again],
            ..run(vec![failed, elsewhere])
        };
        let hidden = whole.anonymous();
        assert_eq!(hidden.warnings, ["HOST: TMPDIR is PATH (kvm and/or HOST), see PATH"]);
        for run in hidden.runs() {
            assert_eq!((&run.host.name, &run.host.user, &run.host.command_line), (&None, &None, &None));
            assert_eq!((run.host.kernel.as_deref(), run.host.taxes[0].kind.as_str()), (Some("6.18"), "seccomp"));
            let names: Vec<&str> = run.records.iter().map(|record| record.case.environment.as_str()).collect();
            assert_eq!(names, ["environment 1", "environment 2"]);
            let Outcome::Failed(failure) = &run.records[0].outcome else { panic!("{run:?}") };
            assert_eq!(failure.message, "environment 1: cannot start 'PATH': EACCES");
        }
        let facts = &hidden.environments[0];
        assert_eq!((facts.name.as_str(), facts.started_with.len()), ("environment 1", 0));
        assert_eq!((&facts.notes[0][..], &hidden.labels["node"][..]), ("a note on /dev/shm", "vm"));
        let text = format!("{hidden:?}");
        assert!(!text.contains("db7") && !text.contains("/home"), "{text}");
    }

    #[test]
    fn names_that_tell_nothing_stay() {
        let boxed = EnvironmentFacts {
            started_with: ["nice", "-n", "19"].map(String::from).to_vec(),
            ..EnvironmentFacts::default()
        };
        assert_eq!([tells("nice", Some(&boxed)), tells("linux-6.1 audit=1", None)], [false; 2]);
        assert!(tells("./dir", None) && tells("linux:/boot/vmlinuz", None));
    }
}
