//! The calls of a profile as a seccomp filter for containers, in the form of the OCI runtime specification
//! (<https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md#seccomp>), which podman, docker and Kubernetes read:
//! what was seen is allowed with any arguments, all else fails with EPERM.
//!
//! `comment` is not in the specification; these programs allow it, as their own filters have it.

use super::exported::ExportFormat;
use crate::model::{CallCount, Profile};
use crate::prose::some;
use crate::syscall_names::bare_name;
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::Write;

pub const FORMAT: ExportFormat = ExportFormat {
    name: "seccomp",
    what: "A filter that allows the calls of a profile, for containers",
    write: None,
    write_profile: Some(write),
    holds_instructions: false,
};

/// EPERM, by which a forbidden call fails.
const EPERM: u32 = 1;

/// Calls that are allowed though they were not seen, and why.
const ADDED: &[(&str, &[&str])] = &[
    (
        "added: every program starts and ends by these, and the kernel itself makes a program return from signals and restart calls",
        &["execve", "exit", "exit_group", "restart_syscall", "rt_sigreturn"],
    ),
    (
        "added: runc 1.1 makes these after it has installed the filter and before the program starts, if the container has \
         no-new-privileges; without that it needs more",
        &["close", "fstatfs", "futex", "getdents64", "openat"],
    ),
    (
        "added: the language runtime of runc, which is Go's, may make these meanwhile",
        &[
            "epoll_pwait",
            "getpid",
            "gettid",
            "madvise",
            "mmap",
            "nanosleep",
            "rt_sigaction",
            "rt_sigprocmask",
            "sched_yield",
            "sigaltstack",
            "tgkill",
            "write",
        ],
    ),
];

/// Architectures by the names that hosts (uname -m) and calls of other gates have, and libseccomp's for them.
const ARCHITECTURES: &[(&str, &str)] = &[
    ("x86_64", "SCMP_ARCH_X86_64"),
    ("i386", "SCMP_ARCH_X86"),
    ("i686", "SCMP_ARCH_X86"),
    ("x32", "SCMP_ARCH_X32"),
    ("aarch64", "SCMP_ARCH_AARCH64"),
    ("arm", "SCMP_ARCH_ARM"),
    ("armv7l", "SCMP_ARCH_ARM"),
    ("riscv64", "SCMP_ARCH_RISCV64"),
];

/// Calls without a name that a caution lists.
const NAMED: usize = 4;

fn write(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    if profile.samples().is_some() {
        bail!("--format seccomp: CPUs were sampled, so which calls were made is not known: trace without --sampled");
    }
    if profile.tracer.kind == "perf" {
        bail!("--format seccomp: only the calls of --calls were counted: trace with --tracer bpf or ptrace");
    }
    let seen: BTreeSet<&str> =
        calls(profile).map(|count| bare_name(&count.call)).filter(|name| is_name(name)).collect();
    if seen.is_empty() {
        bail!("--format seccomp: the profile has no calls: a filter would forbid all of them");
    }
    let added = ADDED.iter().map(|(why, names)| {
        let names: Vec<&str> = names.iter().copied().filter(|name| !seen.contains(name)).collect();
        allow(names, why)
    });
    let syscalls: Vec<Value> = std::iter::once(allow(seen.iter().copied().collect(), "seen")).chain(added).collect();
    let mut filter = Map::new();
    filter.insert("defaultAction".into(), "SCMP_ACT_ERRNO".into());
    filter.insert("defaultErrnoRet".into(), EPERM.into());
    let architectures = architectures(profile);
    if !architectures.is_empty() {
        filter.insert("architectures".into(), json!(architectures));
    }
    filter.insert("syscalls".into(), Value::Array(syscalls));
    serde_json::to_writer_pretty(&mut *out, &filter)?;
    Ok(writeln!(out)?)
}

fn allow(names: Vec<&str>, comment: &str) -> Value {
    json!({"names": names, "action": "SCMP_ACT_ALLOW", "comment": comment})
}

/// What is doubtful about the filter.
pub fn cautions(profile: &Profile) -> Vec<String> {
    let mut cautions = Vec::new();
    if !profile.complete {
        cautions.push("warning: the profile is incomplete: the filter forbids calls that were not seen".to_string());
    }
    let nameless: BTreeSet<&str> =
        calls(profile).map(|count| count.call.as_str()).filter(|call| !is_name(bare_name(call))).collect();
    if !nameless.is_empty() {
        let names: Vec<&str> = nameless.into_iter().collect();
        cautions.push(format!("warning: calls without a name are not in the filter: {}", some(&names, NAMED)));
    }
    cautions
}

/// Of all runs.
fn calls(profile: &Profile) -> impl Iterator<Item = &CallCount> {
    let first = profile.groups.iter().flat_map(|group| &group.calls);
    first.chain(profile.repeats.iter().flat_map(|run| &run.calls)).filter(|count| count.calls > 0)
}

