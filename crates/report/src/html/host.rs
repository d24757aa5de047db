//! The machines of result files and profiles, and how they were measured, as tables.

use crate::conditions::{self, kernel};
use crate::numbers::{date, three_figures};
use crate::profile::notes;
use crate::run::portrait::Portrait;
use analysis::compare::ColumnInfo;
use document::{Columns, Table};
use itertools::Itertools;
use model::{Host, Profile};

/// `vm, AMD EPYC, Linux 6.18, kvm`
pub fn one_line(host: &Host) -> String {
    [
        host.name.clone(),
        host.cpu.clone(),
        kernel(host),
        host.hypervisor.clone(),
    ]
    .into_iter()
    .flatten()
    .join(", ")
}

/// `2026-01-01 00:00 UTC`
pub fn started(unix_s: u64) -> Option<String> {
    if unix_s > 0 {
        Some(format!("{} UTC", date(unix_s)))
    } else {
        None
    }
}

type Fact<T> = (&'static str, fn(&T) -> Option<String>);

const OF_RUN: [Fact<Portrait>; 8] = [
    ("labels", |p| conditions::labels(&p.column.info.labels)),
    ("measured by", |p| Some(measured_by(&p.column.info))),
    ("at", |p| started(p.column.info.started_unix_s)),
    ("took", |p| {
        let detail = p.detail.as_ref()?;
        let [took, budget] = [detail.elapsed_s, detail.budget_s].map(three_figures);
        Some(format!("{took} s of {budget} s"))
    }),
    ("runs", |p| match p.column.info.runs {
        0 | 1 => None,
        runs => Some(runs.to_string()),
    }),
    ("target precision", |p| match p.column.info.source {
        Some(_) => None,
        None => Some(format!("{}%", p.column.info.precision_percent)),
    }),
    ("note", |p| filled(&p.column.info.source.as_ref()?.note)),
    ("probe compiler", |p| filled(&p.column.info.tool.compiler)),
];

const OF_PROFILE: [Fact<Profile>; 8] = [
    ("command", |p| filled(&p.command.join(" "))),
    ("followed", |p| p.scope.clone()),
    ("source", |p| Some(p.source.as_ref()?.title.clone())),
    ("traced by", |p| {
        p.tool
            .as_ref()
            .map(|tool| format!("{} {}", tool.name, tool.version))
    }),
    ("tracer", |p| filled(&p.tracer.kind)),
    ("how", |p| filled(&p.tracer.detail)),
    ("it added", notes::added),
    ("began", |p| started(p.started_unix_s)),
];

const OF_HOST: [Fact<Host>; 28] = [
    ("host", |h| h.name.clone()),
    ("kernel", kernel),
    ("kernel build", |h| h.kernel_version.clone()),
    ("kernel options", |h| h.command_line.clone()),
    ("distribution", |h| h.distribution.clone()),
    ("CPU", |h| h.cpu.clone()),
    ("CPU revision", |h| h.cpu_revision.clone()),
    ("architecture", |h| h.architecture.clone()),
    ("processors", |h| h.cpus.map(|cpus| cpus.to_string())),
    ("memory", |h| h.memory_mib.map(|mib| format!("{mib} MiB"))),
    ("hypervisor", |h| h.hypervisor.clone()),
    ("container", |h| h.container.clone()),
    ("mitigations", |h| filled(&h.mitigations.join("; "))),
    ("clock", |h| h.clock_source.clone()),
    ("reading the clock", |h| with_unit(h.clock_cost_ns, " ns")),
    ("frequency", |h| with_unit(h.frequency_mhz, " MHz")),
    ("governor", |h| h.governor.clone()),
    ("turbo", |h| h.turbo.map(on_off)),
    ("SMT", |h| h.smt.map(on_off)),
    ("preemption", |h| h.preemption.clone()),
    ("timer ticks a second", |h| {
        h.tick_hz.map(|hz| hz.to_string())
    }),
    ("huge pages", |h| h.huge_pages.clone()),
    ("CPUs without ticks", |h| h.nohz_full.clone()),
    ("isolated CPUs", |h| h.isolated_cpus.clone()),
    ("CPU quota", |h| {
        h.cpu_quota.map(|cpus| format!("{cpus:.2}"))
    }),
    ("C library", |h| h.libc.clone()),
    ("file system", |h| h.file_system.clone()),
    ("user", |h| h.user.clone()),
];

/// Counted instructions are the same however busy a machine is.
const OF_TIMES: [Fact<Host>; 3] = [
    ("load at the start", |h| with_unit(h.load_1min, "")),
    ("stolen by the hypervisor", |h| {
        with_unit(h.steal_percent, "%")
    }),
    ("measured on", |h| {
        let reason = h
            .measuring_cpu_reason
            .as_ref()
            .map_or(String::new(), |reason| format!(", {reason}"));
        h.measuring_cpu.map(|cpu| format!("CPU {cpu}{reason}"))
    }),
];

fn filled(text: &str) -> Option<String> {
    Some(text.to_string()).filter(|text| !text.is_empty())
}

fn with_unit(value: Option<f64>, unit: &str) -> Option<String> {
    value.map(|value| three_figures(value) + unit)
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_string()
}

fn measured_by(info: &ColumnInfo) -> String {
    info.source.as_ref().map_or_else(
        || format!("{} {}", info.tool.name, info.tool.version),
        |source| source.title.clone(),
    )
}

type Row = (&'static str, Vec<Option<String>>);

fn rows<'a, T: 'a>(
    facts: &[Fact<T>],
    subjects: impl Iterator<Item = Option<&'a T>> + Clone,
) -> Vec<Row> {
    facts
        .iter()
        .map(|(name, fact)| (*name, subjects.clone().map(|one| fact(one?)).collect()))
        .collect()
}

/// A row per fact and a column per file. Facts that concern times are left out for counted instructions.
pub fn of_runs(files: &[Portrait]) -> Table {
    fn is_timed(file: &Portrait) -> bool {
        file.detail
            .as_ref()
            .is_none_or(|detail| !detail.summary.is_counted())
    }

    let hosts = files.iter().map(|file| Some(&file.column.info.host));
    let timed = files.iter().map(|file| {
        if is_timed(file) {
            Some(&file.column.info.host)
        } else {
            None
        }
    });
    let all = [
        rows(&OF_RUN, files.iter().map(Some)),
        rows(&OF_HOST, hosts),
        rows(&OF_TIMES, timed),
    ];
    table(
        "Machine and run",
        files.iter().map(Portrait::label).collect(),
        all.concat(),
    )
}

/// The machine and the conditions of a trace.
pub fn of_profile(profile: &Profile) -> Table {
    let host = std::iter::once(Some(&profile.host));
    let all = [
        rows(&OF_PROFILE, std::iter::once(Some(profile))),
        rows(&OF_HOST, host.clone()),
        rows(&OF_TIMES, host),
    ];
    table("Machine and trace", vec!["value"], all.concat()).noted([""; 0])
}

/// Facts as rows and files as columns.
fn table(title: &str, labels: Vec<&str>, facts: Vec<Row>) -> Table {
    let (known, unknown): (Vec<Row>, Vec<Row>) = facts
        .into_iter()
        .partition(|(_, values)| values.iter().any(Option::is_some));
    let mut columns = Columns::new(&known).left("fact", |(name, _)| *name);
    for (i, label) in labels.iter().enumerate() {
        columns = columns.left(label, |(_, values)| {
            values[i].as_deref().unwrap_or("unknown")
        });
    }
    let unknown = unknown.into_iter().map(|(name, _)| name).join(", ");
    let note = if unknown.is_empty() {
        None
    } else {
        Some(format!("Not known: {unknown}."))
    };
    columns.table().titled(title).noted(note)
}
