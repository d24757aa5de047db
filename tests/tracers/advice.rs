//! Advice: each rule on a made profile with the fault and without it, and on the programs of tests/advice/faults.c as the
//! kernel runs them. Whether the seconds are right is measured by bench/advice.

use crate::common::{Place, has_bpf, json, stderr};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use syscost::attribute::advice::{Advice, PathUse, Rule, Time, advice};
use syscost::attribute::costs::Costs;
use syscost::model::*;
use syscost::store;

/// Operation, parameter, nanoseconds, kernel entries.
type Cost = (&'static str, Option<(&'static str, u64)>, f64, &'static [&'static str]);

/// Made-up unit costs.
const COSTS: &[Cost] = &[
    ("id.getppid", None, 50.0, &["getppid"]),
    ("io.read_file", Some(("size", 1)), 100.0, &["read"]),
    ("io.read_file", Some(("size", 4096)), 500.0, &["read"]),
    ("io.write_file", Some(("size", 1)), 100.0, &["write"]),
    ("io.write_file", Some(("size", 4096)), 500.0, &["write"]),
    ("socket.send_recv", None, 700.0, &["sendto"]),
    ("file.stat", Some(("depth", 1)), 400.0, &["newfstatat"]),
    ("file.stat_absent", None, 200.0, &["newfstatat"]),
    ("file.open_close", Some(("depth", 1)), 900.0, &["openat"]),
    ("fd.close", None, 100.0, &["close"]),
    ("file.truncate", None, 1000.0, &["truncate"]),
    ("time.clock_gettime", None, 20.0, &[]),
    ("sync.mutex", None, 10.0, &[]),
    ("sync.futex_wake", None, 100.0, &["futex"]),
    ("sync.futex_wait_fails", None, 150.0, &["futex"]),
    ("sync.futex_pingpong", None, 1700.0, &["futex"]),
    ("mem.fault_anonymous", None, 500.0, &[]),
    ("process.fork_wait", None, 70_000.0, &["clone"]),
    ("process.vfork_wait", None, 20_000.0, &["vfork"]),
    ("process.vfork_exec_static", None, 220_000.0, &["vfork"]),
    ("event.poll_none", Some(("fds", 1)), 100.0, &["poll"]),
    ("event.epoll_wait_one", Some(("fds", 1)), 200.0, &["epoll_wait"]),
];

fn costs() -> Run {
    let record = |(operation, param, ns, entries): &Cost| {
        let mut case = Case::native(operation);
        case.params = param.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        Record {
            entries: Some(entries.iter().map(|name| (name.to_string(), 1.0)).collect()),
            entries_status: EntriesStatus::Verified,
            case,
            ..published(operation, *ns)
        }
    };
    let source = Some(Source { title: "made up".into(), note: String::new() });
    Run { complete: true, records: COSTS.iter().map(record).collect(), source, ..Run::default() }
}

/// So many calls, which took this many microseconds on a CPU.
fn call(name: &str, calls: u64, on_cpu_us: u64) -> CallCount {
    let (on_cpu_ns, blocked_ns) = (Some(on_cpu_us * 1000), Some(0));
    CallCount { call: name.into(), calls, on_cpu_ns, blocked_ns, ..CallCount::default() }
}

fn class(of: impl FnOnce(&mut Class), count: CallCount) -> CallCount {
    let mut count = count;
    of(&mut count.class);
    count
}

fn sized(kind: DescriptorKind, size: u64, count: CallCount) -> CallCount {
    class(|class| (class.descriptor, class.size) = (Some(kind), Some(size)), count)
}

fn operation(name: &str, count: CallCount) -> CallCount {
    class(|class| class.operation = Some(name.into()), count)
}

fn failing(errno: &str, failures: u64, count: CallCount) -> CallCount {
    CallCount { errors: [(errno.to_string(), failures)].into(), ..count }
}

fn blocked(us: u64, count: CallCount) -> CallCount {
    CallCount { blocked_ns: Some(us * 1000), ..count }
}

