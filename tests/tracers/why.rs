//! Where the time of a program goes, in one command.

use crate::common::*;
use crate::race_env::ready;

const READS: &str = "dd if=/dev/zero of=/dev/null bs=1 count=20000";

#[test]
fn a_program_is_explained_on_one_screen() {
    let place = Place::new();
    let done = place.run(("why --report - -o p.json --", READS));
    expect_status(&done, 0);
    let screen = stdout(&done);
    for part in [
        "dd if=/dev/zero",
        "Entering the kernel: ",
        "System calls by time",
        " of wall time\n",
    ] {
        expect_in(&screen, part);
    }
    assert!(screen.lines().count() <= 24, "{screen}");
    let all = place.printed("why --view all p.json");
    expect_in(&all, "\narch_prctl ");
    expect_not_in(&screen, "\narch_prctl ");
    let again = place.run("why p.json");
    assert_eq!(
        (stdout(&again), stderr(&again)),
        (screen, String::new()),
        "the kept profile has the same screen"
    );
    let document = place.document("why p.json");
    expect_valid("why-1", &document);
    let calls = |name: &str| {
        let rows = list(&document["calls"]);
        rows.iter().find(|row| row["call"] == name).unwrap()["calls"]
            .as_u64()
            .unwrap()
    };
    assert!(calls("write") >= 20_000 && calls("read") >= 20_000);
    assert!(
        document["entering"]["null_call_ns"]
            .as_f64()
            .is_some_and(|ns| ns > 5.0),
        "{document:#}"
    );
    let page = place.run("report p.json -o p.html");
    expect_status(&page, 0);
}

/// Nothing on the screen contains the stops, which take many times as long as the calls.
#[test]
fn without_root_calls_have_prices_and_stops_are_tracing() {
    let place = Place::new().opened();
    let line = ("why --report - -o p.json --", READS);
    let done = place.command_without_rights(line).output().unwrap();
    expect_in(
        stdout(&done),
        "Times of calls are estimates: their number x the cost of such a call here",
    );
    let document = place.document("why p.json");
    let seconds = |kind: &str| {
        let mut parts = list(&document["time"]["parts"]).iter();
        let part = parts.find(|part| part["kind"] == kind);
        part.map_or(0.0, |part| part["wall_s"].as_f64().unwrap())
    };
    assert!(
        seconds("calls") > 0.0 && seconds("tracer") > seconds("calls"),
        "{document:#}"
    );
    let read = list(&document["calls"])
        .iter()
        .find(|row| row["call"] == "read")
        .unwrap();
    // Each takes at least an entry, and less than a stop.
    let each_ns = read["on_cpu_ns"].as_f64().unwrap() / read["calls"].as_f64().unwrap();
    assert!((20.0..5000.0).contains(&each_ns), "{each_ns}");
    let profile = place.document("show p.json");
    assert!(
        !list(&profile["tracer"]["priced_by"]).is_empty(),
        "{profile:#}"
    );
}

/// A parent that waits is not what takes the time.
#[test]
fn the_call_with_most_time_is_not_that_of_a_waiting_parent() {
    let place = Place::new();
    let done = place.run("why --report - --format json -- sh -c 'sleep 0.3; true'");
    let document = json(&done);
    let wall_s = needs!(document["time"]["wall_s"].as_f64());
    assert_eq!(
        document["calls"][0]["call"], "clock_nanosleep",
        "{document:#}"
    );
    let parts = list(&document["time"]["parts"]).iter();
    let sum: f64 = parts.filter_map(|part| part["wall_s"].as_f64()).sum();
    assert!((sum / wall_s - 1.0).abs() < 1e-6, "{document:#}");
}

#[test]
fn the_status_and_the_output_are_the_commands() {
    let place = Place::new();
    let done = place.run("why -- sh -c 'echo own; exit 7'");
    assert_eq!(
        (done.status.code(), stdout(&done).as_str()),
        (Some(7), "own\n"),
        "{}",
        stderr(&done)
    );
    expect_in(stderr(&done), " of wall time\n");
}

#[test]
fn a_command_is_raced_in_environments() {
    let place = Place::new();
    let done = place.run(("why --env seccomp --report - --", READS));
    // Beside other work nothing may be known of the difference; a line says so.
    let screen = unwrapped(&stdout(&done));
    for part in [
        " of wall time ",
        "net ms",
        "first ms",
        "(again)",
        "seccomp: ",
        "Its calls add ",
    ] {
        expect_in(&screen, part);
    }
    if !is_left_to_heavy("the document of the same") {
        let document = json(&place.run(("why --env seccomp --report - --format json --", READS)));
        expect_valid("why-1", &document);
        let second = &document["race"]["results"][1]["environment"];
        assert_eq!(second, "seccomp", "{document:#}");
        let compared = document["race"]["versus"].as_array().unwrap();
        let bill = compared.iter().find_map(|own| own["by_calls"].as_object());
        let calls = |bill: &serde_json::Map<String, serde_json::Value>| bill["calls"].as_u64();
        let all = document["calls"].as_array().unwrap();
        let all: u64 = all.iter().filter_map(|row| row["calls"].as_u64()).sum();
        assert_eq!(bill.and_then(calls), Some(all), "{document:#}");
    }
}

