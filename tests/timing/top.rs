//! `syscost top`: intervals as JSON and tables, the live screen in tmux, and what ends badly.

use crate::common::*;
use crate::support::{self, helper};
use crate::{alone, alone_with_bpf};

/// A process of two threads that call getppid without end.
fn busy(place: &Place) -> Job {
    let mut command = Command::new(helper(place));
    command
        .arg("endless")
        .stdout(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    Job::of(child)
}

fn documents(output: &Output) -> Vec<Value> {
    expect_status(output, 0);
    stdout(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn each_interval_is_a_document_of_its_schema() {
    let _alone = needs!(alone_with_bpf());
    let place = Place::new();
    let busy = busy(&place);
    let run = |by: &str| {
        let arguments = format!(
            "top -p {} --interval 0.2 --count 2 --format json --by {by}",
            busy.pid()
        );
        documents(&place.run(&arguments))
    };
    for by in ["program", "process", "call", "class", "error"] {
        let intervals = run(by);
        assert_eq!(intervals.len(), 2);
        for interval in intervals {
            expect_valid("top-2", &interval);
            assert_eq!(
                (&interval["schema"], &interval["lost"]),
                (&"syscost.top/2".into(), &0.into())
            );
            let scope = interval["scope"].as_str().unwrap();
            assert!(
                scope.starts_with(&format!("process {} (", busy.pid())),
                "{scope}"
            );
            assert!(
                interval["total"]["calls"].as_u64().unwrap() > 0,
                "{interval:#}"
            );
            assert!(
                interval["interval_s"].as_f64().unwrap() >= 0.15,
                "{interval:#}"
            );
        }
    }
    let row = |by: &str| run(by)[1]["rows"][0].clone();
    assert_eq!(
        [&row("program")["process"], &row("process")["process"]],
        ["tree", "tree"]
    );
    assert_eq!(
        (
            row("program")["pid"].as_u64(),
            row("process")["pid"].as_u64()
        ),
        (None, Some(busy.pid().as_raw() as u64))
    );
    let calls = run("call");
    let called = list(&calls[1]["rows"])
        .iter()
        .find(|row| row["call"] == "getppid")
        .unwrap();
    assert!(
        called["p99_ns"].as_f64().unwrap() >= called["p50_ns"].as_f64().unwrap(),
        "{called:#}"
    );
}

#[test]
fn one_table_says_what_watching_costs() {
    let _alone = needs!(alone_with_bpf());
    let place = Place::new();
    let busy = busy(&place);
    let output = place.run(format!(
        "top -p {} --interval 0.2 --count 1 --by call --quiet",
        busy.pid()
    ));
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), String::new())
    );
    let text = stdout(&output);
    assert!(
        text.starts_with(&format!("process {} (", busy.pid()))
            && text.contains(" s; cost: tracing adds "),
        "{text}"
    );
    assert!(
        text.lines()
            .any(|line| line.starts_with("call ") && line.contains("calls/s")),
        "{text}"
    );
    assert!(
        text.lines().any(|line| line.starts_with("getppid ")),
        "{text}"
    );
}

#[test]
fn a_command_is_started_without_output_and_ends_with_it() {
    let _alone = needs!(alone_with_bpf());
    let place = Place::new();
    let tree = helper(&place);
    let words = format!(
        "top --interval 0.2 --count 1 --format json -- {} endless",
        tree.display()
    );
    let intervals = documents(&place.run(&words));
    assert_eq!(intervals.len(), 1);
    assert_eq!(intervals[0]["scope"], format!("{} endless", tree.display()));
    wait_until(|| place.processes().is_empty());
    // One that ends by itself ends the table; its status is not ours.
    let ended = place.run("top sh -c 'echo out; echo err >&2; sleep 0.2; exit 3'");
    expect_status(&ended, 0);
    expect_in(stdout(&ended), "sleep");
    expect_not_in(stdout(&ended), "out\n");
    expect_not_in(stderr(&ended), "err");
    let missing = place.run("top nosuch");
    expect_status(&missing, 127);
}

#[test]
fn a_target_that_ends_ends_the_table() {
    let _alone = needs!(alone_with_bpf());
    let place = Place::new();
    let mut sleep = Command::new("sleep").arg("1").spawn().unwrap();
    let output = place.run(format!("top -p {} --interval 30", sleep.id()));
    expect_status(&output, 0);
    assert!(
        stdout(&output).contains("clock_nanosleep") || stdout(&output).contains("process "),
        "{}",
        stdout(&output)
    );
    sleep.wait().unwrap();
}

#[test]
fn signals_end_it_with_success_and_a_last_table() {
    let _alone = needs!(alone_with_bpf());
    let place = Place::new();
    let busy = busy(&place);
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut command = place.command(format!("top -p {} --interval 60", busy.pid()));
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut introduced = String::new();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        said.read_line(&mut introduced).unwrap();
        expect_in(&introduced, "tracer: eBPF");
        sleep(Duration::from_millis(500));
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        expect_status(&output, 0);
        expect_in(stdout(&output), "calls/s");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_it() {
    let _alone = needs!(alone_with_bpf());
    let place = Place::new();
    let busy = busy(&place);
    let mut command = place.command(format!("top -p {} --interval 0.1 --quiet", busy.pid()));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut String::new())
        .unwrap();
    let ended = wait_for(|| child.try_wait().unwrap());
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}

