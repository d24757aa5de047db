//! Every environment is built, started and measured here, or skipped with the reason; and whatever ends a run, nothing that
//! another program has made for it stays behind. Machines that are booted have tests of their own (tests/guest.rs).

use crate::common::*;
use crate::confine::loops_of;

const OPERATIONS: [&str; 2] = ["id.getppid", "file.open_close"];

fn listed(place: &Place) -> Vec<Value> {
    let found = place.document("list --envs");
    let all = list(&found["environments"]).clone();
    let files = environment_files().count();
    assert_eq!(all.len(), files);
    all
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn listing_builds_nothing() {
    let place = Place::new();
    let cache = place.path().join("empty-cache");
    fs::create_dir(&cache).unwrap();
    let output = place
        .command("list --envs --format json")
        .env("XDG_CACHE_HOME", &cache)
        .output()
        .unwrap();
    let status = |name: &str| {
        let found = json(&output);
        let mut all = list(&found["environments"]).iter();
        all.find(|own| own["name"] == name).unwrap()["status"].clone()
    };
    assert_eq!([status("native"), status("static")], ["ready", "not_built"]);
    let kept: Vec<_> = fs::read_dir(cache.join("syscost"))
        .into_iter()
        .flatten()
        .collect();
    assert!(kept.is_empty(), "{kept:?}");
}

#[test]
fn the_cache_is_emptied_but_for_what_runs() {
    let place = Place::new();
    let cache = place.path().join("cache");
    let run = |line: &str| {
        let output = place.command(line).env("XDG_CACHE_HOME", &cache).output();
        output.unwrap()
    };
    let builds = |output: &Output| {
        let shown = stdout(output);
        let line = shown.lines().find_map(|line| line.strip_prefix("builds,"));
        let number = line.and_then(|rest| rest.split(',').next());
        number.unwrap_or_else(|| panic!("{shown}")).to_string()
    };
    expect_status(&run("run c:getpid() --no-verify --time 0.1 --quiet"), 0);
    let mut running = place
        .command("run c:getppid() --no-verify --time 20 --quiet --precision 0.0001 --out run.json")
        .env("XDG_CACHE_HOME", &cache)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(|| place.path().join("run.json").exists());
    let kept = builds(&run("cache --format csv"));
    let unused = run("cache --remove all --format csv");
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    expect_status(&unused, 3);
    expect_status(&run("cache --remove machines"), 0);
    let used = run("cache --remove builds --format csv");
    expect_status(&used, 0);
    // Two snippets, and the library that both are linked with.
    assert_eq!([kept, builds(&unused), builds(&used)], ["3", "1", "2"]);
    assert_eq!(fs::read_dir(cache.join("syscost")).unwrap().count(), 0);
}

#[test]
fn a_machine_lacks_its_emulator_its_compiler_and_its_kernel() {
    let place = Place::new();
    let list = |format: &str| {
        place
            .command(format!("list --envs --format {format}"))
            .env("XDG_STATE_HOME", place.path())
            .env("PATH", place.path())
            .env_remove("CC")
            .output()
            .unwrap()
    };
    let found = json(&list("json"));
    let parts = ["install qemu-system-x86", "gcc", "syscost kernel fetch "];
    for linux in found["environments"].as_array().unwrap() {
        if linux["name"] == "linux" {
            assert_eq!(linux["status"], "missing");
            expect_in(text(linux, "reason"), parts);
        }
    }
    // Lines are broken at any space.
    let shown = stdout(&list("text")).replace("\n  ", " ");
    expect_in(shown, parts);
}

#[test]
fn an_environment_that_cannot_start_fails_alone_unless_it_is_the_baseline() {
    let place = Place::new();
    let start = "run id.getppid file.open_close --time 0.5 --no-verify --env";
    let output = place.run(format!("{start} native,linux-0.1,static --out run.json"));
    expect_status(&output, 3);
    expect_in(stderr(&output), "environment linux-0.1 fails: ");
    expect_in(
        stdout(&output),
        "failed: id.getppid, file.open_close in linux-0.1: ",
    );
    for record in list(&place.document("show run.json")["records"]) {
        let failed = record["environment"] == "linux-0.1";
        assert_eq!(record["error"].is_object(), failed, "{record:#}");
        assert_eq!(record["median_ns"].is_number(), !failed, "{record:#}");
    }
    let page = place.run("report run.json --format html -o -");
    expect_in(stdout(&page), "in linux-0.1: ");
    let compared = place.run("compare run.json run.json --format text");
    expect_in(stdout(&compared), "(linux-0.1): no result in ");
    for (environments, reason) in [
        ("linux-0.1", "environment linux-0.1: "),
        ("linux-0.1,native", "environment linux-0.1: "),
        ("linux-0.1,linux-0.2", "environment linux-0.2: "),
        (
            "'native,native audit=1'",
            "are for emulated machines only, e.g. ",
        ),
        ("'native,native confine=toaster'", "confine: no such way"),
    ] {
        let refused = place.run(format!("{start} {environments}"));
        expect_status(&refused, 2);
        expect_in(stderr(&refused), reason);
        assert!(refused.stdout.is_empty(), "{environments}");
    }
}

/// Flags, 32 bits, another C library, an emulated processor; a filter, a mount and a namespace by the launcher; a program that
/// starts the probe, and a container.
const KINDS: [&str; 12] = [
    "native",
    "static",
    "m32",
    "musl",
    "qemu-x86_64",
    "seccomp",
    "overlay",
    "namespaces",
    "bwrap",
    "podman",
    "crun",
    "runc",
];

/// Those that can be used here; the others are skipped loudly.
fn ready(place: &Place) -> Vec<Value> {
    let mut all = listed(place);
    let names: Vec<&str> = all.iter().map(|own| text(own, "name")).collect();
    let walked = one_of_each_kind(&names, &KINDS);
    let walked: Vec<String> = walked.into_iter().map(str::to_string).collect();
    all.retain(|own| walked.iter().any(|name| own["name"] == *name));
    all.retain(|environment| {
        text(environment, "unit") == "nanoseconds"
            && is_usable(place, environment)
            && text(environment, "reason").is_empty()
    });
    all
}

fn names(environments: &[Value]) -> String {
    environments
        .iter()
        .map(|environment| text(environment, "name"))
        .collect::<Vec<_>>()
        .join(",")
}

#[test]
fn every_environment_is_measured_and_its_entries_are_counted_or_it_says_why_not() {
    let place = Place::new();
    let environments = ready(&place);
    assert!(
        environments
            .iter()
            .any(|environment| environment["name"] == "native")
    );
    let of_all = format!(
        "run --time 2 --precision 50 --timeout 40 --format json --env {}",
        names(&environments)
    );
    // A container may take long to start where other tests keep the disk busy.
    let output = place.run((&of_all, OPERATIONS));
    let records = json(&output)["records"].as_array().unwrap().clone();
    assert_eq!(
        records.len(),
        environments.len() * OPERATIONS.len(),
        "{}",
        stderr(&output)
    );
    for record in &records {
        let environment = environments
            .iter()
            .find(|own| own["name"] == record["environment"])
            .unwrap();
        let case = format!(
            "{} in {}",
            text(record, "operation"),
            text(environment, "name")
        );
        assert!(
            record["median_ns"].as_f64().is_some_and(|ns| ns > 1.0),
            "{case}: {record}"
        );
        match environment["unverified"].is_null() {
            true => assert_entries(&case, record),
            false => assert_eq!(text(record, "entries_status"), "unverified", "{case}"),
        }
    }
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
}

fn assert_entries(case: &str, record: &Value) {
    assert_eq!(text(record, "entries_status"), "verified", "{case}");
    let entries = record["entries"].as_object().unwrap();
    let mut called: Vec<&str> = entries.keys().map(String::as_str).collect();
    called.sort_unstable();
    let expected: &[&[&str]] = match text(record, "operation") {
        "id.getppid" => &[&["getppid"]],
        _ => &[&["close", "openat"], &["close", "open"]],
    };
    assert!(expected.contains(&&called[..]), "{case}: {called:?}");
    assert!(
        entries.values().all(|count| count.as_f64() == Some(1.0)),
        "{case}: {entries:?}"
    );
}

#[test]
fn the_start_of_an_environment_has_a_time_and_memory() {
    let place = Place::new();
    let mut environments = listed(&place);
    environments.retain(|one| {
        ["namespaces", "bwrap", "crun"].contains(&text(one, "name")) && is_usable(&place, one)
    });
    let names = names(&environments);
    let words =
        format!("run id.getppid --no-verify --time 3 --start-up --env {names} --out run.json");
    let output = place.run(&words);
    expect_status(&output, 0);
    expect_in(stdout(&output), "start-up ms");
    let shown = place.document("show run.json");
    let start_ups = list(&shown["start_ups"]);
    assert_eq!(start_ups.len(), environments.len(), "{shown:#}");
    for one in start_ups {
        let [low, middle, high] =
            ["low_s", "seconds", "high_s"].map(|key| one[key].as_f64().unwrap());
        assert!(low < middle && middle < high && high > 0.0, "{one:#}");
        // Other processes are part of all of these.
        assert!(one["memory_kib"].as_u64() > Some(0), "{one:#}");
    }
    let figure = place.run("report run.json --format svg --figure start-up -o figure.svg");
    if start_ups.len() > 1 {
        expect_status(&figure, 0);
        let svg = fs::read_to_string(place.path().join("figure.svg")).unwrap();
        assert!(names.split(',').all(|name| svg.contains(name)), "{svg}");
    }
    let none = place.run("run id.getppid --no-verify --time 1 --env seccomp --out none.json");
    expect_status(&none, 0);
    let refused = place.run("report none.json --format svg --figure start-up");
    expect_status(&refused, 2);
    expect_in(stderr(&refused), "--start-up");
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
}

/// The processes that have the run's number in their environment, and are not only waiting to be reaped.
fn processes_of(number: u32) -> Vec<String> {
    let wanted = format!("SYSCOST_RUN={number:08x}");
    let own = |path: &Path| {
        let environment = fs::read(path.join("environ")).ok()?;
        let is_own = environment
            .split(|byte| *byte == 0)
            .any(|word| word == wanted.as_bytes());
        is_own.then(|| {
            fs::read_to_string(path.join("comm"))
                .unwrap_or_default()
                .trim()
                .to_string()
        })
    };
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| own(&entry.ok()?.path()))
        .collect()
}

