//! The view of single calls: a table of percentiles, and notes on what the slow calls were.

use crate::figure::{Chart, Figure, Line, Lines, PlotPoint};
use crate::numbers::{nanoseconds, thousands};
use crate::run::columns::case_fields;
use crate::run::names::name;
use crate::run::table::per_unit;
use crate::{Cell, Columns, Style, Table};
use analysis::summary::{LEAST_TIMES_TIMER, Latency, NoLatency, Percentiles, Row, Summary};
use document::{Block, Document};
use model::prose::{few, note_on};
use model::{EMPTY_LOOP, Nanos, SPIN};
use stats::{FEWEST_BEYOND, Ranged};

struct Timed<'a> {
    row: &'a Row,
    result: &'a Result<Latency, NoLatency>,
    /// Or is there to show what the machine does.
    asked: bool,
}

impl Timed<'_> {
    fn new(row: &Row, asked: bool) -> Option<Timed<'_>> {
        Some(Timed {
            row,
            result: &row.latency.as_ref()?.result,
            asked,
        })
    }

    fn latency(&self) -> Option<&Latency> {
        self.result.as_ref().ok()
    }
}

const NONE: &str = "this run timed no single calls: measure again with 'syscost run --latency'";

/// Without a table, what to do to have one.
pub fn latency_document(summary: &Summary) -> Document {
    match latency_table(summary) {
        Some(table) => table.into(),
        None => Block::drawn(vec![NONE.to_string()]).into(),
    }
}

/// The last row is work in user mode, for comparison.
pub fn latency_table(summary: &Summary) -> Option<Table> {
    let rows = timed(summary);
    if !rows.iter().any(|timed| timed.asked) {
        return None;
    }
    let table = columns(&rows).table().noted(notes(&rows));
    Some(table.titled("single calls, in nanoseconds"))
}

/// Those that were asked for, then the yardstick.
fn timed(summary: &Summary) -> Vec<Timed<'_>> {
    let asked = summary.rows.iter().filter_map(|row| Timed::new(row, true));
    let baselines = summary.other_baselines();
    let spins = baselines.filter(|row| row.case.is_plain(SPIN));
    asked
        .chain(spins.filter_map(|row| Timed::new(row, false)))
        .collect()
}

fn columns<'r>(rows: &'r [Timed]) -> Columns<'r, Timed<'r>> {
    let missing = rows.iter().any(|timed| timed.result.is_err());
    let classified = are_classified(rows);
    let columns = Columns::new(rows)
        .left("operation", name_cell)
        .field("name", |timed| timed.row.case.label());
    let mut columns = case_fields(columns, |timed| &timed.row.case)
        .counts("calls", "calls", |timed| Some(timed.latency()?.all.calls))
        .expendable(3);
    for (title, field, which, expendable) in PERCENTILES {
        let at = |timed: &Timed| Some(which(&timed.latency()?.all)?.0);
        columns = columns
            .right(title, |timed| time_cell(timed, at(timed)))
            .expendable(expendable)
            .field(field, at);
    }
    // The last one, of the longest calls.
    let columns = columns.yielding(1);
    let rest = |which: fn(&Percentiles) -> Option<Nanos>| {
        move |timed: &Timed| Some(which(timed.latency()?.rest.as_ref()?)?.0)
    };
    let p99_9 = rest(|rest| rest.p99_9);
    let max = rest(|rest| rest.max);
    columns
        .counts("slow", "slow", |timed| Some(timed.latency()?.slow))
        .expendable(2)
        .counts("preempted", "preempted", |timed| timed.latency()?.preempted)
        .expendable(2)
        .shown_if(classified)
        .counts("interrupted", "interrupted", |timed| {
            timed.latency()?.interrupted
        })
        .expendable(2)
        .shown_if(classified)
        .right("rest p99.9", |timed| time_cell(timed, p99_9(timed)))
        .yielding(2)
        .shown_if(classified)
        .field("rest_p99_9_ns", p99_9)
        .right("rest max", |timed| time_cell(timed, max(timed)))
        .expendable(1)
        .shown_if(classified)
        .field("rest_max_ns", max)
        .field("waits", |timed| Some(timed.latency()?.waits))
        .field("unseen", |timed| Some(timed.latency()?.unseen))
        .left("no percentiles because", |timed| {
            timed.result.as_ref().err().map(why)
        })
        .wrapping()
        .shown_if(missing)
        .field("timer_ns", |timed| timer(timed.result).map(|ns| ns.0))
        .field("error", |timed| {
            timed.result.as_ref().err().map(|missing| why(missing).text)
        })
}

/// Title, field, and how early it is left out.
type Percentile = (
    &'static str,
    &'static str,
    fn(&Percentiles) -> Option<Nanos>,
    u8,
);

const PERCENTILES: [Percentile; 5] = [
    ("p50", "p50_ns", |all| all.p50, 0),
    ("p90", "p90_ns", |all| all.p90, 4),
    ("p99", "p99_ns", |all| all.p99, 0),
    ("p99.9", "p99_9_ns", |all| all.p99_9, 0),
    ("max", "max_ns", |all| all.max, 0),
];

