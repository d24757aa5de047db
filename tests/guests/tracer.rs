//! The eBPF tracer in other kernels: what one verifier takes, another one may refuse.

use crate::common::*;
use crate::machines::workers;
use explain::program::command_files;
use measure::guest::{CommandFiles, Guest, Options, Ran};
use measure::runner::{Interrupt, RunDirectory};
use std::ffi::OsString;
use std::rc::Rc;
use trace::gather::gather;

const MEMORY_MIB: u32 = 512;

#[test]
fn verifiers_of_other_kernels_take_the_programs() {
    if !has_bpf() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("syscost");
    let stripped = Command::new("strip")
        .arg("-o")
        .arg(&program)
        .arg(env!("CARGO_BIN_EXE_syscost"))
        .status();
    if !stripped.is_ok_and(|status| status.success()) {
        return skip("no strip");
    }
    let program = program.display();
    // Since Linux 7.2 a program may be preempted, so that an execution can lose events and says so: rarely three times in a row.
    let traced = ["--counts", "--paths --descriptors --stacks"].map(|options| {
        let once = format!("{program} trace --tracer bpf --quiet {options} -- true");
        format!("{{ {once} || {once} || {once}; }}")
    });
    let script = traced.join(" && ");
    let command = ["sh", "-c", &script].map(OsString::from);
    let gathered = gather(&command, directory.path(), u64::MAX, &Interrupt::default()).unwrap();
    std::thread::scope(|scope| {
        for series in ["6.1", "6.12", "7.3"] {
            let name = needs!(emulated_kernel_of(series, "x86_64"));
            let files = command_files(&gathered);
            scope.spawn(move || {
                let ran = run(&name, files);
                assert_eq!(ran.status, 0, "{name}: {:?}", ran.said);
            });
        }
    });
}

fn run(name: &str, files: CommandFiles) -> Ran {
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
