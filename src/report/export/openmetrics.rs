//! Text that is valid both as OpenMetrics 1.0 and as Prometheus' text format 0.0.4, which node_exporter's textfile
//! collector reads. It has only gauges, which both formats share, and no timestamps, which the collector rejects.
//!
//! OpenMetrics has no comments, so failed cases have a separate gauge. Profiles have histograms beside gauges.

mod family;
mod profile;

use super::exported::{ExportFormat, Exported};
use crate::model::Run;
use crate::summary::{Instructions, RowCost};
use anyhow::Result;
use family::{Family, Labels};
use std::io::Write;

pub const FORMAT: ExportFormat = ExportFormat {
    name: "openmetrics",
    what: "OpenMetrics and Prometheus text, e.g. for node_exporter",
    write: Some(write),
    holds_instructions: true,
    write_profile: Some(profile::write),
};

type Value = fn(&RowCost) -> Option<f64>;

const SECONDS: [(Family, Value); 5] = [
    (Family { name: "cost_seconds", unit: "seconds", help: "Median time of one iteration." }, |f| Some(f.median.0)),
    (Family { name: "cost_low_seconds", unit: "seconds", help: "Lower end of the median's 95% interval." }, |f| {
        Some(f.interval?.low)
    }),
    (Family { name: "cost_high_seconds", unit: "seconds", help: "Upper end of the median's 95% interval." }, |f| {
        Some(f.interval?.high)
    }),
    (Family { name: "cost_best_seconds", unit: "seconds", help: "Smallest batch, per iteration." }, |f| {
        Some(f.best?.0)
    }),
    (Family { name: "cost_net_seconds", unit: "seconds", help: "Median less that of the empty loop." }, |f| {
        Some(f.net?.0)
    }),
];

type Count = fn(&Instructions) -> f64;

const INSTRUCTIONS: [(Family, Count); 3] = [
    (
        Family {
            name: "instructions",
            unit: "",
            help: "Instructions of one iteration in an emulated machine: no time.",
        },
        |count| count.per_operation,
    ),
    (Family { name: "instructions_low", unit: "", help: "The smallest repeat of it." }, |count| count.low),
    (Family { name: "instructions_high", unit: "", help: "The largest repeat of it." }, |count| count.high),
];

const ENTRIES: Family = Family {
    name: "kernel_entries",
    unit: "",
    help: "System calls that one iteration makes, where they were counted.",
};
const BY_CALL: Family =
    Family { name: "kernel_entries_by_call", unit: "", help: "The same by the name of the system call." };
const EVENTS: Family = Family {
    name: "events",
    unit: "",
    help: "Hardware and software events of one iteration, by the name of the event.",
};
const FAILED: Family = Family { name: "failed", unit: "", help: "1 for a case that has no figure." };
const STARTED: Family =
    Family { name: "run_start_time_seconds", unit: "seconds", help: "When the run began, since 1970-01-01 UTC." };
const MACHINE: Family = Family { name: "run_host", unit: "", help: "1; the labels tell what was measured on." };

fn write(run: &Run, cases: &[Exported], out: &mut dyn Write) -> Result<()> {
    for (family, value) in SECONDS {
        let seconds =
            |case: &Exported| Some((labels(case), value(case.row.cost()?).filter(|ns| ns.is_finite())? / 1e9));
        family.write(cases.iter().filter_map(seconds), out)?;
    }
    for (family, value) in INSTRUCTIONS {
        let counts = |case: &Exported| Some((labels(case), value(case.row.instructions()?)));
        family.write(cases.iter().filter_map(counts), out)?;
    }
    let measured = || cases.iter().filter(|case| case.row.figure.is_ok());
    ENTRIES.write(measured().filter_map(|case| Some((labels(case), case.row.entries.as_ref()?.total()))), out)?;
    BY_CALL.write(measured().flat_map(by_call), out)?;
    EVENTS.write(cases.iter().flat_map(by_event), out)?;
    FAILED.write(cases.iter().filter(|case| case.row.failure().is_some()).map(|case| (labels(case), 1.0)), out)?;
    let started = (run.started_unix_s > 0).then_some((Vec::new(), run.started_unix_s as f64));
    STARTED.write(started.into_iter(), out)?;
    MACHINE.write(std::iter::once((host(run), 1.0)), out)?;
    Ok(writeln!(out, "# EOF")?)
}

fn labels(case: &Exported) -> Labels<'static> {
    let of = &case.row.case;
    let mut labels = vec![("case", case.name.clone()), ("operation", of.operation.clone())];
    labels.extend(of.language.iter().map(|language| ("language", language.clone())));
    labels.push(("environment", of.environment.clone()));
    let params: Vec<String> = of.effective_params().iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !params.is_empty() {
        labels.push(("params", params.join(" ")));
    }
    labels
}

fn by_call(case: &Exported) -> Vec<(Labels<'static>, f64)> {
    let with = |call: &str| labels(case).into_iter().chain([("call", call.to_string())]).collect();
    case.row.entries.iter().flat_map(|entries| entries.iter()).map(|(call, count)| (with(call), count)).collect()
}

fn by_event(case: &Exported) -> Vec<(Labels<'static>, f64)> {
    let with = |event: &str| labels(case).into_iter().chain([("event", event.to_string())]).collect();
    let counted = case.row.counters.iter().flat_map(|counts| &counts.counted);
    counted.map(|(event, count)| (with(event), count.value)).filter(|(_, count)| count.is_finite()).collect()
}

fn host(run: &Run) -> Labels<'static> {
    let host = &run.host;
    let known = [("kernel", &host.kernel), ("cpu", &host.cpu), ("hypervisor", &host.hypervisor)];
    let facts = known.into_iter().filter_map(|(label, fact)| Some((label, fact.clone()?)));
    facts.chain([("version", run.tool.version.clone())]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::written;
    use super::*;

    #[test]
    fn a_run_in_openmetrics() {
        let text = written(FORMAT);
        let expected = [
            "# TYPE syscost_cost_seconds gauge",
            "# UNIT syscost_cost_seconds seconds",
            "syscost_cost_seconds{case=\"file.lstat\",operation=\"file.lstat\",environment=\"native\"} 0.0000005055",
            "syscost_failed{case=\"file.stat\",operation=\"file.stat\",environment=\"native\"} 1",
            "syscost_kernel_entries{case=\"file.lstat\",operation=\"file.lstat\",environment=\"native\"} 0",
            "syscost_kernel_entries_by_call{case=\"id.umask\",operation=\"id.umask\",environment=\"native\",call=\"umask\"} 1",
            "syscost_run_host{version=\"0\"} 1",
        ];
        for line in expected {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        assert!(text.ends_with("\n# EOF\n") && !text.contains("run_start_time"), "{text}");
    }
}
