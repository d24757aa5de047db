//! Numbers of instructions beside times, as a user meets them: in tables of every width, in documents, and compared.

use crate::common::*;
use model::*;

/// Instructions, or the time in nanoseconds, of each operation.
const COSTS: &[(&str, u64)] = &[
    ("id.getppid", 337),
    ("file.fstat", 2731),
    ("file.lstat", 3501),
    ("io.uring_nop", 0),
];

fn record(operation: &str, environment: &str, outcome: Outcome) -> Record {
    let role = if operation.starts_with("call.") {
        Role::Baseline
    } else {
        Role::Asked
    };
    let case = Case {
        environment: environment.into(),
        ..Case::native(operation)
    };
    Record {
        role,
        ..Record::new(case, outcome)
    }
}

fn failed() -> Outcome {
    Outcome::Failed(Failure::new(
        FailureKind::Unsupported,
        "io_uring_setup: ENOSYS",
    ))
}

/// A native record: twelve blocks that scatter a little.
fn timed(operation: &str, ns: u64) -> Record {
    let block = |i: u64| Block {
        launch: i as u32 / 4,
        slots: vec![vec![1000 * ns + 7 * ns * (i % 3); 4]],
    };
    let blocks = (0..12).map(block).collect();
    let measured = Outcome::Measured(Measurement {
        iterations: 1000,
        blocks,
        ..Measurement::default()
    });
    let call = operation.rsplit('.').next().unwrap().to_string();
    let entries = Some([(call, 1.0)].into_iter().collect());
    Record {
        entries,
        entries_status: EntriesStatus::Verified,
        ..record(operation, "native", measured)
    }
}

/// A counted record: `each` instructions, and `spread` more in the last of three repeats.
fn counted(operation: &str, environment: &str, each: u64, spread: u64) -> Record {
    let batch = |each: u64| (900 + 4 * each, 900 + 104 * each);
    let batches = vec![batch(each), batch(each), batch(each + spread)];
    let outcome = Outcome::Counted(Counted {
        fewer: 4,
        more: 104,
        batches,
    });
    let unverified = EntriesStatus::Unverified("no ptrace pass in an emulated machine".into());
    Record {
        entries_status: unverified,
        ..record(operation, environment, outcome)
    }
}

/// All operations in an emulated kernel, at `percent` of their instructions.
fn kernel(environment: &str, percent: u64) -> Vec<Record> {
    let one = |(operation, each): &(&str, u64)| match each {
        0 => record(operation, environment, failed()),
        each => counted(
            operation,
            environment,
            each * percent / 100,
            if *each > 3000 { 9 } else { 0 },
        ),
    };
    let empty_loop = counted("call.empty_loop", environment, 5, 0);
    COSTS.iter().map(one).chain([empty_loop]).collect()
}

fn facts(environment: &str) -> EnvironmentFacts {
    EnvironmentFacts {
        name: environment.into(),
        unit: Unit::Instructions,
        kernel: environment
            .strip_prefix("linux-")
            .map(|version| format!("{version}.0-9-amd64")),
        emulator: Some("qemu-system-x86_64 7.2.13".into()),
        notes: vec!["the first second after the start is left out".into()],
        ..EnvironmentFacts::default()
    }
}

fn run(records: Vec<Record>, environments: &[&str]) -> Run {
    Run {
        tool: Tool {
            name: "syscost".into(),
            version: "0".into(),
            compiler: "cc".into(),
        },
        host: Host {
            measuring_cpu: Some(1),
            name: Some("vm".into()),
            system: Some("Linux".into()),
            kernel: Some("6.18".into()),
            ..Host::default()
        },
        started_unix_s: 1_767_225_600,
        plan: Plan {
            seed: 1,
            budget_s: 1.0,
            whole_s: None,
            precision_percent: 1.0,
        },
        elapsed_s: 1.0,
        complete: true,
        records,
        environments: environments.iter().map(|name| facts(name)).collect(),
        ..Run::default()
    }
}

fn both() -> Run {
    let native = COSTS.iter().map(|(operation, cost)| match cost {
        0 => record(operation, "native", failed()),
        cost => timed(operation, *cost / 3),
    });
    let records = native
        .chain(kernel("linux-6.1", 100))
        .chain(kernel("linux-6.12", 41))
        .collect();
    run(records, &["linux-6.1", "linux-6.12"])
}