/// Whether it can be a call's name: one without is `syscall(9999)`, and profiles may be written by anyone.
fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name != "syscall" && name.chars().all(letter)
}

/// The host's own architecture first; empty where it is not known and no call names another: then it is the reader's own.
fn architectures(profile: &Profile) -> Vec<&'static str> {
    let own = profile.host.architecture.as_deref().unwrap_or_default();
    let is_used = |label: &str| {
        let suffix = format!("({label})");
        let said = [suffix.clone(), format!("program for {label}:")];
        calls(profile).any(|count| count.call.ends_with(&suffix))
            || profile.warnings.iter().any(|text| said.iter().any(|said| text.contains(said)))
    };
    let used = ARCHITECTURES
        .iter()
        .filter(|(label, _)| *label == own)
        .chain(ARCHITECTURES.iter().filter(|(label, _)| is_used(label)));
    let mut found: Vec<&str> = Vec::new();
    for (_, name) in used {
        if !found.contains(name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Host, ProcessGroup, ProfileRun, TracerFacts};
    use crate::syscall_names::is_known;

    fn call(name: &str) -> CallCount {
        CallCount { call: name.into(), calls: 1, ..CallCount::default() }
    }

    fn profile(names: &[&str]) -> Profile {
        let calls = names.iter().map(|name| call(name)).collect();
        let groups = vec![ProcessGroup { calls, ..ProcessGroup::default() }];
        let host = Host { architecture: Some("x86_64".into()), ..Host::default() };
        Profile { groups, host, complete: true, ..Profile::default() }
    }

    fn filter(profile: &Profile) -> Value {
        let mut out = Vec::new();
        write(profile, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    fn refused(profile: &Profile) -> String {
        write(profile, &mut Vec::new()).unwrap_err().to_string()
    }

    #[test]
    fn what_was_seen_is_allowed_and_all_else_fails() {
        let found = filter(&profile(&["write", "execve", "read"]));
        assert_eq!((&found["defaultAction"], &found["defaultErrnoRet"]), (&"SCMP_ACT_ERRNO".into(), &1.into()));
        assert_eq!(found["architectures"], json!(["SCMP_ARCH_X86_64"]));
        let groups = found["syscalls"].as_array().unwrap();
        assert_eq!(groups[0]["names"], json!(["execve", "read", "write"]));
        assert_eq!(groups[1]["names"], json!(["exit", "exit_group", "restart_syscall", "rt_sigreturn"]), "none twice");
        assert!(groups.iter().all(|group| group["action"] == "SCMP_ACT_ALLOW" && group.get("args").is_none()));
    }

    #[test]
    fn calls_by_other_gates_and_of_other_programs_have_their_architecture() {
        let found = filter(&profile(&["getpid(i386)", "read"]));
        assert_eq!(found["architectures"], json!(["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"]));
        assert_eq!(found["syscalls"][0]["names"], json!(["getpid", "read"]));
        let mut compat = profile(&["ugetrlimit"]);
        compat.warnings = vec!["32-bit programs (i386): m32; their calls have that architecture's names".into()];
        assert_eq!(filter(&compat)["architectures"], json!(["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"]));
        let unknown = Profile { host: Host::default(), ..profile(&["read"]) };
        assert_eq!(filter(&unknown).get("architectures"), None);
    }

    #[test]
    fn calls_of_further_runs_are_allowed_and_nameless_ones_are_named_in_a_caution() {
        let mut several = profile(&["read", "syscall(9999)", "rm -rf"]);
        several.repeats = vec![ProfileRun { calls: vec![call("write")], ..ProfileRun::default() }];
        assert_eq!(filter(&several)["syscalls"][0]["names"], json!(["read", "write"]));
        assert_eq!(cautions(&several), ["warning: calls without a name are not in the filter: rm -rf, syscall(9999)"]);
        several.complete = false;
        assert_eq!(cautions(&several).len(), 2);
    }

    #[test]
    fn what_does_not_know_all_calls_makes_no_filter() {
        let with = |tracer| Profile { tracer, ..profile(&["read"]) };
        let sampled = with(TracerFacts { sampled_hz: Some(99), ..TracerFacts::default() });
        assert!(refused(&sampled).contains("sampled"), "{}", refused(&sampled));
        assert!(refused(&with(TracerFacts { kind: "perf".into(), ..TracerFacts::default() })).contains("--calls"));
        assert!(refused(&profile(&[])).contains("no calls"));
    }

    #[test]
    fn added_calls_have_names_that_exist() {
        assert!(ADDED.iter().flat_map(|(_, names)| *names).all(|name| is_known(name)));
    }
}