fn name_cell(timed: &Timed) -> Cell {
    let style = if timed.asked {
        Style::Plain
    } else {
        Style::Faint
    };
    Cell::styled(name(timed.row), style)
}

/// A dash if there are too few calls for it.
fn time_cell(timed: &Timed, ns: Option<f64>) -> Cell {
    match ns {
        Some(ns) => Cell::number(nanoseconds(ns), ns),
        None if timed.result.is_ok() => Cell::dash(),
        None => Cell::default(),
    }
}

fn why(missing: &NoLatency) -> Cell {
    match missing {
        NoLatency::TooShort {
            median_ns,
            timer_ns,
        } => Cell::styled(
            format!(
                "too short: {} ns is under {LEAST_TIMES_TIMER} x the timer's {} ns",
                nanoseconds(median_ns.0),
                nanoseconds(timer_ns.0)
            ),
            Style::Warning,
        ),
        NoLatency::Failed { message } => Cell::styled(message.clone(), Style::Bad),
    }
}

fn timer(result: &Result<Latency, NoLatency>) -> Option<Nanos> {
    match result {
        Ok(latency) => Some(latency.timer),
        Err(NoLatency::TooShort { timer_ns, .. }) => Some(*timer_ns),
        Err(NoLatency::Failed { .. }) => None,
    }
}

fn notes(rows: &[Timed]) -> Vec<String> {
    let few = format!("-: fewer than {FEWEST_BEYOND} calls took longer");
    let notes = [
        subtracted(rows),
        are_classified(rows).then(|| REST.to_string()),
        yardstick(rows),
        listed(rows, &few, |latency| latency.all.p99_9.is_none()),
        until_p99(rows),
        listed(
            rows,
            "slow calls are not classified, because the operation itself switches threads or waits for a device",
            |latency| latency.preempted.is_none(),
        ),
        listed(
            rows,
            "interrupted calls are not identified (several CPUs, or no /proc/interrupts)",
            |latency| latency.preempted.is_some() && latency.interrupted.is_none(),
        ),
        listed(
            rows,
            "some slow calls gave up the CPU voluntarily and do not count as preempted",
            |latency| latency.waits > 0,
        ),
        listed(
            rows,
            "too many slow calls to read the interrupts after each: some of the rest may be interrupted",
            |latency| latency.unseen > 0,
        ),
    ];
    let notes = notes.into_iter().flatten();
    notes
        .chain(per_unit(rows.iter().map(|timed| timed.row)))
        .collect()
}

const REST: &str = "slow: over 4 x the median + 1 us; of these, preempted ones lost the CPU to others, and interrupted ones took an \
     interrupt; rest: all other calls, including delays that the kernel cannot see (a hypervisor)";

fn listed(rows: &[Timed], text: &str, holds: fn(&Latency) -> bool) -> Option<String> {
    let rows = rows
        .iter()
        .filter(|timed| timed.latency().is_some_and(holds));
    note_on(text, rows.map(|timed| name(timed.row)))
}

/// The option for those that had too little time for their 99th percentile.
fn until_p99(rows: &[Timed]) -> Option<String> {
    let calls = 100 * FEWEST_BEYOND;
    let lacking = rows.iter().filter_map(|timed| {
        let latency = timed.latency()?;
        let each_s = latency.spent_ns as f64 / 1e9 / latency.all.calls as f64;
        let lacks = latency.all.p99.is_none() && each_s.is_finite();
        lacks.then_some((name(timed.row), SLOWER * each_s * calls as f64))
    });
    let (names, seconds): (Vec<String>, Vec<f64>) = lacking.unzip();
    let most = seconds.into_iter().reduce(f64::max)?;
    Some(format!(
        "p99 needs {} calls, --latency={:.0}: {}",
        thousands(calls as f64),
        most.ceil(),
        few(names)
    ))
}

/// Times as long as calls take on average.
const SLOWER: f64 = 1.5;

/// Rows measure it each for itself.
fn subtracted(rows: &[Timed]) -> Option<String> {
    let timers = rows.iter().filter_map(|timed| Some(timer(timed.result)?.0));
    let timer = stats::median(timers.collect())?;
    Some(format!(
        "each call timed by itself; the timer's cost, {} ns, is subtracted (two clock readings around {EMPTY_LOOP})",
        nanoseconds(timer)
    ))
}

fn are_classified(rows: &[Timed]) -> bool {
    let mut latencies = rows.iter().filter_map(Timed::latency);
    latencies.any(|latency| latency.rest.is_some())
}

fn yardstick(rows: &[Timed]) -> Option<String> {
    let spin = rows
        .iter()
        .find(|timed| timed.row.case.is_plain(SPIN))?
        .latency()?;
    let often = spin.slow as f64 / (spin.spent_ns as f64 / 1e9);
    let rate = if often.is_finite() {
        format!(", {} times a second here", thousands(often))
    } else {
        String::new()
    };
    Some(format!(
        "{SPIN} stays in user mode and has no tail of its own: its row shows the machine's disturbances{rate}"
    ))
}

