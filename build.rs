//! Builds the probe and its companion programs with the system's C compiler, into OUT_DIR, from where
//! `src/runner/files.rs` embeds them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

include!("src/probe_build.rs");

/// If it is 1, nothing is compiled and the programs are empty files: for `cargo check` where there is no C compiler for the
/// target. What is built so says at its start that it cannot measure.
const WITHOUT_PROBE: &str = "SYSCOST_WITHOUT_PROBE";

fn main() {
    for watched in ["probe", "languages", "environments", "schema", "studies", "src/probe_build.rs"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    println!("cargo::rerun-if-env-changed={WITHOUT_PROBE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if env::var_os(WITHOUT_PROBE).is_some_and(|value| value == "1") {
        return leave_out(&out);
    }
    let compiler = cc::Build::new().cargo_metadata(false).cargo_warnings(false).get_compiler();
    println!("cargo::rustc-env=SYSCOST_COMPILER={}", version(&compiler));
    for program in programs("probe", &sources(), &out.display().to_string(), false) {
        build(&compiler, &program, &out.join(program.name));
    }
    for program in [janitor(), confine()] {
        build(&compiler, &program, &out.join(program.name));
    }
}

fn leave_out(out: &Path) {
    println!("cargo::rustc-env=SYSCOST_COMPILER=none");
    let all = programs("", &[], "", false).into_iter().chain([janitor(), confine()]);
    all.for_each(|program| fs::write(out.join(program.name), []).expect("OUT_DIR can be written"));
}

/// The janitor needs no library beside it, since it runs before there is a directory for the others. It is the same for all
/// environments.
fn janitor() -> Program {
    let arguments = "-std=c11 -O2 -Wall -s probe/extra/janitor.c -lrt".split(' ').map(str::to_string).collect();
    Program { name: "janitor", arguments, optional: false }
}

/// The launcher of environments. It is the same for all of them, since it runs on this system before it becomes the program.
fn confine() -> Program {
    let sources = "probe/extra/confine.c probe/extra/filters.c probe/ground.c";
    let arguments = format!("-std=c11 -O2 -Wall -s {sources}").split(' ').map(str::to_string).collect();
    Program { name: "confine", arguments, optional: false }
}

fn sources() -> Vec<String> {
    let mut files: Vec<String> = ["probe", "probe/ops"].iter().flat_map(|directory| c_files(directory)).collect();
    files.sort();
    files
}

fn c_files(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the probe's sources are in the package");
    let paths = entries.map(|entry| entry.expect("a readable directory entry").path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "c")).map(|path| path.display().to_string()).collect()
}

/// Not every system has a static libc: an optional program that cannot be built becomes an empty file, and the operations
/// that need it report that.
fn build(compiler: &cc::Tool, program: &Program, target: &Path) {
    let mut command = Command::new(compiler.path());
    command.args(&program.arguments).arg("-o").arg(target);
    let done = command.output();
    let done = done.unwrap_or_else(|e| panic!("cannot start the C compiler: {e}; install one (gcc or clang)"));
    match (done.status.success(), program.optional) {
        (true, _) => {}
        (false, true) => fs::write(target, []).expect("OUT_DIR can be written"),
        (false, false) => panic!("{command:?} failed:\n{}", String::from_utf8_lossy(&done.stderr)),
    }
}

fn version(compiler: &cc::Tool) -> String {
    let output = Command::new(compiler.path()).arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_string()
}
