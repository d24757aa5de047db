//! There is one way to make a private directory, one to start a helper, one to open what others may have exchanged, and one to
//! write a file of the user's: sys::private, sys::temporary and sys::open. tests/golden/ways-to-files.txt has all places of the
//! source that do it themselves: in directories that are new and ours alone, into devices and pipes, and what the user wants run.

use crate::common::*;

/// What makes files or directories under names that others can guess or take, opens what may be a pipe, or starts a program in
/// the user's directory.
const WAYS: [&str; 19] = [
    "tempfile::tempdir(",
    "TempDir::new",
    "NamedTempFile::new",
    "env::temp_dir",
    "mkdtemp",
    ".tempdir()",
    ".tempdir_in(",
    ".tempfile_in(",
    "tempfile_in(",
    "fs::write(",
    "File::create",
    "fs::copy(",
    "fs::rename(",
    ".create(true)",
    ".create_new(",
    ".truncate(true)",
    ".write(true)",
    "DirBuilder::new",
    "Command::new(",
];

#[test]
fn nothing_is_made_or_started_in_another_way() {
    let files = sources(&root().join("crates"));
    assert!(files.len() > 100, "{}", files.len());
    let mut found = String::new();
    for way in WAYS {
        for (path, text) in &files {
            let times = text.lines().filter(|line| line.contains(way)).count();
            if times > 0 {
                found += &format!("{way:<20} {times} {path}\n");
            }
        }
    }
    expect_file("tests/golden/ways-to-files.txt", &found);
}

/// It would be an int, and the upper half of the long or pointer that the kernel reads would be undefined.
#[test]
fn no_bare_number_goes_through_a_variadic_call() {
    let call =
        regex_lite::Regex::new(r"libc::(syscall|ptrace|prctl|fcntl|ioctl)(\([^;}]*)").unwrap();
    let bare = regex_lite::Regex::new(r"[(,]\s*-?[0-9][0-9a-fx_]*\s*[,)]").unwrap();
    assert!(bare.is_match("(libc::SYS_close, f(fd), -1)") && bare.is_match("(\n0x1f,\n)"));
    assert!(!bare.is_match("(libc::SYS_close, fd2, FLAGS, 0u64)"));
    let files = sources(&root().join("crates"));
    let calls = files.iter().flat_map(|(path, text)| {
        call.captures_iter(text)
            .map(move |found| (path, found[2].to_string()))
    });
    let calls: Vec<_> = calls.collect();
    assert!(calls.len() >= 10, "{}", calls.len());
    for (path, arguments) in calls {
        assert!(!bare.is_match(&arguments), "{path}: {arguments}");
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