#[test]
fn a_signal_between_the_trace_and_the_race_ends_it() {
    let place = Place::new();
    let mut command = place.command(("why --env seccomp --report - --", READS));
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let job = Job::of(child);
    for line in lines.map_while(Result::ok) {
        if line.contains("the command changes ") {
            kill(job.pid(), Signal::SIGINT).unwrap();
        }
    }
    let output = job.output();
    expect_status(&output, 130);
    expect_not_in(stdout(&output), "net ms");
}

/// In a directory that is too large to be copied. What makes a file system over it needs no copy.
#[test]
fn a_command_that_changes_nothing_runs_where_it_is() {
    let place = Place::new();
    let names = ready(&["seccomp", "tmpfs", "overlay"]).join(",");
    let work = place.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("file"), "old\n").unwrap();
    let raced = |code: &str| {
        let mut command = place.command(format!("why --env {names} --report - -- sh -c '{code}'"));
        let done = command.current_dir(&work).output().unwrap();
        expect_status(&done, 0);
        (stdout(&done), stderr(&done))
    };
    let (shown, told) = raced("test $(wc -c < file) = 4");
    assert!(
        told.contains("changes nothing below")
            && !shown.contains("fresh copy")
            && !shown.contains("failed in"),
        "{told}{shown}"
    );
    let (shown, told) = raced(
        "test $(wc -c < file) = 4 && echo more > more && test $(ls | wc -l) = 2 && rm -f fi* more",
    );
    assert!(
        told.contains("changes files (file)") && shown.contains("failed in"),
        "all had a copy without it: {told}{shown}"
    );
    if is_left_to_heavy("a directory that is too large for tmpfs") {
        assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
        return;
    }
    fs::write(work.join("file"), "old\n").unwrap();
    fs::File::create(work.join("large"))
        .unwrap()
        .set_len(257 << 20)
        .unwrap();
    let (shown, told) = raced("test $(wc -c < file) = 4");
    assert!(
        !names.contains("tmpfs") || told.contains("tmpfs is left out"),
        "{told}"
    );
    assert!(
        !names.contains("overlay") || shown.contains("\noverlay "),
        "{shown}"
    );
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn mistakes_are_told_in_a_line() {
    let place = Place::new();
    let own = std::process::id().to_string();
    place.refuses(
        "why",
        &[
            ("--env nosuch true", 2, "nosuch"),
            (
                &format!("--env seccomp -p {} --for 1", own),
                2,
                "give a command in place of --pid",
            ),
            ("-- /nonexistent", 127, "/nonexistent"),
            ("-o /nonexistent/p.json true", 2, "/nonexistent/p.json"),
            ("", 2, "COMMAND"),
        ],
    );
}

/// How often the command ran is the number of lines in the file beside the working directory.
#[test]
fn what_changes_files_elsewhere_is_run_again_only_if_asked() {
    let place = Place::new();
    if ready(&["seccomp"]).is_empty() || !geteuid().is_root() {
        return skip("paths take eBPF, as root, and an environment");
    }
    let work = place.path().join("work");
    fs::create_dir(&work).unwrap();
    let lines = |more: &str| {
        let mut command = place.command(format!(
            "why --env seccomp {more} --report why.txt -- sh -c 'echo x >> ../flag; sleep 0.01'"
        ));
        let done = command.current_dir(&work).output().unwrap();
        expect_status(&done, 0);
        (
            fs::read_to_string(place.path().join("flag"))
                .unwrap()
                .lines()
                .count(),
            done,
        )
    };
    let (once, done) = lines("");
    assert_eq!(once, 1);
    expect_in(
        stderr(&done),
        "it changed ../flag, so it is not run again in other environments: --yes",
    );
    assert!(lines("--yes").0 > 10);
}

/// A child ends with the page tables of its parent, which prints what that took by wait4.
const ENDS: &str = r#"
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    size_t size = 256 << 20;
    void *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    struct rusage used;
    pid_t child = fork();
    if (child == 0) _exit(0);
    wait4(child, 0, 0, &used);
    printf("%ld\n", used.ru_utime.tv_sec * 1000000 + used.ru_utime.tv_usec + used.ru_stime.tv_sec * 1000000 + used.ru_stime.tv_usec);
    return munmap(memory, size);
}
"#;

#[test]
fn the_end_of_a_child_is_in_its_own_time() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    place.write("ends.c", ENDS);
    let program = place.path().join("ends");
    let source = place.path().join("ends.c");
    assert!(cc(format!("-o {} {}", program.display(), source.display())));
    let line = format!(
        "why -q --report why.json --format json -- {}",
        program.display()
    );
    let used_ns = 1000.0 * stdout(&place.run(line)).trim().parse::<f64>().unwrap();
    let document = place.parsed("why.json");
    let mut rows = list(&document["calls"]).iter();
    let exit = rows.find(|row| row["call"] == "exit_group").unwrap();
    let ended_ns = exit["on_cpu_ns"].as_f64().unwrap();
    assert!(
        ended_ns > 0.5 * used_ns,
        "{ended_ns} of {used_ns}: {document:#}"
    );
}
