//! Sections that programs mark: what is counted in them is what strace sees between the marks, by both tracers.

use crate::common::*;
use regex_lite::Regex;
use std::collections::BTreeSet;

type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// Calls whose number depends on which thread is first, on addresses, or on when memory is freed.
const BY_CHANCE: [&str; 9] = [
    "futex",
    "restart_syscall",
    "brk",
    "mmap",
    "munmap",
    "mprotect",
    "madvise",
    "sched_yield",
    "rt_sigreturn",
];

/// The interpreter, and the programs of tests/sections for it.
const PROGRAMS: [(&str, &[&str]); 5] = [
    ("sh", &["files.sh", "programs.sh"]),
    ("python3", &["nested.py", "threads.py", "unended.py"]),
    ("perl", &["fork.pl", "files.pl"]),
    ("ruby", &["pipes.rb"]),
    ("cc", &["threads.c", "execute.c"]),
];

enum Event {
    Begin(String),
    End(String),
    Starts {
        child: Option<String>,
        is_process: bool,
    },
    Call {
        name: String,
        executes: bool,
    },
}

/// By thread, in their order.
fn events(log: &str) -> BTreeMap<String, Vec<Event>> {
    let call = Regex::new(r#"^(\d+) +(\w+)\((.*)"#).unwrap();
    let resumed = Regex::new(r#"^(\d+) +<\.\.\. (\w+) resumed>.* = (\d+)"#).unwrap();
    let mark = Regex::new(r#""/\.syscost/(begin|end)/([^"]+)""#).unwrap();
    let result = Regex::new(r"\) += (\d+)").unwrap();
    let mut threads: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for line in log.lines() {
        if let Some(found) = resumed.captures(line) {
            let last = threads
                .get_mut(&found[1])
                .and_then(|events| events.last_mut());
            match last {
                Some(Event::Starts { child, .. }) => *child = Some(found[3].to_string()),
                Some(Event::Call { executes, .. }) => *executes = &found[2] == "execve",
                _ => {}
            }
            continue;
        }
        let Some(found) = call.captures(line) else {
            continue;
        };
        let (name, rest) = (&found[2], &found[3]);
        let returned = result.captures(rest).map(|found| found[1].to_string());
        let marked = mark.captures(rest).filter(|_| name != "execve");
        let events = threads.entry(found[1].to_string()).or_default();
        if let Some(marked) = marked {
            let what = marked[2].to_string();
            events.push(if &marked[1] == "begin" {
                Event::Begin(what)
            } else {
                Event::End(what)
            });
            continue;
        }
        events.push(Event::Call {
            name: name.to_string(),
            executes: false,
        });
        match name {
            "execve" => {
                events.pop();
                events.push(Event::Call {
                    name: name.to_string(),
                    executes: returned.is_some(),
                });
            }
            "clone" | "clone3" | "fork" | "vfork" => events.push(Event::Starts {
                child: returned,
                is_process: !rest.contains("CLONE_THREAD"),
            }),
            _ => {}
        }
    }
    threads
}

/// What is between the marks, with `processes` and `programs` among the calls, and the iterations.
#[derive(Default)]
struct Between {
    counts: Counts,
    iterations: BTreeMap<String, u64>,
}

impl Between {
    fn walk(&mut self, threads: &BTreeMap<String, Vec<Event>>, tid: &str, mut open: Vec<String>) {
        for event in threads.get(tid).into_iter().flatten() {
            let mut add = |name: &str| {
                let all: BTreeSet<&String> = open.iter().collect();
                for section in all {
                    *self
                        .counts
                        .entry(section.clone())
                        .or_default()
                        .entry(name.to_string())
                        .or_default() += 1;
                }
            };
            match event {
                Event::Begin(name) => {
                    open.push(name.clone());
                    self.counts.entry(name.clone()).or_default();
                    self.iterations.entry(name.clone()).or_default();
                }
                Event::End(path) => {
                    let iterations = |name: &str| match path.strip_prefix(name)? {
                        "" => Some(1),
                        number => number.strip_prefix('/')?.parse().ok(),
                    };
                    let ended = open.iter().rposition(|name| iterations(name).is_some());
                    if let Some(at) = ended {
                        let more: u64 = iterations(&open[at]).unwrap();
                        *self.iterations.entry(open[at].clone()).or_default() += more;
                        open.truncate(at);
                    }
                }
                Event::Call { name, executes } => {
                    if !BY_CHANCE.contains(&name.as_str()) {
                        add(name);
                    }
                    if *executes {
                        add("programs");
                    }
                }
                Event::Starts { child, is_process } => {
                    if *is_process && child.is_some() {
                        add("processes");
                    }
                    if let Some(child) = child {
                        self.walk(threads, child, open.clone());
                    }
                }
            }
        }
    }
}

/// By both tracers, as far as they are here, with times and without.
fn modes() -> Vec<&'static str> {
    let mut modes = vec!["--tracer ptrace", "--tracer ptrace --counts"];
    if has_bpf() {
        modes.extend(["--tracer bpf", "--tracer bpf --counts"]);
    }
    modes
}

fn straced(place: &Place, words: &[String]) -> Between {
    let log = place.path().join("strace.log");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-s", "300", "-o"])
        .arg(&log)
        .args(words);
    succeeded(strace.current_dir(place.path()).env("PYTHONHASHSEED", "0"));
    let log = fs::read_to_string(log).unwrap();
    let mut between = Between::default();
    let first = log.split(' ').next().unwrap();
    between.walk(&events(&log), first, Vec::new());
    between
}

fn traced(place: &Place, options: &str, words: &[String]) -> Between {
    let ran = place.run((
        format!("trace {options} -o p.json --report /dev/null --"),
        words,
    ));
    expect_status(&ran, 0);
    let profile: Value = place.parsed("p.json");
    let mut between = Between::default();
    for section in list(&profile["sections"]) {
        let name = section["name"].as_str().unwrap();
        let counts = between.counts.entry(name.to_string()).or_default();
        for count in list(&section["calls"]) {
            let call = count["call"].as_str().unwrap();
            if !BY_CHANCE.contains(&call) {
                *counts.entry(call.to_string()).or_default() += count["calls"].as_u64().unwrap();
            }
        }
        for what in ["processes", "programs"] {
            let started = section[what].as_u64().unwrap();
            if started > 0 {
                counts.insert(what.to_string(), started);
            }
        }
        let iterations = section["iterations"].as_u64().unwrap();
        between.iterations.insert(name.to_string(), iterations);
    }
    between
}

/// The program's words, if its interpreter is here.
fn program(place: &Place, interpreter: &str, name: &str) -> Option<Vec<String>> {
    let file = root().join("tests/sections").join(name);
    if interpreter == "cc" {
        let built = place.tmp().join(name);
        cc(format!(
            "-O1 -w -pthread {} -o {}",
            file.display(),
            built.display()
        ));
        return Some(vec![built.to_str().unwrap().to_string()]);
    }
    let found = Command::new(interpreter).arg("--version").output();
    if found.is_err() {
        skip(&format!("there is no {interpreter} for {name}"));
        return None;
    }
    Some(vec![
        interpreter.to_string(),
        file.to_str().unwrap().to_string(),
    ])
}

#[test]
fn sections_have_the_calls_that_strace_sees_between_their_marks() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("there is no strace to compare with");
    }
    let place = Place::new();
    for (interpreter, names) in PROGRAMS {
        for name in one_of_each_kind(names, &names[..1]) {
            let Some(words) = program(&place, interpreter, name) else {
                continue;
            };
            let expected = straced(&place, &words);
            assert!(
                expected
                    .counts
                    .values()
                    .any(|calls| calls.values().sum::<u64>() > 0),
                "{name}"
            );
            for tracer in modes() {
                let found = traced(&place, tracer, &words);
                assert_eq!(found.counts, expected.counts, "{name}, {tracer}");
                assert_eq!(found.iterations, expected.iterations, "{name}, {tracer}");
            }
        }
    }
}

