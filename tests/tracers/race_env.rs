//! One command in several environments.

use crate::common::*;
use crate::race::runs;

const CALLS: &str = "dd if=/dev/zero of=/dev/null bs=64 count=4000";

pub fn ready<'a>(wanted: &[&'a str]) -> Vec<&'a str> {
    static LIST: LazyLock<Value> = LazyLock::new(|| Place::new().document("list --envs"));
    let all = LIST["environments"].as_array().unwrap();
    let listed = |name: &str| all.iter().find(|own| own["name"] == name).unwrap();
    let is_ready = |name: &&str| is_usable(&Place::new(), listed(name));
    wanted.iter().copied().filter(is_ready).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

#[test]
fn the_start_up_of_each_round_is_subtracted() {
    let place = Place::new();
    let names = ready(&["seccomp-docker", "strace"]).join(",");
    let raced = place.run(format!(
        "race --env {names} --runs 7 --format json -- {CALLS}"
    ));
    expect_status(&raced, 0);
    expect_valid("race-1", &json(&raced).to_string());
    let found = json(&raced);
    let results = list(&found["results"]);
    assert_eq!(
        (&results[0]["environment"], &results[0]["command"]),
        (&"native".into(), &CALLS.into())
    );
    assert!(
        results[0]["system_calls"].as_u64() > Some(8000),
        "{found:#}"
    );
    let native = numbers(&results[0]["empty_times"]);
    for own in results {
        let (times, empty) = (numbers(&own["times"]), numbers(&own["empty_times"]));
        let net: Vec<f64> = (0..times.len())
            .map(|round| times[round] - (empty[round] - native[round]))
            .collect();
        let least = net.iter().copied().fold(f64::INFINITY, f64::min);
        let most = net.iter().copied().fold(-f64::INFINITY, f64::max);
        let shown = numbers(&own["net"])[0];
        assert!(net.len() == 7 && least <= shown && shown <= most, "{own:#}");
    }
    if names.contains("strace") {
        let head = results
            .iter()
            .position(|own| own["environment"] == "strace");
        let mut versus = list(&found["versus"]).iter();
        let versus = versus.find(|own| own["head"] == head.unwrap()).unwrap();
        assert_eq!(versus["base"], 0, "{versus:#}");
        // Beside other load its control may differ by more than strace adds.
        let verdict = &versus["wall"]["verdict"];
        assert!(
            ["slower", "not_known"].contains(&verdict.as_str().unwrap()),
            "{versus:#}"
        );
    }
    let native = results[0]["system_calls"].as_u64().unwrap();
    for own in results.iter().filter(|own| own["control"] != true) {
        match own["system_calls"].as_u64() {
            Some(calls) => assert!(
                calls.abs_diff(native) < 10,
                "those of what starts it are not counted: {own:#}"
            ),
            None => assert!(
                own["not_counted"].as_str().unwrap().contains("eBPF"),
                "{own:#}"
            ),
        }
    }
}

/// bubblewrap takes several milliseconds to start anything.
#[test]
fn a_command_is_not_slower_by_what_its_environment_takes_to_start() {
    let place = Place::new();
    for name in ready(&["bwrap"]) {
        let words = format!("race --env {name} --runs 9 --threshold 50% --fail-over 50%");
        let raced = place.run((&words, "--format csv 'sleep 0.01'"));
        assert!(
            raced.status.success() && !stdout(&raced).contains("slower"),
            "{}{}",
            stdout(&raced),
            stderr(&raced)
        );
    }
}

#[test]
fn what_cannot_start_a_command_is_refused_before_anything_runs() {
    let place = Place::new();
    for (arguments, told) in [
        (
            "--env m32 'touch made'",
            "environment m32: it is a different build of the probe",
        ),
        (
            "--env musl 'touch made'",
            "environment musl: it is a different build of the probe",
        ),
        (
            "--env native,uml 'touch made'",
            "environment uml: a command in an emulated machine",
        ),
        (
            "--env native,linux-6.1 'touch made'",
            "emulated kernels count instructions",
        ),
        ("--env linux-6.1 --runs 5 'touch made'", "leave out --runs"),
        (
            "--env seccomp,seccomp 'touch made'",
            "seccomp is listed twice",
        ),
        ("--env nonesuch 'touch made'", "nonesuch"),
        ("--env seccomp 'touch made' --versus true", "--versus"),
        (
            "--env seccomp --shell -- touch made",
            "give the code as one argument",
        ),
        ("--fresh-copy 'touch made'", "--env"),
        ("--env seccomp --fresh-copy 'touch made'", "set TMPDIR"),
    ] {
        let output = place.run(("race", arguments));
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments}");
        expect_in(stderr(&output), told);
        assert!(!place.path().join("made").exists() && place.left_behind().is_empty());
    }
    let fails = place.run("race --env seccomp,native --no-counts -- false");
    expect_in(stderr(&fails), "'false' failed with status 1 in seccomp");
}

