//! Columns of rates, and the lines above them: what is traced, how much it calls, what watching costs.

use crate::prose::counted;
use crate::report::numbers::{percent, rate, significant, thousands};
use crate::report::profile::class::class;
use crate::report::{Cell, Spec, Table};
use crate::top::{By, Focus, Rates, Row};

/// The rows, which are `by`, without lines above.
pub fn rates_table(rows: &[Row], by: By) -> Table {
    let shows = |wanted: &[By]| wanted.contains(&by);
    let has_pids = rows.iter().any(|row| row.pid.is_some());
    let calls = [By::Call, By::Class, By::Error];
    let counted = !rows.iter().any(|row| row.samples.is_some());
    let columns = [
        Spec::left("process", |r: &Row| r.process.clone().unwrap_or_default().into()).shown_if(shows(&[By::Process])),
        Spec::right("PID", |r: &Row| r.pid.map_or(Cell::default(), |pid| pid.to_string().into()))
            .shown_if(shows(&[By::Process]) && has_pids),
        Spec::left("cgroup", |r: &Row| r.cgroup.clone().unwrap_or_default().into()).shown_if(shows(&[By::Cgroup])),
        Spec::left("call", |r: &Row| r.call.clone().unwrap_or_default().into()).shown_if(shows(&calls)),
        Spec::left("class", |r: &Row| class(&r.class).into()).shown_if(shows(&[By::Class])),
        Spec::left("error", |r: &Row| r.error.clone().unwrap_or_default().into()).shown_if(shows(&[By::Error])),
        Spec::right("calls/s", |r: &Row| Cell::number(rate(r.calls_per_s), r.calls_per_s)).shown_if(counted),
        Spec::right("errors/s", |r: &Row| errors(r.errors_per_s)).expendable(1).shown_if(counted),
        Spec::right("% CPU", |r: &Row| share(r.on_cpu_share)).shown_if(by != By::Error),
        Spec::right("runnable", |r: &Row| threads(r.runnable_threads)).expendable(2).shown_if(by != By::Error),
        Spec::right("blocked", |r: &Row| threads(r.blocked_threads)).expendable(2).shown_if(by != By::Error),
        Spec::right("mean us", |r: &Row| micros(r.mean_ns)).expendable(4).shown_if(by != By::Error && counted),
        Spec::right("p50 us", |r: &Row| micros(r.p50_ns)).expendable(5).shown_if(by == By::Call),
        Spec::right("p99 us", |r: &Row| micros(r.p99_ns)).expendable(3).shown_if(by == By::Call),
    ];
    Table::of(&columns, rows)
}

/// What is traced and what it does, then what watching it costs.
pub fn headline(scope: &str, focus: &Focus, rates: &Rates, lost: u64) -> Vec<String> {
    let within = [
        focus.cgroup.as_ref().map(|cgroup| format!(", {cgroup}")),
        focus
            .process
            .as_ref()
            .map(|who| format!(", {}{}", who.name, who.pid.map_or(String::new(), |pid| format!(" ({pid})")))),
        focus.call.as_ref().map(|call| format!(", {call}")),
    ];
    let within: String = within.into_iter().flatten().collect();
    let mut lines = vec![format!("{scope}{within}: {}", sum(rates)), cost(rates)];
    if rates.torn {
        lines.push(
            "UNCERTAIN: calls were counted while these counts were read: some may be here twice or not at all.".into(),
        );
    }
    if lost > 0 {
        lines.push(format!("INCOMPLETE: {} events were lost; all counts are lower bounds.", thousands(lost as f64)));
    }
    lines
}

fn sum(rates: &Rates) -> String {
    let total = &rates.total;
    let cpu = total.on_cpu_share.map(|share| format!("{}% of a CPU", percent(100.0 * share)));
    if total.samples.is_some() {
        return format!("{}, by samples of {}", cpu.unwrap_or_default(), counted(rates.callers, "process"));
    }
    let callers = counted(rates.callers, "caller");
    let cpu = cpu.map_or(String::new(), |cpu| format!(", {cpu} in calls"));
    format!("{} calls/s, {} errors/s, {callers}{cpu}", rate(total.calls_per_s), rate(total.errors_per_s))
}

fn cost(rates: &Rates) -> String {
    let sampled = rates.total.samples.map(|_| "samples take less than 1% of the CPUs".to_string());
    let known = rates.tax_share.map(|tax| format!("tracing adds {}% of a CPU to all calls", percent(100.0 * tax)));
    let tax = sampled.or(known).unwrap_or_else(|| "tracing adds an unknown time to calls".to_string());
    format!(
        "cost: {tax}, syscost itself uses {}%; interval {:.1} s",
        percent(100.0 * rates.own_share),
        rates.interval_ns as f64 / 1e9
    )
}

fn errors(per_s: f64) -> Cell {
    Cell::number(if per_s == 0.0 { String::new() } else { rate(per_s) }, per_s)
}

fn share(share: Option<f64>) -> Cell {
    share.map_or(Cell::default(), |share| Cell::number(percent(100.0 * share), share))
}

fn threads(threads: Option<f64>) -> Cell {
    threads.map_or(Cell::default(), |threads| Cell::number(format!("{threads:.2}"), threads))
}

fn micros(ns: Option<f64>) -> Cell {
    ns.map_or(Cell::default(), |ns| Cell::number(significant(ns / 1e3), ns / 1e3))
}