/// A second of one process, `worker`, beside another that does little.
fn profile(calls: Vec<CallCount>) -> Profile {
    let group = |name: &str, calls| ProcessGroup { name: name.into(), calls, ..ProcessGroup::default() };
    let usage = Usage {
        wall_ns: Some(1_000_000_000),
        minor_faults: Some(50_000),
        processes: Some(1),
        peak_rss_kib: Some(2000),
        ..Usage::default()
    };
    let other = vec![call("read", 3, 1), call("getpid", 1, 1)];
    Profile { usage, complete: true, groups: vec![group("worker", calls), group("sh", other)], ..Profile::default() }
}

fn found(profile: &Profile) -> Vec<Advice> {
    advice(profile, &Costs::from_run(&costs(), None).unwrap())
}

/// The one piece of advice on these calls, its rule's name and saving in milliseconds.
fn only(calls: Vec<CallCount>) -> (Advice, f64) {
    let all = found(&profile(calls));
    let [one] = &all[..] else { panic!("{all:#?}") };
    let saved = one.saved.expect("a saving");
    assert!(saved.low <= saved.value && saved.value <= saved.high, "{one:#?}");
    assert_eq!(one.process, "worker");
    (one.clone(), saved.value * 1e3)
}

fn silent(calls: Vec<CallCount>) {
    let all = found(&profile(calls));
    assert_eq!(all, [], "{all:#?}");
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} {b}");
}

#[test]
fn small_transfers_are_told_apart_by_kind_of_descriptor() {
    use DescriptorKind::{File, Pipe, Socket};
    let reads = |kind, size, calls| sized(kind, size, call("read", calls, 20_000));
    let (one, saved) = only(vec![reads(File, 1, 100_000)]);
    let buffered = 100_000u64.div_ceil(4096);
    assert_eq!(one.rule, Rule::SmallTransfers { descriptor: Some(File), bytes: 100_000, buffered });
    assert_eq!((one.names, one.calls, one.measured_s), (vec!["read".to_string()], 100_000, Some(0.02)));
    near(saved, 20.0 - buffered as f64 * 500e-6);
    silent(vec![reads(File, 4096, 100_000)]);
    // A message may be small.
    silent(vec![reads(Pipe, 1, 100_000), reads(Socket, 1, 100_000)]);
    silent(vec![reads(File, 1, 500)]);
    // One read of a file's head each, after an open or a seek.
    silent(vec![reads(File, 8, 20_000), call("openat", 20_000, 9_000)]);
    silent(vec![reads(File, 8, 20_000), call("lseek", 19_500, 9_000)]);
    let (write, _) = only(vec![sized(Pipe, 1, call("write", 100_000, 20_000))]);
    assert!(matches!(write.rule, Rule::SmallTransfers { descriptor: Some(Pipe), .. }), "{write:#?}");
    // A file each, as when a tree is copied; an answer to each request, or a line in a log for it.
    let writes = || sized(File, 64, call("write", 20_000, 20_000));
    silent(vec![writes(), call("openat", 20_000, 9_000)]);
    silent(vec![writes(), call("fdatasync", 20_000, 9)]);
    silent(vec![writes(), sized(Socket, 64, call("recvfrom", 20_000, 9_000))]);
    only(vec![writes(), call("openat", 100, 90)]);
}

#[test]
fn what_each_process_does_as_it_starts_is_not_to_blame() {
    let stats = || call("getpid", 100_000, 60_000);
    only(vec![stats(), call("exit_group", 5, 10)]);
    silent(vec![stats(), call("exit_group", 200, 10)]);
    silent(vec![stats(), call("execve", 200, 10)]);
}

#[test]
fn empty_reads_are_those_that_fail_with_eagain() {
    let read =
        |failures| failing("EAGAIN", failures, sized(DescriptorKind::Socket, 0, call("recvfrom", 10_000, 8_000)));
    let (one, saved) = only(vec![read(5_000)]);
    assert_eq!((one.calls, one.rule), (5_000, Rule::EmptyReads { descriptor: Some(DescriptorKind::Socket) }));
    near(saved, 4.0);
    silent(vec![read(5)]);
    // One for each poll is how a loop learns that there is no more, and an accept has no other way.
    silent(vec![read(5_000), blocked(900_000, call("epoll_wait", 4_500, 6_000))]);
    silent(vec![CallCount { call: "accept4".into(), ..read(5_000) }]);
}