fn mounts_in(place: &Place) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let within = place.path().display().to_string();
    mounts
        .lines()
        .filter(|line| line.contains(&within))
        .map(str::to_string)
        .collect()
}

fn kept_elsewhere(place: &Place) -> Vec<String> {
    let within = place.path().display().to_string();
    let list = Command::new("podman")
        .args([
            "ps",
            "--all",
            "--format",
            "{{.ID}} {{.Mounts}} {{.Command}}",
        ])
        .output();
    let listed = list.map(|output| stdout(&output)).unwrap_or_default();
    listed
        .lines()
        .filter(|line| line.contains(&within))
        .map(str::to_string)
        .collect()
}

#[test]
fn nothing_that_other_programs_made_stays_behind() {
    let place = Place::new();
    let mut environments = ready(&place);
    environments.retain(|own| {
        own["started_with"]
            .as_array()
            .is_some_and(|words| !words.is_empty())
    });
    for &signal in kill_and_interrupt() {
        let arguments = [
            "run",
            "--time",
            "600",
            "--precision",
            "0.0001",
            "--no-verify",
            "id.getppid",
            "--env",
        ];
        let job: Job = place.start([&arguments[..], &[&names(&environments)]].concat());
        let wanted = environments.len();
        let begun = wait_for(|| {
            let number = *run_numbers(&place.tmp()).first()?;
            (processes_of(number).len() >= wanted).then_some(number)
        });
        let number = begun.expect("the run did not come so far");
        kill(job.pid(), signal).unwrap();
        let gone = || {
            let kept =
                mounts_in(&place).len() + loops_of(&place.path()).len() + place.left_behind().len();
            (processes_of(number).is_empty() && kept == 0).then_some(())
        };
        let left = || {
            (
                processes_of(number),
                mounts_in(&place),
                loops_of(&place.path()),
                place.left_behind(),
            )
        };
        assert!(wait_for(gone).is_some(), "after {signal}: {:?}", left());
        wait_until(|| kept_elsewhere(&place).is_empty());
        let output = job.output();
        assert!(
            signal == Signal::SIGKILL || output.status.code() == Some(130),
            "{}",
            stderr(&output)
        );
    }
}
