//! The eBPF tracer against workloads whose system calls are known, and against strace.

use crate::bpf_support as support;
use crate::common::*;
use trace::Detail::{Counts, Times};

use model::{CallCount, DescriptorKind, Ending, Profile};
use std::sync::atomic::Ordering;
use support::{compile, count, errors, held, open, rows, run, traced, workload};
use trace::{Root, Running, Until};

#[test]
fn a_tree_is_counted_exactly_every_time() {
    for repeat in 0..9 {
        let collected = needs!(run("tree", Times));
        assert_eq!(count(&collected, "getppid"), 20_000, "repeat {repeat}");
        // The first, 2 forks, exec, threads, 2 of the orphan, setsid, exec of a thread, vfork, 2 of the last orphan.
        assert_eq!(
            (collected.usage.processes, collected.usage.threads),
            (Some(12), Some(9)),
            "repeat {repeat}"
        );
        assert_eq!(count(&collected, "execve"), 4, "repeat {repeat}");
        assert_eq!(collected.ending, Some(Ending::Exited(0)));
    }
}

#[test]
fn counts_alone_are_exact_too() {
    let collected = needs!(run("tree", Counts));
    assert_eq!(count(&collected, "getppid"), 20_000);
    assert!(collected.latencies.is_empty());
    assert!(rows(&collected, "getppid").all(|row| row.on_cpu_ns.is_none()));
}

#[test]
fn every_call_has_a_duration() {
    let collected = needs!(run("tree", Times));
    let finished: u64 = rows(&collected, "getppid")
        .map(|row| row.calls - row.unfinished)
        .sum();
    assert_eq!(collected.latencies["getppid"].total_count(), finished);
    assert!(rows(&collected, "exit_group").all(|row| row.unfinished == row.calls));
}

#[test]
fn errors_are_counted_by_name() {
    let collected = needs!(run("errors", Times));
    let open = if count(&collected, "open") > 0 {
        "open"
    } else {
        "openat"
    };
    let missing: u64 = rows(&collected, open)
        .filter(|row| row.class.depth == Some(3))
        .map(|row| row.errors.get("ENOENT").copied().unwrap_or(0))
        .sum();
    assert_eq!(missing, 7);
    assert_eq!(errors(&collected, "close", "EBADF"), 5);
    assert_eq!(errors(&collected, "read", "EAGAIN"), 3);
    assert_eq!(errors(&collected, "pause", "ERESTARTNOHAND"), 1);
}

fn classed(collected: &Profile, call: &str, test: impl Fn(&CallCount) -> bool) -> u64 {
    rows(collected, call)
        .filter(|row| test(row))
        .map(|row| row.calls)
        .sum()
}

#[test]
fn bytes_and_descriptors_are_classes() {
    let collected = needs!(run("classes", Times));
    let of = |call: &str, kind: DescriptorKind, size: u64| {
        classed(&collected, call, |row| {
            row.class.descriptor == Some(kind) && row.class.size == Some(size)
        })
    };
    assert_eq!(of("read", DescriptorKind::Device, 4096), 3);
    assert_eq!(of("write", DescriptorKind::Device, 1), 4);
    assert_eq!(
        (
            of("write", DescriptorKind::Pipe, 64),
            of("read", DescriptorKind::Pipe, 64)
        ),
        (1, 1)
    );
    assert_eq!(
        (
            of("write", DescriptorKind::Socket, 64),
            of("read", DescriptorKind::Socket, 64)
        ),
        (1, 1)
    );
    assert_eq!(
        (
            of("write", DescriptorKind::Event, 8),
            of("read", DescriptorKind::File, 16)
        ),
        (1, 1)
    );
    assert_eq!(of("write", DescriptorKind::Terminal, 0), 1);
    let kind = |kind| {
        classed(&collected, "fsync", |row| {
            row.class.descriptor == Some(kind)
        })
    };
    assert_eq!(
        (kind(DescriptorKind::Directory), kind(DescriptorKind::None)),
        (1, 1)
    );
    let zeros =
        rows(&collected, "read").filter(|row| row.class.descriptor == Some(DescriptorKind::Device));
    assert_eq!(zeros.map(|row| row.bytes.unwrap()).sum::<u64>(), 15_000);
}

