//! `explain -- COMMAND`: commands in an emulated kernel. Needs an emulator and an image that 'syscost kernel fetch' got.

use crate::common::*;
use crate::machines::workers;
use explain::program::measure;
use measure::runner::RunDirectory;
use model::program::{ProgramInKernels, Split};
use std::ffi::OsString;

/// Programs that call getppid 4,000 times, and execute so many instructions in user mode for each; 4 more begin and end them.
const MIXTURES: [(&str, &str, u64); 2] = [
    (
        "-m64",
        r#"__asm__(".globl _start\n_start: mov $4000, %r12d\n1: mov $625, %ecx\n2: dec %ecx\n jne 2b\n mov $110, %eax\n"
           "syscall\n dec %r12d\n jne 1b\n mov $60, %eax\n xor %edi, %edi\n syscall\n");"#,
        1_255,
    ),
    (
        "-m32",
        r#"__asm__(".globl _start\n_start: mov $4000, %esi\n1: mov $625, %ecx\n2: dec %ecx\n jne 2b\n mov $64, %eax\n"
           "int $0x80\n dec %esi\n jne 1b\n mov $1, %eax\n xor %ebx, %ebx\n int $0x80\n");"#,
        1_255,
    ),
];
const CALLS: u64 = 4_000;
/// Tries in a guest what would let it answer for its launcher, and fails if it may do any of it; prints where it is what it counts.
const FORGER: &str = r#"#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>
static int opens(const char *path, int how) { return open(path, how) >= 0; }
int main(void) {
    char line[4096] = "", memory[64];
    FILE *parameters = fopen("/proc/cmdline", "r");
    struct stat own;
    if (parameters) fgets(line, sizeof line, parameters);
    if (!strstr(line, "SYSCOST_")) return 0;
    snprintf(memory, sizeof memory, "/proc/%d/mem", (int)getppid());
    printf("@1 ran 0 777\n");
    if (opens(memory, O_RDONLY) || opens("/proc/1/mem", O_RDONLY)) return 10;
    if (opens("/dev/ttyS0", O_RDONLY) || opens("/dev/ttyS0", O_WRONLY) || opens("/dev/console", O_WRONLY)) return 11;
    if (opens("/dev/mem", O_RDONLY) || opens("/dev/port", O_RDONLY) || ioperm(0x510, 2, 1) == 0 || iopl(3) == 0) return 12;
    if (ptrace(PTRACE_ATTACH, 1, 0, 0) == 0 || ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0) return 13;
    if (kill(1, 0) == 0 || kill(getppid(), 0) == 0) return 14;
    if (opens("/proc/sys/kernel/core_pattern", O_WRONLY) || mount("none", "/tmp", "tmpfs", 0, "") == 0) return 15;
    if (mknod("console", S_IFCHR | 0600, 4 << 8 | 64) == 0) return 16;
    return stat("/", &own) == 0 && own.st_uid == 0 && !(geteuid() == 0 && chmod("/", own.st_mode) != 0) ? 0 : 17;
}
"#;

fn compiled(directory: &Path, source: &str, flags: &str) -> Option<PathBuf> {
    let program = directory.join("program");
    fs::write(directory.join("program.c"), source).unwrap();
    cc(format!("{flags} -o {0} {0}.c", program.display())).then_some(program)
}

fn measured(name: &str, program: &Path) -> Option<ProgramInKernels> {
    let workers = workers(RunDirectory::create().unwrap());
    let (command, names) = ([OsString::from(program)], [name.to_string()]);
    match measure(&workers, &command, &names, 2, &mut |_| {}) {
        Err(error) if error.to_string().contains("ptrace was refused") => {
            skip(&error.to_string());
            None
        }
        found => Some(found.unwrap()),
    }
}

