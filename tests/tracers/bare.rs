//! Places that lack what most have: no /proc, no devices, no capabilities, no directories of root on PATH. The message names what
//! is missing.

use crate::common::*;

/// What a command prints where these directories are empty; `None` where that cannot be made, which is said.
fn without(directories: &[&str], command: &Command) -> Option<String> {
    let empty = |directory: &&str| format!("mount -t tmpfs none {directory} && ");
    let script: String = directories.iter().map(empty).collect();
    let script = format!("{script} exec \"$@\"");
    let unshared = |command: &Command| behind("unshare --mount", &in_shell(&script, command));
    let output = unshared(&Command::new("true")).output();
    if !output.is_ok_and(|output| output.status.success()) {
        skip("no mount namespace can be made");
        return None;
    }
    let output = unshared(command).output().unwrap();
    let all = format!("{}{}", stdout(&output), stderr(&output));
    Some(unwrapped(&all))
}

#[test]
fn a_missing_device_is_named() {
    let place = Place::new();
    let run = place.command("run io.read_zero --time 0.1 --quiet");
    let text = needs!(without(&["/dev"], &run));
    expect_in(text, "ENOENT: /dev/zero: No such file or directory");
    let race = place.command("race --runs 1 true");
    let text = without(&["/dev"], &race).unwrap();
    expect_in(
        text,
        "cannot open /dev/null for the command: No such file or directory (ENOENT); mount a /dev that has it",
    );
}

#[test]
fn the_doctor_finds_what_is_not_mounted() {
    let place = Place::new();
    let doctor = place.command("doctor");
    let text = needs!(without(&["/proc", "/dev"], &doctor));
    expect_in(
        text,
        ["1 problem distorts", "problem no /proc/self, /dev/null"],
    );
    expect_not_in(stdout(&place.run("doctor")), "/proc/self");
}

#[test]
fn a_program_that_cannot_be_held_is_not_an_io_error() {
    let place = Place::new();
    let mut race = place.command("race --runs 1 true");
    race.env("TMPDIR", "/nowhere");
    let text = needs!(without(&["/proc"], &race));
    expect_in(text, ["/nowhere", "mount /proc, or set TMPDIR"]);
}

#[test]
fn root_in_a_container_learns_which_capabilities_it_lacks() {
    if !geteuid().is_root() {
        return skip("not root");
    }
    let place = Place::new();
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let refused = |line: &str| {
        let command = place.command(line);
        let bounded = behind("setpriv --bounding-set -all --inh-caps -all", &command).output();
        stderr(&bounded.unwrap())
    };
    let traced = refused(&format!("trace --tracer ptrace -p {}", other.id()));
    let counted = refused("trace --tracer bpf true");
    other.kill().unwrap();
    other.wait().unwrap();
    expect_in(
        &traced,
        "allow CAP_SYS_PTRACE (docker: --cap-add=SYS_PTRACE)",
    );
    expect_not_in(&traced, "another user");
    expect_in(
        &counted,
        "eBPF needs CAP_BPF and CAP_PERFMON, which root lacks here",
    );
    expect_not_in(&counted, "run it as root");
}

#[test]
fn programs_of_root_are_found_where_path_lacks_their_directory() {
    if !geteuid().is_root() || !Path::new("/usr/sbin/mkfs.ext4").exists() {
        return skip("not root, or no /usr/sbin/mkfs.ext4");
    }
    let place = Place::new();
    let mut run = place.command("run id.getppid --env loop-ext4 --time 0.1 --quiet");
    let output = run.env("PATH", "/usr/bin:/bin").output().unwrap();
    expect_not_in(stderr(&output), ["PATH", "mkfs.ext4: "]);
}

#[test]
fn an_ordinary_user_learns_what_podman_lacks() {
    if !geteuid().is_root() {
        return skip("not root: no other user to be");
    }
    let place = Place::new();
    for program in ["podman", "runc"] {
        write_program(&place.path().join(program), "#!/bin/sh\nexit 1\n");
    }
    let mut run = place.command_as_nobody("run id.getppid --env podman --time 0.1");
    let output = run.env("PATH", place.path()).output().unwrap();
    expect_error(&output, 2, "newuidmap is not on PATH; install uidmap");
}
