//! The eBPF tracer on what is already running: processes with the calls that they wait in, a control group, the whole
//! system, and reading while it counts.

use crate::bpf_support as support;
use crate::common::*;
use trace::Detail::{Counts, Times};

use model::{CallCount, Profile};
use support::{count, open_for, rows, run, workload};
use trace::{Detail, Grouping, More, Root, Running, Target, Tracer, Until};

/// A process that is killed at the end of the test.
fn running(program: &Path, line: &str) -> Job {
    let mut command = Command::new(program);
    command.args(line.words()).process_group(0);
    let job = Job::of(command.spawn().unwrap());
    sleep(Duration::from_millis(60));
    job
}

fn id(job: &Job) -> u32 {
    job.pid().as_raw() as u32
}

fn attached(what: &Running, detail: Detail, grouping: Grouping) -> Box<dyn Tracer> {
    let target = Target::Running(what.clone());
    let mut tracer = open_for(
        target,
        detail,
        More {
            grouping,
            ..More::default()
        },
    );
    tracer.attach(Root::Running(what.clone())).unwrap();
    tracer
}

fn follow(tracer: &mut dyn Tracer, ms: u64) {
    tracer
        .follow(&Until {
            after: Some(Duration::from_millis(ms)),
            ..Until::default()
        })
        .unwrap();
}

fn traced_for(what: &Running, detail: Detail, grouping: Grouping, ms: u64) -> Profile {
    let mut tracer = attached(what, detail, grouping);
    follow(tracer.as_mut(), ms);
    tracer.collect().unwrap()
}

#[test]
fn a_call_in_progress_is_blocked_since_tracing_began() {
    if workload().is_none() {
        return;
    }
    let sleeper = running(Path::new("/bin/sleep"), "1000");
    let what = Running::Processes(vec![id(&sleeper)]);
    let collected = traced_for(&what, Times, Grouping::Name, 300);
    let sleeps: Vec<&CallCount> = rows(&collected, "clock_nanosleep").collect();
    assert_eq!(
        (sleeps.len(), sleeps[0].calls, sleeps[0].unfinished),
        (1, 1, 1)
    );
    let (blocked, on_cpu) = (sleeps[0].blocked_ns.unwrap(), sleeps[0].on_cpu_ns.unwrap());
    assert!(
        blocked >= 300_000_000 && on_cpu < blocked / 10,
        "{blocked} blocked, {on_cpu} on"
    );
    let concurrency = collected.usage.concurrency;
    assert!(concurrency.is_none_or(|parts| parts.blocked_ns >= 290_000_000));
    let counts = traced_for(&what, Counts, Grouping::Name, 100);
    assert_eq!(count(&counts, "clock_nanosleep"), 1);
}

#[test]
fn several_processes_are_followed_and_told_apart() {
    let program = needs!(workload());
    let (one, two, other) = (
        running(program, "forever"),
        running(program, "forever"),
        running(program, "forever"),
    );
    let pids = vec![id(&one), id(&two)];
    let collected = traced_for(&Running::Processes(pids), Times, Grouping::Process, 300);
    let mut groups: Vec<u32> = collected
        .groups
        .iter()
        .map(|group| group.pid.unwrap())
        .collect();
    groups.sort_unstable();
    assert!(
        groups.len() == 2 && !groups.contains(&id(&other)),
        "{groups:?}, not {}",
        id(&other)
    );
    assert_eq!(
        (collected.usage.processes, collected.usage.threads),
        (Some(2), Some(2))
    );
    for group in &collected.groups {
        let calls: u64 = group
            .calls
            .iter()
            .filter(|row| row.call == "getppid")
            .map(|row| row.calls)
            .sum();
        assert!(calls >= 200, "{calls}");
    }
}

#[test]
fn the_whole_system_is_traced_but_not_we() {
    let program = needs!(workload());
    let _one = running(program, "forever");
    for detail in [Times, Counts] {
        let collected = traced_for(&Running::System, detail, Grouping::Name, 300);
        assert_eq!(collected.tracer.lost, 0, "{:?}", collected.warnings);
        let group = collected
            .groups
            .iter()
            .find(|group| group.name == "trace-bpf-workl")
            .unwrap();
        let calls: u64 = group
            .calls
            .iter()
            .filter(|row| row.call == "getppid")
            .map(|row| row.calls)
            .sum();
        assert!(calls >= 200, "{calls}");
        // What reads the counts would count itself. (Children that other tests calibrate by have the name, and do not read.)
        let own = collected
            .groups
            .iter()
            .filter(|group| group.name.starts_with("trace_bpf_runni"));
        assert_eq!(
            own.flat_map(|group| &group.calls)
                .filter(|row| row.call == "bpf")
                .count(),
            0
        );
    }
}