#[test]
fn modes_of_a_known_mixture_are_told_apart() {
    let name = needs!(emulated_kernel());
    let directory = tempfile::tempdir().unwrap();
    let mixtures = if is_left_to_heavy("a program of 32 bits") {
        1
    } else {
        MIXTURES.len()
    };
    for (bits, source, each) in MIXTURES.into_iter().take(mixtures) {
        match compiled(
            directory.path(),
            source,
            &format!("{bits} -static -nostdlib"),
        ) {
            None => skip(&format!("cc {bits} builds no program without a library")),
            Some(program) => check_mixture(&name, &program, CALLS * each + 4),
        }
    }
}

#[test]
fn a_program_does_not_answer_in_place_of_its_launcher() {
    let name = needs!(emulated_kernel());
    let directory = tempfile::tempdir().unwrap();
    let Some(program) = compiled(directory.path(), FORGER, "-w") else {
        return skip("no cc");
    };
    // Its status is 0 here, and what ends differently there is an error.
    let found = needs!(measured(&name, &program));
    assert!(
        found.kernels[0].fewest > 100_000,
        "{:?}",
        found.kernels[0].runs
    );
}

fn check_mixture(name: &str, program: &Path, in_user_mode: u64) {
    let found = needs!(measured(name, program));
    let kernel = &found.kernels[0];

    let calls = [("execve", 1), ("exit", 1), ("getppid", CALLS)];
    let plain: BTreeMap<&str, u64> = kernel
        .calls
        .iter()
        .map(|(call, times)| (call.trim_end_matches("(i386)"), *times))
        .collect();
    assert_eq!(plain, BTreeMap::from(calls));
    assert_eq!(
        (&found.native.calls, found.native.status),
        (&kernel.calls, 0)
    );
    assert!(kernel.missed.is_empty(), "{:?}", kernel.missed);

    assert_eq!(kernel.split.user, Some(in_user_mode));
    check_split(&kernel.split, &calls);
    assert!(
        kernel.most - kernel.fewest <= kernel.instructions / 50,
        "{:?}",
        kernel.runs
    );
}

/// Instructions are charged to these calls and to no other ones.
fn check_split(split: &Split, calls: &[(&str, u64)]) {
    let charged = split
        .by_call
        .iter()
        .map(|row| (row.call.as_str(), row.entries));
    let charged: Vec<(&str, u64)> = charged.filter(|(call, _)| !call.starts_with('[')).collect();
    assert!(
        charged.iter().all(|row| calls.contains(row)),
        "calls of the launcher: {charged:?}"
    );
    let getppid = split
        .by_call
        .iter()
        .find(|row| row.call == "getppid")
        .unwrap();
    assert_eq!(getppid.entries, CALLS);
    assert!(
        (100..2000).contains(&(getppid.instructions / CALLS)),
        "{getppid:?}"
    );
    let functions = split.functions.iter();
    let functions: u64 = functions.map(|function| function.self_instructions).sum();
    let by_call: u64 = split.by_call.iter().map(|row| row.instructions).sum();
    let kernel_mode = split.kernel_mode.unwrap();
    assert_eq!((by_call, functions), (kernel_mode, kernel_mode));
    let function = split
        .functions
        .iter()
        .find(|function| function.function == "__x64_sys_getppid")
        .unwrap();
    assert_eq!(function.mostly_for, "getppid");
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let place = Place::new();
    place.refuses(
        "explain",
        &[
            ("--env native -- true", 2, "an emulated kernel"),
            ("-- true", 2, "add --env linux-6.1"),
            (
                "id.getppid --env linux-6.1 -- true",
                2,
                "cannot be used with",
            ),
            ("--env no-such-kernel -- true", 2, "no-such-kernel"),
            // Neither the command has run nor the probe was compiled.
            (
                "--env linux-0.1 -- no-such-program",
                2,
                "'syscost kernel fetch 0.1'",
            ),
            (
                "--env linux-next -- true",
                2,
                "'next' is not a kernel version, such as 6.1",
            ),
        ],
    );
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
}
