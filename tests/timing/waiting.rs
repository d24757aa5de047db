//! On a CPU, runnable, blocked: programs of which it is known what they wait for, and the kernel's own accounting as a witness.
//! The eBPF tracer sees wake-ups, so every place that tells of waiting has to agree to the nanosecond, on a busy machine too.

use crate::alone;
use crate::common::*;

struct Traced {
    place: Place,
    summary: Value,
    profile: Value,
    run_delay_s: f64,
}

/// Traces a program of `waits.c`; `None` where eBPF cannot be used, which is said.
fn traced(arguments: impl Line) -> Option<Traced> {
    if let Err(why) = sys::bpf::available() {
        skip(&why);
        return None;
    }
    let place = Place::new();
    let program = place.tmp().join("waits");
    let line = format!(
        "-O1 -pthread -o {} tests/waiting/waits.c",
        program.display()
    );
    assert!(cc(line));
    let words = format!(
        "trace --tracer bpf -o p.json --report /dev/null -- {}",
        program.display()
    );
    let ran = place.run((&words, arguments));
    expect_status(&ran, 0);
    let accounting: Vec<f64> = stdout(&ran)
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    let summary = place.document("show p.json");
    let profile = place.parsed("p.json");
    Some(Traced {
        place,
        summary,
        profile,
        run_delay_s: accounting[1] / 1e9,
    })
}

impl Traced {
    fn call(&self, name: &str) -> &Value {
        let calls = self.summary["calls"].as_array().unwrap();
        calls
            .iter()
            .find(|call| call["name"] == name)
            .unwrap_or_else(|| panic!("no {name}: {calls:#?}"))
    }

    fn seconds(&self, call: &str, field: &str) -> f64 {
        self.call(call)[field].as_f64().unwrap() / 1e9
    }

    /// Wall time in which all threads were blocked, and in which one was runnable and none on a CPU.
    fn wall_s(&self) -> (f64, f64) {
        let states = &self.summary["usage"]["concurrency"];
        (
            states["blocked_ns"].as_f64().unwrap() / 1e9,
            states["waiting_ns"].as_f64().unwrap() / 1e9,
        )
    }

    /// What every profile has to fulfil: the parts of each call add up, and those of the file keep their meaning.
    fn is_consistent(&self) {
        for call in self.summary["calls"].as_array().unwrap() {
            let ns = |field: &str| call[field].as_u64().unwrap();
            assert_eq!(
                ns("elapsed_ns"),
                ns("on_cpu_ns") + ns("runnable_ns") + ns("blocked_ns"),
                "{call:#}"
            );
        }
        let sum = |field: &str| -> u64 {
            let calls = self.profile["calls"].as_array().unwrap().iter();
            calls.map(|call| call[field].as_u64().unwrap()).sum()
        };
        let total = &self.summary["total"];
        assert_eq!(total["blocked_ns"].as_u64().unwrap(), sum("blocked_ns"));
        assert_eq!(total["runnable_ns"].as_u64().unwrap(), sum("runnable_ns"));
    }

    fn path_s(&self, kind: &str) -> f64 {
        let found = self.place.document("why p.json");
        let parts = list(&found["time"]["parts"]).clone();
        parts
            .iter()
            .filter(|part| part["kind"] == kind)
            .map(|part| part["wall_s"].as_f64().unwrap())
            .sum()
    }
}

/// Equal but for what the calls around and the ends of a trace take.
fn about(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.01 * a.max(b) + 0.002
}

