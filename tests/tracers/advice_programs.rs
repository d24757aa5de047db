//! Advice on the programs of tests/advice/faults.c as the kernel runs them. Whether the seconds are right is measured by
//! bench/faults/check.

use crate::common::*;

/// Faults that are the only ones of their programs.
const ANSWERS: [&str; 8] = [
    "small-reads",
    "stat-storm",
    "identity",
    "discards",
    "signal-masks",
    "open-again",
    "empty-polls",
    "spin",
];

#[test]
fn the_answer_is_in_the_first_three_lines_of_a_screen() {
    if !has_bpf() {
        return;
    }
    let walked = one_of_each_kind(&ANSWERS, &ANSWERS[..5]);
    for (fault, _, name, count) in FAULTS.iter().filter(|(fault, ..)| walked.contains(fault)) {
        let screen = trace(fault, "faulty", count).printed("why p.json");
        let first: Vec<&str> = screen.lines().take(3).collect();
        let is_answer = first[1].starts_with("faults: ") && first.join(" ").contains(name);
        assert!(is_answer, "{fault}: {screen}");
        assert!(screen.lines().count() <= 24, "{fault}: {screen}");
    }
}

const FAULTS: [(&str, &str, &str, &str); 27] = [
    ("small-reads", "small-transfers", "read", "50000"),
    ("small-writes", "small-transfers", "write", "50000"),
    ("search-path", "search", "openat", "2000"),
    ("stat-storm", "same-answer", "newfstatat", "50000"),
    ("identity", "same-answer", "getpid", "50000"),
    ("real-clock", "same-answer", "clock_gettime", "50000"),
    ("empty-polls", "empty-polls", "poll", "5000"),
    ("empty-reads", "same-answer", "read", "20000"),
    ("futex-traffic", "futex-traffic", "futex", "10000"),
    ("fork-for-exec", "fork-for-exec", "clone", "12"),
    ("sync-per-record", "sync-per-record", "fdatasync", "40"),
    ("large-poll-sets", "large-poll-sets", "poll", "2000"),
    ("temporary-files", "temporary-files", "unlink", "500"),
    ("small-maps", "memory-again", "munmap", "500"),
    ("discards", "memory-again", "madvise", "2000"),
    ("trims", "memory-again", "brk", "2000"),
    ("signal-masks", "same-answer", "rt_sigprocmask", "100000"),
    ("end-of-input", "same-answer", "read", "100000"),
    ("watches", "same-answer", "inotify_add_watch", "20000"),
    ("four-looks", "same-answer", "newfstatat", "2000"),
    ("open-again", "open-again", "openat", "20000"),
    ("small-file-maps", "small-file-maps", "munmap", "4000"),
    ("descriptor-sweep", "same-answer", "fcntl", "100000"),
    ("spin", "same-answer", "sched_yield", "200000"),
    ("wake-ups", "wake-ups", "clock_nanosleep", "500"),
    ("locks", "locks", "fcntl", "20000"),
    ("process-per-item", "process-per-item", "execve", "50"),
];

const KINDS: [&str; 6] = [
    "small-reads",
    "discards",
    "signal-masks",
    "identity",
    "fork-for-exec",
    "wake-ups",
];

fn faults() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults");
        let line = format!(
            "-O1 -pthread -o {} tests/advice/faults.c",
            program.display()
        );
        assert!(cc(line));
        program
    })
}

fn traced(fault: &str, variant: &str, count: &str) -> Vec<Value> {
    list(&trace(fault, variant, count).document("why p.json")["advice"]).clone()
}

/// A place with the profile p.json.
fn trace(fault: &str, variant: &str, count: &str) -> Place {
    let place = Place::new();
    let program = faults().to_str().unwrap();
    let words =
        format!("--paths -o p.json --report /dev/null -- {program} {fault} {variant} {count}");
    // cargo sets it to directories that the loader searches in vain: on a busy machine those failed opens become advice.
    let mut trace = place.command(("trace", &words));
    let output = trace.env_remove("LD_LIBRARY_PATH").output().unwrap();
    expect_status(&output, 0);
    place
}

fn tells(&(fault, rule, name, count): &(&str, &str, &str, &str)) {
    let of_rule = |all: Vec<Value>| all.into_iter().find(|advice| advice["rule"] == rule);
    let faulty = traced(fault, "faulty", count);
    let one = of_rule(faulty.clone()).unwrap_or_else(|| panic!("{fault}: {faulty:#?}"));
    assert_eq!(one["process"], "faults", "{one:#}");
    assert!(list(&one["names"]).contains(&name.into()), "{one:#}");
    let fixed = of_rule(traced(fault, "fixed", count));
    assert_eq!(fixed, None, "{fault} fixed");
}

/// By paths, and by prices.
#[test]
fn ordinary_users_are_told_what_is_wrong_with_a_real_program() {
    let place = Place::new().opened();
    let program = faults().to_str().unwrap();
    let line = format!("why --report - --format json -- {program} open-again faulty 10000");
    let document = json(&place.command_without_rights(line).output().unwrap());
    let advice = list(&document["advice"]).iter();
    let rules: Vec<&Value> = advice.map(|advice| &advice["rule"]).collect();
    assert!(rules.contains(&&Value::from("open-again")), "{document:#}");
}

#[test]
fn real_programs_are_told_what_is_wrong_with_them() {
    if !has_bpf() {
        return;
    }
    let names = FAULTS.map(|(fault, ..)| fault);
    let walked = one_of_each_kind(&names, &KINDS);
    FAULTS
        .iter()
        .filter(|(fault, ..)| walked.contains(fault))
        .for_each(tells);
    assert_eq!(
        traced("lock-files", "faulty", "300"),
        [] as [Value; 0],
        "a lock file holds a process id"
    );
}