fn many(kernels: usize, operations: usize) -> Run {
    let names: Vec<String> = (0..kernels)
        .map(|i| format!("linux-5.{}", 10 + i))
        .collect();
    let one = |(i, name): (usize, &String)| {
        kernel(name, 100 + 3 * i as u64)
            .into_iter()
            .take(operations)
    };
    let records = names.iter().enumerate().flat_map(one).collect();
    run(
        records,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

fn one(percent: u64) -> Run {
    let run = run(kernel("linux-6.1", percent), &["linux-6.1"]);
    Run {
        plan: Plan {
            seed: percent,
            ..run.plan
        },
        ..run
    }
}

fn place() -> Place {
    let place = Place::new();
    let kernels = many(12, 4);
    let blocks = Run {
        records: [kernels.records.clone(), both().records].concat(),
        ..kernels
    };
    // Other programs use the CPUs: that changes times, and no instructions.
    let busy = |run: Run| {
        let host = Host {
            busy_cpus: Some(2.0),
            cpus: Some(2),
            ..run.host.clone()
        };
        Run { host, ..run }
    };
    let mut timed = both();
    timed
        .records
        .retain(|record| record.case.environment == "native");
    for record in &mut timed.records {
        record.case.environment = "linux-6.1".into();
    }
    for (name, run) in [
        ("both", both()),
        ("old", one(100)),
        ("new", one(103)),
        ("rows", many(12, 2)),
        ("blocks", blocks),
        ("busy-one", busy(one(100))),
        ("busy-both", busy(both())),
        ("timed", timed),
    ] {
        store::write(&run, &place.path().join(format!("{name}.json"))).unwrap();
    }
    place
}

#[test]
fn times_and_instructions_stand_in_columns_of_their_own() {
    let cases = [
        ("80", 80, "show both.json"),
        ("140", 140, "show both.json"),
        ("markdown", 80, "show both.json --format markdown"),
        ("csv", 80, "show both.json --format csv"),
        ("go-benchmark", 80, "show both.json --format go-benchmark"),
        ("cmpthese", 80, "show both.json --view cmpthese"),
        // One emulated kernel has no column of times.
        ("alone", 80, "show old.json"),
        // Environments that do not fit side by side are rows, or stand in blocks; none is left out.
        ("rows", 80, "show rows.json"),
        ("blocks", 80, "show blocks.json"),
        ("compare", 100, "compare old.json new.json"),
        ("compare-csv", 80, "compare old.json new.json --format csv"),
    ];
    place().prints("tests/golden/counted-*.txt", &cases);
}

#[test]
fn what_disturbs_times_is_not_said_of_instructions() {
    let place = place();
    expect_not_in(place.printed("show busy-one.json"), "CPUs busy");
    expect_in(place.printed("show busy-both.json"), "CPUs busy");
    let measured_on = |file: &str| {
        let page = place.printed(format!("report {file} -o -"));
        let facts = page.split_once("measured on");
        facts.is_some_and(|(_, value)| value[..60].contains("CPU 1"))
    };
    assert!(!measured_on("old.json"), "nothing ran on that CPU");
    assert!(measured_on("both.json"));
}

#[test]
fn counts_are_compared_exactly() {
    let place = place();
    let compare = |more: &str| place.run(("compare old.json new.json", more));
    let failed = compare("--fail-over 2%");
    expect_error(
        &failed,
        1,
        "file.fstat costs x1.030 in new, over --fail-over 2%",
    );
    expect_status(&compare("--fail-over 4%"), 0);
    expect_in(stdout(&compare("--threshold 5%")), "3 within 5%");
    let same = place.printed("compare old.json old.json");
    expect_in(&same, "equal");
    expect_not_in(&same, "more\n");
}

#[test]
fn a_time_is_never_compared_with_instructions() {
    let profile = file("studies/mercurial.profile.json");
    place().refusals(
        "counted",
        "",
        &[
            "compare timed.json old.json",
            &format!("why {profile} --costs timed.json --versus old.json"),
        ],
    );
}
