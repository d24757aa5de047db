//! Worked examples of CONTRIBUTING.md, applied to a copy of the project. A block begins with a comment that names its file;
//! one that changes a file also says where: below, above or in place of a line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the library is built from.
const PARTS: [&str; 12] = [
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "src",
    "bpf",
    "probe",
    "languages",
    "environments",
    "studies",
    "published",
    "atlas",
    "crates",
];

/// A fresh copy of the project that `cargo check` takes for one of its own.
pub fn copy(root: &Path) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("worked-examples");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for part in PARTS {
        copy_all(&root.join(part), &folder.join(part))?;
    }
    Ok(folder)
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Writes the file that `example` is, or changes the one that it names.
pub fn apply(folder: &Path, example: &str) {
    let (heading, code) = example.split_once('\n').unwrap();
    let heading = heading.strip_prefix("// ").unwrap_or_else(|| panic!("{heading}: which file is this?"));
    let Some((file, place)) = heading.split_once(", ") else {
        return fs::write(folder.join(heading), code).unwrap();
    };
    let (how, line) = place.split_once(" `").unwrap();
    let line = line.strip_suffix('`').unwrap();
    let text = fs::read_to_string(folder.join(file)).unwrap();
    fs::write(folder.join(file), changed(&text, how, line, code)).unwrap();
}

/// `text` with `code` at the one line that is `anchor` but for its indentation.
fn changed(text: &str, how: &str, anchor: &str, code: &str) -> String {
    let found = text.lines().filter(|line| line.trim() == anchor).count();
    assert_eq!(found, 1, "lines `{anchor}`");
    let lines = text.lines().map(|line| match (line.trim() == anchor, how) {
        (true, "below") => format!("{line}\n{code}"),
        (true, "above") => format!("{code}{line}\n"),
        (true, "in place of") => code.to_string(),
        (true, other) => panic!("{other} `{anchor}`: say below, above or in place of"),
        (false, _) => format!("{line}\n"),
    });
    lines.collect()
}

/// Checks the library; without network, since all that it needs is here already. Not in the project's target directory, whose
/// files of the same names it would replace.
pub fn check(folder: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["check", "--lib", "--offline", "--quiet"]).current_dir(folder).env("RUSTFLAGS", "-D warnings");
    cargo.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("worked-examples-target"));
    cargo
}

/// The block that is a file below `folder`.
pub fn file<'a>(blocks: &[&'a str], folder: &str) -> &'a str {
    let heading = format!("# {folder}");
    blocks.iter().find(|block| block.starts_with(&heading)).unwrap_or_else(|| panic!("no block begins '{heading}'"))
}
