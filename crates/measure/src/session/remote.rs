//! Visits environments that a user's own command makes: checks that a probe answers there, and asks it for facts about
//! its machine.

use crate::runner::{Child, Environment, Workers, parse_catalogue};
use anyhow::{Context, Result};
use itertools::Itertools;
use model::{Case, EMPTY_LOOP, EnvironmentFacts, Facts, Host, Operation, Unit};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use sys::taxes::taxes;
use sys::{Sources, host, private};

#[derive(Default)]
pub struct Remote {
    pub environments: BTreeMap<String, EnvironmentFacts>,
    pub machine: Option<Machine>,
    pub warnings: Vec<String>,
}

pub struct Machine {
    pub host: Host,
    pub operations: Vec<Operation>,
    pub compiler: String,
}

/// Patterns of files that `sys::host` and `sys::taxes` read.
const FILES: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/version",
    "/proc/cmdline",
    "/proc/loadavg",
    "/proc/self/status",
    "/proc/self/limits",
    "/proc/self/ns/*",
    "/proc/1/cgroup",
    "/proc/[0-9]*/comm",
    "/proc/sys/kernel/[hov]s*",
    "/proc/sys/kernel/version",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/arch",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/etc/os-release",
    "/usr/lib/os-release",
    "/run/.containerenv",
    "/.dockerenv",
    "/run/systemd/container",
    "/sys/hypervisor/type",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/devices/system/clocksource/clocksource0/*_clocksource",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/nohz_full",
    "/sys/devices/system/cpu/isolated",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/debug/sched/preempt",
    "/sys/devices/system/cpu/smt/active",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/vulnerabilities/*",
    "/sys/kernel/tracing/current_tracer",
    "/sys/kernel/tracing/set_event",
    "/sys/kernel/debug/kprobes/list",
];

/// A command that only replaces itself, as `nice` and `ip netns exec` do, can be traced: it is the
/// probe by then.
const NOT_THE_PROBE: &str =
    "the command runs the probe in a process of its own, which is not traced";

impl Remote {
    /// Starts a probe in each environment and asks for its facts. `alone` says that all cases are on one other machine, whose facts and
    /// catalogue then replace this one's.
    ///
    /// # Errors
    /// No probe answers, or it is of another version.
    pub fn visit(
        workers: &mut Workers,
        environments: &[Environment],
        alone: bool,
    ) -> Result<Remote> {
        let mut remote = Remote::default();
        for environment in environments {
            let visited = remote.visit_one(workers, environment, alone);
            visited.with_context(|| spelled(environment))?;
        }
        Ok(remote)
    }

    fn visit_one(
        &mut self,
        workers: &mut Workers,
        environment: &Environment,
        alone: bool,
    ) -> Result<()> {
        let case = Case::native(EMPTY_LOOP).in_environment(&environment.name);
        let mut child = workers.start(&case, 0)?;
        let hello = child.hello().cloned().unwrap_or_default();
        // Another PID is that of a child, or one in a container: tracing the command would count the wrong process.
        if !environment.is_elsewhere() && hello.number("pid") != Some(child.pid().into()) {
            workers.add_environment(Environment {
                unverified: Some(NOT_THE_PROBE.to_string()),
                ..environment.clone()
            });
        }
        let mut facts = EnvironmentFacts {
            name: environment.name.clone(),
            unit: Unit::Nanoseconds,
            started_with: environment.run.clone(),
            notes: notes(environment, &hello),
            ..EnvironmentFacts::default()
        };
        if environment.is_elsewhere() {
            let machine = machine(&mut child, &workers.directory(), &hello)?;
            facts.kernel = machine.host.kernel.clone();
            if alone {
                self.machine = Some(machine);
            } else {
                self.warnings
                    .push(two_machines(&environment.name, &machine.host));
                facts.host = Some(Box::new(machine.host));
            }
        }
        child.send(&Workers::greeting(&case))?;
        child.ready()?;
        self.environments.insert(environment.name.clone(), facts);
        Ok(())
    }
}

fn spelled(environment: &Environment) -> String {
    let flag = if environment.is_elsewhere() {
        "--via"
    } else {
        "--env-command"
    };
    let words = environment
        .run
        .iter()
        .map(String::as_str)
        .filter(|word| *word != "{program}")
        .join(" ");
    format!("{flag} '{words}'")
}

fn notes(environment: &Environment, hello: &Facts) -> Vec<String> {
    let unpinned = hello
        .number("cpu")
        .is_none()
        .then_some("the probe is not pinned to a CPU there");
    let untraced = environment
        .is_elsewhere()
        .then_some("kernel entries are not counted on another machine");
    unpinned
        .into_iter()
        .chain(untraced)
        .map(str::to_string)
        .collect()
}

/// `ssh host is another machine (vm, Linux 6.1): ...`
fn two_machines(name: &str, host: &Host) -> String {
    let system: Vec<&str> = [&host.system, &host.kernel]
        .into_iter()
        .filter_map(|part| part.as_deref())
        .collect();
    let system = Some(system.join(" ")).filter(|text| !text.is_empty());
    let parts = [host.name.clone(), host.cpu.clone(), system]
        .into_iter()
        .flatten()
        .join(", ");
    format!(
        "column {name} is another machine ({parts}): it has no ratios, and notes about this machine do not apply to it"
    )
}

fn machine(child: &mut Child, directory: &Path, hello: &Facts) -> Result<Machine> {
    let lines = child.ask("facts", "facts")?;
    let answered: Facts = lines
        .iter()
        .filter_map(|line| line.strip_prefix("fact ")?.split_once('='))
        .map(owned)
        .collect();
    // As a tree of files below one root, so that the same code reads this machine's facts and another's.
    let tree = private::temporary(directory, "machine-")?;
    if answered.get("system") == Some("Linux") {
        let cpu_files = hello
            .number("cpu")
            .map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/*"));
        for pattern in FILES.iter().map(ToString::to_string).chain(cpu_files) {
            let lines = child.ask(&format!("show {pattern}"), "shown")?;
            files(&lines)
                .iter()
                .try_for_each(|(path, text)| write_below(tree.path(), path, text))?;
        }
    }
    let lines = child.ask("list", "listed")?;
    let operations =
        parse_catalogue(&lines.join("\n")).context("the probe there is a different version")?;
    let cpu = hello.number("cpu").map(|cpu| cpu as u32);
    let sources = Sources::below(tree.path());
    let files = Host {
        taxes: taxes(&sources),
        ..host::facts(&sources, cpu)
    };
    Ok(Machine {
        host: host_of(&answered, hello, files),
        operations,
        compiler: answered.get("compiler").unwrap_or("unknown").to_string(),
    })
}

fn owned(variable: (&str, &str)) -> (String, String) {
    let (name, value) = variable;

    (name.to_string(), value.to_string())
}

fn files(lines: &[String]) -> Vec<(&str, String)> {
    let mut files = Vec::new();
    let mut lines = lines.iter();
    while let Some(head) = lines.next() {
        let words = head
            .strip_prefix("file ")
            .and_then(|rest| rest.split_once(' '));
        let Some((length, path)) =
            words.and_then(|(length, path)| Some((length.parse::<usize>().ok()?, path)))
        else {
            continue;
        };
        let mut text = lines.next().cloned().unwrap_or_default();
        // The protocol has lines: a file's own newlines are put back by its length.
        while text.len() < length {
            let Some(line) = lines.next() else { break };
            text.push('\n');
            text.push_str(line);
        }
        files.push((path, text));
    }
    files
}

/// The path is the other machine's: it must not lead out of `tree`.
fn write_below(tree: &Path, path: &str, text: &str) -> Result<()> {
    let plain = path.starts_with('/') && !path.split('/').any(|part| part == "..");
    if !plain {
        return Ok(());
    }
    let file = tree.join(path.trim_start_matches('/'));
    fs::create_dir_all(file.parent().unwrap_or(tree))?;
    Ok(fs::write(file, text)?)
}

/// Facts in the other machine's files, completed by those that its system calls returned; none are this machine's.
fn host_of(answered: &Facts, hello: &Facts, files: Host) -> Host {
    fn text(facts: &Facts, name: &str) -> Option<String> {
        facts.get(name).map(str::to_string)
    }

    fn whole(facts: &Facts, name: &str) -> Option<u64> {
        facts.number(name).map(|number| number as u64)
    }

    let measuring_cpu = hello.number("cpu").map(|cpu| cpu as u32);
    let reason = measuring_cpu.map_or("not pinned there", |_| "the probe pinned itself there");
    Host {
        name: text(answered, "name"),
        system: text(answered, "system"),
        kernel: text(answered, "kernel").or(files.kernel),
        kernel_version: text(answered, "kernel_version").or(files.kernel_version),
        architecture: text(answered, "architecture"),
        cpu: files.cpu.or(text(answered, "cpu")),
        cpus: files
            .cpus
            .or(whole(answered, "cpus").map(|cpus| cpus as u32)),
        cpus_allowed: None,
        memory_mib: files.memory_mib.or(whole(answered, "memory_mib")),
        file_system: text(answered, "file_system")
            .or(whole(answered, "file_system_magic").and_then(host::file_system_kind)),
        user: text(answered, "user"),
        measuring_cpu,
        measuring_cpu_reason: Some(reason.to_string()),
        ..files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_their_lengths() {
        let lines = "file 4 /a\none\n\nfile 0 /b\n\nnoise\nfile 11 /c/d\nfile 1 /e\nx".split('\n');
        let lines: Vec<String> = lines.map(str::to_string).collect();
        let expected = [("/a", "one\n"), ("/b", ""), ("/c/d", "file 1 /e\nx")];
        assert_eq!(
            files(&lines),
            expected.map(|(path, text)| (path, text.to_string()))
        );
    }

    #[test]
    fn paths_stay_in_their_tree() {
        let tree = tempfile::tempdir().unwrap();
        for path in ["/../x", "y", "/a/../../z"] {
            write_below(tree.path(), path, "text").unwrap();
        }
        assert_eq!(fs::read_dir(tree.path()).unwrap().count(), 0);
        write_below(tree.path(), "/a/b", "text").unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("a/b")).unwrap(), "text");
    }

    #[test]
    fn another_system_is_described_by_what_it_tells() {
        let answered = [
            ("system", "FreeBSD"),
            ("kernel", "14.1"),
            ("cpus", "4"),
            ("architecture", "amd64"),
        ];
        let answered: Facts = answered.map(owned).into_iter().collect();
        let nothing = Host {
            system: Some("Linux".into()),
            architecture: Some("x86_64".into()),
            ..Host::default()
        };
        let host = host_of(&answered, &Facts::default(), nothing);
        let texts = [
            &host.system,
            &host.kernel,
            &host.architecture,
            &host.measuring_cpu_reason,
        ];
        assert_eq!(
            texts.map(Option::as_deref),
            [
                Some("FreeBSD"),
                Some("14.1"),
                Some("amd64"),
                Some("not pinned there")
            ]
        );
        assert_eq!((host.cpus, host.measuring_cpu), (Some(4), None));
    }
}