#[test]
fn programs_are_counted_in_each_mode() {
    let place = Place::new();
    let by_group = ["process", "cgroup"].map(|group| format!("--tracer bpf --group {group}"));
    let by_group = by_group.iter().map(String::as_str).filter(|_| has_bpf());
    for mode in modes().into_iter().chain(by_group) {
        let script = "ls / > /dev/null; nowhere 2> /dev/null; cat /dev/null";
        place.run((
            format!("trace {mode} -o p.json --report /dev/null -- sh -c"),
            [script],
        ));
        let usage = &place.parsed("p.json")["usage"];
        assert_eq!(usage["programs"], 3, "{mode}");
    }
}

/// What `written.c` does in its sections, which strace does not count.
#[test]
fn sections_have_errors_bytes_times_and_page_faults() {
    let place = Place::new();
    let words = program(&place, "cc", "written.c").unwrap();
    for mode in modes() {
        let ran = place.run((
            format!("trace {mode} -o p.json --report /dev/null --"),
            &words,
        ));
        expect_status(&ran, 0);
        let profile: Value = place.parsed("p.json");
        let section = |name: &str| {
            let found = list(&profile["sections"])
                .iter()
                .find(|of| of["name"] == name);
            found.unwrap_or_else(|| panic!("{mode}: {name}"))
        };
        let count = |name: &str, call: &str| {
            let found = list(&section(name)["calls"])
                .iter()
                .find(|of| of["call"].as_str().unwrap().starts_with(call));
            found.unwrap_or_else(|| panic!("{mode}: {call} in {name}"))
        };
        let (unlink, write, sleep) = (
            count("remove", "unlink"),
            count("write", "pwrite64"),
            count("sleep", "clock_nanosleep"),
        );
        // Without stops at the end of calls, ptrace knows no results.
        let has_results = mode != "--tracer ptrace --counts";
        let expected = if has_results {
            [json!({"ENOENT": 7}), json!(500)]
        } else {
            [json!({}), Value::Null]
        };
        assert_eq!(
            [unlink["errors"].clone(), write["bytes"].clone()],
            expected,
            "{mode}"
        );
        let blocked = sleep["blocked_ns"].as_u64();
        assert_eq!(
            blocked.is_some_and(|ns| ns >= 30_000_000),
            !mode.contains("counts"),
            "{mode}: {sleep}"
        );
        let faults = section("touch")["minor_faults"].as_u64().unwrap();
        assert!(
            (1_000..1_050).contains(&faults),
            "{mode}: {faults} page faults"
        );
        let others = section("write")["minor_faults"].as_u64().unwrap();
        assert!(others < 50, "{mode}: {others} page faults");
    }
}

