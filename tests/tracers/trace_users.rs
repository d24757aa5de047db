//! `syscost trace` as users with fewer rights meet it: ordinary users, callers of sudo, limits. Each refusal says what to do.

use crate::common::*;
use crate::support::{TRACERS, helper};

#[test]
fn what_only_ebpf_can_trace_is_told() {
    let place = Place::new();
    place.refuses(
        "trace --tracer ptrace",
        &[
            (
                "--all",
                1,
                "ptrace: the whole system: only eBPF can trace that",
            ),
            (
                "-p 1 --group process",
                1,
                "ptrace: counts by process, control group or thread: only eBPF can trace that",
            ),
            (
                "-p 1 --by thread",
                1,
                "ptrace: counts by process, control group or thread: only eBPF can trace that",
            ),
            (
                "-p 1 --stacks",
                1,
                "ptrace: stacks: only eBPF can trace that",
            ),
            (
                "-p 1 --descriptors",
                1,
                "ptrace: descriptors: only eBPF can trace that",
            ),
            (
                "-p 1 --slowest 5",
                1,
                "ptrace: the slowest calls: only eBPF can trace that",
            ),
        ],
    );
}

#[test]
fn a_set_user_id_program_runs_without_its_privilege_and_that_is_said() {
    let place = Place::new();
    if !geteuid().is_root() {
        return skip("making one needs root");
    }
    let program = helper(&place);
    fs::set_permissions(&program, Permissions::from_mode(0o4755)).unwrap();
    let mut alone = Command::new(&program);
    CommandExt::uid(&mut alone, 65534);
    if stdout(&alone.arg("euid").output().unwrap()) != "0\n" {
        return skip("the file system ignores the bit");
    }
    for options in &TRACERS[..2] {
        let command = format!("-- {} euid", program.display());
        let mut traced = place.command_as_nobody(("trace", options, command));
        let output = traced.output().unwrap();
        assert_eq!(stdout(&output), "65534\n", "{}", stderr(&output));
        let said = stderr(&output)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        expect_in(&said, "ran without that privilege");
    }
}

#[test]
fn an_ordinary_user_gets_a_tracer_without_asking() {
    let place = Place::new();
    let mut traced = place.command_without_rights("trace true");
    let output = traced.output().unwrap();
    expect_error(&output, 0, "syscost: tracer: ptrace");
}

#[test]
fn under_sudo_the_command_is_the_callers() {
    if !geteuid().is_root() {
        return skip("becoming another user needs root");
    }
    let place = Place::new();
    let run = |more: &str| {
        let shell = "-- sh -c 'id -u; echo $USER'";
        let mut command = place.command(("trace --tracer ptrace", more, shell));
        command
            .env("SUDO_UID", "65534")
            .env("SUDO_GID", "65534")
            .output()
            .unwrap()
    };
    let output = run("");
    assert_eq!(stdout(&output), "65534\nnobody\n", "{}", stderr(&output));
    expect_in(stderr(&output), "; the command runs as nobody\n");
    assert!(stdout(&run("--user root")).starts_with("0\n"));
    let unknown = run("--user no-such-user");
    expect_in(stderr(&unknown), "--user no-such-user: no such user");
}

#[test]
fn root_runs_a_command_as_whoever_became_root_or_not_at_all() {
    if !geteuid().is_root() {
        return skip("becoming another user needs root");
    }
    let place = Place::new();
    let run = |name: &str, value: &str| {
        let mut command = place.command("trace --tracer ptrace -- id -u");
        command.env(name, value).output().unwrap()
    };
    for (name, value) in [
        ("SUDO_UID", "65534"),
        ("PKEXEC_UID", "65534"),
        ("DOAS_UID", "65534"),
        ("DOAS_USER", "nobody"),
    ] {
        assert_eq!(stdout(&run(name, value)), "65534\n", "{name}");
        assert_eq!(stdout(&run(name, "0")), "0\n", "{name}");
        for wrong in ["-1", "1000x", "", "no-such-user"] {
            let output = run(name, wrong);
            let line = format!("{name}={wrong}: no such user");
            expect_error(&output, 1, [&*line, "--user"]);
            assert_eq!(stdout(&output), "");
        }
    }
}

/// A control group that limits processes and threads, removed when dropped.
struct Few(PathBuf);

impl Few {
    fn new() -> Option<Few> {
        let name = format!("syscost-test-{}", std::process::id());
        let made =
            ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(|root| Path::new(root).join(&name));
        let has_limit = |path: &PathBuf| {
            fs::create_dir(path)
                .is_ok_and(|()| path.join("pids.max").exists() || fs::remove_dir(path).is_err())
        };
        made.into_iter().find(has_limit).map(Few)
    }
}

impl Drop for Few {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn where_threads_are_refused_there_is_an_error() {
    let Some(group) = Few::new() else {
        return skip("no control group of processes can be made");
    };
    let place = Place::new();
    let script = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", group.0.display());
    for most in ["2", "3", "4", "5"] {
        fs::write(group.0.join("pids.max"), most).unwrap();
        for line in [
            "trace true",
            "trace --stacks true",
            "why true",
            "race true --versus true --runs 2",
        ] {
            let output = in_shell(&script, &place.command(line)).output().unwrap();
            let (status, text) = (output.status.code(), stderr(&output));
            let is_told = matches!(status, Some(1 | 126)) && text.contains("syscost: ");
            assert!(
                is_told || status == Some(0),
                "{most}, {line}: {status:?} {text}"
            );
        }
    }
}

/// An ordinary user learns in one line what is missing and what to do.
#[test]
fn what_takes_more_rights_says_which() {
    if !geteuid().is_root() {
        return skip("not root: no other user to be");
    }
    const BPF: &str = "eBPF needs CAP_BPF and CAP_PERFMON, which root has";
    let place = Place::new();
    for (arguments, said) in [
        (
            "trace -p 1",
            "it belongs to another user or is protected; try as root, or see kernel.yama.ptrace_scope",
        ),
        (
            "trace --tracer bpf true",
            "leave out --tracer for one that needs no rights, or run it as root",
        ),
        (
            "trace --all --for 1",
            "only eBPF can trace that; run it as root",
        ),
        ("trace --all --for 1", BPF),
        ("trace --sampled true", BPF),
        ("trace --sampled true", "; run it as root"),
        (
            "top --all --count 1",
            "needs CAP_BPF and CAP_PERFMON, which root has; run it as root",
        ),
        (
            "top --count 1 -- true",
            "needs CAP_BPF and CAP_PERFMON, which root has; run it as root",
        ),
    ] {
        let done = place
            .command_as_nobody(arguments)
            .arg("--quiet")
            .output()
            .unwrap();
        let text = stderr(&done);
        expect_status(&done, 1);
        let last = text.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("syscost: ")
                && !last.starts_with("syscost: trace:")
                && last.contains(said),
            "{text}"
        );
        assert!(
            !last.contains("--tracer") || arguments.contains("--tracer"),
            "{text}"
        );
    }
}