#[test]
fn a_call_that_an_environment_refuses_is_named() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let call = format!(
        "race --env seccomp-docker --runs 1 --format json -- perl -e 'my $path = \"/x\"; syscall({}, $path, 0); exit'",
        libc::SYS_swapon
    );
    let raced = place.run(&call);
    expect_status(&raced, 0);
    let race = json(&raced);
    let refused = &race["results"][1]["refused"];
    let expected = serde_json::json!([{"call": "swapon", "error": "EPERM", "calls": 1}]);
    assert_eq!(refused, &expected, "{race:#}");
}

/// The command succeeds only where the file is as it was.
const CHANGES: &str = "test $(wc -c < file) = 4 && echo more >> file";

fn in_fresh_copies(place: &Place, names: &str) -> Output {
    let words = format!("race --env {names} --fresh-copy --shell --runs 2 '{CHANGES}'");
    let mut command = place.command_without_rights(&words);
    command
        .current_dir(place.path().join("work"))
        .output()
        .unwrap()
}

#[test]
fn an_ordinary_user_gets_a_fresh_copy_each_time() {
    let place = Place::new();
    let work = place.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("file"), "old\n").unwrap();
    for names in ["seccomp-docker,ptrace", "tmpfs,overlay,namespaces"] {
        let raced = in_fresh_copies(&place, names);
        if stderr(&raced).contains("cannot start a command here") {
            skip(&format!("{names}: {}", stderr(&raced)));
            continue;
        }
        expect_status(&raced, 0);
        expect_in(stdout(&raced), "fresh copy of the working directory");
        assert_eq!(fs::read_to_string(work.join("file")).unwrap(), "old\n");
        assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    }
}

/// Mounts of any namespace that lie in the place, or come from there.
fn mounts(place: &Place) -> Vec<String> {
    let tmp = place.tmp().display().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let tables =
        entries.filter_map(|entry| fs::read_to_string(entry.path().join("mountinfo")).ok());
    let own = |table: String| {
        table
            .lines()
            .filter(|line| line.contains(&tmp))
            .map(String::from)
            .collect::<Vec<_>>()
    };
    tables.flat_map(own).collect()
}

fn containers(place: &Place) -> String {
    let label = format!("{}/", place.tmp().display());
    let listed = Command::new("podman")
        .args(["ps", "--all", "--format", "{{.Labels.syscost}}"])
        .output();
    let text = listed.map(|listed| stdout(&listed)).unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with(&label))
        .collect()
}

#[test]
fn a_kill_leaves_nothing() {
    let place = Place::new();
    let work = place.path().join("work");
    fs::create_dir(&work).unwrap();
    let mut wanted = vec!["namespaces", "strace"];
    wanted.extend(if geteuid().is_root() {
        &["overlay", "podman"][..]
    } else {
        &[]
    });
    let begin = |(index, name): (usize, &str)| -> (Job, String) {
        let sleep = format!("sleep 7777.{}{index}", std::process::id());
        // The first environment is the first to run.
        let mut command = place.command(format!("race --env {name},native --no-counts '{sleep}'"));
        command
            .current_dir(&work)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        (Job::of(command.spawn().unwrap()), sleep)
    };
    let jobs: Vec<(Job, String)> = ready(&wanted).into_iter().enumerate().map(begin).collect();
    let mut sleeps = Vec::new();
    for (job, sleep) in jobs {
        let has_begun = wait_for(|| runs(&sleep).then_some(())).is_some();
        kill(job.pid(), Signal::SIGKILL).unwrap();
        assert!(has_begun, "{sleep}: {}", stderr(&job.output()));
        sleeps.push(sleep);
    }
    let clean = || {
        let has_ended = place.processes().is_empty() && !sleeps.iter().any(|sleep| runs(sleep));
        has_ended && place.left_behind().is_empty() && mounts(&place).is_empty()
    };
    wait_until(|| clean() && containers(&place).is_empty());
}
