//! Many result files: what is said of those that cannot be read, and that they are read where no thread can be started.

use crate::common::*;
fn read(place: &Place) -> Output {
    place.run(place.rows_of("d"))
}

fn said(done: &Output, lines: &[&str]) {
    expect_status(done, 3);
    let words = stderr(done);
    assert_eq!(words.lines().count(), lines.len(), "{words}");
    for (line, expected) in words.lines().zip(lines) {
        assert!(
            line.starts_with("syscost: skipped: ") && line.contains(expected),
            "{line}"
        );
    }
}

#[test]
fn files_that_hold_no_run_are_told() {
    let place = Place::with_hosts();
    let directory = place.path().join("d");
    let whole = fs::read(directory.join("a.json")).unwrap();
    fs::write(directory.join("cut.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(directory.join("empty.json"), "").unwrap();
    fs::File::create(directory.join("zeros.json"))
        .unwrap()
        .set_len(100 << 20)
        .unwrap();
    let lines = [
        "cut.json: the file is incomplete (line ",
        "empty.json: is empty: ",
        "zeros.json: is not JSON (line 1, column 1: ",
    ];
    said(&read(&place), &lines);
}

/// One hostile file among many costs its own line, not the others' rows nor a second each.
#[test]
fn one_bad_file_among_a_hundred_is_named() {
    let place = Place::with_hosts();
    let directory = place.path().join("d");
    let lines = || stdout(&read(&place)).lines().count();
    let three_files = lines();
    for number in 0..99 {
        fs::hard_link(
            directory.join("a.json"),
            directory.join(format!("n{number}.json")),
        )
        .unwrap();
    }
    fs::write(
        directory.join("n50x.json"),
        [b"{\"schema\":".repeat(100_000), vec![0; 1 << 20]].concat(),
    )
    .unwrap();
    fs::File::create(directory.join("n50y.json"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    said(&read(&place), &["n50x.json", "n50y.json"]);
    assert_eq!(lines(), 34 * three_files);
}

/// As an ordinary user, whom permissions bind. `false` says that the test is skipped.
fn is_root() -> bool {
    let root = geteuid().is_root();
    if !root {
        skip("not root: no other user to be");
    }
    root
}

fn mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.path().join(name), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn files_without_permission_are_told() {
    if !is_root() {
        return;
    }
    let place = Place::with_hosts();
    mode(&place, "d/a.json", 0);
    mode(&place, "d/c.json", 0);
    let done = place
        .command_as_nobody(place.rows_of("d"))
        .output()
        .unwrap();
    said(
        &done,
        &["a.json and 1 more: cannot be opened (permission denied)"],
    );
}

#[test]
fn readers_need_no_thread() {
    if !is_root() {
        return;
    }
    let place = Place::with_hosts();
    let rows = place.rows_of("d");
    for line in [
        &rows,
        "compare d/a.json d/b.json",
        "report d/a.json d/b.json -o -",
    ] {
        let mut free = place.command_as_nobody(line);
        let mut limited = behind("prlimit --nproc=1 --", &free);
        let limited = limited
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .expect("prlimit, of util-linux");
        expect_status(&limited, 0);
        assert_eq!(stdout(&limited), stdout(&free.output().unwrap()), "{line}");
    }
}