#[test]
fn no_mark_makes_it_lose_a_call_or_print_what_a_terminal_obeys() {
    let mut tracers = vec!["ptrace"];
    match has_bpf() {
        true => tracers.push("bpf"),
        false => skip("the bpf tracer is not permitted"),
    }
    let place = Place::new();
    let words = program(&place, "cc", "hostile.c").unwrap();
    for tracer in tracers {
        let ran = place.run((
            format!("trace --tracer {tracer} --sections -o p.json --"),
            &words,
        ));
        // The long name is not counted by either tracer.
        expect_status(&ran, 1);
        let table = stderr(&ran);
        assert!(
            !table.contains('\u{1b}') && table.contains("red"),
            "{table}"
        );
        // Under eBPF, 24 are open at most, and there is room for 4,096.
        let other = match tracer {
            "ptrace" => "sections with unequal numbers of begin and end marks: deeper",
            _ => "begin marks ignored: nested too deeply, too many sections, or too long a name",
        };
        let incomplete = "INCOMPLETE: lost up to";
        expect_in(
            &table,
            [other, incomplete, "without an open section of that name"],
        );
        let profile: Value = place.parsed("p.json");
        let calls = |of: &Value, name: &str| -> u64 {
            let rows = list(&of["calls"]).iter().filter(|row| row["call"] == name);
            rows.map(|row| row["calls"].as_u64().unwrap()).sum()
        };
        assert_eq!(calls(&profile, "getppid"), 6102, "{tracer}");
        // The loader asks for /etc/ld.so.preload.
        assert_eq!(calls(&profile, "access"), 3, "{tracer}");
        let sections = list(&profile["sections"]);
        let known: u64 = sections
            .iter()
            .map(|section| calls(section, "getppid"))
            .sum();
        assert!(sections.len() > 4000 && known > 4000, "{tracer}: {known}");
        let long = sections
            .iter()
            .filter_map(|section| section["name"].as_str());
        assert_eq!(long.filter(|name| name.len() > 500).count(), 0, "{tracer}");
        expect_status(&place.run("show p.json --by section"), 0);
        expect_status(&place.run("compare p.json p.json --fail-on-entries"), 0);
    }
}

