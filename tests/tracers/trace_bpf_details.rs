//! What the eBPF tracer records on request: calls by path, descriptor and stack, and the slowest ones.

use crate::bpf_support as support;
use crate::common::*;
use trace::Detail::{Counts, Times};

use model::{ObjectCount, ObjectKind, Profile};
use support::run_with;
use trace::{Command as Traced, More, Target, TraceOptions};

fn paths() -> More {
    More {
        paths: true,
        ..More::default()
    }
}

fn objects(collected: &Profile, kind: ObjectKind, name: &str) -> Vec<ObjectCount> {
    collected
        .objects
        .iter()
        .filter(|row| row.kind == kind && row.name == name)
        .cloned()
        .collect()
}

#[test]
fn nothing_is_recorded_that_was_not_asked_for() {
    let collected = needs!(run_with("details", Times, More::default()));
    assert!(
        collected.objects.is_empty() && collected.slowest.is_empty() && collected.stacks.is_empty()
    );
    assert_eq!(collected.objects_dropped, None);
}

#[test]
fn calls_are_counted_by_path() {
    for detail in [Times, Counts] {
        let collected = needs!(run_with("details", detail, paths()));
        let missing = objects(&collected, ObjectKind::Path, "/nowhere/missing");
        assert_eq!(
            (
                missing.len(),
                missing[0].count.call.as_str(),
                missing[0].count.calls
            ),
            (1, "access", 500)
        );
        assert_eq!(missing[0].count.errors.get("ENOENT"), Some(&500));
        assert_eq!(
            missing[0].count.on_cpu_ns.is_some_and(|ns| ns > 0),
            detail == Times
        );
        assert_eq!(missing[0].process, "trace-bpf-workl");
        let known = objects(&collected, ObjectKind::Path, "/etc/");
        assert_eq!(
            (
                known.len(),
                known[0].count.calls,
                known[0].count.errors.len()
            ),
            (1, 300, 0)
        );
        // Of 600 bytes, 511 fit.
        let long = collected
            .objects
            .iter()
            .find(|row| row.name.ends_with("x..."))
            .expect("the long path");
        assert_eq!((long.name.len(), long.count.calls), (511 + 3, 7));
        let program = support::workload().unwrap().to_str().unwrap();
        let exec = objects(&collected, ObjectKind::Path, program);
        assert_eq!(
            (exec.len(), exec[0].count.call.as_str(), exec[0].count.calls),
            (1, "execve", 1)
        );
        assert_eq!(collected.objects_dropped, Some(0));
        assert!(
            collected
                .objects
                .is_sorted_by(|a, b| a.count.calls >= b.count.calls)
        );
    }
}

fn three_directories() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    for directory in ["a", "b", "c"] {
        fs::create_dir(top.path().join(directory)).unwrap();
        fs::write(top.path().join(directory).join("x"), "").unwrap();
    }
    top
}

/// Calls of each row with this kind, call, name and directory.
fn calls_on(
    collected: &Profile,
    (kind, call): (ObjectKind, &str),
    name: &str,
    directory: Option<String>,
) -> Vec<u64> {
    let rows = collected.objects.iter().filter(|row| {
        row.kind == kind && row.count.call == call && row.name == name && row.directory == directory
    });
    rows.map(|row| row.count.calls).collect()
}

#[test]
fn a_relative_path_is_another_object_in_each_directory() {
    let both = More {
        descriptors: true,
        ..paths()
    };
    let top = three_directories();
    let top = top.path().to_str().unwrap();
    for (more, detail) in [(paths(), Times), (paths(), Counts), (both, Times)] {
        let collected = needs!(run_with(format!("directories {top}"), detail, more));
        let rows = |kind, call: &str, of: &str, directory: Option<&str>| {
            let below_top = |of: &str| format!("{top}/{of}");
            let directory = directory.map(below_top);
            calls_on(&collected, (kind, call), &below_top(of), directory)
        };
        let path = |of, directory| rows(ObjectKind::Path, "newfstatat", of, directory);
        assert_eq!(path("a/x", Some("a")), [3], "{:?}", collected.objects);
        assert_eq!(
            path("b/x", Some("b")),
            [5],
            "relative to the working directory and to a descriptor"
        );
        assert_eq!([path("c/x", Some("c")), path("c/x", None)], [[6], [7]]);
        // The loader's own stats are of other directories.
        let ours =
            |row: &&ObjectCount| row.count.call == "newfstatat" && row.kind == ObjectKind::Path;
        let ours = collected
            .objects
            .iter()
            .filter(ours)
            .filter(|row| row.name.ends_with("/x"));
        assert_eq!(
            ours.map(|row| row.count.calls).sum::<u64>(),
            3 + 5 + 6 + 7,
            "no path of a descriptor that is not open"
        );
        assert!(
            collected
                .objects
                .iter()
                .all(|row| !row.name.is_empty() && !row.name.contains('"'))
        );
        assert_eq!(
            rows(ObjectKind::Path, "chdir", "a", Some("a")),
            [1],
            "where it led to"
        );
        assert!(
            collected.objects.iter().all(ObjectCount::is_one_object),
            "{:?}",
            collected.objects
        );
        let empty = rows(ObjectKind::Descriptor, "newfstatat", "c", None);
        assert_eq!(
            empty,
            if more.descriptors { vec![8] } else { vec![] },
            "an empty path is a call on the descriptor"
        );
        assert_eq!(collected.objects_dropped, Some(0));
    }
}

