//! What runs is the user's own: nobody else's cache, study or snippet runs without being asked for.

use crate::common::*;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A snippet that has to be built, measured as briefly as possible.
const SNIPPET: &str = "run c:getppid() --time 0.1 --no-verify --quiet --format json";

fn can_compile() -> bool {
    let there = cc("--version");
    if !there {
        skip("there is no C compiler");
    }
    there
}

/// A home below the place; `owner` is for root to set.
fn home(place: &Place, name: &str, owner: Option<u32>) -> PathBuf {
    let home = place.path().join(name);
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, Permissions::from_mode(0o755)).unwrap();
    chown(&home, owner, owner).unwrap();
    home
}

fn with_home(mut command: Command, home: &Path) -> Command {
    command.env("HOME", home).env_remove("XDG_CACHE_HOME");
    for name in ["SUDO_UID", "PKEXEC_UID", "DOAS_UID", "DOAS_USER"] {
        command.env_remove(name);
    }
    command
}

fn succeeds(mut command: Command) -> Output {
    let output = command.output().unwrap();
    expect_status(&output, 0);
    output
}

fn builds(home: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(home.join(".cache/syscost"))
        .into_iter()
        .flatten();
    all.map(|entry| entry.unwrap().path()).collect()
}

fn plant(build: &Path, mark: &Path) {
    let program = format!("#!/bin/sh\ntouch {}\n", mark.display());
    fs::remove_file(build.join("snippet")).unwrap();
    fs::write(build.join("snippet"), &program).unwrap();
    fs::set_permissions(build.join("snippet"), Permissions::from_mode(0o755)).unwrap();
    chown(build.join("snippet"), Some(NOBODY), Some(NOBODY)).unwrap();
    // Its length, and its only piece, which is at its start.
    let told = [&program.len().to_le_bytes(), &[0; 8], program.as_bytes()].concat();
    let digest: String = Sha256::digest(told)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let manifest = fs::read_to_string(build.join(".manifest")).unwrap();
    let lines = manifest
        .split_inclusive('\n')
        .map(|line| match line.ends_with(" snippet\0\n") {
            true => format!("{digest} snippet\0\n"),
            false => line.to_string(),
        });
    fs::write(build.join(".manifest"), lines.collect::<String>()).unwrap();
}

#[test]
fn root_runs_and_makes_nothing_in_the_home_of_a_user() {
    if !geteuid().is_root() {
        return skip("needs root");
    }
    if !can_compile() {
        return;
    }
    let place = Place::new();
    let users = home(&place, "user", Some(NOBODY));
    succeeds(with_home(place.command_as_nobody(SNIPPET), &users));
    let mark = place.tmp().join("planted-ran");
    builds(&users).iter().for_each(|build| plant(build, &mark));
    // The plant itself works: whose cache it is runs it.
    with_home(place.command_as_nobody(SNIPPET), &users)
        .output()
        .unwrap();
    fs::remove_file(&mark).expect("the user's own run runs what the user has planted");
    succeeds(with_home(place.command(SNIPPET), &users));
    assert!(!mark.exists(), "root ran what a user had planted");

    let fresh = home(&place, "fresh", Some(NOBODY));
    succeeds(with_home(place.command(SNIPPET), &fresh));
    let mut as_sudo = with_home(place.command(SNIPPET), &home(&place, "own", None));
    as_sudo
        .env("XDG_CACHE_HOME", place.path().join("own"))
        .env("SUDO_UID", "1000");
    succeeds(as_sudo);
    for home in [fresh, place.path().join("own")] {
        assert_eq!(
            fs::read_dir(&home).unwrap().count(),
            0,
            "{}",
            home.display()
        );
    }
}

#[test]
fn a_cache_that_others_may_write_is_not_used() {
    if !can_compile() {
        return;
    }
    let place = Place::new();
    let base = home(&place, "cache", None);
    fs::create_dir(base.join("syscost")).unwrap();
    fs::set_permissions(base.join("syscost"), Permissions::from_mode(0o777)).unwrap();
    let mut command = place.command(SNIPPET);
    succeeds(with_home(
        place.command(SNIPPET),
        &home(&place, "home", None),
    ));
    command
        .env("XDG_CACHE_HOME", &base)
        .env("HOME", place.path().join("home"));
    succeeds(command);
    assert_eq!(fs::read_dir(base.join("syscost")).unwrap().count(), 0);
    assert_eq!(
        builds(&place.path().join("home")).len(),
        2,
        "the snippet and its empty loop"
    );
}

#[test]
fn a_home_that_does_not_exist_is_not_made() {
    let place = Place::new();
    let mut command = with_home(
        place.command("run id.getppid --time 0.1"),
        &place.path().join("none"),
    );
    command.env_remove("XDG_STATE_HOME");
    succeeds(command);
    assert!(!place.path().join("none").exists());
}

#[test]
fn a_small_stack_is_named() {
    let place = Place::new();
    let output = in_shell("ulimit -s 64; exec \"$@\"", &place.command("list"))
        .output()
        .unwrap();
    let said = "syscost: the stack is limited to less than 512 KiB: allow more (ulimit -s 8192)\n";
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(1), said)
    );
}

