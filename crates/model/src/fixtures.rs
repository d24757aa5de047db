use super::explained::{
    Call, Change, FunctionSum, Group, GroupChange, GroupSum, Iterations, KernelExplanation,
    KernelVersus,
};
use super::{
    Block, CallCount, Case, Counted, EntriesStatus, EnvironmentFacts, Figure, Histogram,
    Measurement, Nanos, Outcome, Plan, ProcessGroup, Profile, Record, Returned, Run, Tool, Unit,
};
use std::collections::BTreeMap;

pub fn run(records: Vec<Record>) -> Run {
    Run {
        tool: Tool {
            name: "syscost".into(),
            version: "0".into(),
            compiler: "cc".into(),
        },
        plan: Plan {
            seed: 1,
            budget_s: 1.0,
            whole_s: None,
            precision_percent: 1.0,
        },
        elapsed_s: 1.0,
        complete: true,
        records,
        ..Run::default()
    }
}

/// Three launches of four blocks; each block has four batches of one iteration that took `ns(block)` nanoseconds.
pub fn measured(ns: impl Fn(u64) -> u64) -> Outcome {
    Outcome::Measured(Measurement {
        iterations: 1,
        blocks: (0..12)
            .map(|i| Block {
                launch: i as u32 / 4,
                slots: vec![vec![ns(i); 4]],
            })
            .collect(),
        ..Measurement::default()
    })
}

pub fn record(operation: &str, ns: u64) -> Record {
    varying(operation, |_| ns)
}

pub fn varying(operation: &str, ns: impl Fn(u64) -> u64) -> Record {
    Record::new(Case::native(operation), measured(ns))
}

pub fn named(name: &str, operation: &str, ns: u64) -> Record {
    let mut record = record(operation, ns);
    record.case.name = Some(name.to_string());
    record
}

pub fn in_environment(environment: &str, mut record: Record) -> Record {
    record.case = record.case.in_environment(environment);
    record
}

pub fn with_params(params: &[(&str, u64)], mut record: Record) -> Record {
    record.case.params = pairs(params);
    record
}

pub fn pairs<N: Copy, P: FromIterator<(String, N)>>(all: &[(&str, N)]) -> P {
    all.iter()
        .map(|(name, number)| (name.to_string(), *number))
        .collect()
}

/// A record without a measurement stays as it is.
pub fn with(mut record: Record, change: impl FnOnce(&mut Measurement)) -> Record {
    if let Outcome::Measured(measurement) = &mut record.outcome {
        change(measurement);
    }
    record
}

pub fn entering(operation: &str, ns: u64, entries: &[(&str, f64)]) -> Record {
    counted(record(operation, ns), entries)
}

pub fn counted(record: Record, entries: &[(&str, f64)]) -> Record {
    Record {
        entries: Some(pairs(entries)),
        entries_status: EntriesStatus::Verified,
        ..record
    }
}

pub fn published(operation: &str, ns: f64) -> Record {
    Record::new(
        Case::native(operation),
        Outcome::Published(Figure {
            time: Nanos(ns),
            ..Figure::default()
        }),
    )
}

/// A record of an emulated kernel: `each` are instructions per operation, by repeat.
pub fn instructions(operation: &str, environment: &str, each: &[u64]) -> Record {
    let (fewer, more) = (10, 110);
    let batches = each
        .iter()
        .map(|each| (500 + fewer * each, 500 + more * each))
        .collect();
    Record::new(
        Case::native(operation).in_environment(environment),
        Outcome::Counted(Counted {
            fewer,
            more,
            batches,
        }),
    )
}

pub fn emulated(name: &str, kernel: &str) -> EnvironmentFacts {
    EnvironmentFacts {
        name: name.to_string(),
        unit: Unit::Instructions,
        kernel: Some(kernel.to_string()),
        emulator: Some("qemu-system-x86_64 7.2".to_string()),
        ..EnvironmentFacts::default()
    }
}

/// Entered once; its total is the sum over the tree.
pub fn call(name: &str, group: Group, self_instructions: u64, children: Vec<Call>) -> Call {
    let total = self_instructions + children.iter().map(|child| child.total).sum::<u64>();
    Call {
        name: name.into(),
        group,
        calls: 1,
        self_instructions,
        total,
        children,
    }
}

/// An operation in an emulated kernel: `work` instructions in its system call, and 20 around it.
pub fn explained(work: u64) -> KernelExplanation {
    fn function(name: &str, group: Group, self_instructions: u64) -> FunctionSum {
        FunctionSum {
            name: name.into(),
            group,
            calls: 1,
            self_instructions,
        }
    }

    let system_call = call("__x64_sys_op", Group::Work, work, vec![]);
    let probe = call(
        "run_op",
        Group::Caller,
        10,
        vec![call(
            "entry_SYSCALL_64",
            Group::Entry,
            10,
            vec![system_call],
        )],
    );
    let tree = Call {
        calls: 0,
        ..call("area.op", Group::Caller, 0, vec![probe])
    };
    KernelExplanation {
        returned: Returned::default(),
        operation: "area.op".into(),
        what: "op()".into(),
        environment: "linux-6.1".into(),
        kernel: "6.1.0-54".into(),
        instructions: tree.total,
        counted: Some(tree.total as f64),
        iterations: Iterations {
            recorded: 7,
            alike: 7,
            fewest: 20,
            most: 20,
        },
        groups: [(Group::Caller, 10), (Group::Entry, 10), (Group::Work, work)]
            .map(|(group, instructions)| GroupSum {
                group,
                instructions,
            })
            .to_vec(),
        functions: vec![
            function("__x64_sys_op", Group::Work, work),
            function("entry_SYSCALL_64", Group::Entry, 10),
            function("run_op", Group::Caller, 10),
        ],
        tree,
        params: BTreeMap::new(),
        notes: vec![],
    }
}

pub fn explained_versus(before: u64, after: u64) -> KernelVersus {
    fn self_of_first(explanation: &KernelExplanation) -> u64 {
        explanation.functions[0].self_instructions
    }

    let change = after.cast_signed() - before.cast_signed();
    let (before, after) = (
        explained(before),
        KernelExplanation {
            environment: "linux-6.12".into(),
            ..explained(after)
        },
    );
    KernelVersus {
        operation: before.operation.clone(),
        what: before.what.clone(),
        params: before.params.clone(),
        groups: vec![GroupChange {
            group: Group::Work,
            before: self_of_first(&before),
            after: self_of_first(&after),
        }],
        functions: vec![Change {
            name: "__x64_sys_op".into(),
            group: Group::Work,
            before: self_of_first(&before),
            after: self_of_first(&after),
            change,
        }],
        before,
        after,
    }
}

/// Nanoseconds and number of calls.
pub fn times(calls: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::with_resolution(Histogram::SINGLE);
    calls
        .iter()
        .for_each(|(ns, count)| histogram.add(histogram.bucket(*ns), *count));
    histogram
}

pub fn called(call: &str, calls: u64) -> CallCount {
    CallCount {
        call: call.into(),
        calls,
        ..CallCount::default()
    }
}

pub fn profile(calls: Vec<CallCount>) -> Profile {
    Profile {
        groups: vec![ProcessGroup {
            calls,
            ..ProcessGroup::default()
        }],
        complete: true,
        ..Profile::default()
    }
}
