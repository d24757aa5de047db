//! Numbers of instructions beside times, as a user meets them: in tables of every width, in documents, and compared.
//!
//! `SNAPSHOTS=overwrite cargo test --test counted` rewrites tests/golden/counted-*.txt; read the difference before it is kept.

use crate::common::{Place, expect_file, expect_status, stderr, stdout, succeeded};
use model::*;
use std::path::PathBuf;

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
            precision_percent: 1.0,
        },
        elapsed_s: 1.0,
        complete: true,
        records,
        environments: environments.iter().map(|name| facts(name)).collect(),
        ..Run::default()
    }
}

/// Two kernels and the native times.
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

/// So many kernels.
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

fn file(place: &Place, name: &str, run: &Run) -> String {
    let path: PathBuf = place.path().join(name);
    store::write(run, &path).unwrap();
    path.to_string_lossy().into_owned()
}

fn printed(place: &Place, width: &str, arguments: &[&str]) -> String {
    succeeded(place.command(arguments).env("COLUMNS", width))
}

fn expect_golden(name: &str, actual: &str) {
    expect_file(format!("tests/golden/counted-{name}.txt"), actual);
}

#[test]
fn times_and_instructions_stand_in_columns_of_their_own() {
    let place = Place::new();
    let file = file(&place, "both.json", &both());
    for width in ["80", "140"] {
        expect_golden(width, &printed(&place, width, &["show", &file]));
    }
    for format in ["markdown", "csv", "go-benchmark"] {
        expect_golden(
            format,
            &printed(&place, "80", &["show", &file, "--format", format]),
        );
    }
    for view in ["bars", "cmpthese"] {
        expect_golden(
            view,
            &printed(&place, "80", &["show", &file, "--view", view]),
        );
    }
}

#[test]
fn a_run_of_one_emulated_kernel_has_no_column_of_times() {
    let place = Place::new();
    let file = file(&place, "one.json", &one(100));
    let text = printed(&place, "80", &["show", &file]);
    assert!(
        !text.contains("ns/op") && !text.contains('±') && !text.contains("calls/s"),
        "{text}"
    );
    expect_golden("alone", &text);
    // Other programs use the CPUs: that changes times, and no instructions.
    let busy = |name: &str, run: Run| {
        let host = Host {
            busy_cpus: Some(2.0),
            cpus: Some(2),
            ..run.host.clone()
        };
        printed(
            &place,
            "80",
            &["show", &self::file(&place, name, &Run { host, ..run })],
        )
    };
    assert!(!busy("busy.json", one(100)).contains("CPUs busy"));
    assert!(busy("busy-both.json", both()).contains("CPUs busy"));
    let page = |name: &str, run: Run| {
        let run = Run {
            host: Host {
                measuring_cpu: Some(1),
                ..run.host.clone()
            },
            ..run
        };
        printed(
            &place,
            "80",
            &["report", &self::file(&place, name, &run), "-o", "-"],
        )
    };
    let measured_on = |page: &str| {
        page.split_once("measured on")
            .is_some_and(|(_, value)| value[..60].contains("CPU 1"))
    };
    assert!(
        !measured_on(&page("counted.json", one(100))),
        "nothing ran on that CPU"
    );
    assert!(measured_on(&page("both.json", both())));
}

/// Where the environments do not fit side by side they are rows, or stand in blocks; none is left out, and no line is too long.
#[test]
fn many_environments_fit_the_screen() {
    let place = Place::new();
    for (name, operations) in [("rows", 2), ("blocks", 4)] {
        let run = match name {
            "rows" => many(12, operations),
            _ => Run {
                records: many(12, operations)
                    .records
                    .into_iter()
                    .chain(both().records)
                    .collect(),
                ..many(12, 4)
            },
        };
        let file = file(&place, name, &run);
        let text = printed(&place, "80", &["show", &file]);
        (10..22).for_each(|i| assert!(text.contains(&format!("linux-5.{i}")), "{text}"));
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        expect_golden(name, &text);
    }
}

#[test]
fn counts_are_compared_exactly() {
    let place = Place::new();
    let [old, new] = [("old.json", 100), ("new.json", 103)]
        .map(|(name, percent)| file(&place, name, &one(percent)));
    let compare = |more: &[&str]| {
        place.run(
            &[
                &["compare", &old, &new, "--label", "old", "--label", "new"],
                more,
            ]
            .concat(),
        )
    };
    let text = stdout(&compare(&[]));
    expect_golden("compare", &text);
    let exit = |percent: &str| compare(&["--fail-over", percent]).status.code();
    assert_eq!([exit("2%"), exit("4%")], [Some(1), Some(0)]);
    let failed = compare(&["--fail-over", "2%"]);
    assert!(
        stderr(&failed).contains("file.fstat costs x1.030 in new, over --fail-over 2%"),
        "{}",
        stderr(&failed)
    );
    let within = stdout(&compare(&["--threshold", "5%"]));
    assert!(within.contains("3 unchanged"), "{within}");
    expect_golden("compare-csv", &stdout(&compare(&["--format", "csv"])));
    let same = stdout(&place.run(&["compare", &old, &old]));
    assert!(
        same.contains("unchanged") && !same.contains("more\n"),
        "{same}"
    );
}

#[test]
fn a_time_is_never_compared_with_instructions() {
    let place = Place::new();
    let mut timed = both();
    timed
        .records
        .retain(|record| record.case.environment == "native");
    for record in &mut timed.records {
        record.case.environment = "linux-6.1".into();
    }
    let timed = file(&place, "timed.json", &timed);
    let counted = file(&place, "counted.json", &one(100));
    let refused = place.run(&["compare", &timed, &counted]);
    expect_status(&refused, 2);
    assert!(
        stderr(&refused).contains("the same cases are times in one file and instruction counts"),
        "{}",
        stderr(&refused)
    );
    let profile = "studies/mercurial.profile.json";
    let profile = format!("{}/{profile}", env!("CARGO_MANIFEST_DIR"));
    let refused = place.run(&["why", &profile, "--costs", &timed, "--versus", &counted]);
    assert_eq!(
        (refused.status.code(), stdout(&refused).as_str()),
        (Some(2), "")
    );
    assert!(
        stderr(&refused).contains("instruction counts, which say nothing about seconds"),
        "{}",
        stderr(&refused)
    );
}
