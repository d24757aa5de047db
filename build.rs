//! Builds the probe and the small programs that stand beside it with the system's C compiler, and leaves them in
//! OUT_DIR for `src/runner/files.rs` to embed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=probe");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let compiler = cc::Build::new().cargo_metadata(false).cargo_warnings(false).get_compiler();
    println!("cargo::rustc-env=SYSCOST_COMPILER={}", version(&compiler));

    let library = out.join("libsyscost_cross.so");
    build(&compiler, &["-O2", "-fPIC", "-shared"], &[PathBuf::from("probe/extra/cross.c")], &[], &library);
    build(&compiler, &["-O2"], &[PathBuf::from("probe/extra/tiny.c")], &[], &out.join("tiny-dynamic"));
    build_static(&compiler, &out);
    let search = format!("-L{}", out.display());
    let links = [search.as_str(), "-lsyscost_cross", "-Wl,-rpath,$ORIGIN", "-pthread", "-lrt"];
    build(&compiler, &["-std=c11", "-O2", "-Wall"], &sources(), &links, &out.join("probe"));
}

fn sources() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ["probe", "probe/ops"].iter().flat_map(|directory| c_files(directory)).collect();
    files.sort();
    files
}

fn c_files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the probe's sources are in the package");
    let paths = entries.map(|entry| entry.expect("a readable directory entry").path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "c")).collect()
}

fn command(compiler: &cc::Tool, flags: &[&str], sources: &[PathBuf], links: &[&str], target: &Path) -> Command {
    let mut command = Command::new(compiler.path());
    command.args(flags).arg("-o").arg(target).args(sources).args(links);
    command
}

fn build(compiler: &cc::Tool, flags: &[&str], sources: &[PathBuf], links: &[&str], target: &Path) {
    let mut command = command(compiler, flags, sources, links, target);
    let done =
        command.status().unwrap_or_else(|e| panic!("cannot start the C compiler: {e}; install one (gcc, clang)"));
    assert!(done.success(), "the C compiler could not build {}: {command:?}", target.display());
}

/// Not every system has a static libc: the operations that need it then say so, and all others work.
fn build_static(compiler: &cc::Tool, out: &Path) {
    let target = out.join("tiny-static");
    let sources = [PathBuf::from("probe/extra/tiny.c")];
    let built = command(compiler, &["-O2", "-static"], &sources, &[], &target).output();
    if !built.is_ok_and(|output| output.status.success()) {
        fs::write(&target, []).expect("OUT_DIR can be written");
    }
}

fn version(compiler: &cc::Tool) -> String {
    let output = Command::new(compiler.path()).arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_string()
}