#[test]
fn empty_polls_are_those_that_nothing_can_have_followed() {
    let poll = |calls| class(|class| class.set = Some(1), call("poll", calls, calls / 5));
    let reads = || sized(DescriptorKind::Pipe, 64, call("read", 10_000, 2_000));
    let (one, saved) = only(vec![poll(100_000), reads()]);
    assert_eq!(one.rule, Rule::EmptyPolls { inputs: 10_000 });
    assert_eq!(one.calls, 90_000);
    near(saved, 18.0);
    silent(vec![poll(10_000), reads()]);
    // Who waits in them may want to wake up now and then.
    silent(vec![blocked(900_000, poll(100_000)), reads()]);
    // Without times nobody can tell whether they waited.
    silent(vec![CallCount { on_cpu_ns: None, blocked_ns: None, ..poll(100_000) }]);
}

#[test]
fn large_poll_sets_are_for_epoll() {
    let poll = |set| class(|class| class.set = Some(set), call("poll", 5_000, 100_000));
    let reads = || sized(DescriptorKind::Socket, 64, call("read", 5_000, 2_000));
    // The greatest number of a descriptor in the set, not how many there are.
    silent(vec![CallCount { call: "select".into(), ..poll(512) }, reads()]);
    let (one, saved) = only(vec![poll(512), reads()]);
    assert_eq!(one.rule, Rule::LargePollSets);
    near(saved, 100.0 - 5_000.0 * 200e-6);
    silent(vec![poll(4), reads()]);
}

/// Calls with a path, of which so many failed.
fn on_path(name: &str, call: &str, calls: u64, absent: u64) -> ObjectCount {
    let count = CallCount { call: call.into(), calls, ..CallCount::default() };
    let count = if absent > 0 { failing("ENOENT", absent, count) } else { count };
    ObjectCount { kind: ObjectKind::Path, name: name.into(), process: "worker".into(), directory: None, count }
}

fn with_paths(calls: Vec<CallCount>, objects: Vec<ObjectCount>) -> Vec<Advice> {
    found(&Profile { objects, ..profile(calls) })
}

#[test]
fn misses_of_a_search_path_cost_less_than_hits() {
    let open = |misses| failing("ENOENT", misses, class(|class| class.depth = Some(1), call("openat", 10_000, 6_000)));
    let missing = |name: &str, calls| on_path(name, "openat", calls, calls);
    let hit = || on_path("/c/x.h", "openat", 2_000, 0);
    let all = with_paths(vec![open(8_000)], vec![missing("/a/x.h", 5_000), missing("/b/x.h", 3_000), hit()]);
    let [one] = &all[..] else { panic!("{all:#?}") };
    let used = |path: &str, calls| PathUse { path: path.into(), calls };
    assert_eq!(one.rule, Rule::Probing { found: 2_000, paths: vec![used("/a/x.h", 5_000), used("/b/x.h", 3_000)] });
    assert_eq!(one.calls, 8_000);
    // By unit costs a hit takes 800 ns and a miss 200 less, as a stat does.
    let share = 8_000.0 * 600.0 / (8_000.0 * 600.0 + 2_000.0 * 800.0);
    near(one.saved.unwrap().value * 1e3, 6.0 * share);
    let untimed = CallCount { on_cpu_ns: None, blocked_ns: None, ..open(8_000) };
    let all = with_paths(vec![untimed], vec![missing("/a/x.h", 5_000), missing("/b/x.h", 3_000), hit()]);
    assert_eq!(all[0].measured_s, None);
    near(all[0].saved.unwrap().value * 1e3, (10_000.0 * share).round() * 800e-6);
}

#[test]
fn what_is_missing_is_searched_for_only_if_it_is_found_elsewhere() {
    let open = || failing("ENOENT", 8_000, class(|class| class.depth = Some(1), call("access", 10_000, 6_000)));
    let missing = |name: &str, calls| on_path(name, "access", calls, calls);
    silent(vec![open()]);
    // A check for a journal, whose absence is the answer; files that are nowhere; names that are asked for once each.
    assert_eq!(with_paths(vec![open()], vec![missing("/d/x.db-journal", 8_000)]), []);
    assert_eq!(with_paths(vec![open()], vec![missing("/a/.rc", 4_000), missing("/b/.rc", 4_000)]), []);
    let places = (0..4_000).flat_map(|n| [missing(&format!("/a/{n}.h"), 1), missing(&format!("/b/{n}.h"), 1)]);
    let hits = (0..4_000).map(|n| on_path(&format!("/c/{n}.h"), "access", 1, 0));
    assert_eq!(with_paths(vec![open()], places.chain(hits).collect()), []);
}

