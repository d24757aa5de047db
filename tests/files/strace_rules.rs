//! Rules and advice on logs and tables of strace.

use crate::common::*;
use crate::strace::{shown, summary, traced_by_strace};
use model::DescriptorKind;

#[test]
fn a_log_with_times_shows_paths_and_descriptors_to_the_rules() {
    let place = Place::new();
    let mut log = String::from("9 1795991000.000000 pipe([3, 4]) = 0 <0.000009>\n");
    for turn in 0..40 {
        let at = 1_795_991_000.1 + 0.01 * f64::from(turn);
        for (ms, call) in [
            (
                0,
                r#"openat(AT_FDCWD, "/t/a-journal", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 5 <0.000020>"#,
            ),
            (1, r#"pwrite64(5, "x", 1, 0) = 1 <0.000030>"#),
            (2, "fdatasync(5) = 0 <0.004000>"),
            (7, "close(5) = 0 <0.000010>"),
            (8, r#"unlink("/t/a-journal") = 0 <0.000040>"#),
            (9, r#"write(4, "x", 1) = 1 <0.000010>"#),
        ] {
            log += &format!("9 {:.6} {call}\n", at + f64::from(ms) / 1000.0);
        }
    }
    place.write("log", &log);
    let text = place.printed("why log");
    expect_in(
        text,
        [
            "40 fdatasync",
            "for 80 writes: about 0.14",
            "waiting included",
        ],
    );
    let profile = traced_by_strace(&log);
    let descriptor = |name: &str| {
        let mut calls = profile.calls();
        calls.find(|c| c.call == name).unwrap().class.descriptor
    };
    assert_eq!(
        ["pwrite64", "write", "fdatasync"].map(descriptor),
        [
            Some(DescriptorKind::File),
            Some(DescriptorKind::Pipe),
            Some(DescriptorKind::File)
        ]
    );
    let unlinks = profile
        .objects
        .iter()
        .find(|object| object.count.call == "unlink");
    assert_eq!(unlinks.map(|object| object.count.calls), Some(40));
}

/// The times of a table are known, even if nothing else is.
#[test]
fn rules_use_the_times_of_tables() {
    let place = Place::new();
    let strace = "% time     seconds  usecs/call     calls    errors syscall\n------\n 52.80    0.075835          62      1204           fdatasync\n \
        12.17    0.017482           5      3009           pwrite64\n";
    let perf = " app (9), 4213 events, 100.0%\n\n   syscall            calls  errors  total       min       avg       max       stddev\n   \
        fdatasync           1204      0  2719.113     0.085     2.258    94.593      6.05%\n   \
        pwrite64            3009      0   115.032     0.011     0.038    11.472     13.33%\n";
    for (table, words, not) in [
        (
            strace,
            [
                "0.0933 s in system calls",
                "about 0.0683 s of 0.0933 s in system calls",
                "system CPU time or",
            ],
            "waiting included",
        ),
        (
            perf,
            [
                "2.83 s in system calls",
                "about 2.45 s of 2.83 s in system calls",
                "they include waiting",
            ],
            "system CPU time",
        ),
    ] {
        place.write("table", table);
        let text = place.printed("why table").replace("\n  ", " ");
        expect_in(&text, words);
        expect_not_in(&text, [not, "time unknown"]);
    }
    let untimed = "syscall calls\nfdatasync 1204\npwrite64 3009\n";
    place.write("table", untimed);
    expect_in(
        place.printed("why table"),
        ["time unknown", "its time is not known"],
    );
}

/// perf counts the return of a new thread as a call of its own.
#[test]
fn a_fork_of_perf_trace_is_one_call() {
    let table = "sh (3125), 196 events, 23.7%\n   syscall calls errors total min avg max stddev\n   \
        vfork 2 0 12.195 2.605 6.097 9.590 57.28%\nsh (3128), 292 events, 35.4%\n   \
        syscall calls errors total min avg max stddev\n   clone 2 0 0.146 0.000 0.073 0.146 0.00%\n   \
        vfork 1 0 0.000 0.000 0.000 0.000 0.00%\n";
    assert_eq!(summary(&traced_by_strace(table)), "clone 1, vfork 2");
}

#[test]
fn a_log_of_many_processes_has_advice_about_their_starts() {
    let mut log =
        "1 1795991000.000000 execve(\"/bin/sh\", [\"sh\"], 0x1) = 0 <0.000100>\n".to_string();
    for child in 2..42 {
        let at = |us: u32| format!("1795991000.{:06}", child * 10_000 + us);
        let ends = at(9_000);
        log += &format!(
            "1 {} vfork() = {child} <0.002000>\n{child} {} execve(\"/bin/true\", [\"true\"], 0x1) = 0 <0.001000>\n\
             {child} {} mmap(NULL, 8, 3, 34, -1, 0) = 0x7f <0.001000>\n{child} {ends} exit_group(0) = ?\n\
             {child} {ends} +++ exited with 0 +++\n1 {ends} wait4(-1, NULL, 0, NULL) = {child} <0.003000>\n",
            at(0),
            at(3_000),
            at(5_000)
        );
    }
    log += "1 1795991000.500000 exit_group(0) = ?\n";
    let tree: Vec<_> = traced_by_strace(&log)
        .tree
        .into_iter()
        .map(|path| (path.names.join(" "), path.processes, path.calls))
        .collect();
    assert_eq!(
        tree,
        [("sh".to_string(), 41, 122), ("sh true".to_string(), 40, 80)]
    );
    expect_in(
        shown(&log, "why log"),
        ["40 processes of true", "Give many items to one process"],
    );
}
