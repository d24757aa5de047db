//! For tests: a machine made of files.

use super::Sources;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Sources below a new directory with these files, which exists as long as the first value.
pub fn tree(files: &[(&str, &str)]) -> (TempDir, Sources) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in files {
        fs::write(place(directory.path(), path), text).expect("a file");
    }
    let sources = Sources::below(directory.path());
    (directory, sources)
}

pub fn link(directory: &TempDir, path: &str, target: &str) {
    symlink(target, place(directory.path(), path)).expect("a link");
}

fn place(root: &Path, path: &str) -> PathBuf {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    path
}