#[test]
fn stats_are_repeated_only_where_paths_say_so() {
    let stat = || class(|class| class.depth = Some(1), call("newfstatat", 100_000, 40_000));
    silent(vec![stat()]);
    let object = |name: &str, calls| on_path(name, "newfstatat", calls, 0);
    let all = with_paths(vec![stat()], vec![object("/a.h", 30_000), object("/b.h", 20_001)]);
    near(all[0].saved.unwrap().value * 1e3, 40.0 * 49_999.0 / 100_000.0);
    let used = |path: &str, calls| PathUse { path: path.into(), calls };
    assert_eq!(all[0].rule, Rule::StatStorm { paths: vec![used("/a.h", 30_000), used("/b.h", 20_001)], distinct: 2 });
    let each = |times| (0..20_000).map(|n| object(&format!("/{n}.h"), times)).collect();
    assert_eq!(with_paths(vec![stat()], each(1)), [], "each path once");
    assert_eq!(with_paths(vec![stat()], each(5)), [], "each a few times, to see whether it changed");
    // Relative to directories that are not known, or of a descriptor.
    assert_eq!(with_paths(vec![stat()], vec![object("copyright", 50_000), object("\"\"", 50_000)]), []);
}

#[test]
fn temporary_files_are_created_and_unlinked() {
    let open = |name: &str| operation(name, call("openat", 1_000, 9_000));
    let close = || class(|class| class.descriptor = Some(DescriptorKind::File), call("close", 2_000, 2_000));
    let (unlink, write) = (|| call("unlink", 1_000, 8_000), || call("pwrite64", 1_000, 10));
    let journal = || vec![on_path("/t/journal", "openat", 1_000, 0), on_path("/t/journal", "unlink", 1_000, 0)];
    let work = || vec![open("create"), close(), unlink(), write()];
    let all = with_paths(work(), journal());
    assert_eq!((all.len(), &all[0].rule, all[0].calls), (1, &Rule::TemporaryFiles, 1_000));
    // Half of the closes, and a truncate of 1 us in their place.
    near(all[0].saved.unwrap().value * 1e3, 9.0 + 8.0 + 1.0 - 1.0);
    assert_eq!(with_paths(vec![call("openat", 1_000, 9_000), close(), unlink(), write()], journal()), []);
    assert_eq!(with_paths(vec![open("create"), close(), write()], journal()), []);
    let others = vec![on_path("/new", "openat", 1_000, 0), on_path("/old", "unlink", 1_000, 0)];
    assert_eq!(with_paths(work(), others), [], "others are created than are unlinked");
    assert_eq!(with_paths(vec![open("create"), close(), unlink()], journal()), [], "locks hold nothing");
    let and = |more: CallCount| with_paths([work(), vec![more]].concat(), journal());
    assert_eq!(and(call("rename", 1_000, 9)), [], "they are published");
    assert_eq!(and(call("fdatasync", 1_000, 9)), [], "their absence says that a transaction is complete");
    assert_eq!(and(call("exit_group", 900, 9)), [], "one for each process cannot be kept");
}

#[test]
fn syncs_are_counted_with_their_waiting() {
    let sync = |calls| blocked(90_000, call("fdatasync", calls, 10_000));
    let (one, saved) = only(vec![sync(50), call("write", 60, 100)]);
    assert_eq!((one.rule, one.time), (Rule::SyncPerRecord { writes: 60 }, Time::Elapsed));
    assert_eq!(one.measured_s, Some(0.1));
    near(saved, 90.0);
    silent(vec![sync(50), call("write", 5_000, 100)]);
    silent(vec![sync(5), call("write", 5, 100)]);
    // A file each; or a transaction that somebody waits for.
    silent(vec![sync(50), call("write", 60, 100), call("openat", 30, 100)]);
    silent(vec![sync(50), call("write", 60, 100), sized(DescriptorKind::Socket, 64, call("recvfrom", 50, 100))]);
}

