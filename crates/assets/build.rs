//! Builds the probe and its companion programs with the system's C compiler, into OUT_DIR, from where
//! `src/lib.rs` embeds them. A static tool (`-C target-feature=+crt-static`, or a musl target) gets static programs, and
//! a dynamically linked probe beside them for what only such a one can measure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

include!("src/build.rs");

/// If it is 1, nothing is compiled and the programs are empty files: for `cargo check` without a C compiler for the
/// target. A tool that is built in this way reports at its start that it cannot measure.
const WITHOUT_PROBE: &str = "SYSCOST_WITHOUT_PROBE";

/// The C compiler, with its first arguments, of the programs in a static tool that are linked dynamically: where CC is one for
/// musl, those may be for the C library that most systems have.
const DYNAMIC_CC: &str = "SYSCOST_DYNAMIC_CC";

/// All files that are embedded, some of them empty.
const NAMES: [&str; 9] = [
    "probe",
    "probe-dynamic",
    "libsyscost_cross.so",
    "tiny-static",
    "bare",
    "tiny-dynamic",
    "janitor",
    "confine",
    "launch",
];

fn main() {
    env::set_current_dir("../..").expect("the crate is in crates/ of the project");
    for watched in [
        "probe",
        "languages",
        "environments",
        "studies",
        "published",
        "atlas",
        "crates/assets/src/build.rs",
    ] {
        println!("cargo::rerun-if-changed=../../{watched}");
    }
    for variable in [WITHOUT_PROBE, DYNAMIC_CC] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    NAMES.iter().for_each(|name| leave_empty(&out.join(name)));
    if env::var_os(WITHOUT_PROBE).is_some_and(|value| value == "1") {
        println!("cargo::rustc-env=SYSCOST_COMPILER=none");
        return;
    }
    let compiler = cc::Build::new()
        .cargo_metadata(false)
        .cargo_warnings(false)
        .get_compiler();
    let is_static = is_static();
    println!(
        "cargo::rustc-env=SYSCOST_COMPILER={}{}",
        version(&compiler),
        if is_static { ", static" } else { "" }
    );
    let dynamic = if is_static { dynamic_compiler() } else { None };
    for program in all_programs(&out, is_static) {
        let usual_compiler = compiler_command(&compiler, is_static && !program.is_dynamic);
        let command = if program.is_dynamic {
            dynamic.clone().unwrap_or(usual_compiler)
        } else {
            usual_compiler
        };
        build(&command, &program, &out.join(program.name));
    }
}

/// Makes a new file, because copies of the directory that are hard links may share the old one, and linkers would write into it.
fn leave_empty(target: &Path) {
    let _ = fs::remove_file(target);
    fs::write(target, []).expect("OUT_DIR can be written");
}

fn is_static() -> bool {
    env::var("CARGO_CFG_TARGET_FEATURE")
        .unwrap_or_default()
        .split(',')
        .any(|feature| feature == "crt-static")
}

fn all_programs(out: &Path, is_static: bool) -> Vec<Program> {
    let out = out.display().to_string();
    let mut all = programs("probe", &sources(), &out, is_static);
    if is_static {
        let probe = all.iter_mut().filter(|program| program.name == "probe");
        probe.for_each(|probe| {
            probe
                .arguments
                .push("-DSYSCOST_BRINGS_DYNAMIC_PROBE".into())
        });
        all.extend(dynamic_probe("probe-dynamic", "probe", &sources(), &out));
        // Not every C library can be linked both ways.
        all.iter_mut()
            .filter(|program| program.is_dynamic)
            .for_each(|program| program.optional = true);
    }
    all.extend([janitor(), confine("probe", false), launch()]);
    all
}

/// The janitor needs no library beside it, since it runs before there is a directory for the others. It is the same for all
/// environments.
fn janitor() -> Program {
    let arguments = "-std=c11 -O2 -Wall -s probe/extra/janitor.c -lrt";
    program("janitor", words(arguments))
}

/// The launcher of traced commands. On architectures for which it makes its own calls, it is linked without a C library.
fn launch() -> Program {
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let bare = if matches!(architecture.as_str(), "x86_64" | "aarch64") {
        " -nostdlib -static -fno-stack-protector"
    } else {
        ""
    };
    let arguments = format!("-std=c11 -O2 -Wall -s{bare} probe/extra/launch.c");
    program("launch", words(&arguments))
}

fn sources() -> Vec<String> {
    let mut files: Vec<String> = ["probe", "probe/ops"]
        .iter()
        .flat_map(|directory| c_files(directory))
        .collect();
    files.sort();
    files
}

fn c_files(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the probe's sources are in the package");
    let paths = entries.map(|entry| entry.expect("a readable directory entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .map(|path| path.display().to_string())
        .collect()
}

fn compiler_command(compiler: &cc::Tool, is_static: bool) -> Vec<String> {
    let mut words = vec![compiler.path().display().to_string()];
    if is_static {
        words.push("-static".to_string());
    }
    words.extend(kernel_headers());
    words
}

/// Those that Debian's musl-gcc does not look for. After all others, so that the headers of another C library beside them are not used.
fn kernel_headers() -> Vec<String> {
    if env::var("CARGO_CFG_TARGET_ENV").unwrap_or_default() != "musl" {
        return Vec::new();
    }
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let directories = [
        "/usr/include".into(),
        format!("/usr/include/{architecture}-linux-gnu"),
    ];
    directories
        .map(|directory| format!("-idirafter{directory}"))
        .into()
}

fn dynamic_compiler() -> Option<Vec<String>> {
    let text = env::var(DYNAMIC_CC).ok()?;
    let words = text.split_whitespace().map(str::to_string).collect();
    Some(words).filter(|words: &Vec<String>| !words.is_empty())
}

/// Not every system has a static libc: an optional program that cannot be built becomes an empty file, and the operations
/// that need it report that.
fn build(compiler: &[String], program: &Program, target: &Path) {
    let mut command = Command::new(&compiler[0]);
    command
        .args(&compiler[1..])
        .args(&program.arguments)
        .arg("-o")
        .arg(target);
    match command.output() {
        Err(error) => fail(&format!(
            "cannot start the C compiler: {error}; install one (gcc or clang)"
        )),
        Ok(done) if done.status.success() => {}
        Ok(_) if program.optional => leave_empty(target),
        Ok(done) => fail(&format!(
            "{command:?} failed:\n{}it needs the headers of the C library and of the kernel (Debian: build-essential, Alpine: linux-headers)",
            String::from_utf8_lossy(&done.stderr)
        )),
    }
}

fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1);
}

fn version(compiler: &cc::Tool) -> String {
    let output = Command::new(compiler.path()).arg("--version").output();
    let text = output
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_string()
}
