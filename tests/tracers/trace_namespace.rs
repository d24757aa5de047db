//! `syscost trace` inside a PID namespace, as in a container: the numbers there are not the kernel's own. A process
//! outside has the very number that the traced one has inside, and makes another call, so that a stranger shows.

use crate::common::{Place, expect_status, has_bpf, skip, stderr, stdout};
use nix::unistd::geteuid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use sys::bpf;

/// Makes getpgid calls, or getsid calls, every millisecond until its input ends.
const BUSY: &str = r#"
#include <poll.h>
#include <unistd.h>
int main(int count, char **words) {
    (void)words;
    struct pollfd input = {.fd = 0, .events = POLLIN};
    do for (int i = 0; i < 50; i++) { if (count > 1) getsid(0); else getpgid(0); }
    while (poll(&input, 1, 1) == 0);
    return 0;
}
"#;

/// Whether namespaces can be made here, which needs root. Says so where not.
fn is_possible() -> bool {
    let unshared = || {
        Command::new("unshare")
            .args(["--pid", "--fork", "--mount-proc", "true"])
            .output()
    };
    let possible = geteuid().is_root() && unshared().is_ok_and(|output| output.status.success());
    if !possible {
        skip("no PID namespace can be made here: needs root and unshare(1)");
    }
    possible
}

fn busy(place: &Place) -> PathBuf {
    let (source, program) = (place.path().join("busy.c"), place.path().join("busy"));
    std::fs::write(&source, BUSY).unwrap();
    assert!(
        Command::new("cc")
            .arg("-o")
            .arg(&program)
            .arg(source)
            .status()
            .unwrap()
            .success()
    );
    program
}

/// The process outside. It ends when the test drops its input.
struct Outside(Child);