#[test]
fn clocks_and_identities_need_no_call() {
    let read = |clock| operation(clock, call("clock_gettime", 100_000, 10_000));
    let (clock, saved) = only(vec![read("monotonic")]);
    assert_eq!(clock.rule, Rule::RealClockCalls);
    near(saved, 10.0 - 2.0);
    let (pid, saved) = only(vec![call("getpid", 100_000, 6_000)]);
    assert_eq!((pid.rule, pid.names), (Rule::IdentityCalls, vec!["getpid".to_string()]));
    near(saved, 6.0);
    silent(vec![operation("monotonic", call("clock_gettime", 10, 10_000)), call("getpid", 10, 10_000)]);
    // Of CPU time no vDSO knows; of a clock that is not known, nobody.
    silent(vec![read("thread_cputime_id"), call("clock_gettime", 100_000, 10_000)]);
    // To ask for the parent may be to wait for its end.
    silent(vec![call("getppid", 100_000, 6_000), call("umask", 100_000, 6_000)]);
    silent(vec![call("gettimeofday", 100_000, 10_000)]); // whose vDSO call was not measured
}

#[test]
fn futexes_are_an_upper_bound() {
    let wait = failing("EAGAIN", 7, operation("wait_bitset", blocked(500_000, call("futex", 20_000, 30_000))));
    let wake = operation("wake", call("futex", 20_000, 20_000));
    let (one, saved) = only(vec![wait.clone(), wake.clone()]);
    assert_eq!(one.rule, Rule::FutexTraffic { waits: 20_000, wakes: 20_000, raced: 7, blocked_s: Some(0.5) });
    near(saved, 50.0 - 40_000.0 * 10e-6);
    assert_eq!(one.saved.unwrap().low, 0.0);
    let mut preempted = profile(vec![wait.clone(), wake]);
    preempted.usage.involuntary_switches = Some(10_000);
    // Each of them 850 ns less a wake and a wait.
    near(found(&preempted)[0].saved.unwrap().value * 1e3, saved + 10_000.0 * 600e-6);
    silent(vec![CallCount { calls: 100, ..wait }]);
}

#[test]
fn small_maps_are_pairs_with_page_faults() {
    let size = |size, count| class(|class| class.size = Some(size), count);
    let map = |bytes| operation("anonymous", size(bytes, call("mmap", 1_000, 1_000)));
    let unmap = |bytes| size(bytes, call("munmap", 1_000, 4_000));
    let (one, saved) = only(vec![map(131_072), unmap(131_072)]);
    // 48 pages each, of 32 to 64.
    assert_eq!(one.rule, Rule::SmallMaps { size: 131_072, faults: 48_000 });
    near(saved, 5.0 + 48_000.0 * 500e-6);
    silent(vec![map(1 << 30), unmap(1 << 30)]);
    let with = |usage: fn(&mut Usage)| {
        let mut other = profile(vec![map(131_072), unmap(131_072)]);
        usage(&mut other.usage);
        found(&other)
    };
    assert_eq!(with(|usage| usage.processes = Some(900)), [], "a loader's, one for each process");
    assert_eq!(with(|usage| usage.peak_rss_kib = Some(150_000)), [], "all may be in use at once");
    silent(vec![map(131_072), unmap(4096)]);
    silent(vec![operation("file", map(131_072)), unmap(131_072)]);
}

#[test]
fn forks_copy_page_tables_and_vforks_do_not() {
    let clone = || operation("process", call("clone", 50, 50_000));
    let execs = |us| call("execve", 51, us);
    let family = |calls| {
        let mut family = profile(calls);
        family.usage.processes = Some(51);
        family.usage.peak_rss_kib = Some(262_144);
        found(&family)
    };
    let all = family(vec![clone(), execs(51_000)]);
    assert_eq!((all.len(), &all[0].rule), (1, &Rule::ForkForExec { peak_rss_kib: Some(262_144) }));
    // 1 ms less 20 us for each fork, 1 ms less 200 us for each exec; all pages of 256 MiB have faults of their own.
    near(all[0].saved.unwrap().value * 1e3, 50.0 * (0.98 + 0.8));
    let mut copying = profile(vec![clone(), execs(51_000)]);
    let usage = Usage { processes: Some(51), peak_rss_kib: Some(40_000), ..copying.usage };
    copying.usage = Usage { minor_faults: Some(10_000 + 51 * 100 + 2_000), ..usage };
    near(found(&copying)[0].saved.unwrap().value * 1e3, 50.0 * (0.98 + 0.8) + 2_000.0 * 500e-6);
    assert_eq!(family(vec![blocked(100_000, clone()), execs(51_000)]), [], "it waits for the exec: a vfork");
    assert_eq!(family(vec![operation("thread", clone()), execs(51_000)]), []);
    assert_eq!(family(vec![call("clone3", 50, 50_000), execs(51_000)]), [], "threads, most likely");
    let small = operation("process", call("clone", 50, 5_000));
    assert_eq!(family(vec![small, execs(51_000)]), [], "a shell copies little");
    assert_eq!(family(vec![clone(), call("execve", 1, 100)]), [], "children that do not exec");
}

