//! The eBPF tracer in other kernels: what one verifier takes, another one may refuse.

use crate::common::*;
use crate::machines::workers;
use explain::program::command_files;
use measure::guest::{CommandFiles, Guest, Options, Ran};
use measure::runner::{Interrupt, RunDirectory};
use std::ffi::OsString;
use std::path::Path;
use std::rc::Rc;
use trace::gather::{Gathered, gather};

const MEMORY_MIB: u32 = 512;

#[test]
fn verifiers_of_other_kernels_take_the_programs() {
    if !has_bpf() {
        return;
    }
    let traced = [
        "trace --tracer bpf --counts",
        "trace --tracer bpf --paths --descriptors --stacks",
        "why",
    ]
    .map(|command| format!("SYSCOST {command} -- true"));
    let directory = tempfile::tempdir().unwrap();
    let gathered = needs!(gathered(directory.path(), &traced.join(" && ")));
    // The oldest refuses most.
    let series = one_of_each_kind(&["6.1", "6.12", "7.3"], &["6.1", "7.3"]);
    std::thread::scope(|scope| {
        for series in series {
            let name = needs!(emulated_kernel_of(series, "x86_64"));
            let files = command_files(&gathered);
            scope.spawn(move || {
                let ran = run(&name, files);
                assert_eq!(ran.status, 0, "{name}: {:?}", ran.said);
            });
        }
    });
}

/// Each tracer counts six shells that fork in loops and preempt each other on the guest's only CPU.
#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn no_call_is_lost_where_programs_are_preempted() {
    if !has_bpf() {
        return;
    }
    let name = needs!(emulated_kernel_of("7.3", "x86_64"));
    let count = |tracer| {
        format!(
            "SYSCOST trace --tracer {tracer} --quiet --counts -- sh -c '
                count() {{ i=0; while [ $i -lt 500 ]; do i=$((i+1)); : >/dev/null; done; }}
                many() {{ i=0; while [ $i -lt 50 ]; do i=$((i+1)); (exit 0); done; count; }}
                for shell in 1 2 3 4 5 6; do many & done
                wait' 2>&1 | grep -E 'openat|lost|processes' >&2"
        )
    };
    let directory = tempfile::tempdir().unwrap();
    let script = ["bpf", "ptrace"].map(count).join("; ");
    let gathered = needs!(gathered(directory.path(), &script));
    let ran = run(&name, command_files(&gathered));
    let number = |line: &String| {
        let mut words = line.split_whitespace();
        words
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .map(str::to_string)
    };
    let counts: Vec<_> = ran.said.iter().filter_map(number).collect();
    assert_eq!(counts.len(), 4, "{ran:?}");
    assert_eq!(counts[..2], counts[2..], "{ran:?}");
    assert!(
        counts[0].starts_with("3,0") && counts[1] == "307",
        "{ran:?}"
    );
}

/// A script whose word SYSCOST is this program, without what only debuggers read.
fn gathered(directory: &Path, script: &str) -> Option<Gathered> {
    let program = directory.join("syscost");
    let stripped = Command::new("strip")
        .arg("-o")
        .arg(&program)
        .arg(env!("CARGO_BIN_EXE_syscost"))
        .status();
    if !stripped.is_ok_and(|status| status.success()) {
        skip("no strip");
        return None;
    }
    let script = script.replace("SYSCOST", &program.to_string_lossy());
    let command = ["sh", "-c", &script].map(OsString::from);
    Some(gather(&command, directory, u64::MAX, &Interrupt::default()).unwrap())
}

/// As the guest's root, who may load eBPF programs.
fn run(name: &str, mut files: CommandFiles) -> Ran {
    files.first_user = 0;
    let options = Options {
        memory_mib: MEMORY_MIB,
        command: Some(Rc::new(files)),
        ..Options::default()
    };
    let workers = workers(RunDirectory::create().unwrap());
    let guest = Guest::boot(&workers, name, &options).unwrap();
    let program = guest.program(PATIENCE).unwrap();
    program.run_with_errors().unwrap()
}
