//! Commands as ways to other environments and machines: ssh on the loopback address, namespaces, and what is none.

use crate::common::*;
use crate::server;

use server::Server;

/// A stand-alone probe in `place`; `None`, said loudly, where there is no static C library.
fn probe(place: &Place) -> Option<String> {
    const FILE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/stand-alone-probe");
    static REFUSED: LazyLock<Option<String>> = LazyLock::new(|| {
        let built = Place::new().run(format!("probe build -o {FILE}"));
        (!built.status.success()).then(|| stderr(&built).trim().to_string())
    });
    if let Some(reason) = &*REFUSED {
        skip(reason);
        return None;
    }
    let own = place.path().join("there").display().to_string();
    // By another process, for the reason that `command_as_nobody` gives.
    expect_status(&Command::new("cp").args([FILE, &own]).output().unwrap(), 0);
    Some(own)
}

fn run(place: &Place, arguments: impl Line) -> Output {
    let fixed = "--quiet run --time 2 --precision 50";
    place.run((&fixed, arguments))
}

fn records(document: &Value) -> &Vec<Value> {
    list(&document["records"])
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(texts).collect(),
        Value::Object(all) => all.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_probe_over_ssh_tells_of_its_own_machine() {
    let place = Place::new();
    let probe = needs!(probe(&place));
    let server = match Server::start(&place) {
        Ok(server) => server,
        Err(reason) => return skip(&reason),
    };
    let result = place.path().join("there.json").display().to_string();
    let done = run(
        &place,
        format!(
            "id.getppid file.lstat --via \"{}\" --probe {probe} --out {result} --timeout 60",
            server.ssh()
        ),
    );
    expect_status(&done, 0);
    assert!(
        stdout(&done).contains("ptrace") || stdout(&done).contains("cannot be traced"),
        "{}",
        stdout(&done)
    );
    let file: Value = serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap();
    let host = &file["host"];
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(host["kernel"], release.trim());
    assert_eq!(
        host["measuring_cpu_reason"],
        "the probe pinned itself there"
    );
    // What only this process could know is not told of the other machine.
    for unknown in ["steal_percent", "busy_cpus", "cpus_allowed"] {
        assert!(host[unknown].is_null(), "{unknown}: {host}");
    }
    assert_eq!(host["driver_cpus"], Value::Array(Vec::new()));
    for record in records(&file) {
        assert_eq!(record["environment"], "ssh 127.0.0.1");
        assert!(record["entries"].is_null(), "{record}");
    }
    expect_not_in(stdout(&done), "native");
}

/// A container of podman in which a probe waits for input, gone when it is dropped.
struct Container(String);

impl Container {
    fn start(place: &Place) -> Result<Container, String> {
        let name = format!("syscost-test-{}", std::process::id());
        let fixed = "--runtime runc run --detach -i --network none --log-driver none --ulimit";
        let limits = format!("nofile=1024:1024 --ulimit nproc=4096:4096 --name {name} --rootfs");
        let container = Container(name);
        let mut podman = Command::new("podman");
        podman
            .args((fixed, limits).words())
            .arg(place.path())
            .arg("/there");
        let done = podman
            .output()
            .map_err(|error| format!("podman: {error}"))?;
        if done.status.success() {
            Ok(container)
        } else {
            Err(format!("podman: {}", stderr(&done).trim()))
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Command::new("podman")
            .args(["rm", "--force", "--time", "0", &self.0])
            .output();
    }
}

/// What starts a program in a container ends before that program does: no probe may take that for the end of its driver.
#[test]
fn a_container_is_reached_through_exec() {
    let place = Place::new();
    if probe(&place).is_none() {
        return;
    }
    let container = match Container::start(&place) {
        Ok(container) => container,
        Err(reason) => return skip(&reason),
    };
    let exec = format!("podman --runtime runc exec -i {}", container.0);
    let operations = "id.getppid id.umask file.lstat io.pread --format json";
    let done = run(
        &place,
        (&operations, format!("--via '{exec}' --probe /there")),
    );
    expect_status(&done, 0);
    for record in records(&json(&done)) {
        assert!(
            record["median_ns"].as_f64().is_some_and(|ns| ns > 0.0),
            "{record}"
        );
    }
}

#[test]
fn two_machines_are_columns_without_a_ratio() {
    let place = Place::new();
    let probe = needs!(probe(&place));
    let arguments = format!("id.getppid --via away=env --probe {probe} --env native --format json");
    let done = run(&place, &arguments);
    expect_status(&done, 0);
    let document = json(&done);
    let environments: Vec<&Value> = records(&document)
        .iter()
        .map(|record| &record["environment"])
        .collect();
    assert_eq!(environments, ["native", "away"]);
    assert!(
        records(&document)
            .iter()
            .all(|record| record["versus"].is_null()),
        "{document}"
    );
    assert!(
        document["environments"][0]["host"]["kernel"].is_string(),
        "{document}"
    );
    let said = texts(&document)
        .into_iter()
        .any(|text| text.starts_with("column away is another machine"));
    assert!(said, "{document}");
}

#[test]
fn what_a_command_prints_before_the_probe_is_left_out() {
    let place = Place::new();
    let probe = needs!(probe(&place));
    let banner = "sh -c 'echo Welcome; echo; echo to ready pid=1; exec {program}'";
    let done = run(
        &place,
        format!("id.getppid --via \"{banner}\" --probe {probe} --format json"),
    );
    expect_status(&done, 0);
    assert!(records(&json(&done))[0]["median_ns"].as_f64().unwrap() > 0.0);
}

/// Each is an error that says what was seen, long before a run would end.
#[test]
fn commands_that_lead_nowhere_are_errors() {
    let place = Place::new();
    for (command, said) in [
        (
            "false",
            "the command ended without an answer (exit status 1)",
        ),
        (
            "sh -c 'echo no such host >&2; exit 255'",
            "(exit status 255): no such host",
        ),
        (
            "sh -c 'echo Welcome; exit 3'",
            "(exit status 3); the command printed 'Welcome', but no probe answered",
        ),
        ("sh -c cat", "the command echoes its input"),
        (
            "sh -c 'echo waiting >&2; exec sleep 1000'",
            "no answer within 1 s: stopped (--timeout allows more): waiting",
        ),
        ("yes", "more than 64 KiB of other lines"),
        ("sh -c 'cat /dev/zero'", "without a line end"),
        (
            "sh -c 'yes >&2; true'",
            "more than 16 MiB of error messages",
        ),
        ("no-such-command", "cannot start no-such-command"),
        ("''", "cannot start"),
    ] {
        // Only one of them is to be given up.
        let timeout = if said.starts_with("no answer") {
            "1"
        } else {
            "600"
        };
        let done = run(
            &place,
            format!("id.getppid --via \"{command}\" --probe /nowhere --timeout {timeout}"),
        );
        expect_error(&done, 2, said);
        assert_eq!(stderr(&done).lines().count(), 1, "{}", stderr(&done));
    }
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    assert!(place.processes().is_empty(), "{:?}", place.processes());
}

/// A command that is silent, or writes to standard error for ever, ends with the first interrupt.
#[test]
fn an_interrupt_ends_a_command_that_never_answers() {
    let place = Place::new();
    for command in [
        "sh -c 'sleep 1000; true'",
        "sh -c 'while :; do echo waiting >&2; sleep 0.01; done'",
    ] {
        let job = place.start(format!(
            "run id.getppid --via \"{command}\" --probe /nowhere --timeout 1000"
        ));
        wait_until(|| !place.processes().is_empty());
        sleep(Duration::from_millis(300));
        killpg(job.pid(), Signal::SIGINT).unwrap();
        assert_eq!(job.output().status.code(), Some(130), "{command}");
        place.expect_clean();
    }
}

#[test]
fn own_commands_are_environments_in_the_same_rounds() {
    let place = Place::new();
    let commands = [
        "--env-command",
        "nice=nice -n 1",
        "--env-command",
        "setsid -w",
    ];
    let arguments = (
        "id.getppid c:getppid() --env native --format json",
        &commands,
    );
    let done = run(&place, arguments);
    expect_status(&done, 0);
    let document = json(&done);
    let of = |name: &str| {
        records(&document)
            .iter()
            .find(|record| record["environment"] == name)
            .unwrap()
    };
    assert_eq!(
        of("nice")["entries"],
        of("native")["entries"],
        "nice becomes the probe, which can be traced"
    );
    assert!(of("nice")["versus"].is_object(), "{}", of("nice"));
    assert!(of("setsid")["median_ns"].as_f64().unwrap() > 0.0);
    assert_eq!(records(&document).len(), 6);
}

/// Root can make a network namespace; the probe is in it, and its files are in the run's directory.
#[test]
fn a_network_namespace_is_an_environment() {
    let place = Place::new();
    if !Command::new("unshare")
        .args(["-n", "true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        return skip("unshare -n is not permitted");
    }
    let done = run(
        &place,
        "socket --env-command 'net=unshare -n' --env native --format json",
    );
    let failed: Vec<String> = records(&json(&done))
        .iter()
        .filter(|record| record["error"].is_object())
        .map(|record| record["operation"].to_string())
        .collect();
    // The loopback interface is down in a new namespace: operations over TCP say so, the others work.
    assert!(failed.len() < records(&json(&done)).len() / 2, "{failed:?}");
}

/// Where the run's directory cannot be seen, the probe makes its own, and removes it however the run ends.
#[test]
fn a_directory_made_elsewhere_is_removed() {
    let place = Place::new();
    let probe = needs!(probe(&place));
    if !geteuid().is_root()
        || !Command::new("unshare")
            .args(["-m", "true"])
            .status()
            .is_ok_and(|status| status.success())
    {
        return skip("mount namespaces are not permitted");
    }
    let there = place.path().join("tmp-there");
    fs::create_dir(&there).unwrap();
    let hidden = format!(
        "unshare -m sh -c 'mount -t tmpfs none {}; TMPDIR={} exec {{program}}'",
        place.tmp().display(),
        there.display()
    );
    let left = || fs::read_dir(&there).unwrap().count();
    let done = run(
        &place,
        format!("file.lstat dir --via \"{hidden}\" --probe {probe} --format json"),
    );
    expect_status(&done, 0);
    assert_eq!(left(), 0);
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        // In a session of its own, as behind ssh: the driver cannot reach it but through its pipe.
        let away = hidden.replace("exec {program}", "setsid -w {program}");
        let job = place.start(format!(
            "run file.lstat --time 600 --precision 0.0001 --via \"{away}\" --probe {probe}"
        ));
        wait_until(|| left() > 10);
        killpg(job.pid(), signal).unwrap();
        drop(job.output());
        wait_until(|| left() == 0 && probes(&probe).is_empty());
    }
}

/// kill -9 and ^C of the driver end the probes behind ssh, too.
#[test]
fn no_probe_outlives_the_driver_over_ssh() {
    let place = Place::new();
    let probe = needs!(probe(&place));
    let server = match Server::start(&place) {
        Ok(server) => server,
        Err(reason) => return skip(&reason),
    };
    for &signal in kill_and_interrupt() {
        let job = place.start(format!(
            "run id.getppid sync --time 600 --precision 0.0001 --via \"{}\" --probe {probe}",
            server.ssh()
        ));
        wait_until(|| probes(&probe).len() > 10);
        killpg(job.pid(), signal).unwrap();
        drop(job.output());
        wait_until(|| probes(&probe).is_empty());
        wait_until(|| place.left_behind().is_empty());
    }
}

fn probes(path: &str) -> Vec<i32> {
    let numbered = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let runs = |pid: &i32| {
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.display().to_string() == path)
    };
    numbered.filter(runs).collect()
}