#[test]
fn savings_under_a_thousandth_of_the_wall_time_are_left_out() {
    let mut long = profile(vec![call("getpid", 100_000, 6_000)]);
    long.usage.wall_ns = Some(7_000_000_000);
    assert_eq!(found(&long), []);
}

/// The programs with faults, built once.
fn faults() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults");
        let source = crate::common::root().join("tests/advice/faults.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).stderr(Stdio::null());
        assert!(compiler.status().unwrap().success());
        program
    })
}

/// What the rules say about a program with a fault, or without it, as it was traced.
fn traced(fault: &str, variant: &str, count: &str) -> Vec<Value> {
    let place = Place::new();
    store::write(&costs(), &place.path().join("costs.json")).unwrap();
    let program = faults().to_str().unwrap();
    let words = ["--paths", "-o", "p.json", "--report", "/dev/null", "--", program, fault, variant, count];
    let output = place.run(&[&["trace"], &words[..]].concat());
    assert!(output.status.success(), "{fault} {variant}: {}", stderr(&output));
    let document = json(&place.run(&["attribute", "p.json", "--costs", "costs.json", "--format", "json"]));
    document["advice"].as_array().unwrap().clone()
}

/// Whether the rule names the process and the call where the fault is, and is silent where it is not.
fn tells((fault, rule, name): (&str, &str, &str), count: &str) {
    let of_rule = |variant: &str| -> Vec<Value> {
        let all = traced(fault, variant, count);
        all.into_iter().filter(|advice| advice["rule"] == rule).collect()
    };
    let faulty = of_rule("faulty");
    let [one] = &faulty[..] else { panic!("{fault}: {faulty:#?}") };
    assert_eq!(one["process"], "faults", "{one:#}");
    assert!(one["names"].as_array().unwrap().contains(&name.into()), "{one:#}");
    let fixed = of_rule("fixed");
    assert!(fixed.is_empty(), "{fault} fixed: {fixed:#?}");
}

#[test]
fn real_programs_are_told_what_is_wrong_with_them() {
    if !has_bpf("real_programs_are_told_what_is_wrong_with_them") {
        return;
    }
    for (fault, count) in [
        (("small-reads", "small-transfers", "read"), "50000"),
        (("small-writes", "small-transfers", "write"), "50000"),
        (("search-path", "probing", "openat"), "2000"),
        (("stat-storm", "stat-storm", "newfstatat"), "50000"),
        (("identity", "identity-calls", "getpid"), "50000"),
        (("real-clock", "real-clock-calls", "clock_gettime"), "50000"),
        (("empty-polls", "empty-polls", "poll"), "5000"),
        (("empty-reads", "empty-reads", "read"), "20000"),
        (("futex-traffic", "futex-traffic", "futex"), "10000"),
        (("fork-for-exec", "fork-for-exec", "clone"), "12"),
        (("sync-per-record", "sync-per-record", "fdatasync"), "40"),
        (("large-poll-sets", "large-poll-sets", "poll"), "2000"),
        (("temporary-files", "temporary-files", "unlink"), "500"),
        (("small-maps", "small-maps", "munmap"), "500"),
    ] {
        tells(fault, count);
    }
}

fn published(operation: &str, ns: f64) -> Record {
    let figure = Figure { time: Nanos(ns), as_printed: format!("{ns} ns"), ..Figure::default() };
    Record::new(Case::native(operation), Outcome::Published(figure))
}
