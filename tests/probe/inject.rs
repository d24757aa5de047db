//! A system call of the tool's own fails: it says so and has another status than 0, or the result is what it is without. Never an
//! abort, a hang or a result that lacks something. `bench/inject` tries far more, and commands that measure.

use crate::common::*;
/// Calls of which each third fails, with the errors, and how far that goes: the loader makes the first.
const FAILING: [(&str, &[&str], u32); 5] = [
    ("openat", &["EIO", "EMFILE"], 14),
    ("read", &["EIO"], 14),
    ("statx", &["EIO", "ENOMEM"], 12),
    ("getdents64", &["EIO", "ENOMEM"], 2),
    ("clone3", &["EAGAIN"], 2),
];
const READERS: [&str; 2] = [
    "show --format rows d/a.json d/b.json d/c.json d/link.json",
    "report d/a.json d/b.json -o -",
];

fn place() -> Place {
    let place = Place::with_hosts();
    // Of a link the directory does not know that it leads to a file.
    symlink("../d/a.json", place.path().join("d/link.json")).unwrap();
    place
}

/// The command with the k-th `call` of each of its threads failing.
fn under_strace(place: &Place, words: &str, call: &str, error: &str, k: u32) -> Output {
    let inject = format!("trace={call} -e inject={call}:error={error}:when={k}");
    let strace = format!("strace -f -qq -o /dev/null -e signal=none -e {inject}");
    behind(strace, &place.command(words)).output().unwrap()
}

fn lacks_strace(place: &Place) -> Option<String> {
    match Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .current_dir(place.path())
        .output()
    {
        Err(error) => Some(format!("no strace: {error}")),
        Ok(done) if !done.status.success() => {
            Some(format!("strace cannot trace: {}", stderr(&done).trim()))
        }
        Ok(_) => None,
    }
}

#[test]
fn a_call_that_fails_is_told_or_changes_nothing() {
    let place = place();
    if let Some(why) = lacks_strace(&place) {
        return skip(&why);
    }
    let mut told = 0;
    for words in READERS {
        let right = place.run(words);
        expect_status(&right, 0);
        for (call, errors, most) in FAILING {
            for (error, k) in errors
                .iter()
                .flat_map(|error| (1..=most).step_by(3).map(move |k| (error, k)))
            {
                let done = under_strace(&place, words, call, error, k);
                let (what, said) = (format!("{words:?}, {call} {error} {k}"), stderr(&done));
                match done.status.code() {
                    Some(0) => assert_eq!(done.stdout, right.stdout, "{what}: {said}"),
                    // 127 is the loader's.
                    Some(1 | 2 | 3 | 127) => assert!(!said.trim().is_empty(), "{what}: not a word"),
                    other => panic!("{what}: status {other:?}: {said}"),
                }
                told += u32::from(done.status.code() == Some(3));
            }
        }
    }
    assert!(told > 0, "no error met a file");
}
