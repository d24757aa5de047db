//! A probe for another machine or system: one program, without those that some operations start.

use super::environment::{c_compiler, first_error, probe_sources, write_sources};
use super::{RunDirectory, on_path};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::output::output;
use sys::{private, temporary};

const CROSS_COMPILERS: [(&str, &str); 4] = [
    ("x86_64-linux-musl", "x86_64-linux-gnu-gcc"),
    ("x86-linux-musl", "i686-linux-gnu-gcc"),
    ("aarch64-linux-musl", "aarch64-linux-gnu-gcc"),
    ("riscv64-linux-musl", "riscv64-linux-gnu-gcc"),
];

const GET_ZIG: &str = "install zig ('pip install ziglang' is enough)";

/// Builds a probe for `target`, or for this machine, into `file`. Returns the compiler's command.
///
/// # Errors
/// No compiler for the target, its message, or `file` cannot be written.
pub fn build(target: Option<&str>, file: &Path) -> Result<String> {
    let (compiler, is_static) = match target {
        None => (vec![c_compiler()?.display().to_string()], true),
        Some(target) => (cross_compiler(target)?, target.contains("linux")),
    };
    let run = RunDirectory::create()?;
    let directory = private::temporary(run.path(), "build-")?;
    let sources = probe_sources();
    write_sources(&sources, directory.path())?;
    let sources = sources.iter().map(|(path, _)| path).filter(|path| {
        // Without the companions: one file is copied more easily. `extra/cross.c` stands for them.
        let is_extra = path.starts_with("extra/") && !path.starts_with("extra/alone/");
        path.ends_with(".c") && (!is_extra || *path == "extra/cross.c")
    });
    let made = directory.path().join("probe");
    let linked = if is_static { "static" } else { "dynamic" };
    let mut command = private::helper(&compiler[0], run.path());
    command
        .args(&compiler[1..])
        .args(["-std=c11", "-O2"])
        .arg(format!("-DSYSCOST_STANDS_FOR=\"tiny-{linked}\""))
        .arg(format!("-DSYSCOST_VERSION=\"{}\"", assets::tool().version))
        .args(is_static.then_some("-static"));
    command
        .args(["-pthread", "-s", "-o"])
        .arg(&made)
        .args(sources)
        .current_dir(directory.path());
    compile(&mut command, &compiler, target)?;
    place(&made, file)?;
    Ok(compiler.join(" "))
}

fn compile(command: &mut Command, compiler: &[String], target: Option<&str>) -> Result<()> {
    let name = compiler.join(" ");
    let output = output(command).with_context(|| format!("cannot start {name}"))?;
    if output.status.success() {
        return Ok(());
    }
    let advice = match target {
        None => {
            "; a static probe takes the static C library (Debian: libc6-dev, Fedora: glibc-static)"
        }
        Some(_) => "; 'syscost probe build --help-all' lists those that are known to work",
    };
    bail!(
        "{name} cannot build the probe: {}{advice}",
        first_error(&output)
    )
}

fn place(made: &Path, file: &Path) -> Result<()> {
    let contents = fs::read(made).context("the compiler wrote no program")?;
    temporary::put(file, 0o755, &contents)
        .with_context(|| format!("--out {}: cannot be written", file.display()))
}

fn cross_compiler(target: &str) -> Result<Vec<String>> {
    fn words(program: &str, words: &[&str]) -> Vec<String> {
        std::iter::once(&program)
            .chain(words)
            .map(ToString::to_string)
            .collect()
    }

    if on_path("zig").is_some() {
        return Ok(words("zig", &["cc", "-target", target]));
    }
    if let Some(python) = python_with_zig() {
        return Ok(words(
            &python.display().to_string(),
            &["-m", "ziglang", "cc", "-target", target],
        ));
    }
    let usual_name = format!("{target}-gcc");
    let compilers: Vec<&str> = CROSS_COMPILERS
        .iter()
        .find(|(name, _)| *name == target)
        .map(|(_, compiler)| *compiler)
        .into_iter()
        .chain([usual_name.as_str()])
        .collect();
    let path = compilers
        .iter()
        .find_map(|compiler| on_path(compiler))
        .with_context(|| {
            format!(
                "no compiler for {target}: {GET_ZIG}, or {}",
                compilers.join(" or ")
            )
        })?;
    Ok(vec![path.display().to_string()])
}

fn python_with_zig() -> Option<PathBuf> {
    let python = on_path("python3")?;
    output(private::asking(&python).args(["-m", "ziglang", "version"]))
        .ok()?
        .status
        .success()
        .then_some(python)
}