/// Begins sections within each other, executes cat in the innermost, and ends them.
const NESTED: &str = r#"
i=0; while [ $i -lt $1 ]; do i=$((i + 1)); [ -e /.syscost/begin/s$i$2 ]; done
cat /dev/null
while [ $i -gt 0 ]; do [ -e /.syscost/end/s$i$2 ]; i=$((i - 1)); done"#;

#[test]
fn a_budget_passes_only_where_each_mark_was_counted() {
    let place = Place::new();
    let long = "x".repeat(510);
    for mode in modes() {
        // Deeper than eBPF programs follow, deeper than any tracer does, and with a name that there is no room for.
        let is_deep_in_bpf = mode.contains("bpf");
        for (depth, name, loses) in [
            ("20", "", false),
            ("40", "", is_deep_in_bpf),
            ("300", "", true),
            ("1", long.as_str(), true),
        ] {
            let options = "--budget s1:\\ execve=9 -o p.json --report table.txt";
            let ran = place.run((
                format!("trace {mode} {options} -- sh -c"),
                [NESTED, "sh", depth, name],
            ));
            let what = format!("{mode}, {depth} levels");
            let profile = place.parsed("p.json");
            assert_eq!(ran.status.code(), Some(i32::from(loses)), "{what}");
            assert_eq!(profile["complete"], !loses, "{what}");
            if loses {
                continue;
            }
            let sections = list(&profile["sections"]);
            assert_eq!(sections.len(), depth.parse::<usize>().unwrap(), "{what}");
            for section in sections {
                let calls = list(&section["calls"]);
                let executed: Vec<&Value> =
                    calls.iter().filter(|row| row["call"] == "execve").collect();
                assert_eq!(executed[0]["calls"], 1, "{what}: {}", section["name"]);
            }
        }
    }
}

/// Seconds of CPU time for a tracer that is built without optimization; looking through all sections at each mark takes minutes.
const CPU_S: u32 = 40;

#[test]
fn the_work_for_a_mark_does_not_grow_with_the_number_of_sections() {
    let place = Place::new();
    let marks = "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); [ -e /.syscost/begin/s$i ]; [ -e /.syscost/end/s$i ]; done";
    let command = place.command((
        "trace --tracer ptrace --counts -o p.json --report /dev/null -- sh -c",
        [marks],
    ));
    let limited = in_shell(&format!("ulimit -t {CPU_S}; exec \"$@\""), &command).output();
    expect_status(&limited.unwrap(), 1);
    assert_eq!(list(&place.parsed("p.json")["sections"]).len(), 30_000);
}

#[test]
fn a_section_has_its_elapsed_time() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let script = "test -e /.syscost/begin/nap; sleep 0.2; test -e /.syscost/end/nap/2 || true";
    let shown = place.run(format!("trace --sections -o p.json -- sh -c '{script}'"));
    expect_status(&shown, 0);
    expect_in(stderr(&shown), "elapsed");
    let elapsed_ns = place.parsed("p.json")["sections"][0]["elapsed_ns"].take();
    assert!(elapsed_ns.as_u64() >= Some(200_000_000), "{elapsed_ns}");
}