fn null_calls(document: &Value, of: &str) -> u64 {
    let rows = list(&document["rows"]);
    rows.iter()
        .filter(|row| row["process"] == of)
        .map(|row| row["calls"].as_u64().unwrap())
        .sum()
}

#[test]
fn a_control_group_has_its_own_processes_and_those_that_enter() {
    let _alone = needs!(alone_with_bpf());
    let group = needs!(ControlGroup::new());
    let place = Place::new();
    let tree = helper(&place);
    let outside = busy(&place);
    let mut first = group.run("exec sleep 60");
    wait_until(|| !group.pids().is_empty());
    let name = group.0.file_name().unwrap().to_str().unwrap();
    let mut command = place.command(format!("trace --cgroup {name} -o p.json --for 3"));
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    // It enters after tracing began, and stays for longer than its arrival may take to be seen.
    sleep(Duration::from_millis(300));
    let mut second = group.run(&format!("sleep 0.5; {} leaf 500; true", tree.display()));
    said.read_to_string(&mut String::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let shown = place.document("show p.json");
    assert_eq!(shown["scope"], format!("cgroup /{name}"));
    assert_eq!(
        support::count(&shown, "getppid"),
        500,
        "{:#}",
        shown["calls"]
    );
    let _ = (first.kill(), first.wait(), second.wait());
    drop(outside);
}

#[test]
fn the_whole_system_has_what_starts_later() {
    let _alone = needs!(alone_with_bpf());
    let place = Place::new();
    let tree = helper(&place);
    let name = format!("t{}", std::process::id());
    let copy = place.tmp().join(&name);
    copy_program(&tree, &copy);
    let mut command = place.command("top --all --interval 2 --count 1 --format json");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    sleep(Duration::from_millis(800));
    let ran = Command::new(&copy).args(["leaf", "3000"]).status().unwrap();
    assert!(ran.success());
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    assert_eq!(document["scope"], "the whole system");
    assert!(null_calls(&document, &name) >= 3000, "{document:#}");
}

fn programs_of(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/fdinfo"))
        .into_iter()
        .flatten()
        .flatten();
    let texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let number = |text: String| {
        text.lines()
            .find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok())
    };
    texts
        .filter_map(number)
        .collect::<BTreeSet<u32>>()
        .into_iter()
        .collect()
}

#[test]
fn a_kill_leaves_no_program() {
    let _alone = needs!(alone_with_bpf());
    let place = Place::new();
    let busy = busy(&place);
    let mut command = place.command(format!(
        "top -p {} --interval 0.1 --format json",
        busy.pid()
    ));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut String::new())
        .unwrap();
    let programs = programs_of(child.id());
    let loaded = || {
        programs
            .iter()
            .filter(|id| sys::bpf::is_loaded(**id))
            .count()
    };
    assert!(
        !programs.is_empty() && loaded() == programs.len(),
        "{programs:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| loaded() == 0);
    assert!(Path::new(&format!("/proc/{}", busy.pid())).exists());
}

#[test]
fn what_makes_no_sense_is_told() {
    let _alone = alone();
    let place = Place::new();
    place.refusals(
        "top",
        "top",
        &["", "--all -p 1", "--all --interval 0.01", "--all --count 0"],
    );
}

/// A terminal of tmux, with a server of its own.
struct Tmux<'a> {
    place: &'a Place,
}

impl Tmux<'_> {
    fn open(place: &Place) -> Option<Tmux<'_>> {
        let tmux = Tmux { place };
        let opened = tmux.command([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "20",
            "env PS1='$ ' sh",
        ]);
        if opened.is_none() {
            skip("tmux cannot be used here");
        }
        opened.map(|_| tmux)
    }

    fn command(&self, words: impl Line) -> Option<String> {
        let socket = self.place.tmp().join("tmux");
        let mut command = Command::new("tmux");
        command
            .arg("-S")
            .arg(socket)
            .args(words.words())
            .env_remove("TMUX")
            .current_dir(self.place.path());
        let output = command
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(stdout(&output))
    }

    fn keys(&self, keys: &[&str]) {
        self.command(("send-keys -t 0", keys)).unwrap();
    }

    fn screen(&self) -> String {
        self.command("capture-pane -t 0 -p").unwrap()
    }

    fn shows(&self, wanted: &[&str]) -> String {
        let screen =
            || Some(self.screen()).filter(|screen| wanted.iter().all(|text| screen.contains(text)));
        wait_for(screen).unwrap_or_else(|| panic!("{wanted:?} is not in\n{}", self.screen()))
    }

    fn run(&self, line: String) {
        let program = env!("CARGO_BIN_EXE_syscost");
        self.keys(&[
            &format!("{program} {line}; echo status=$?; stty -a"),
            "Enter",
        ]);
    }

    fn is_as_before(&self) {
        let screen = self.shows(&["status=0", " icanon ", " echo "]);
        expect_not_in(&screen, "F10 quit");
        assert_eq!(
            self.command("display-message -t 0 -p '#{alternate_on} #{cursor_flag}'")
                .unwrap(),
            "0 1\n"
        );
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.command("kill-server");
    }
}