#[test]
fn calls_on_more_paths_than_fit_are_counted_as_dropped() {
    let collected = needs!(run_with("paths", Times, paths()));
    let named: u64 = collected
        .objects
        .iter()
        .filter(|row| row.count.call == "access")
        .map(|row| row.count.calls)
        .sum();
    let dropped = collected.objects_dropped.unwrap();
    assert!(
        dropped > 0 && named > 60_000,
        "{named} named, {dropped} dropped"
    );
    // The loader's own calls came first.
    assert_eq!(support::count(&collected, "access"), named + dropped);
}

#[test]
fn calls_are_counted_by_what_descriptors_refer_to() {
    let descriptors = More {
        descriptors: true,
        ..More::default()
    };
    for detail in [Times, Counts] {
        let collected = needs!(run_with("descriptors", detail, descriptors));
        let program = support::workload().unwrap().to_str().unwrap();
        let calls = |call: &str, is: &dyn Fn(&str) -> bool| -> u64 {
            let all = collected
                .objects
                .iter()
                .filter(|row| row.kind == ObjectKind::Descriptor);
            all.filter(|row| row.count.call == call && is(&row.name))
                .map(|row| row.count.calls)
                .sum()
        };
        assert_eq!(
            calls("read", &|name| name == "/dev/zero"),
            200,
            "{:?}",
            collected.objects
        );
        // Deep directories are dots, and may be those of a file system that is seen elsewhere.
        let own = |name: &str| {
            let end = name.strip_prefix("...").unwrap_or_default();
            name == program
                || program.ends_with(end) && !end.is_empty()
                || end.ends_with("/target/tmp/trace-bpf-workload")
        };
        assert_eq!(calls("read", &own), 70, "{:?}", collected.objects);
        assert_eq!(calls("write", &|name| name.starts_with("pipe:[")), 100);
        assert_eq!(calls("write", &|name| name == "anon_inode:[eventfd]"), 90);
        assert_eq!(calls("write", &|name| name.starts_with("socket:[")), 80);
        // What a descriptor referred to is known only from before the call.
        assert_eq!(
            calls("close", &|name| name == "/dev/zero"),
            u64::from(detail == Times)
        );
        assert!(
            collected
                .objects
                .iter()
                .all(|row| row.kind == ObjectKind::Descriptor)
        );
        assert_eq!(collected.objects_dropped, Some(0));
    }
}

#[test]
fn the_slowest_calls_are_kept_one_by_one() {
    let collected = needs!(run_with(
        "slow",
        Times,
        More {
            slowest: 64,
            ..More::default()
        },
    ));
    let mut calls = collected.slowest;
    assert_eq!(calls.len(), 64);
    assert!(calls.is_sorted_by(|a, b| a.elapsed_ns >= b.elapsed_ns));
    assert!(
        calls
            .iter()
            .all(|call| call.blocked_ns.unwrap() <= call.elapsed_ns && call.pid.is_some())
    );
    let sleeps = calls.iter().filter(|call| call.call.ends_with("nanosleep"));
    let ms: Vec<u64> = sleeps
        .map(|call| call.elapsed_ns / 1_000_000)
        .take(5)
        .collect();
    // They may be longer, but not shorter.
    assert!(
        ms.len() == 5
            && ms
                .iter()
                .zip([60, 50, 40, 30, 20])
                .all(|(ms, least)| *ms >= least),
        "{ms:?}"
    );
    // One thread is in one call at a time.
    calls.sort_by_key(|call| call.at_ns);
    assert!(
        calls
            .windows(2)
            .all(|pair| pair[0].at_ns + pair[0].elapsed_ns <= pair[1].at_ns)
    );
}

#[test]
fn what_cannot_be_kept_is_refused() {
    if support::workload().is_none() {
        return;
    }
    let refused = |detail, slowest| {
        let target = Target::Command(Traced::default());
        let more = More {
            slowest,
            ..More::default()
        };
        let options = TraceOptions {
            target,
            tracer: None,
            detail,
            time: None,
            more,
        };
        trace::bpf::open(&options)
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(
        refused(Times, 65).unwrap(),
        "--slowest 65: at most 64 calls are kept"
    );
    assert_eq!(
        refused(Counts, 1).unwrap(),
        "--slowest needs times: leave out --counts"
    );
    assert_eq!(refused(Times, 64), None);
}

#[test]
fn calls_are_counted_by_user_stack() {
    let stacks = More {
        stacks: true,
        slowest: 3,
        ..More::default()
    };
    let collected = needs!(run_with("stacks", Times, stacks));
    let is_named = |frames: &[String]| {
        frames
            .iter()
            .any(|frame| frame == "caller_with_a_name" || frame == "main")
    };
    let rows: Vec<_> = collected
        .stacks
        .iter()
        .filter(|row| row.call == "getppid")
        .collect();
    assert_eq!(rows.iter().map(|row| row.calls).sum::<u64>(), 300);
    let named: u64 = rows
        .iter()
        .filter(|row| is_named(&row.frames))
        .map(|row| row.calls)
        .sum();
    assert_eq!(named, 300, "{rows:?}");
    // The innermost frame comes last.
    assert!(
        rows.iter().all(|row| row
            .frames
            .last()
            .is_some_and(|frame| frame.contains("syscall"))),
        "{rows:?}"
    );
    assert!(
        rows.iter()
            .all(|row| row.on_cpu_ns.is_some() && row.process == "trace-bpf-workl")
    );
    assert!(collected.slowest.iter().all(|call| !call.frames.is_empty()));
    let all: u64 = collected
        .groups
        .iter()
        .flat_map(|group| &group.calls)
        .map(|row| row.calls - row.unfinished)
        .sum();
    assert_eq!(
        collected.stacks.iter().map(|row| row.calls).sum::<u64>(),
        all,
        "{:?}",
        collected.warnings
    );
}
