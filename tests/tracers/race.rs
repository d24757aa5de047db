//! Whole commands against each other.

use crate::common::*;
const MANY: &str = "dd if=/dev/zero of=/dev/null bs=64 count=16000";
const FEW: &str = "dd if=/dev/zero of=/dev/null bs=1024 count=1000";

#[test]
fn the_calls_that_changed_are_the_reason() {
    let place = Place::new();
    let raced = place.run(format!(
        "race '{MANY}' --versus '{FEW}' --runs 7 --format json --out race.json"
    ));
    expect_status(&raced, 0);
    expect_valid("race-1", &json(&raced).to_string());
    assert_eq!(place.read("race.json"), stdout(&raced));
    let kept = place.printed("show race.json");
    expect_in(&kept, ["time ratio", "calls differ, "]);
    place.printed("report race.json -o race.html");
    let found = json(&raced);
    let result = &found["results"][1];
    assert_eq!(
        (
            result["command"].as_str(),
            result["times"].as_array().map(Vec::len)
        ),
        (Some(FEW), Some(7))
    );
    assert!(
        list(&result["exit_codes"]).iter().all(|status| status == 0),
        "{result:#}"
    );
    let versus = &found["versus"][0];
    let rows = versus["calls"]["rows"]
        .as_array()
        .unwrap_or_else(|| panic!("{result:#}"));
    for name in ["read", "write"] {
        let row = rows.iter().find(|row| row["call"] == name).unwrap();
        let calls = |side: usize| row["counts"][side]["calls"]["median"].as_u64().unwrap();
        assert_eq!(calls(0) - calls(1), 15_000, "{row:#}");
    }
    let shown = place.run(format!("race '{MANY}' --versus '{FEW}' --runs 7"));
    let text = stdout(&shown);
    // A warm-up and 7 rounds of two commands and the control, and two traced runs of each command.
    for part in [
        "time ratio",
        "7 rounds in random order; the commands ran 28 times",
        "(again)",
        ") control",
        "-15,000 (x",
        "calls differ, ",
    ] {
        expect_in(&text, part);
    }
}

/// The same calls, of which one takes longer: eBPF and ptrace know how long it was blocked.
#[test]
fn a_call_that_takes_longer_is_the_cause() {
    let place = Place::new();
    for nobody in [false, true] {
        let words = "race 'sleep 0.02' --versus 'sleep 0.3' --runs 9 --format json";
        if nobody && !geteuid().is_root() {
            return skip("becoming one needs root");
        }
        let mut command = if nobody {
            place.command_as_nobody(words)
        } else {
            place.command(words)
        };
        let raced = command.output().unwrap();
        expect_status(&raced, 0);
        expect_valid("race-1", &json(&raced).to_string());
        let versus = &json(&raced)["versus"][0];
        let cause = &versus["causes"][0];
        let named = (cause["cause"].as_str(), cause["call"].as_str());
        assert_eq!(
            named,
            (Some("time_per_call"), Some("clock_nanosleep")),
            "{versus:#}"
        );
    }
}

#[test]
fn parameters_preparation_and_a_shell() {
    let place = Place::new();
    let commands =
        "--shell 'test -e made && wc -c < made' -P size=1,x --prepare 'echo {size} > made'";
    let raced = place.run(("race --runs 1 --no-counts --format json", &commands));
    expect_status(&raced, 0);
    let found = json(&raced);
    let parameters: Vec<&str> = list(&found["results"])
        .iter()
        .filter(|own| own["control"] != true)
        .map(|own| own["parameters"]["size"].as_str().unwrap())
        .collect();
    assert_eq!(parameters, ["1", "x"]);
    assert_eq!(
        (&found["versus"][0]["wall"], &found["versus"][0]["head"]),
        (&Value::Null, &Value::from(1))
    );
    assert_eq!(place.read("made").len(), 2);
}

#[test]
fn failures_are_errors_unless_they_are_asked_for() {
    let place = Place::new();
    place.refusals(
        "race",
        "race",
        &[
            "\"echo 'a\"",
            "'echo {n}' -P n=1..200+1",
            "'echo {n}' -P n=",
            "ls --versus 'ls -l' --prepare a --prepare b --prepare c",
            "false",
            "true --prepare 'exit 3'",
            "/nonexistent",
            "'ls | wc'",
            "true -P n=1",
            "'echo {n} {m}' -P n=1",
            "-- true --versus 'echo a'",
            "true --out /nonexistent/race.json",
            "",
        ],
    );
    let ignored = place.run("race false -i --runs 2 --no-counts");
    assert!(
        ignored.status.success() && stdout(&ignored).contains("failed in 2 of 2 runs"),
        "{}",
        stdout(&ignored)
    );
}

