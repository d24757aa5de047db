//! Counted events against the real kernel. What cannot be tested here is said on standard error.

use crate::common::{Place, expect_valid, skip, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;
use syscost::counters;
use syscost::kernel::Sources;
use syscost::kernel::affinity::{Placement, Wanted};
use syscost::kernel::counters::AvailableEvents;
use syscost::model::{Counters, Operation, Planned};
use syscost::plan::{Choices, Subject, select};
use syscost::runner::{Interrupt, RunDirectory, Workers, read_catalogue};
use syscost::split;
use syscost::stats;

struct Machine {
    workers: Workers,
    catalogue: Vec<Operation>,
    offer: AvailableEvents,
}

fn machine() -> Machine {
    let directory = RunDirectory::create().unwrap();
    let catalogue = read_catalogue(&directory.probe()).unwrap();
    let placement = Placement::choose(Wanted::Best).unwrap();
    let offer = AvailableEvents::here(&Sources::default(), placement.measuring);
    let workers = Workers::new(directory, placement, Interrupt::default(), Duration::from_secs(10));
    Machine { workers, catalogue, offer }
}

impl Machine {
    fn planned(&self, id: &str) -> Planned {
        let operation = self.catalogue.iter().find(|operation| operation.id == id).unwrap();
        select(&self.catalogue, &[Subject::Operation(operation)], &Choices::default()).unwrap().remove(0)
    }

    fn count(&mut self, id: &str) -> Counters {
        let planned = self.planned(id);
        counters::count(&self.workers, &planned, &mut self.offer, counters::LONG).unwrap()
    }

    /// Whether the event can be counted here; said loudly if not.
    fn has(&self, test: &str, event: &str) -> bool {
        let offered = self.offer.groups.iter().flatten().any(|countable| countable.name() == event);
        if !offered {
            let refused = self.offer.refused.iter().find(|(own, _)| own.name == event);
            skip(test, &format!("{event}: {}", refused.map_or("user mode only".into(), |(_, why)| why.to_string())));
        }
        offered
    }
}

fn value(counters: &Counters, event: &str) -> f64 {
    stats::event_count(&stats::launch_medians(&counters.counted[event])).unwrap().value
}

#[test]
fn the_first_write_to_a_page_is_one_fault() {
    let mut machine = machine();
    if !machine.has("the_first_write_to_a_page_is_one_fault", "page-faults") {
        return;
    }
    let faults = |counters: &Counters| value(counters, "page-faults");
    let anonymous = faults(&machine.count("mem.fault_anonymous"));
    assert!((anonymous - 1.0).abs() < 0.01, "{anonymous}");
    let none = faults(&machine.count("id.getppid"));
    assert!(none.abs() < 0.01, "{none}");
}

#[test]
fn children_and_partners_are_counted() {
    let mut machine = machine();
    if !machine.has("children_and_partners_are_counted", "context-switches") {
        return;
    }
    let fork = machine.count("process.fork_wait");
    assert!(value(&fork, "page-faults") > 3.0, "{fork:?}");
    let pipe = value(&machine.count("ipc.pipe"), "context-switches");
    assert!(pipe > 1.5, "there and back, each of the two sleeps once: {pipe}");
}

#[test]
fn untimed_preparation_is_not_counted() {
    let mut machine = machine();
    if !machine.has("untimed_preparation_is_not_counted", "page-faults") {
        return;
    }
    // Each page is written to, untimed, before it is given back.
    let faults = value(&machine.count("mem.madvise"), "page-faults");
    assert!(faults.abs() < 0.01, "{faults}");
}

#[test]
fn instructions_repeat_and_are_those_of_perf_stat() {
    let test = "instructions_repeat_and_are_those_of_perf_stat";
    let mut machine = machine();
    if !machine.has(test, "instructions:k") {
        return;
    }
    let counted = machine.count("id.getppid");
    let ours = stats::event_count(&stats::launch_medians(&counted.counted["instructions:k"])).unwrap();
    let (low, high) = ours.low_high.unwrap();
    assert!((high - low) / ours.value < 0.05, "{ours:?}");
    let Some(theirs) = perf_stat(&machine, "id.getppid", "instructions:k") else {
        return skip(test, "there is no perf that counts instructions:k");
    };
    assert!((ours.value / theirs - 1.0).abs() < 0.01, "ours {}, perf's {theirs}", ours.value);
}

/// The same difference by perf: two numbers of iterations, each in a process of its own.
fn perf_stat(machine: &Machine, id: &str, event: &str) -> Option<f64> {
    let (few, many) = (100_000, 1_100_000);
    let mut differences: Vec<f64> = (0..5)
        .map(|_| Some((perf_count(machine, id, event, many)? - perf_count(machine, id, event, few)?) / 1e6))
        .collect::<Option<_>>()?;
    differences.sort_by(f64::total_cmp);
    Some(differences[2])
}

fn perf_count(machine: &Machine, id: &str, event: &str, n: u64) -> Option<f64> {
    let probe = machine.workers.probe();
    let arguments = ["stat", "-x,", "-e", event, "--", probe.to_str()?];
    let mut perf = Command::new("perf")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = perf.stdin.take()?;
    let mut lines = BufReader::new(perf.stdout.take()?).lines();
    writeln!(input, "op {id}").ok()?;
    lines.next()?.ok()?;
    writeln!(input, "{n} 1").ok()?;
    lines.next()?.ok()?;
    drop(input);
    let said = perf.wait_with_output().ok()?;
    let text = String::from_utf8(said.stderr).ok()?;
    text.lines().find(|line| line.contains(event))?.split(',').next()?.parse().ok()
}

#[test]
fn samples_of_the_mode_agree_with_its_cycles() {
    let test = "samples_of_the_mode_agree_with_its_cycles";
    let mut machine = machine();
    if !machine.has(test, "cycles:k") || !machine.has(test, "cycles:u") {
        return;
    }
    for id in ["id.getppid", "call.spin", "file.stat"] {
        let exact = stats::user_share_by_cycles(&machine.count(id)).unwrap();
        let Some(samples) = split::split(&machine.workers, &machine.planned(id), split::TIME) else {
            skip(test, "the mode cannot be sampled here");
            continue;
        };
        let sampled = samples.user as f64 / (samples.user + samples.system) as f64;
        assert!((exact.share - sampled).abs() < 0.1, "{id}: by cycles {}, by samples {sampled}", exact.share);
    }
}

fn records(place: &Place, file: &str) -> Vec<Value> {
    let run: Value = serde_json::from_str(&fs::read_to_string(place.path().join(file)).unwrap()).unwrap();
    run["records"].as_array().unwrap().clone()
}

#[test]
fn a_run_counts_shows_and_compares() {
    let place = Place::new();
    let machine = machine();
    if !machine.has("a_run_counts_shows_and_compares", "page-faults") {
        return;
    }
    let run = ["run", "mem.fault_anonymous", "--time", "0.5", "--quiet", "--counters"];
    let table = place.printed(&[&run[..], &["--out", "a.json"]].concat());
    assert!(table.lines().any(|line| line.contains("faults")), "{table}");
    let warned = table.contains("not counted (--counters)");
    assert_eq!(warned, !machine.offer.refused.is_empty(), "{table}");
    let counted = &records(&place, "a.json")[0]["counters"]["counted"]["page-faults"];
    assert!(counted.as_array().is_some_and(|launches| launches.len() >= 3), "{counted}");

    let view = place.printed(&["show", "a.json", "--view", "counters"]);
    assert!(view.contains("page-faults") && view.contains("call.direct"), "{view}");
    place.printed(&["run", "mem.fault_anonymous", "--time", "0.5", "--quiet", "--view", "counters", "--out", "b.json"]);
    let gated = place.run(&["compare", "a.json", "b.json", "--metric", "page-faults", "--fail-over", "0.5%"]);
    let compared = stdout(&gated);
    assert!(compared.contains("page-faults per iteration"), "{compared}");
    assert!(gated.status.success(), "{}", stderr(&gated));
    assert!(compared.contains("1.0000"), "{compared}");
    let json = place.printed(&["compare", "a.json", "b.json", "--metric", "page-faults", "--format", "json"]);
    expect_valid("comparison-2", &json);
    expect_valid("summary-2", &place.printed(&["show", "a.json", "--format", "json"]));
}

/// A file in which every count of an event is larger by half a percent.
fn half_a_percent_more(place: &Place, from: &str, to: &str, event: &str) {
    let mut run: Value = serde_json::from_str(&fs::read_to_string(place.path().join(from)).unwrap()).unwrap();
    for record in run["records"].as_array_mut().unwrap() {
        // Nothing is counted of what only shows the machine's speed.
        let Some(launches) = record.pointer_mut(&format!("/counters/counted/{event}")) else { continue };
        for launch in launches.as_array_mut().unwrap() {
            for count in launch.as_array_mut().unwrap() {
                *count = (count.as_f64().unwrap() * 1.005).into();
            }
        }
    }
    fs::write(place.path().join(to), run.to_string()).unwrap();
}

#[test]
fn half_a_percent_shows_between_two_runs() {
    let place = Place::new();
    let test = "half_a_percent_shows_between_two_runs";
    let machine = machine();
    // Page faults are as exact as instructions, and counted in software where there is no PMU.
    let hardware = machine.has(test, "instructions:k");
    let (event, id) = if hardware { ("instructions:k", "id.getppid") } else { ("page-faults", "mem.fault_anonymous") };
    if !machine.has(test, event) {
        return;
    }
    for file in ["a.json", "b.json"] {
        place.printed(&["run", id, "--time", "0.5", "--quiet", "--counters", "--out", file]);
    }
    half_a_percent_more(&place, "b.json", "more.json", event);
    let compare =
        |file: &str| place.run(&["compare", "a.json", file, "--metric", event, "--only", id, "--fail-over", "0.2%"]);
    assert_eq!(compare("b.json").status.code(), Some(0), "{}", stderr(&compare("b.json")));
    let more = compare("more.json");
    assert_eq!(more.status.code(), Some(1));
    assert!(stderr(&more).contains("over --fail-over 0.2%"), "{}", stderr(&more));
}

#[test]
fn a_metric_that_is_not_there_is_one_line() {
    let place = Place::new();
    fs::copy(crate::common::root().join("tests/golden/run.json"), place.path().join("a.json")).unwrap();
    fs::copy(crate::common::root().join("tests/golden/run.json"), place.path().join("b.json")).unwrap();
    let fails = |metric: &str| {
        let output = place.run(&["compare", "a.json", "b.json", "--metric", metric]);
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    let without = fails("instructions:k");
    assert!(without.contains("instructions:k in a: not counted in this run: measure with --counters"), "{without}");
    assert_eq!(without.lines().count(), 1, "{without}");
    assert!(fails("wishes").contains("'wishes' is not a metric: choose ns, instructions:k,"));
    assert!(place.printed(&["show", "a.json", "--view", "counters"]).contains("no events were counted in this run"));
}
