//! `syscost trace` inside a PID namespace, as in a container: the numbers there are not the kernel's own. A process
//! outside has the very number that the traced one has inside, and makes another call, so that a stranger shows.

use crate::common::*;
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
    let program = place.path().join("busy");
    place.write("busy.c", BUSY);
    assert!(cc(format!("-o {0} {0}.c", program.display())));
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
fn inside(place: &Place, script: &str, words: impl Line, mount: bool) -> Output {
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--kill-child"])
        .args(mount.then_some("--mount-proc"));
    command
        .args(["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_syscost")])
        .args(words.words());
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

fn traced_by_number(options: impl Line) -> String {
    let place = Place::new();
    let program = busy(&place);
    let outside = Outside::start(&program);
    let number = outside.0.id().to_string();
    let words = (
        format!("{} {} --format csv", program.display(), number.as_str()),
        options,
    );
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
    for options in ["--tracer bpf", "--tracer ptrace"] {
        if options.contains("bpf") && !has_bpf() {
            continue;
        }
        let text = traced_by_number(options);
        // The one inside, and no stranger.
        assert!(has_row(&text, "getsid"), "{options}: {text}");
        assert!(!has_row(&text, "getpgid"), "{options}: {text}");
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
        let output = inside(
            &place,
            script,
            format!("{} {tracer}", program.display()),
            true,
        );
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
child() { inner=$(tr -d ' ' <"/proc/$1/task/$1/children") && [ "$(cat "/proc/$inner/comm")" = busy ]; }
until child $! 2>/dev/null; do tries=$((tries + 1)); [ $tries -lt 500 ] || exit 98; sleep 0.01; done
"$1" trace -p "$inner" --tracer bpf --for 0.5 --format csv
status=$?
kill -KILL $!
exit $status"#;
    let output = inside(&place, script, [program.to_str().unwrap()], true);
    expect_status(&output, 0);
    assert!(has_row(&stderr(&output), "getsid"), "{}", stderr(&output));
}

/// The way that container engines make one: by bwrap, with user, PID, IPC and mount namespaces of its own.
#[test]
fn in_a_container_the_tracer_is_one_that_can_be_had() {
    let place = Place::new();
    let line = "bwrap --bind / / --dev /dev --proc /proc --unshare-all --die-with-parent";
    let is_usable = behind((line, "true"), &Command::new("true")).status();
    if !is_usable.is_ok_and(|status| status.success()) {
        return skip("no bwrap (bubblewrap) that works here");
    }
    let program = busy(&place).display().to_string();
    let trace = place.command(("trace --format csv --report calls.csv --", &program, "sid"));
    let output = behind(line, &trace).output().unwrap();
    let text = stderr(&output);
    expect_status(&output, 0);
    expect_in(&text, ["syscost: tracer: ptrace", "bpf: "]);
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
    let output = inside(&place, r#""$1" trace -p 1 --for 0.1"#, "", false);
    expect_status(&output, 1);
    let text = stderr(&output);
    expect_start(
        &text,
        "syscost: /proc shows another PID namespace: mount one for this",
    );
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn without_proc_every_command_ends_with_an_error_or_its_result() {
    let place = Place::new();
    let script = "mount -t tmpfs none /proc && exec \"$@\"";
    let mount = ["unshare", "--mount", "sh", "-c", script, "sh"];
    let hidden = |line: &str| behind(mount, &place.command(line)).output().unwrap();
    if !geteuid().is_root() || !hidden("--version").status.success() {
        return skip("no file system can be mounted over /proc: needs root and unshare(1)");
    }
    assert!(place.run("trace --out p.json true").status.success());
    for line in ["trace true", "trace -p 1", "top -p 1"] {
        let output = hidden(line);
        let text = stderr(&output);
        expect_start(
            &text,
            "syscost: /proc does not show us: mount one for this namespace",
        );
        assert_eq!(
            (output.status.code(), text.lines().count()),
            (Some(1), 1),
            "{line}: {text}"
        );
    }
    // The dynamic loader finds the probe's libraries by /proc; a static probe needs none.
    for what in ["id.getppid", "bash:true"] {
        let run = hidden(&format!("run {what} --time 0.3 --quiet"));
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
    let attributed = hidden("why p.json");
    assert_eq!(
        stdout(&attributed),
        stdout(&place.run("why p.json")),
        "{}",
        stderr(&attributed)
    );
    let doctor = hidden("doctor");
    assert!(
        doctor.status.success() && stdout(&doctor).contains("processors"),
        "{}",
        stderr(&doctor)
    );
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
}