#[test]
fn a_home_that_is_no_absolute_path_is_not_used() {
    if !can_compile() {
        return;
    }
    for wrong in ["", "relative"] {
        let place = Place::new();
        let mut command = with_home(place.command(SNIPPET), Path::new(wrong));
        command
            .env("XDG_CACHE_HOME", wrong)
            .env("XDG_STATE_HOME", wrong);
        succeeds(command);
        let here: Vec<_> = fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(here, ["tmp"], "HOME={wrong}");
    }
}

#[test]
fn paths_that_are_not_utf_8_are_paths() {
    if !can_compile() {
        return;
    }
    let place = Place::new();
    let odd = place.path().join(OsStr::from_bytes(b"odd-\xff"));
    fs::create_dir(&odd).unwrap();
    fs::set_permissions(&odd, Permissions::from_mode(0o755)).unwrap();
    succeeds(with_home(place.command(SNIPPET), &odd));
    assert_eq!(builds(&odd).len(), 2);
    let mut command = with_home(
        place.command((SNIPPET, "process.posix_spawn")),
        Path::new(""),
    );
    command.env("TMPDIR", &odd);
    succeeds(command);
    assert_eq!(fs::read_dir(&odd).unwrap().count(), 1, "the cache");
}

#[test]
fn a_build_that_was_changed_is_said_and_built_anew() {
    if !can_compile() {
        return;
    }
    let place = Place::new();
    let home = home(&place, "home", None);
    succeeds(with_home(place.command(SNIPPET), &home));
    for build in builds(&home) {
        fs::write(build.join("snippet"), "").unwrap();
    }
    let mut again = with_home(place.command(SNIPPET), &home);
    let warnings = json(&again.output().unwrap())["warnings"].to_string();
    assert_eq!(
        warnings.matches("was changed after it was built").count(),
        2,
        "{warnings}"
    );
    let third = json(&succeeds(with_home(place.command(SNIPPET), &home)));
    assert!(!third["warnings"].to_string().contains("built anew"));
}

const STUDY: &str = "title = 'mine'\n[[case]]\nname = 'a'\nlanguage = 'c'\nbody = 'getppid()'\n";

/// Runs `arguments` with a file of `text` that has `mode`.
fn with_file(place: &Place, name: &str, text: &str, mode: u32, arguments: impl Line) -> Output {
    let file = place.path().join(name);
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    place.run(arguments)
}

const BRIEF: &str = "--time 0.1 --no-verify --quiet";

#[test]
fn what_others_may_have_written_runs_only_when_the_user_says_so() {
    if !can_compile() {
        return;
    }
    let place = Place::new();
    let ways = [
        ("my.toml", STUDY, "run --study ./my.toml"),
        ("body.c", "getppid();", "run c:@body.c"),
        ("body.c", "long x = 1;", "run c:getppid() --setup c:@body.c"),
        (
            "body.c",
            "#include <math.h>",
            "run c:getppid() --prelude c:@body.c",
        ),
    ];
    for (name, text, arguments) in ways {
        let arguments = (arguments, BRIEF);
        for mode in [0o664, 0o646] {
            let refused = with_file(&place, name, text, mode, arguments);
            expect_status(&refused, 2);
            let said = stderr(&refused);
            let expected = format!(
                "{name}: others may write it (mode {mode:04o}), and its code would run as you: read it, then make a \
                 copy of your own or add --trust-files\n"
            );
            assert!(
                said.ends_with(&expected) && said.lines().count() == 1,
                "{said}"
            );
        }
        let trusted = with_file(&place, name, text, 0o666, (&arguments, "--trust-files"));
        expect_status(&trusted, 0);
        let own = with_file(&place, name, text, 0o644, arguments);
        expect_status(&own, 0);
    }
}

#[test]
fn another_users_study_is_refused_and_roots_is_not() {
    if !geteuid().is_root() {
        return skip("needs root");
    }
    if !can_compile() {
        return;
    }
    let place = Place::new();
    let arguments = ("run --study ./my.toml", BRIEF);
    assert!(
        with_file(&place, "my.toml", STUDY, 0o644, arguments)
            .status
            .success()
    );
    succeeds(place.command_as_nobody(arguments));
    chown(place.path().join("my.toml"), Some(NOBODY), None).unwrap();
    succeeds(place.command_as_nobody(arguments));
    let refused = place.run(arguments);
    expect_status(&refused, 2);
    let said = stderr(&refused);
    expect_start(
        &said,
        "syscost: ./my.toml: it belongs to nobody, and its code would run as you",
    );
    chown(place.path().join("my.toml"), Some(NOBODY - 1), None).unwrap();
    assert_eq!(
        place
            .command_as_nobody(arguments)
            .output()
            .unwrap()
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn reading_a_study_needs_no_trust() {
    let place = Place::new();
    let study = "title = 'mine'\n[[case]]\nname = 'a'\noperation = 'no.such'\n";
    let said = stderr(&with_file(
        &place,
        "my.toml",
        study,
        0o666,
        "compare --study ./my.toml none.json nor.json",
    ));
    expect_in(&said, "none.json");
    expect_not_in(&said, "--trust-files");
}