#[test]
fn the_baseline_is_raced_against_itself_in_the_same_rounds() {
    let place = Place::new();
    let found =
        place.document("race 'sleep 0.01' -P x=1 --versus 'sleep 0.0{x}' --runs 6 --no-counts");
    let results = list(&found["results"]);
    let controls: Vec<bool> = results.iter().map(|own| own["control"] == true).collect();
    assert_eq!(controls, [false, false, true], "{found:#}");
    assert_eq!(list(&results[2]["times"]).len(), 6);
    let pairs = list(&found["versus"])
        .iter()
        .map(|own| (&own["base"], &own["head"]));
    assert_eq!(
        pairs.collect::<Vec<_>>(),
        [(&0.into(), &1.into()), (&0.into(), &2.into())]
    );
}

#[test]
fn a_limit_on_growth_fails_what_is_certainly_slower() {
    let place = Place::new();
    let raced = |head| {
        place.run(format!(
            "race true --versus '{head}' --runs 6 --no-counts --fail-over 50%"
        ))
    };
    let slower = raced("sleep 0.3");
    expect_error(&slower, 1, "'sleep 0.3' is slower by more than 50%");
    let few = place.run("race true --versus true --runs 2 --no-counts --fail-over 50%");
    expect_status(&few, 2);
}

pub fn runs(command: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines
        .into_iter()
        .any(|line| line.trim_end_matches('\0').replace('\0', " ") == command)
}

/// Starts it, and ends it with `signal` as soon as `command` runs.
fn interrupted_by(signal: Signal, arguments: impl Line, command: &str, later: Duration) -> Output {
    let place = Place::new();
    let job = place.start(arguments);
    wait_until(|| runs(command));
    sleep(later);
    kill(job.pid(), signal).unwrap();
    let output = job.output();
    expect_status(&output, 130);
    assert!(!runs(command));
    output
}

fn interrupted(arguments: impl Line, command: &str, later: Duration) -> Output {
    interrupted_by(Signal::SIGTERM, arguments, command, later)
}

/// While it is counted and while it is timed, also of one that is stopped, with what it has started.
#[test]
fn each_signal_ends_the_command_and_the_race() {
    std::thread::scope(|scope| {
        for signal in [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGQUIT,
        ] {
            scope.spawn(move || {
                let own = format!("sleep 60.75{}", signal as i32);
                let timed = format!("race '{own}' --warmup 0");
                interrupted_by(signal, timed, &own, Duration::ZERO);
                let own = format!("sleep 60.875{}", signal as i32);
                let stopped = format!("race --shell '{own} & kill -STOP $$; :' --end-left");
                interrupted_by(signal, stopped, &own, Duration::from_millis(100));
            });
        }
    });
}

/// Ends the processes with this command line, once there are `most` or after a while; how many there were.
fn killed(command: &str, most: usize) -> usize {
    let pids = || Some(pids(command)).filter(|pids| pids.len() >= most);
    let pids = wait_for(pids).unwrap_or_default();
    pids.iter()
        .for_each(|pid| kill(Pid::from_raw(*pid), Signal::SIGKILL).unwrap());
    pids.len()
}

