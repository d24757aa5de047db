//! There is one way to make a private directory, one to start a helper, one to open what others may have exchanged, and one to
//! write a file of the user's: the source holds no other.

use std::fs;
use std::path::{Path, PathBuf};

/// What makes files or directories under names that others can guess or take, opens what may be a pipe, or starts a program in
/// the user's directory; and the files that may do so, each with the number of times.
const ONLY: &[(&str, &[(&str, usize)])] = &[
    ("tempfile::tempdir(", &[]),
    ("TempDir::new", &[]),
    ("NamedTempFile::new", &[]),
    // The file system to tell about; nothing is made there. A launcher, where programs in memory cannot be executed.
    (
        "env::temp_dir",
        &[
            ("crates/cli/src/doctor.rs", 1),
            ("crates/sys/src/launch.rs", 1),
        ],
    ),
    ("mkdtemp", &[]),
    (".tempdir()", &[]),
    (".tempdir_in(", &[("crates/sys/src/private.rs", 1)]),
    // A program where those in memory cannot be executed; a file beside the one that it replaces.
    (
        ".tempfile_in(",
        &[
            ("crates/sys/src/embedded.rs", 1),
            ("crates/sys/src/temporary.rs", 1),
        ],
    ),
    // Without a name: whether files can be made there.
    (
        "tempfile_in(",
        &[
            ("crates/cli/src/run.rs", 1),
            ("crates/sys/src/embedded.rs", 1),
            ("crates/sys/src/temporary.rs", 1),
            ("crates/measure/src/runner/cache/place.rs", 1),
        ],
    ),
    // Files in directories that are new and ours alone; those that the user names are written by kernel::temporary, so that an
    // earlier one stays until the new one is whole.
    (
        "fs::write(",
        &[
            // Made by a test.
            ("crates/measure/src/guest/images/apt.rs", 3),
            ("crates/measure/src/guest/images.rs", 1),
            ("crates/measure/src/runner/builds.rs", 1),
            ("crates/measure/src/runner/cache/manifest.rs", 1),
            ("crates/measure/src/session/remote.rs", 1),
            ("crates/trace/src/gather/entries.rs", 1),
        ],
    ),
    (
        "File::create",
        &[
            ("crates/measure/src/guest/images/apt.rs", 2),
            ("crates/measure/src/guest/machine.rs", 2),
            ("crates/measure/src/runner/fixtures.rs", 2),
        ],
    ),
    ("fs::copy(", &[("crates/measure/src/guest/images.rs", 1)]),
    (
        "fs::rename(",
        &[
            ("crates/measure/src/guest/images.rs", 2),
            ("crates/measure/src/runner/cache.rs", 1),
        ],
    ),
    (".create(true)", &[("crates/sys/src/open.rs", 1)]),
    (
        ".create_new(",
        &[("crates/measure/src/runner/directory.rs", 1)],
    ),
    (".truncate(true)", &[]),
    // Into a device or a pipe.
    (
        ".write(true)",
        &[
            ("crates/sys/src/temporary.rs", 3),
            ("crates/measure/src/runner/directory.rs", 1),
            ("crates/measure/src/runner/janitor.rs", 1),
            ("crates/store/src/output.rs", 1),
        ],
    ),
    ("DirBuilder::new", &[("crates/sys/src/private.rs", 1)]),
    (
        "Command::new(",
        &[
            // The parser of arguments; no process.
            ("crates/cli/src/words.rs", 1),
            // Workers start in a directory of their own (`Child::start`).
            ("crates/measure/src/guest/machine.rs", 1),
            ("crates/sys/src/private.rs", 1),
            // What the user wants raced, in an environment.
            ("crates/trace/src/race/inside.rs", 1),
            ("crates/measure/src/runner/builds.rs", 2),
            // The probe and the janitor, by their paths.
            ("crates/measure/src/runner/catalogue.rs", 1),
            ("crates/measure/src/runner/environment/start.rs", 1),
            ("crates/measure/src/runner/janitor.rs", 1),
            ("crates/measure/src/runner/workers.rs", 2),
            // What the user wants traced.
            ("crates/trace/src/target.rs", 1),
        ],
    ),
];

#[test]
fn nothing_is_made_or_started_in_another_way() {
    let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates"));
    assert!(files.len() > 100, "{}", files.len());
    for (what, places) in ONLY {
        let count = |text: &str| text.lines().filter(|line| line.contains(what)).count();
        let mut found: Vec<(&str, usize)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), count(text)))
            .filter(|(_, times)| *times > 0)
            .collect();
        found.sort();
        let mut places = places.to_vec();
        places.sort();
        assert_eq!(
            found, places,
            "{what}: use sys::private, sys::temporary or sys::open"
        );
    }
}

/// The source files below `directory` without their tests, by path.
fn sources(directory: &Path) -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    // A tree of files for tests, and tests in files of their own.
    paths.retain(|path| {
        !path.ends_with("sys/src/fake.rs")
            && !path.ends_with("tests.rs")
            && !path.ends_with("crates/assets/build.rs")
    });
    paths.sort();
    paths
        .iter()
        .flat_map(|path| {
            if path.is_dir() {
                sources(path)
            } else {
                vec![read(path)]
            }
        })
        .collect()
}

fn read(path: &Path) -> (String, String) {
    let text = fs::read_to_string(path).unwrap();
    let mut parts = text.split("\n#[cfg(test)]\n");
    let is_code = |part: &&str| {
        !part
            .lines()
            .next()
            .is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    };
    let text: String = parts.by_ref().take_while(is_code).collect();
    // Lines of comments tell of it, they do not do it.
    let code: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
    (name.display().to_string(), code.join("\n"))
}