/// A curve for each operation with percentiles.
pub fn curves(summary: &Summary) -> Vec<Line> {
    let timed = summary.rows.iter().filter_map(|row| Timed::new(row, true));
    timed.filter_map(curve).collect()
}

fn curve(timed: Timed) -> Option<Line> {
    let latency = timed.latency()?;
    let points = latency.curve.iter().map(|(beyond, ns)| PlotPoint {
        value: *beyond,
        ns: Ranged {
            value: *ns,
            low_high: None,
        },
    });
    Some(Line {
        label: name(timed.row),
        points: points.collect(),
        fitted: None,
        rest: latency.rest_curve.clone(),
    })
}

/// The curves of one figure, at most as many as there are marks.
pub fn figure(curves: &[Line]) -> Figure {
    let description = format!(
        "Time of single calls over the share of calls that took no longer, of {} operations, both axes logarithmic. \
         Percentiles are in the table of single calls.",
        curves.len()
    );
    Figure {
        title: "Percentiles of single calls".to_string(),
        description,
        chart: Chart::Lines(Lines {
            parameter: None,
            series: curves.to_vec(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_text;
    use analysis::summary::summarize;
    use model::fixtures::{record, run, times, with_params};
    use model::{Record, Role, SingleCalls, TimesOrError};
    use snapbox::{assert_data_eq, str};

    fn calls(all: &[(u64, u64)], preempted: &[(u64, u64)]) -> SingleCalls {
        SingleCalls {
            timer: Nanos(20.0),
            tick: Nanos(0.5),
            spent_ns: 200_000_000,
            all: times(all),
            preempted: Some(times(preempted)),
            interrupted: Some(times(&[])),
            ..SingleCalls::default()
        }
    }

    fn timed(operation: &str, latency: Result<SingleCalls, String>) -> Record {
        Record {
            latency: Some(latency.map_or_else(TimesOrError::Error, TimesOrError::Times)),
            ..record(operation, 300)
        }
    }

    #[test]
    fn rows_have_percentiles_without_the_timer_or_say_why_not() {
        let long = calls(&[(320, 99_000), (521, 980), (90_048, 20)], &[(90_048, 15)]);
        let few = SingleCalls {
            preempted: None,
            interrupted: None,
            ..calls(&[(5020, 50)], &[])
        };
        let spin = Record {
            role: Role::Baseline,
            ..timed("call.spin", Ok(calls(&[(120, 100_000)], &[])))
        };
        let records = vec![
            timed("file.lstat", Ok(long)),
            timed("ipc.pipe", Ok(few)),
            timed("id.getppid", Ok(calls(&[(95, 1000)], &[]))),
            with_params(
                &[("batch", 8)],
                timed("io.uring_nop", Ok(calls(&[(820, 1000)], &[]))),
            ),
            timed("io.read", Err("EIO: read".into())),
            spin,
        ];
        let document = latency_document(&summarize(&run(records)));
        assert_data_eq!(
            as_text(document),
            str![[r#"
single calls, in nanoseconds

operation               calls    p50    p90    p99  p99.9     max  slow  preempted  interrupted  rest p99.9  rest max  no percentiles because
file.lstat            100,000  300.0  300.0  300.0  501.0  90,028    20         15            0       501.0    90,028
ipc.pipe                   50  5,000      -      -      -   5,000     0                                   -         -
id.getppid                                                                                                             too short: 75.0 ns is under 5 x the timer's 20.0 ns
io.uring_nop batch=8    1,000  800.0  800.0  800.0      -   800.0     0          0            0           -     800.0
io.read                                                                                                                EIO: read
call.spin             100,000  100.0  100.0  100.0  100.0   100.0     0          0            0       100.0     100.0

each call timed by itself; the timer's cost, 20.0 ns, is subtracted (two clock readings around call.empty_loop)
slow: over 4 x the median + 1 us; of these, preempted ones lost the CPU to others, and interrupted ones took an interrupt; rest: all other calls, including delays that the kernel cannot see (a hypervisor)
call.spin stays in user mode and has no tail of its own: its row shows the machine's disturbances, 0 times a second here
-: fewer than 10 calls took longer: ipc.pipe, io.uring_nop batch=8
p99 needs 1,000 calls, --latency=6: ipc.pipe
slow calls are not classified, because the operation itself switches threads or waits for a device: ipc.pipe
batch=N: a time is that of N requests; each takes 37.5 ns in io.uring_nop batch=8

"#]]
        );
        let plain = summarize(&run(vec![record("file.lstat", 300)]));
        assert_data_eq!(
            as_text(latency_document(&plain)),
            str![[r#"
this run timed no single calls: measure again with 'syscost run --latency'

"#]]
        );
    }
}