#[test]
fn a_sleep_is_blocked_for_as_long_as_was_asked_and_no_longer_until_it_runs() {
    let _alone = alone();
    // Of each of 60 pauses, up to 100 us from the wake-up on may be an idle CPU that wakes up, which is no run delay.
    let waking = 0.006;
    for words in [["sleep"], ["sleep-beside-hogs"]] {
        let traced = needs!(traced(words));
        traced.is_consistent();
        let blocked = traced.seconds("clock_nanosleep", "blocked_ns");
        // 60 pauses of 5 ms, less what the calls themselves took before they slept.
        assert!(blocked > 0.29, "{blocked}");
        if words == ["sleep"] {
            // One thread: it is blocked when all threads are.
            let (all_blocked, waiting) = traced.wall_s();
            assert!(about(blocked, all_blocked), "{blocked} {all_blocked}");
            assert!(about(traced.path_s("blocked"), all_blocked));
            assert!(traced.seconds("clock_nanosleep", "runnable_ns") <= waiting + waking);
        }
        let runnable = traced.seconds("clock_nanosleep", "runnable_ns");
        assert!(
            runnable <= traced.run_delay_s + waking,
            "{runnable} {}",
            traced.run_delay_s
        );
    }
}

#[test]
fn a_call_that_computes_beside_two_others_is_runnable_and_never_blocked() {
    let _alone = alone();
    let traced = needs!(traced("spin-beside-hogs"));
    traced.is_consistent();
    let of = |field| traced.seconds("readv", field);
    assert!(of("on_cpu_ns") > 0.2, "{:#}", traced.call("readv"));
    // Two others want the CPU all the time.
    assert!(of("runnable_ns") > 0.01, "{:#}", traced.call("readv"));
    assert!(
        of("blocked_ns") < 0.05 * of("runnable_ns"),
        "{:#}",
        traced.call("readv")
    );
    assert!(
        of("runnable_ns") <= traced.run_delay_s + 0.002,
        "{} {:#}",
        traced.run_delay_s,
        traced.call("readv")
    );
}

#[test]
fn what_waits_for_a_disk_has_one_name_in_tables_and_bars() {
    let _alone = alone();
    let file = std::env::current_dir()
        .unwrap()
        .join(format!("target-waits-{}", std::process::id()));
    let traced = needs!(traced(format!("disk {}", file.display())));
    traced.is_consistent();
    let (all_blocked, waiting) = traced.wall_s();
    let total = &traced.summary["total"];
    assert!(
        about(total["blocked_ns"].as_f64().unwrap() / 1e9, all_blocked),
        "{all_blocked} {total:#}"
    );
    assert!(
        total["runnable_ns"].as_f64().unwrap() / 1e9 <= waiting + 0.002,
        "{waiting} {total:#}"
    );
    assert!(
        about(traced.path_s("waiting_for_cpu"), waiting)
            && about(traced.path_s("blocked"), all_blocked)
    );
    let texts = [
        &["show", "p.json"][..],
        &["why", "p.json"],
        &["report", "p.json", "-o", "p.html"],
    ];
    let texts: Vec<String> = texts
        .iter()
        .map(|words| stdout(&traced.place.run(words)))
        .collect();
    // Sentences and bars have its long name, with the word of tables and fields.
    const BOTH: [&str; 2] = [
        "waiting for a CPU (runnable)",
        "runnable (waiting for a CPU)",
    ];
    for text in &texts {
        let both: usize = BOTH.iter().map(|name| text.matches(name).count()).sum();
        assert_eq!(text.matches("waiting for a CPU").count(), both, "{text}");
    }
    let page = traced.place.read("p.html");
    assert!(page.contains(BOTH[0]), "{page}");
    assert!(
        texts
            .iter()
            .chain([&page])
            .all(|text| !text.contains("preempted")),
        "{texts:?} {page}"
    );
}

#[test]
fn partners_are_blocked_in_turn_and_runnable_where_they_share_a_cpu() {
    let _alone = alone();
    for words in ["partner", "partner-on-one-cpu"] {
        let traced = needs!(traced([words]));
        traced.is_consistent();
        let of = |field| traced.seconds("read", field);
        assert!(
            of("blocked_ns") > 0.0 && of("runnable_ns") > 0.0,
            "{:#}",
            traced.call("read")
        );
        // Each reads while the other one has the byte: neither the writer's time nor its way to a CPU is time in which all
        // were blocked.
        let (all_blocked, _) = traced.wall_s();
        let stalled = traced.seconds("read", "stalled_ns");
        assert!(
            stalled <= all_blocked + 0.002 && stalled <= of("blocked_ns"),
            "{stalled} {all_blocked}"
        );
    }
}
