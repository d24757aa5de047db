//! Calls that never get to the kernel's tables: those that a seccomp filter answers, one numbered -1, and those on the vsyscall page.

use crate::common::*;
use crate::support::{call, count, trace};

const ALL: [&str; 4] = [
    "--tracer bpf",
    "--tracer bpf --counts",
    "--tracer ptrace",
    "--tracer ptrace --counts",
];

/// The tracers that are there.
fn tracers() -> impl Iterator<Item = &'static str> {
    let skipped = if has_bpf() { 0 } else { 2 };
    ALL.into_iter().skip(skipped)
}

fn program(place: &Place) -> String {
    let program = place.tmp().join("answered");
    let program = program.to_str().unwrap().to_string();
    assert!(cc(format!("-O1 tests/trace_bpf/answered.c -o {program}")));
    program
}

#[test]
fn every_tracer_counts_calls_that_a_filter_answers() {
    let place = Place::new();
    let program = program(&place);
    for tracer in tracers() {
        for action in ["errno", "trap"] {
            let (_, document) = trace(&place, tracer, format!("{program} {action} 300"));
            let found = ["madvise", "getppid", "syscall(-1)"].map(|name| count(&document, name));
            assert_eq!(found, [300, 300, 5], "{tracer} {action}");
            assert_eq!(
                count(&document, "rt_sigreturn"),
                if action == "trap" { 300 } else { 0 },
                "{tracer}"
            );
        }
        let (_, document) = trace(&place, tracer, format!("{program} kill 20"));
        assert_eq!(count(&document, "madvise"), 20, "{tracer} kill");
    }
}

#[test]
fn calls_on_the_vsyscall_page_are_none_to_any_tracer() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    if !maps.contains("[vsyscall]") {
        return skip("no [vsyscall] on this machine");
    }
    let place = Place::new();
    let program = program(&place);
    for tracer in tracers() {
        let (_, document) = trace(&place, tracer, format!("{program} vsyscall 50"));
        assert_eq!(count(&document, "time"), 0, "{tracer}");
    }
}

#[test]
fn the_time_of_an_answered_call_is_unknown_on_every_screen() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let program = program(&place);
    let profile = place.tmp().join("answered.json");
    let profile = profile.to_str().unwrap();
    let words = format!("-o {profile} --tracer bpf");
    let (_, document) = trace(&place, words, format!("{program} errno 3000"));
    let answered = call(&document, "madvise");
    let times = ["on_cpu_ns", "blocked_ns", "runnable_ns", "mean_ns"].map(|name| &answered[name]);
    assert_eq!(times, [&Value::Null; 4], "{answered:#}");
    assert_eq!(
        (&answered["untimed"], &answered["bytes"]),
        (&3000.into(), &Value::Null)
    );
    assert!(call(&document, "getppid")["mean_ns"].as_f64() > Some(0.0));
    // As many as the other one: not ranked below calls that were made once.
    let names: Vec<&str> = list(&document["calls"])
        .iter()
        .map(|call| call["name"].as_str().unwrap())
        .collect();
    assert!(names[..3].contains(&"madvise"), "{names:?}");
    let line =
        "calls without times, since a seccomp filter or a debugger answered them: madvise 3000";
    for words in [format!("show {profile}"), format!("why {profile}")] {
        let text = stdout(&place.run(words));
        expect_in(&text, [line]);
        let row = text.lines().find(|row| row.starts_with("madvise")).unwrap();
        assert!(row.contains('?') && !row.contains("0.00"), "{row}");
    }
    let csv = stdout(&place.run(format!("show {profile} --format csv")));
    let row = csv.lines().find(|row| row.starts_with("madvise")).unwrap();
    assert!(row.starts_with("madvise,3000,3000,,,,"), "{row}");
}
