//! Workloads whose system calls are known, and the eBPF tracer on them.

#![allow(dead_code)]

use crate::common::*;
use model::{CallCount, Ending, Profile};
use sys::bpf;
use trace::{Command as Traced, Detail, More, Root, Running, Target, TraceOptions, Tracer, Until};

/// The workloads, built once; `None` where they cannot be traced here, which is said.
pub fn workload() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| match bpf::available() {
        Ok(()) => Some(build()),
        Err(why) => {
            skip(&why);
            None
        }
    });
    built.as_deref()
}

pub fn build() -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trace-bpf-workload");
    assert!(compile(&program, ""));
    program
}

pub fn compile(program: &Path, flags: &str) -> bool {
    let words = "-O1 -fno-omit-frame-pointer -pthread tests/trace_bpf/workload.c";
    cc(format!("{words} {flags} -o {}", program.display()))
}

/// A command that waits before its execve: a shell that reads a line first. Its output is dropped.
pub fn held(command: impl Line) -> Child {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "read go; exec \"$@\"", "sh"])
        .args(command.words());
    shell
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub fn open(detail: Detail, held: bool) -> Box<dyn Tracer> {
    let target = match held {
        true => Target::Command(Traced::default()),
        false => Target::Running(Running::Processes(Vec::new())),
    };
    open_for(target, detail, More::default())
}

pub fn open_for(target: Target, detail: Detail, more: More) -> Box<dyn Tracer> {
    trace::bpf::open(&TraceOptions {
        target,
        tracer: None,
        detail,
        time: None,
        more,
    })
    .unwrap()
}

pub fn traced(command: impl Line, detail: Detail) -> Profile {
    traced_by(open(detail, true), command)
}

/// Traces a command with a tracer that was opened for one.
pub fn traced_by(mut tracer: Box<dyn Tracer>, command: impl Line) -> Profile {
    let mut child = held(command);
    // The shell is to wait in its read: an execve of its own that returns later would count as the command's.
    sleep(Duration::from_millis(50));
    tracer.attach(Root::Held(child.id())).unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    // Long enough for all of them: what hangs is to fail here.
    tracer
        .follow(&Until {
            after: Some(PATIENCE),
            ..Until::default()
        })
        .unwrap();
    let collected = tracer.collect().unwrap();
    // A shell's, for a command that it cannot find or execute.
    let is_executed = |ending: Ending| ![126, 127].contains(&ending.status());
    assert!(
        collected.ending.is_some_and(is_executed),
        "{:?}",
        collected.ending
    );
    assert!(child.wait().is_err(), "the tracer reaps the command");
    assert_eq!(collected.tracer.lost, 0, "{:?}", collected.warnings);
    collected
}

pub fn rows<'a>(collected: &'a Profile, call: &'a str) -> impl Iterator<Item = &'a CallCount> {
    collected
        .groups
        .iter()
        .flat_map(|group| &group.calls)
        .filter(move |row| row.call == call)
}

pub fn count(collected: &Profile, call: &str) -> u64 {
    rows(collected, call).map(|row| row.calls).sum()
}

pub fn errors(collected: &Profile, call: &str, error: &str) -> u64 {
    rows(collected, call)
        .map(|row| row.errors.get(error).copied().unwrap_or(0))
        .sum()
}

pub fn run(arguments: impl Line, detail: Detail) -> Option<Profile> {
    let program = workload()?.to_str().unwrap();
    Some(traced((program, arguments), detail))
}

pub fn run_with(arguments: impl Line, detail: Detail, more: More) -> Option<Profile> {
    let program = workload()?.to_str().unwrap();
    Some(run_command_with((program, arguments), detail, more))
}

pub fn run_command_with(command: impl Line, detail: Detail, more: More) -> Profile {
    let target = Target::Command(Traced::default());
    traced_by(open_for(target, detail, more), command)
}