#[test]
fn a_control_group_is_traced_with_those_below_it() {
    let program = needs!(workload());
    let group = needs!(ControlGroup::new());
    let below = ControlGroup(group.0.join("below"));
    fs::create_dir(&below.0).unwrap();
    let (inside, _outside) = (running(program, "forever"), running(program, "forever"));
    fs::write(below.0.join("cgroup.procs"), id(&inside).to_string()).unwrap();
    let collected = traced_for(
        &Running::Cgroup(group.0.clone()),
        Times,
        Grouping::Cgroup,
        300,
    );
    let groups: Vec<(&str, Option<&str>)> = collected
        .groups
        .iter()
        .map(|group| (group.name.as_str(), group.cgroup.as_deref()))
        .collect();
    let path = format!("/{}/below", group.0.file_name().unwrap().to_str().unwrap());
    assert_eq!(groups, [("trace-bpf-workl", Some(path.as_str()))]);
    assert!(count(&collected, "getppid") >= 200);
    assert_eq!(collected.usage.processes, Some(1));
    drop(inside);
    drop(below);
}

#[test]
fn counts_are_read_while_they_grow() {
    let program = needs!(workload());
    let child = running(program, "forever");
    let what = Running::Processes(vec![id(&child)]);
    let mut tracer = attached(&what, Times, Grouping::Name);
    let mut before = 0;
    for _ in 0..5 {
        follow(tracer.as_mut(), 100);
        let now = count(&tracer.snapshot().unwrap().0, "getppid");
        assert!(now > before, "{now} after {before}");
        before = now;
    }
    assert!(count(&tracer.collect().unwrap(), "getppid") >= before);
}

#[test]
fn wall_time_is_divided_by_what_the_threads_did() {
    let collected = needs!(run("blocked", Times));
    let parts = collected.usage.concurrency.clone().unwrap();
    assert!(parts.blocked_ns >= 200_000_000, "{parts:?}");
    assert_eq!(parts.on_cpu_ns.len(), 1, "one thread: {parts:?}");
    let slept = |row: &&CallCount| row.call.ends_with("nanosleep");
    let stalled: u64 = collected
        .groups
        .iter()
        .flat_map(|group| &group.calls)
        .filter(slept)
        .filter_map(|row| row.stalled_ns)
        .sum();
    assert!(
        stalled >= 200_000_000 && stalled <= parts.blocked_ns,
        "{stalled} of {parts:?}"
    );
    let tree = run("tree", Times).unwrap();
    assert!(
        tree.usage.peak_concurrency.unwrap() >= 2,
        "{:?}",
        tree.usage
    );
}

const SPIN: &str = "
#include <unistd.h>
unsigned long busy(unsigned long x) { for (int i = 0; i < 1000; i++) x = x * 31 + i; return x; }
int main(int count, char **arguments)
{
	volatile unsigned long x = 1;
	for (int i = 0; count == 1 || i < 100; i++, count > 1 && getppid())
		for (int j = 0; j < 1000; j++) x = busy(x);
}
";

/// Without arguments, it makes no system call.
#[test]
fn a_program_that_computes_is_answered_with_its_function() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    place.write("spin.c", SPIN);
    let program = place.path().join("spin");
    assert!(cc(format!(
        "-O1 -fno-inline -o {} {}",
        program.display(),
        place.path().join("spin.c").display()
    )));
    let spin = running(&program, "");
    let ran = place.run(format!("why --for 1 --report - -p {}", id(&spin)));
    expect_status(&ran, 0);
    expect_in(stdout(&ran), ["CPU-bound: ", "busy()"]);
    let ran = place.run(format!("why -o p.json -- {} calls", program.display()));
    expect_status(&ran, 0);
    let functions = &place.parsed("p.json")["usage"]["outside"]["functions"];
    assert_eq!(functions[0]["name"], "busy", "{functions:#}");
}

const SPIN_NODE: &str = "
function busy() { let x = 0; for (let i = 0; i < 5e6; i++) x += (i * 7) % 13; return x; }
const begun = Date.now();
while (Date.now() - begun < 1500) busy();
console.log(process.pid);
";

#[test]
fn functions_that_were_compiled_at_run_time_are_named_in_user_mode() {
    if !has_bpf() {
        return;
    }
    if Command::new("node").arg("--version").output().is_err() {
        return skip("no node");
    }
    let place = Place::new();
    place.write("spin.js", SPIN_NODE);
    for (option, expected) in [("--perf-basic-prof", "busy (spin.js:2)"), ("", "[unknown]")] {
        let ran = place.run(format!("why -o p.json -- node {option} spin.js"));
        expect_status(&ran, 0);
        // Node leaves its map.
        let _ = fs::remove_file(format!("/tmp/perf-{}.map", stdout(&ran).trim()));
        let functions = &place.parsed("p.json")["usage"]["outside"]["functions"];
        assert_eq!(functions[0]["name"], expected, "{functions:#}");
    }
}
