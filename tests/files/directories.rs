//! Directories of result files: what every command that reads them says of entries that it cannot read, and that it reads
//! where no thread can be started.

use crate::common::{Place, skip, stderr, stdout};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// Reads the directory `d`.
const READER: [&str; 4] = ["show", "d", "--format", "rows"];

/// What stands in the middle of a good directory's output must stand in the same of one with bad entries, too.
fn said(done: &Output, lines: &[&str]) {
    assert_eq!(done.status.code(), Some(3), "{}", stderr(done));
    let words = stderr(done);
    assert_eq!(words.lines().count(), lines.len(), "{words}");
    for (line, expected) in words.lines().zip(lines) {
        assert!(line.starts_with("syscost: skipped: ") && line.contains(expected), "{line}");
    }
}

#[test]
fn links_that_lead_nowhere_are_told() {
    let place = Place::with_hosts();
    let good = stdout(&place.run(&READER));
    for name in ["x.json", "y.json"] {
        symlink("nowhere", place.path().join("d").join(name)).unwrap();
    }
    symlink("z.json", place.path().join("d/z.json")).unwrap();
    let done = place.run(&READER);
    said(
        &done,
        &["x.json and 1 more: is a link to a file that does not exist", "z.json: is a link that leads to itself"],
    );
    assert_eq!(stdout(&done), good);
}

#[test]
fn files_that_hold_no_run_are_told() {
    let place = Place::with_hosts();
    let directory = place.path().join("d");
    let whole = fs::read(directory.join("a.json")).unwrap();
    fs::write(directory.join("cut.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(directory.join("empty.json"), "").unwrap();
    fs::File::create(directory.join("zeros.json")).unwrap().set_len(100 << 20).unwrap();
    mkfifo(&directory.join("fifo.json"), Mode::S_IRWXU).unwrap();
    let lines = [
        "fifo.json: is not a file",
        "cut.json: the file is incomplete (line ",
        "empty.json: is empty: ",
        "zeros.json: is not JSON (line 1, column 1: ",
    ];
    said(&place.run(&READER), &lines);
}

/// One hostile file among thousands costs its own line, not the others' rows nor a second each.
#[test]
fn one_bad_file_among_a_thousand_is_named() {
    let place = Place::with_hosts();
    let directory = place.path().join("d");
    let lines = || stdout(&place.run(&READER)).lines().count();
    let three_files = lines();
    for number in 0..999 {
        fs::hard_link(directory.join("a.json"), directory.join(format!("n{number}.json"))).unwrap();
    }
    fs::write(directory.join("n500x.json"), [b"{\"schema\":".repeat(100_000), vec![0; 1 << 20]].concat()).unwrap();
    fs::File::create(directory.join("n500y.json")).unwrap().set_len(1 << 30).unwrap();
    said(&place.run(&READER), &["n500x.json", "n500y.json"]);
    assert_eq!(lines(), 334 * three_files);
}

#[test]
fn a_directory_of_nothing_but_dead_links_is_not_an_empty_result() {
    let place = Place::new();
    fs::create_dir(place.path().join("d")).unwrap();
    symlink("nowhere", place.path().join("d/x.json")).unwrap();
    let done = place.run(&READER);
    assert!(!done.status.success() && stderr(&done).contains("x.json: is a link"), "{}", stderr(&done));
}

/// As an ordinary user, whom permissions bind. `false` says that the test is skipped.
fn is_root(test: &str) -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skip(test, "not root: no other user to be");
    }
    root
}

fn mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn files_without_permission_are_told() {
    if !is_root("files_without_permission_are_told") {
        return;
    }
    let place = Place::with_hosts();
    mode(&place, "d/a.json", 0);
    mode(&place, "d/c.json", 0);
    let done = place.command_as_nobody(&READER).output().unwrap();
    said(&done, &["a.json and 1 more: cannot be opened (permission denied)"]);
}

#[test]
fn a_directory_that_cannot_be_searched_is_told() {
    if !is_root("a_directory_that_cannot_be_searched_is_told") {
        return;
    }
    let place = Place::with_hosts();
    symlink("a.json", place.path().join("d/link.json")).unwrap();
    mode(&place, "d", 0o744);
    let done = place.command_as_nobody(&READER).output().unwrap();
    let words = stderr(&done);
    assert!(!done.status.success(), "{words}");
    assert!(words.contains("link.json: cannot be looked at (Permission denied"), "{words}");
    assert!(words.contains("a.json and 2 more: cannot be opened (permission denied)"), "{words}");
    mode(&place, "d", 0o711);
    let done = place.command_as_nobody(&READER).output().unwrap();
    assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
    assert!(stderr(&done).contains("Permission denied"), "{}", stderr(&done));
}

#[test]
fn readers_need_no_thread() {
    if !is_root("readers_need_no_thread") {
        return;
    }
    let place = Place::with_hosts();
    let (compare, report) = (["compare", "d/a.json", "d/b.json"], ["report", "d/a.json", "d/b.json", "-o", "-"]);
    for words in [&READER[..], &compare, &report] {
        let free = place.command_as_nobody(words);
        let mut limited = Command::new("prlimit");
        limited.args(["--nproc=1", "--"]).arg(free.get_program()).args(free.get_args()).current_dir(place.path());
        limited.env("TMPDIR", place.tmp()).env("XDG_STATE_HOME", place.path().join("state")).uid(65534).gid(65534);
        let limited = limited.output().expect("prlimit, of util-linux");
        let free = { free }.output().unwrap();
        assert_eq!(limited.status.code(), Some(0), "{words:?}: {}", stderr(&limited));
        assert_eq!(stdout(&limited), stdout(&free), "{words:?}");
    }
}