#[test]
fn keys_lead_through_the_live_table() {
    let _alone = alone();
    let place = Place::new();
    let (true, Some(tmux)) = (has_bpf(), Tmux::open(&place)) else {
        return;
    };
    let busy = busy(&place);
    tmux.run(format!("top --interval 0.3 -p {}", busy.pid()));
    tmux.shows(&[
        "program  ",
        "calls/s v",
        "tree",
        "interval 0.3 s; cost: tracing adds",
        "F4 filter",
    ]);
    tmux.keys(&["Enter"]);
    tmux.shows(&["tree: ", "p99 us", "getppid"]);
    tmux.keys(&["Enter"]);
    tmux.shows(&["call ", "class "]);
    tmux.keys(&["Escape"]);
    tmux.shows(&["p99 us"]);
    tmux.keys(&["Escape"]);
    tmux.shows(&["program  "]);
    tmux.keys(&["F6"]);
    tmux.shows(&["errors/s v"]);
    tmux.keys(&["p"]);
    tmux.shows(&["PAUSED"]);
    tmux.keys(&["p", "F1"]);
    tmux.shows(&["Keys", "quit"]);
    // Counting begins again, by process.
    tmux.keys(&["x", "b"]);
    tmux.shows(&[
        "process  ",
        "PID",
        "arguments",
        &busy.pid().to_string(),
        "endless",
    ]);
    tmux.keys(&["b"]);
    tmux.shows(&["call  ", "p50 us", "getppid"]);
    tmux.keys(&["F4", "n", "o", "q"]);
    let screen = tmux.shows(&["filter: noq_"]);
    expect_not_in(&screen, "getppid");
    tmux.keys(&["Escape"]);
    tmux.command("resize-window -t 0 -x 40 -y 8");
    tmux.shows(&["getppid"]);
    tmux.command("resize-window -t 0 -x 100 -y 20");
    tmux.keys(&["q"]);
    tmux.is_as_before();
}

#[test]
fn however_it_ends_the_terminal_is_as_it_was() {
    let _alone = alone();
    let place = Place::new();
    let (true, Some(tmux)) = (has_bpf(), Tmux::open(&place)) else {
        return;
    };
    let busy = busy(&place);
    // By ^C, by each signal that can be caught, and by one that cannot.
    for signal in ["C-c", "TERM", "HUP", "INT", "QUIT", "KILL"] {
        tmux.run(format!("top --interval 0.3 -p {}", busy.pid()));
        tmux.shows(&["F10 quit"]);
        match signal {
            "C-c" => tmux.keys(&[signal]),
            signal => {
                let pane = tmux
                    .command("display-message -t 0 -p '#{pane_pid}'")
                    .unwrap();
                let killed = Command::new("pkill")
                    .args(["-x", &format!("-{signal}"), "-P", pane.trim(), "syscost"])
                    .status();
                assert!(killed.unwrap().success());
            }
        }
        if signal == "KILL" {
            // The janitor leaves the alternate screen last, perhaps after the shell has printed on it.
            let modes = ["display-message", "-t", "0", "-p", "#{alternate_on}"];
            assert!(wait_for(|| (tmux.command(modes)? == "0\n").then_some(())).is_some());
            tmux.keys(&["clear; echo status=0; stty -a", "Enter"]);
        }
        tmux.is_as_before();
        tmux.keys(&["clear", "Enter"]);
        wait_until(|| !tmux.screen().contains("status="));
    }
    // The process that is watched ends.
    let mut sleep = Command::new("sleep").arg("3").spawn().unwrap();
    tmux.run(format!("top --interval 0.3 -p {}", sleep.id()));
    sleep.wait().unwrap();
    tmux.is_as_before();
}

#[test]
fn it_ends_with_its_terminal() {
    let _alone = alone();
    let place = Place::new();
    let (true, Some(tmux)) = (has_bpf(), Tmux::open(&place)) else {
        return;
    };
    let busy = busy(&place);
    tmux.run(format!("top --interval 0.3 -p {}", busy.pid()));
    tmux.shows(&["F10 quit"]);
    let pane = tmux
        .command("display-message -t 0 -p '#{pane_pid}'")
        .unwrap();
    let found = Command::new("pgrep")
        .args(["-x", "-P", pane.trim(), "syscost"])
        .output()
        .unwrap();
    let ours = Path::new("/proc").join(stdout(&found).trim());
    assert!(ours.join("stat").exists());
    tmux.command("kill-server");
    wait_until(|| !ours.join("stat").exists());
}