#[test]
fn paths_lengths_and_sets_are_classes() {
    let collected = needs!(run("classes", Times));
    let size = |call, size| classed(&collected, call, |row| row.class.size == Some(size));
    assert!(size("mmap", 32768) >= 1 && size("munmap", 32768) >= 1);
    let with = |call, operation| {
        classed(&collected, call, |row| {
            row.class.operation.as_deref() == Some(operation)
        })
    };
    assert!(with("mmap", "anonymous") >= 1 && with("mmap", "file") >= 1);
    assert_eq!((with("futex", "wake"), with("openat", "create")), (6, 0));
    assert_eq!(collected.latencies["read"].per_octave(), 32);
    assert_eq!(
        classed(&collected, "poll", |row| row.class.set == Some(8)),
        1
    );
    let own = |depth: Option<u64>, error: &str| {
        let rows = rows(&collected, "access").filter(|row| row.class.depth == depth);
        rows.map(|row| row.errors.get(error).copied().unwrap_or(0))
            .sum::<u64>()
    };
    assert_eq!(
        [
            own(Some(0), "ENOENT"),
            own(Some(1), "ENOENT"),
            own(None, "EFAULT")
        ],
        [1, 1, 1]
    );
    // The dynamic loader asks for /etc/ld.so.preload: two names.
    assert_eq!((own(Some(3), "ENOENT"), own(Some(126), "ENOENT")), (1, 1));
}

#[test]
fn waiting_is_no_time_on_a_processor() {
    let collected = needs!(run("blocked", Times));
    let sleep = if count(&collected, "nanosleep") > 0 {
        "nanosleep"
    } else {
        "clock_nanosleep"
    };
    let sum = |field: fn(&CallCount) -> Option<u64>| {
        rows(&collected, sleep).filter_map(field).sum::<u64>()
    };
    assert_eq!(count(&collected, sleep), 40);
    let (on_cpu, blocked) = (sum(|row| row.on_cpu_ns), sum(|row| row.blocked_ns));
    assert!(
        blocked >= 200_000_000 && on_cpu < blocked / 4,
        "{on_cpu} on, {blocked} blocked"
    );
    let usage = &collected.usage;
    // How the kernel's ticks divide it is chance; that it is more than these calls took is not.
    assert!(
        usage.user_ns.unwrap() + usage.system_ns.unwrap() > on_cpu,
        "{usage:?}"
    );
    assert!(
        usage.voluntary_switches.unwrap() >= 40 && usage.minor_faults.unwrap() > 10,
        "{usage:?}"
    );
}

#[test]
fn a_call_within_which_the_process_is_killed_is_unfinished() {
    let collected = needs!(run("killed", Times));
    let pause: Vec<&CallCount> = rows(&collected, "pause").collect();
    assert_eq!(
        (pause.len(), pause[0].calls, pause[0].unfinished),
        (1, 1, 1)
    );
    assert!(pause[0].blocked_ns.unwrap() > 20_000_000);
    assert_eq!(count(&collected, "getppid"), 5);
}

