//! `explain -- COMMAND`: commands in an emulated kernel. Needs an emulator and an image that 'syscost kernel fetch' got.

use crate::common::{Place, emulated_kernel, skip, stderr};
use crate::machines::workers;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use syscost::explain::program::{Repeats, measure};
use syscost::runner::RunDirectory;

/// Calls getppid 4,000 times, and executes 1,255 instructions in user mode for each; 4 more begin and end it.
const MIXTURE: &str = r#"__asm__(
    ".globl _start\n_start: mov $4000, %r12d\n"
    "1: mov $625, %ecx\n2: dec %ecx\n jne 2b\n mov $110, %eax\n syscall\n dec %r12d\n jne 1b\n"
    "mov $60, %eax\n xor %edi, %edi\n syscall\n");"#;
const CALLS: u64 = 4_000;
const USER: u64 = CALLS * 1_255 + 4;

fn mixture(directory: &Path) -> Option<PathBuf> {
    let (source, program) = (directory.join("mixture.c"), directory.join("mixture"));
    std::fs::write(&source, MIXTURE).unwrap();
    let mut compile = Command::new("cc");
    compile.args(["-static", "-nostdlib", "-o"]).args([&program, &source]);
    compile.status().is_ok_and(|status| status.success()).then_some(program)
}

#[test]
fn modes_of_a_known_mixture_are_told_apart() {
    const TEST: &str = "modes_of_a_known_mixture_are_told_apart";
    let Some(name) = emulated_kernel(TEST) else { return };
    let directory = tempfile::tempdir().unwrap();
    let Some(program) = mixture(directory.path()) else { return skip(TEST, "cc builds no program without a library") };
    let workers = workers(RunDirectory::create().unwrap());
    let command = [OsString::from(program)];
    let repeats = Repeats { boots: 1, runs: 2 };
    let found = measure(&workers, &command, std::slice::from_ref(&name), repeats, &mut |_| {});
    let found = match found {
        Err(error) if error.to_string().contains("ptrace was refused") => return skip(TEST, &error.to_string()),
        found => found.unwrap(),
    };
    let kernel = &found.kernels[0];

    let calls = [("execve", 1), ("exit", 1), ("getppid", CALLS)].map(|(call, times)| (call.to_string(), times));
    assert_eq!(kernel.calls, BTreeMap::from(calls));
    assert_eq!((&found.native.calls, found.native.status), (&kernel.calls, 0));
    assert!(kernel.missed.is_empty(), "{:?}", kernel.missed);

    let (user, mode) = (kernel.split.user.unwrap(), kernel.split.kernel_mode.unwrap());
    assert!(user.abs_diff(USER) <= USER / 50, "{user} in user mode, {USER} are in the program");
    let getppid = kernel.split.by_call.iter().find(|row| row.call == "getppid").unwrap();
    assert_eq!(getppid.entries, CALLS);
    assert!((100..2000).contains(&(getppid.instructions / CALLS)), "{getppid:?}");
    let functions: u64 = kernel.split.functions.iter().map(|function| function.own).sum();
    let by_call: u64 = kernel.split.by_call.iter().map(|row| row.instructions).sum();
    assert_eq!((by_call, functions), (mode, mode));
    let own = kernel.split.functions.iter().find(|function| function.function == "__x64_sys_getppid").unwrap();
    assert_eq!(own.mostly_for, "getppid");
    assert!(kernel.most - kernel.fewest <= kernel.instructions / 50, "{:?}", kernel.runs);
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let place = Place::new();
    let cases: [(&[&str], i32, &str); 4] = [
        (&["--env", "native", "--", "true"], 2, "an emulated kernel"),
        (&["--", "true"], 2, "add --env linux-6.1"),
        (&["id.getppid", "--env", "linux-6.1", "--", "true"], 2, "cannot be used with"),
        (&["--env", "no-such-kernel", "--", "true"], 2, "no-such-kernel"),
    ];
    place.refuses(&["explain"], &cases);
    let missing = place.run(&["explain", "--env", "linux-6.1", "--", "no-such-program"]);
    assert!(!missing.status.success() && stderr(&missing).contains("'no-such-program'"), "{}", stderr(&missing));
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
}
