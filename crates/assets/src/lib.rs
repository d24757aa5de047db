//! What the tool brings along, embedded by the build: the programs in C, and folders of the project.

pub mod build;

use include_dir::{Dir, include_dir};
use model::Tool;

pub const COMPILER: &str = env!("SYSCOST_COMPILER");

/// This build of syscost, as files name it.
pub fn tool() -> Tool {
    Tool {
        name: "syscost".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        compiler: COMPILER.to_string(),
    }
}

pub const DYNAMIC_PROBE: &str = "probe-dynamic";
pub const CONFINE: &str = "confine";

/// Where the build left them, for tests.
pub const DIRECTORY: &str = env!("OUT_DIR");

macro_rules! program {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// Name and contents of the files in a run's directory. An empty one could not be built when syscost was, or is
/// not needed.
pub const FILES: &[(&str, &[u8])] = &[
    ("probe", program!("probe")),
    (DYNAMIC_PROBE, program!("probe-dynamic")),
    ("libsyscost_cross.so", program!("libsyscost_cross.so")),
    ("tiny-static", program!("tiny-static")),
    ("bare", program!("bare")),
    ("tiny-dynamic", program!("tiny-dynamic")),
    (CONFINE, program!("confine")),
];

/// Removes what a run left, however it ended.
pub const JANITOR: &[u8] = program!("janitor");

pub const LAUNCHER: &[u8] = program!("launch");

/// Sources of the probe, to build it for other environments on the user's machine.
pub static PROBE: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../probe");
pub static ENVIRONMENTS: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../environments");
pub static LANGUAGES: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../languages");
pub static STUDIES: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../studies");
/// The names of the TOML files in a folder.
pub fn names(folder: &'static Dir) -> Vec<&'static str> {
    let mut names: Vec<&str> = folder
        .files()
        .filter_map(|file| file.path().to_str()?.strip_suffix(".toml"))
        .collect();
    names.sort();
    names
}

pub static PUBLISHED: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../published");
pub static ATLAS: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../atlas");