#[test]
fn a_signal_that_ends_the_command_is_its_ending() {
    let collected = needs!(run("signal", Times));
    assert_eq!(collected.ending, Some(Ending::Signalled(15)));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_by_the_32_bit_gate_are_named_so() {
    let collected = needs!(run("gates", Times));
    assert_eq!(
        (
            count(&collected, "getppid(i386)"),
            count(&collected, "getppid")
        ),
        (30, 10)
    );
}

#[cfg(target_arch = "x86_64")]
fn both_widths() -> Option<[String; 2]> {
    static BUILT: std::sync::Once = std::sync::Once::new();
    let wide = workload()?;
    let narrow = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trace-bpf-32");
    let library = narrow.with_extension("so").display().to_string();
    if !cc(format!("-m32 -shared -o {library} -x c /dev/null")) {
        skip("cc -m32 does not work here");
        return None;
    }
    BUILT.call_once(|| assert!(compile(&narrow, "-m32")));
    Some([wide, &narrow].map(|program| program.to_str().unwrap().to_string()))
}

/// An execve that leads to a program of the other width is named as the one that made it; so are returns from handlers.
#[test]
#[cfg(target_arch = "x86_64")]
fn calls_around_a_change_of_width_have_their_names() {
    let Some([wide, narrow]) = both_widths() else {
        return;
    };
    for (from, to) in [(&wide, &narrow), (&narrow, &wide), (&narrow, &narrow)] {
        let details = [Times, Counts];
        for (detail, by_directory) in details
            .into_iter()
            .flat_map(|detail| [(detail, false), (detail, true)])
        {
            let directory = by_directory.then_some("directory");
            let command: Vec<&str> = [from, "replaced", to]
                .into_iter()
                .chain(directory)
                .collect();
            let collected = traced(&command, detail);
            let of = |call| {
                (
                    count(&collected, call),
                    count(&collected, &format!("{call}(i386)")),
                )
            };
            let (plain, at) = if by_directory { (1, 1) } else { (2, 0) };
            let case = format!("{command:?} {detail:?}");
            assert_eq!(
                (of("execve"), of("execveat")),
                ((plain, 0), (at, 0)),
                "{case}"
            );
            let odd = ["oldolduname", "chmod", "fork", "bind", "mount_setattr"].map(of);
            assert_eq!(odd, [(0, 0); 5], "{case}");
            // Without programs at entries, both returns from handlers have one name.
            let returns = ["sigreturn", "rt_sigreturn"]
                .map(|call| count(&collected, call))
                .into_iter()
                .sum::<u64>();
            assert_eq!((returns, count(&collected, "getppid")), (8, 10), "{case}");
            let paused = rows(&collected, "pause")
                .map(|row| (row.calls, row.unfinished))
                .collect::<Vec<_>>();
            assert_eq!(
                paused,
                [(1, 1)],
                "{case}: the thread that waits is ended by the execve"
            );
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_32_bit_program_has_plain_names_and_a_warning() {
    let Some([_, program]) = both_widths() else {
        return;
    };
    let collected = traced(format!("{program} tree"), Times);
    assert_eq!(count(&collected, "getppid"), 20_000);
    assert!(
        collected
            .warnings
            .iter()
            .any(|warning| warning.contains("i386")),
        "{:?}",
        collected.warnings
    );
}

#[test]
fn calls_that_a_filter_refuses_are_counted() {
    let collected = needs!(run("refused", Times));
    assert_eq!(
        (
            count(&collected, "getppid"),
            errors(&collected, "getppid", "EPERM")
        ),
        (25, 25)
    );
}

#[test]
fn ten_thousand_forks_leave_nothing_out() {
    let collected = needs!(run("forks 10000", Times));
    assert_eq!(
        (count(&collected, "getppid"), collected.usage.processes),
        (10_000, Some(10_001))
    );
    let group = collected
        .groups
        .iter()
        .find(|group| group.name == "trace-bpf-workl")
        .unwrap();
    assert!(group.system_ns.unwrap() > 0 && group.calls.len() < 100);
}

#[test]
fn names_are_told_apart_until_there_are_too_many() {
    let few = needs!(run("names 3000", Times));
    let of = |name: &str| {
        few.groups
            .iter()
            .find(|group| group.name == name)
            .map(|group| group.calls.len())
    };
    assert_eq!(
        (count(&few, "getppid"), of("name-0"), of("name-2999")),
        (6_000, Some(2), Some(3))
    );
    let many = run("names 9000", Times).unwrap();
    assert_eq!(count(&many, "getppid"), 18_000);
    assert!(
        many.warnings
            .iter()
            .any(|warning| warning.contains("(others)")),
        "{:?}",
        many.warnings
    );
}

#[test]
fn more_keys_than_the_caches_hold_are_counted_exactly() {
    let collected = needs!(run("wide 300", Times));
    for log in 0..=20 {
        let kind = Some(DescriptorKind::Device);
        let of = |row: &CallCount| row.class.size == Some(1 << log) && row.class.descriptor == kind;
        assert_eq!(classed(&collected, "write", of), 300, "2^{log}");
    }
    assert_eq!(
        (count(&collected, "futex"), count(&collected, "write")),
        (300 * 200, 300 * 21)
    );
    assert_eq!(collected.latencies["futex"].total_count(), 300 * 200);
}

#[test]
fn a_running_process_is_followed_and_left() {
    let program = needs!(workload());
    let mut child = Command::new(program).arg("forever").spawn().unwrap();
    sleep(Duration::from_millis(50));
    let mut tracer = open(Times, false);
    tracer
        .attach(Root::Running(Running::Processes(vec![child.id()])))
        .unwrap();
    let until = Until {
        after: Some(Duration::from_millis(300)),
        ..Until::default()
    };
    tracer.follow(&until).unwrap();
    let collected = tracer.collect().unwrap();
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    let calls = count(&collected, "getppid");
    // Two threads, ten calls each time. What a thread was in the middle of is counted from its next call on.
    assert!(calls >= 200, "{calls}");
    assert_eq!(
        (collected.usage.processes, collected.usage.threads),
        (Some(1), Some(1))
    );
    assert!(collected.ending.is_none() && collected.usage.peak_rss_kib.unwrap() > 100);
}

#[test]
fn a_running_process_that_ends_ends_the_trace() {
    let program = needs!(workload());
    let mut child = Command::new(program).arg("forever").spawn().unwrap();
    sleep(Duration::from_millis(50));
    let mut tracer = open(Times, false);
    tracer
        .attach(Root::Running(Running::Processes(vec![child.id()])))
        .unwrap();
    sleep(Duration::from_millis(50));
    child.kill().unwrap();
    child.wait().unwrap();
    // Would never return if the end were not seen.
    tracer.follow(&Until::default()).unwrap();
    let collected = tracer.collect().unwrap();
    assert!(count(&collected, "getppid") > 10);
}

#[test]
fn a_raised_flag_ends_following() {
    let program = needs!(workload());
    let mut child = held(format!("{} forever", program.display()));
    let mut tracer = open(Times, true);
    tracer.attach(Root::Held(child.id())).unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let until = Until::default();
    let stop = until.stop.clone();
    let stopper = std::thread::spawn(move || {
        sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
    });
    tracer.follow(&until).unwrap();
    stopper.join().unwrap();
    let collected = tracer.collect().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(count(&collected, "getppid") > 100);
    assert_eq!(collected.usage.threads, Some(1));
}

/// What `strace -f -c` says of a command: calls by name. `None` where there is no strace.
fn strace(command: &[&str]) -> Option<BTreeMap<String, u64>> {
    let output = std::env::temp_dir().join(format!("syscost-strace-{}", std::process::id()));
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(&output)
        .args(command);
    let done = strace
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let profile = store::read_profile(&output);
    let _ = fs::remove_file(&output);
    done.ok()?;
    let totals = profile.ok()?.totals(model::By::Call);
    Some(
        totals
            .into_iter()
            .map(|row| (row.count.call, row.count.calls))
            .collect(),
    )
}

#[test]
fn counts_are_those_of_strace() {
    if workload().is_none() {
        return;
    }
    let commands: [&[&str]; 4] = [
        &["ls", "-lR", "/etc"],
        &["find", "/usr/include", "-name", "*.h", "-size", "+1k"],
        // Alone: how often threads that share work wait for each other is another number each time.
        &[
            "git",
            "-c",
            "core.preloadIndex=false",
            "-C",
            env!("CARGO_MANIFEST_DIR"),
            "--no-optional-locks",
            "status",
        ],
        &[
            "sh",
            "-c",
            "ls / | wc -l | cat; (echo a; echo b) | sort | uniq",
        ],
    ];
    for command in commands {
        let Some(theirs) = strace(command) else {
            return skip("no strace");
        };
        let collected = traced(command, Times);
        let mut ours: BTreeMap<String, u64> = BTreeMap::new();
        for row in collected.groups.iter().flat_map(|group| &group.calls) {
            *ours.entry(row.call.clone()).or_default() += row.calls;
        }
        compare(command, ours, theirs);
    }
}

fn compare(command: &[&str], mut ours: BTreeMap<String, u64>, mut theirs: BTreeMap<String, u64>) {
    // These depend on the order in which processes run: what a pipe holds when it is read, who dies first (a SIGCHLD that is
    // pending makes a clone start again).
    for races in ["read", "wait4", "rt_sigreturn", "clone"] {
        if command[0] == "sh" {
            ours.remove(races);
            theirs.remove(races);
        }
    }
    // strace has no row for calls that never return.
    ours.remove("exit_group");
    ours.remove("exit");
    assert_eq!(ours, theirs, "{command:?}");
}

/// They show what slows calls here. Looking at every process takes long where there are thousands.
#[test]
fn descriptors_of_other_processes_are_read_only_for_profiles_that_are_kept() {
    if !has_bpf() {
        return;
    }
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("there is no strace that shows what is read");
    }
    let place = Place::new();
    let looks = |arguments: &str| {
        let traced = place.command(format!(
            "trace --tracer bpf --counts --quiet {arguments} true"
        ));
        let mut strace = Command::new("strace");
        strace
            .args(["-f", "-qq", "-e", "trace=openat", "-o"])
            .arg(place.path().join("log"));
        strace.arg(traced.get_program()).args(traced.get_args());
        expect_status(&strace.current_dir(place.path()).output().unwrap(), 0);
        place.read("log").matches("\"/proc/1/fd\"").count()
    };
    assert_eq!(["", "-o p.json"].map(looks), [0, 1]);
}