impl Outside {
    fn start(program: &Path) -> Outside {
        Outside(
            Command::new(program)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Runs `script` with sh in a PID namespace of its own. Its words: the program, then `words`.
fn inside(place: &Place, script: &str, words: &[&str], mount: bool) -> Output {
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--kill-child"])
        .args(mount.then_some("--mount-proc"));
    command
        .args(["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_syscost")])
        .args(words);
    command
        .current_dir(place.path())
        .env("TMPDIR", place.tmp())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// `words`: the busy program, the number that it is to have, and what trace is told besides.
const TRACE_A_NUMBER: &str = r#"
syscost=$1 busy=$2 number=$3; shift 3
mkfifo held && exec 9<>held
echo $((number - 1)) > /proc/sys/kernel/ns_last_pid
"$busy" sid <&9 &
[ $! = "$number" ] || { echo "the process got number $!" >&2; exit 99; }
"$syscost" trace -p "$number" --for 0.5 "$@"
status=$?
kill -KILL $!
exit $status
"#;

/// What a trace of the inner process says that has the number of the outer one.
fn traced_by_number(options: &[&str]) -> String {
    let place = Place::new();
    let program = busy(&place);
    let outside = Outside::start(&program);
    let number = outside.0.id().to_string();
    let words = [
        &[
            program.to_str().unwrap(),
            number.as_str(),
            "--format",
            "csv",
        ],
        options,
    ]
    .concat();
    let output = inside(&place, TRACE_A_NUMBER, &words, true);
    expect_status(&output, 0);
    stderr(&output)
}

fn has_row(text: &str, call: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with(&format!("{call},")))
}

#[test]
fn each_tracer_means_the_number_that_the_caller_means() {
    if !is_possible() {
        return;
    }
    let ways: [&[&str]; 2] = [&["--tracer", "bpf"], &["--tracer", "ptrace"]];
    for options in ways {
        if options[1] == "bpf" && !has_bpf() {
            continue;
        }
        let text = traced_by_number(options);
        assert!(
            has_row(&text, "getsid"),
            "{options:?} misses the one inside: {text}"
        );
        assert!(
            !has_row(&text, "getpgid"),
            "{options:?} counts a stranger: {text}"
        );
    }
}

#[test]
fn a_command_and_its_children_are_followed_in_a_namespace() {
    if !is_possible() {
        return;
    }
    let place = Place::new();
    let program = busy(&place);
    let _outside = Outside::start(&program);
    let tracers: &[&str] = if bpf::available().is_ok() {
        &["bpf", "ptrace"]
    } else {
        &["ptrace"]
    };
    for tracer in tracers {
        let script =
            r#""$1" trace --tracer "$3" --format csv -- sh -c '"$0" sid </dev/null & wait' "$2""#;
        let output = inside(&place, script, &[program.to_str().unwrap(), tracer], true);
        let text = stderr(&output);
        assert!(
            text.lines().any(|line| line.starts_with("getsid,50,")),
            "{tracer}: {text}"
        );
        assert!(!has_row(&text, "getpgid"), "{tracer}: {text}");
    }
}

/// Seen from outside, a process of a namespace has another number, and is meant by that.
#[test]
fn a_process_of_an_inner_namespace_is_traced_from_outside() {
    if !is_possible() || bpf::available().is_err() {
        return skip("no eBPF or no namespaces");
    }
    let place = Place::new();
    let program = busy(&place);
    // Twice, so that the tracer is in a namespace itself, too.
    let script = r#"
mkfifo held && exec 9<>held
unshare --pid --fork --kill-child "$2" sid <&9 &
tries=0
until inner=$(pgrep -x -P $! busy); do tries=$((tries + 1)); [ $tries -lt 500 ] || exit 98; sleep 0.01; done
"$1" trace -p "$inner" --tracer bpf --for 0.5 --format csv
status=$?
kill -KILL $!
exit $status"#;
    let output = inside(&place, script, &[program.to_str().unwrap()], true);
    expect_status(&output, 0);
    assert!(has_row(&stderr(&output), "getsid"), "{}", stderr(&output));
}

/// The way that container engines make one: by bwrap, with user, PID, IPC and mount namespaces of its own.
#[test]
fn in_a_container_the_tracer_is_one_that_can_be_had() {
    let place = Place::new();
    let bwrap = |words: &[&str]| {
        let mut command = Command::new("bwrap");
        command.args([
            "--bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--unshare-all",
            "--die-with-parent",
        ]);
        command
            .args(words)
            .current_dir(place.path())
            .env("TMPDIR", place.tmp())
            .stdin(Stdio::null())
            .output()
    };
    if !bwrap(&["true"]).is_ok_and(|output| output.status.success()) {
        return skip("no bwrap (bubblewrap) that works here");
    }
    let program = busy(&place);
    let trace = [
        env!("CARGO_BIN_EXE_syscost"),
        "trace",
        "--format",
        "csv",
        "--report",
        "calls.csv",
        "--",
    ];
    let output = bwrap(&[&trace[..], &[program.to_str().unwrap(), "sid"]].concat()).unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("syscost: tracer: ptrace") && text.contains("bpf: "),
        "{text}"
    );
    let calls = place.read("calls.csv");
    assert!(
        calls.lines().any(|line| line.starts_with("getsid,50,")),
        "{calls}"
    );
}

#[test]
fn a_proc_of_another_namespace_is_refused_in_one_line() {
    if !is_possible() {
        return;
    }
    let place = Place::new();
    let output = inside(&place, r#""$1" trace -p 1 --for 0.1"#, &[], false);
    expect_status(&output, 1);
    let text = stderr(&output);
    assert!(
        text.starts_with("syscost: /proc shows another PID namespace: mount one for this"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn without_proc_every_command_ends_with_an_error_or_its_result() {
    let hidden = |words: &[&str], place: &Place| {
        let mut command = place.command(&[]);
        let program = command.get_program().to_owned();
        command = Command::new("unshare");
        command
            .args([
                "--mount",
                "sh",
                "-c",
                r#"mount -t tmpfs none /proc && exec "$0" "$@""#,
            ])
            .arg(program)
            .args(words);
        command
            .current_dir(place.path())
            .env("TMPDIR", place.tmp())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let place = Place::new();
    if !geteuid().is_root() || !hidden(&["--version"], &place).status.success() {
        return skip("no file system can be mounted over /proc: needs root and unshare(1)");
    }
    assert!(
        place
            .run(&["trace", "--out", "p.json", "true"])
            .status
            .success()
    );
    for words in [
        &["trace", "true"][..],
        &["trace", "-p", "1"],
        &["top", "-p", "1"],
    ] {
        let output = hidden(words, &place);
        let text = stderr(&output);
        assert!(
            text.starts_with("syscost: /proc does not show us: mount one for this namespace"),
            "{text}"
        );
        assert_eq!(
            (output.status.code(), text.lines().count()),
            (Some(1), 1),
            "{words:?}: {text}"
        );
    }
    // The dynamic loader finds the probe's libraries by /proc; a static probe needs none.
    for what in ["id.getppid", "bash:true"] {
        let run = hidden(&["run", what, "--time", "0.3", "--quiet"], &place);
        let text = stderr(&run);
        match run.status.code() {
            Some(0) => assert!(stdout(&run).contains(what), "{}", stdout(&run)),
            Some(2) => assert!(
                text.contains("; mount /proc: ") && text.lines().count() == 1,
                "{text}"
            ),
            other => panic!("{other:?} {text}"),
        }
    }
    let attributed = hidden(&["why", "p.json"], &place);
    assert_eq!(
        stdout(&attributed),
        stdout(&place.run(&["why", "p.json"])),
        "{}",
        stderr(&attributed)
    );
    let doctor = hidden(&["doctor"], &place);
    assert!(
        doctor.status.success() && stdout(&doctor).contains("processors"),
        "{}",
        stderr(&doctor)
    );
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
}
