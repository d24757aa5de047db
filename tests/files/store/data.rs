//! What the tests of result files work on.

use model::*;

pub fn json(run: &Run) -> String {
    let mut bytes = Vec::new();
    store::write_to(run, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn record(operation: &str, outcome: Outcome) -> Record {
    let entries_status = EntriesStatus::Unverified("ptrace: EPERM".into());
    Record {
        entries_status,
        ..Record::new(Case::native(operation), outcome)
    }
}

fn measured() -> Record {
    let slots = |times: [u64; 3]| times.map(|ns| vec![ns]).to_vec();
    let measurement = Measurement {
        clock_step_ns: Some(20.0),
        iterations: 4096,
        blocks: vec![
            Block {
                launch: 0,
                slots: slots([1_902_114, 1_899_870, 1_904_502]),
            },
            Block {
                launch: 1,
                slots: slots([1_911_026, 1_908_333, 1_907_641]),
            },
        ],
        cpu: CpuTime {
            user_ns: 2_150_000,
            system_ns: 11_240_000,
            wall_ns: 13_462_018,
        },
        preempted_ns: vec![2_028_532],
        minor_faults: 2,
        major_faults: 0,
        switches: false,
        history: false,
        earlier: vec![10.25, 10.375],
    };
    let mut record = record("file.lstat", Outcome::Measured(measurement));
    record.case.params.insert("depth".into(), 4);
    record.case.defaults.insert("entries".into(), 0);
    record.entries = Some([("newfstatat".to_string(), 1.0)].into_iter().collect());
    record.entries_status = EntriesStatus::Verified;
    record.mode_samples = Some(ModeSamples {
        user: 98,
        system: 512,
    });
    let counted = [
        ("instructions:k", vec![2841.3, 2841.45, 2841.35]),
        ("cycles:k", vec![]),
    ];
    record.counters = Some(
        counted
            .map(|(event, launches)| (event.to_string(), launches))
            .into(),
    );
    record
}

/// A run of this tool, the example of docs/format/result.md.
pub fn example() -> Run {
    let host = Host {
        system: Some("Linux".into()),
        kernel: Some("6.12.48".into()),
        architecture: Some("x86_64".into()),
        cpus: Some(8),
        clock_source: Some("tsc".into()),
        ..Host::default()
    };
    let failed = Outcome::Failed(Failure::new(
        FailureKind::Unsupported,
        "io_uring_setup: EPERM",
    ));
    Run {
        tool: Tool {
            name: "syscost".into(),
            version: "0.1.0".into(),
            compiler: "gcc 14.2.0".into(),
        },
        host,
        started_unix_s: 1_767_225_600,
        plan: Plan {
            seed: 42,
            budget_s: 60.0,
            whole_s: None,
            precision_percent: 1.0,
        },
        elapsed_s: 58.25,
        complete: true,
        records: vec![measured(), record("io.uring_nop", failed)],
        ..Run::default()
    }
}

pub fn published() -> Run {
    let figure = Figure {
        time: Nanos(464.0),
        as_printed: "31.12 s for 67108864 calls".into(),
        count: Some(67_108_864),
        user_share: None,
    };
    let mut record = record("id.getppid", Outcome::Published(figure));
    record.entries_status = EntriesStatus::Unverified("taken from an article".into());
    let source = Source {
        title: "An article, 2019".into(),
        note: "CPU and kernel are not told".into(),
    };
    Run {
        records: vec![record],
        source: Some(source),
        host: Host::default(),
        ..example()
    }
}

pub fn emulated() -> Run {
    let counted = Counted {
        fewer: 16,
        more: 116,
        batches: vec![(9_112, 42_212), (9_112, 42_212)],
    };
    let mut record = record("id.getppid", Outcome::Counted(counted));
    record.case.environment = "linux-6.1".into();
    record.entries_status =
        EntriesStatus::Unverified("no ptrace pass in an emulated machine".into());
    let environment = EnvironmentFacts {
        name: "linux-6.1".into(),
        unit: Unit::Instructions,
        started_with: vec![],
        kernel: Some("6.1.0-28-amd64".into()),
        emulator: Some("qemu-system-x86_64 7.2.13".into()),
        notes: vec![],
        start_up: None,
        host: None,
    };
    Run {
        records: vec![record],
        environments: vec![environment],
        ..example()
    }
}

/// A further run of the cases of `first`, in which the last one fails.
pub fn repeat(first: &Run, seed: u64, outcomes: Vec<Outcome>, warnings: Vec<String>) -> Run {
    let failed = Outcome::Failed(Failure::new(FailureKind::Timeout, "no answer"));
    let outcomes = outcomes
        .into_iter()
        .take(first.records.len().saturating_sub(1))
        .chain([failed]);
    let record = |(record, outcome): (&Record, Outcome)| Record {
        outcome,
        warnings: warnings.clone(),
        ..record.clone()
    };
    let records = first.records.iter().zip(outcomes).map(record).collect();
    Run {
        plan: Plan { seed, ..first.plan },
        records,
        warnings: warnings.clone(),
        complete: true,
        ..first.clone()
    }
}
