//! Tests the sources: no bare number is passed through a variadic call. It would be an int, and the upper half of the
//! long or pointer that the kernel reads would be undefined.

use std::path::{Path, PathBuf};

const VARIADIC: [&str; 5] = ["syscall", "ptrace", "prctl", "fcntl", "ioctl"];

/// The arguments of each variadic call.
fn calls(source: &str) -> Vec<Vec<&str>> {
    VARIADIC
        .iter()
        .flat_map(|name| {
            source
                .split(&format!("libc::{name}("))
                .skip(1)
                .map(arguments)
                .collect::<Vec<_>>()
        })
        .collect()
}

fn arguments(rest: &str) -> Vec<&str> {
    let mut level = 1;
    let end = rest.find(|c| {
        level += i32::from(c == '(') - i32::from(c == ')');
        level == 0
    });
    rest[..end.unwrap()].split(',').map(str::trim).collect()
}

fn is_bare_number(argument: &&str) -> bool {
    let digits = argument.trim_start_matches('-');
    let has_type = digits.contains(['i', 'u']);
    digits.starts_with(|c: char| c.is_ascii_digit()) && !has_type
}

fn sources(path: PathBuf) -> Vec<PathBuf> {
    match std::fs::read_dir(&path) {
        Ok(entries) => entries
            .flat_map(|entry| sources(entry.unwrap().path()))
            .collect(),
        Err(_) => vec![path],
    }
}

#[test]
fn a_bare_number_is_found() {
    let found = |rest: &str| {
        let source = format!("unsafe {{ libc::{rest} }};");
        calls(&source)[0].iter().any(is_bare_number)
    };
    assert!(found("syscall(libc::SYS_close, f(fd), -1)") && found("fcntl(\n0x1f,\n)"));
    assert!(!found("syscall(libc::SYS_close, fd2, FLAGS, 0u64)"));
}

#[test]
fn no_bare_number_goes_through_a_variadic_call() {
    let mut all = 0;
    for path in sources(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")) {
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        for call in calls(&source) {
            assert!(
                !call.iter().any(is_bare_number),
                "{}: {call:?}",
                path.display()
            );
            all += 1;
        }
    }
    assert!(all >= 10, "{all}");
}
