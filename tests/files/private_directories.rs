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
        &[("src/cli/doctor.rs", 1), ("src/kernel/launch.rs", 1)],
    ),
    ("mkdtemp", &[]),
    (".tempdir()", &[]),
    (".tempdir_in(", &[("src/kernel/private.rs", 1)]),
    // A program where those in memory cannot be executed; a file beside the one that it replaces.
    (
        ".tempfile_in(",
        &[
            ("src/kernel/embedded.rs", 1),
            ("src/kernel/temporary.rs", 1),
        ],
    ),
    // Without a name: whether files can be made there.
    (
        "tempfile_in(",
        &[
            ("src/cli/run.rs", 2),
            ("src/kernel/embedded.rs", 1),
            ("src/kernel/temporary.rs", 1),
            ("src/runner/cache/place.rs", 1),
        ],
    ),
    // Files in directories that are new and ours alone; those that the user names are written by kernel::temporary, so that an
    // earlier one stays until the new one is whole.
    (
        "fs::write(",
        &[
            // Made by a test.
            ("src/cli/schemas.rs", 1),
            ("src/guest/images/apt.rs", 3),
            ("src/guest/images.rs", 1),
            ("src/runner/builds.rs", 1),
            ("src/runner/cache/manifest.rs", 1),
            ("src/session/remote.rs", 1),
            ("src/trace/gather/entries.rs", 1),
        ],
    ),
    (
        "File::create",
        &[
            ("src/guest/disk.rs", 1),
            ("src/guest/images/apt.rs", 2),
            ("src/guest/machine.rs", 1),
            ("src/runner/fixtures.rs", 2),
        ],
    ),
    ("fs::copy(", &[("src/guest/images.rs", 1)]),
    (
        "fs::rename(",
        &[("src/guest/images.rs", 2), ("src/runner/cache.rs", 1)],
    ),
    (".create(true)", &[("src/kernel/open.rs", 1)]),
    (".create_new(", &[("src/runner/files.rs", 1)]),
    (".truncate(true)", &[]),
    // Into a device or a pipe.
    (
        ".write(true)",
        &[
            ("src/kernel/temporary.rs", 3),
            ("src/runner/files.rs", 1),
            ("src/runner/janitor.rs", 1),
            ("src/store/output.rs", 1),
        ],
    ),
    ("DirBuilder::new", &[("src/kernel/private.rs", 1)]),
    (
        "Command::new(",
        &[
            // The parser of arguments; no process.
            ("src/cli/words.rs", 1),
            // Workers start in a directory of their own (`Child::start`).
            ("src/guest/machine.rs", 1),
            ("src/kernel/private.rs", 1),
            // What the user wants raced, in an environment.
            ("src/race/inside.rs", 1),
            ("src/runner/builds.rs", 2),
            // The probe and the janitor, by their paths.
            ("src/runner/catalogue.rs", 1),
            ("src/runner/environment/start.rs", 1),
            ("src/runner/janitor.rs", 1),
            ("src/runner/workers.rs", 2),
            // What the user wants traced.
            ("src/trace/target.rs", 1),
        ],
    ),
];

#[test]
fn nothing_is_made_or_started_in_another_way() {
    let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(files.len() > 100, "{}", files.len());
    for (what, places) in ONLY {
        let count = |text: &str| text.lines().filter(|line| line.contains(what)).count();
        let found: Vec<(&str, usize)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), count(text)))
            .filter(|(_, times)| *times > 0)
            .collect();
        assert_eq!(
            found, *places,
            "{what}: use kernel::private, kernel::temporary or kernel::open"
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
    paths.retain(|path| !path.ends_with("kernel/fake.rs") && !path.ends_with("tests.rs"));
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