fn pids(command: &str) -> Vec<i32> {
    let of =
        |entry: &fs::DirEntry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
    let found = fs::read_dir("/proc").unwrap().flatten();
    let found =
        found.filter(|entry| of(entry).trim_end_matches('\0').replace('\0', " ") == command);
    found
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// It lives for longer than this test may take.
#[test]
fn what_a_command_leaves_running_is_not_waited_for_and_named() {
    let place = Place::new();
    let race = |code: &str, more: &str| {
        let words = (
            format!("race --shell '{code}' --versus true --runs 3 --warmup 0"),
            more,
        );
        let raced = place.run(&words);
        (stdout(&raced), stderr(&raced))
    };
    let (shown, said) = race("setsid sleep 3600.125 & sleep 3600.125 &", "");
    // In three rounds, in which the baseline runs twice, and when it was counted.
    let least = 2 * (2 * 3 + 1);
    assert!(killed("sleep 3600.125", least) >= least, "{shown}{said}");
    expect_in(&shown, "leaves processes running (");
    let (shown, _) = race("setsid sleep 3600.25 & sleep 3600.25 &", "--end-left");
    assert_eq!(killed("sleep 3600.25", 0), 0);
    expect_in(&shown, "leaves processes running");
    // What prepares a command may have to go on running.
    let (shown, said) = race("true", "--prepare 'sleep 3600.5 &' --end-left --no-counts");
    assert_eq!(killed("sleep 3600.5", 3 * 3), 3 * 3, "{shown}{said}");
}

/// Bash does not wait for a process substitution, as sandboxes do not wait for their program.
#[test]
fn processes_that_a_command_does_not_wait_for_are_in_its_cpu_time() {
    let place = Place::new();
    place.write(
        "spin",
        "for ((i = 0; i < 200000; i++)); do :; done; echo done",
    );
    place.write("waits", "bash spin | read -r _");
    place.write("leaves", "read -r _ < <(bash spin)");
    let words = "race 'bash waits' --versus 'bash leaves' --runs 5 --no-counts --format json";
    let found = json(&place.run(words));
    let [waits, leaves] = [0, 1].map(|which| {
        let times = list(&found["results"][which]["cpu_times"]).iter();
        times.map(|time| time.as_f64().unwrap()).sum::<f64>()
    });
    assert!(
        leaves > 0.5 * waits && waits > 0.5 * leaves,
        "{leaves} {waits}"
    );
}

/// As an ordinary user, whom a tracer takes the privilege.
#[test]
fn what_gains_privileges_is_timed_with_them_and_not_counted_without() {
    let place = Place::new();
    if !geteuid().is_root() {
        return skip("making one needs root");
    }
    let program = place.path().join("id");
    assert!(
        Command::new("install")
            .args(["-m", "4755", "/usr/bin/id"])
            .arg(&program)
            .status()
            .unwrap()
            .success()
    );
    let (program, race) = (
        program.to_str().unwrap(),
        ["--versus", "true", "--runs", "2", "--format", "json"],
    );
    let raced = place
        .command_as_nobody((format!("race {program}"), &race))
        .output()
        .unwrap();
    let found = json(&raced);
    let why = found["results"][0]["not_counted"]
        .as_str()
        .unwrap_or_else(|| panic!("{found:#}{}", stderr(&raced)));
    expect_in(
        why,
        "traced, it ran without that privilege; root can count it",
    );
    assert_eq!(found["versus"][0]["calls"], Value::Null, "{found:#}");
}

/// A limit on the size of files, as a full disk would be.
#[test]
fn what_cannot_be_written_leaves_the_earlier_file() {
    let place = Place::new();
    for command in [
        "race true --runs 2 --no-counts --out kept",
        "trace --tracer ptrace --report kept -- ls / /usr /usr/lib",
    ] {
        place.write("kept", "as it was");
        let mut limited = in_shell("ulimit -f 0; exec \"$@\" >&2", &place.command(command));
        let output = limited.env("TMPDIR", "/dev/shm").output().unwrap();
        assert!(!output.status.success(), "{command}: {}", stderr(&output));
        assert_eq!(
            place.read("kept"),
            "as it was",
            "{command}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn an_interrupt_ends_the_command_and_shows_the_complete_rounds() {
    let words = [
        "race",
        "true",
        "--versus",
        "sleep 6000.25",
        "--warmup",
        "0",
        "--no-counts",
    ];
    assert_eq!(
        stdout(&interrupted(words, "sleep 6000.25", Duration::ZERO)),
        "",
        "there is none"
    );
    let words = "race true --versus 'sleep 0.0625' --warmup 0 --no-counts --runs 100000";
    let shown = stdout(&interrupted(words, "sleep 0.0625", Duration::from_secs(1)));
    expect_in(&shown, "in random order, then interrupted");
}

#[test]
fn a_kill_ends_the_command() {
    let place = Place::new();
    let job = place.start("race 'sleep 6000.5' --warmup 0 --no-counts");
    wait_until(|| runs("sleep 6000.5"));
    kill(job.pid(), Signal::SIGKILL).unwrap();
    job.output();
    wait_until(|| !runs("sleep 6000.5"));
}
