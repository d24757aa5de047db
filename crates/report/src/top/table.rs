//! Columns of rates, and the lines above them: the target, its rates, and the overhead of tracing.

use crate::numbers::{percent, rate};
use crate::profile::lost_events;
use crate::profile::{class, micros};
use crate::{Cell, Columns, Table};
use analysis::top::{By, Focus, Rates, Row};
use document::Style;
use model::clean;
use model::prose::counted;

const LONGEST_ARGUMENTS: usize = 100;
/// Shares of the column's sum from which on a number is highlighted.
const SHARES: [(f64, Style); 3] = [
    (0.5, Style::Bad),
    (0.2, Style::Warning),
    (0.05, Style::Good),
];

/// The columns that suit the rows, with large shares of `total` highlighted.
pub fn rates_table(rows: &[Row], by: By, total: &Row) -> Table {
    let has_arguments = rows.iter().any(|row| row.arguments.is_some());
    let counted = !rows.iter().any(|row| row.samples.is_some());
    let all_but_errors = by != By::Error;
    names(rows, by)
        .right("calls/s", |row| {
            tinted(
                Cell::number(rate(row.calls_per_s), row.calls_per_s),
                total.calls_per_s,
            )
        })
        .shown_if(counted)
        .right("errors/s", |row| {
            tinted(errors(row.errors_per_s), total.errors_per_s)
        })
        .expendable(1)
        .shown_if(counted)
        .right("% CPU", |row| {
            tinted(share(row.on_cpu_share), total.on_cpu_share.unwrap_or(0.0))
        })
        .shown_if(all_but_errors)
        .right("runnable", |row| threads(row.runnable_threads))
        .expendable(6)
        .shown_if(all_but_errors)
        .right("blocked", |row| threads(row.blocked_threads))
        .expendable(2)
        .shown_if(all_but_errors)
        .right("mean us", |row| micros(row.mean_ns))
        .expendable(4)
        .shown_if(all_but_errors && counted)
        .right("p50 us", |row| micros(row.p50_ns))
        .expendable(5)
        .shown_if(by == By::Call)
        .right("p99 us", |row| micros(row.p99_ns))
        .expendable(3)
        .shown_if(by == By::Call)
        .left("arguments", arguments)
        .wrapping()
        .yielding(1)
        .shown_if(by == By::Process && has_arguments)
        .table()
}

/// The columns that name a row.
fn names(rows: &[Row], by: By) -> Columns<'_, Row> {
    let has_pids = rows.iter().any(|row| row.pid.is_some());
    let who = if by == By::Program {
        "program"
    } else {
        "process"
    };
    Columns::new(rows)
        .left(who, |row| row.process.as_ref())
        .shown_if(matches!(by, By::Program | By::Process))
        .right("PID", |row| row.pid.map(|pid| pid.to_string()))
        .shown_if(by == By::Process && has_pids)
        .left("cgroup", |row| row.cgroup.as_ref())
        .shown_if(by == By::Cgroup)
        .left("call", |row| row.call.as_ref())
        .shown_if(matches!(by, By::Call | By::Class | By::Error))
        .left("class", |row| class(&row.class))
        .shown_if(by == By::Class)
        .left("error", |row| row.error.as_ref())
        .shown_if(by == By::Error)
}

fn arguments(row: &Row) -> String {
    clean::cut(
        &clean::line(row.arguments.as_deref().unwrap_or_default()),
        LONGEST_ARGUMENTS,
    )
}

fn tinted(cell: Cell, sum: f64) -> Cell {
    let reached = cell.value.and_then(|value| {
        SHARES
            .iter()
            .find(|(least, _)| value > 0.0 && value >= least * sum)
    });
    Cell {
        style: reached.map_or(cell.style, |(_, style)| *style),
        ..cell
    }
}

/// The name of the target is shortened to `width`, the numbers are not.
pub fn headline(scope: &str, focus: &Focus, rates: &Rates, lost: u64, width: usize) -> Vec<String> {
    let process = focus.process.as_ref().map(ToString::to_string);
    let within: Vec<String> = [focus.cgroup.clone(), process, focus.call.clone()]
        .into_iter()
        .flatten()
        .collect();
    let (within, sum) = (within.join(", "), sum(rates));
    let room = width.saturating_sub(sum.chars().count() + 2);
    let all = if within.is_empty() {
        scope.to_string()
    } else {
        format!("{scope}, {within}")
    };
    // The row that was opened matters more than the target.
    let what = if all.chars().count() > room && !within.is_empty() {
        within
    } else {
        all
    };
    let mut lines = vec![format!("{}: {sum}", clean::cut(&what, room)), cost(rates)];
    if rates.torn {
        lines.push(
            "UNCERTAIN: counts changed while being read; calls may be missing or doubled.".into(),
        );
    }
    lines.extend(lost_events(lost));
    lines
}

fn sum(rates: &Rates) -> String {
    let total = &rates.total;
    let cpu = total
        .on_cpu_share
        .map(|share| format!("{}% CPU", percent(100.0 * share)));
    if total.samples.is_some() {
        return format!(
            "{}, by samples of {}",
            cpu.unwrap_or_default(),
            counted(rates.callers, "caller")
        );
    }
    let callers = counted(rates.callers, "caller");
    let cpu = cpu.map_or(String::new(), |cpu| format!(", {cpu} in calls"));
    format!(
        "{} calls/s, {} errors/s, {callers}{cpu}",
        rate(total.calls_per_s),
        rate(total.errors_per_s)
    )
}

fn cost(rates: &Rates) -> String {
    let tax = match (rates.total.samples, rates.tax_share) {
        (Some(_), _) => "samples take less than 1%".to_string(),
        (None, Some(tax)) => format!("tracing adds {}% of a CPU", percent(100.0 * tax)),
        (None, None) => "tracing adds an unknown time".to_string(),
    };
    let (interval, own_percent) = (
        rates.interval_ns as f64 / 1e9,
        percent(100.0 * rates.own_share),
    );
    format!("interval {interval:.1} s; cost: {tax}, syscost itself uses {own_percent}%")
}

fn errors(per_s: f64) -> Cell {
    Cell::number(
        if per_s == 0.0 {
            String::new()
        } else {
            rate(per_s)
        },
        per_s,
    )
}

fn share(share: Option<f64>) -> Cell {
    Cell::known(share, |share| percent(100.0 * share))
}

fn threads(threads: Option<f64>) -> Cell {
    Cell::known(threads, |threads| format!("{threads:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::top::Who;

    fn rates(callers: usize) -> Rates {
        let total = Row {
            calls_per_s: 5.432e6,
            errors_per_s: 123_456.0,
            on_cpu_share: Some(1.234),
            ..Row::default()
        };
        let (interval_ns, tax_share, own_share) = (12_300_000_000, Some(0.1234), 0.0123);
        Rates {
            interval_ns,
            total,
            callers,
            tax_share,
            own_share,
            torn: true,
            ..Rates::default()
        }
    }

    #[test]
    fn a_headline_has_all_its_numbers_at_80_columns() {
        let focus = Focus {
            process: Some(Who {
                name: "git".into(),
                pid: Some(4_000_000),
            }),
            ..Focus::default()
        };
        let lines = headline("the whole system", &focus, &rates(1234), 123_456_789, 80);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{lines:#?}"
        );
        assert_eq!(
            lines[0],
            "git (4000000): 5.43M calls/s, 123k errors/s, 1234 callers, 123% CPU in calls"
        );
        assert_eq!(
            lines[1],
            "interval 12.3 s; cost: tracing adds 12% of a CPU, syscost itself uses 1.2%"
        );
        let whole = headline("the whole system", &Focus::default(), &rates(1), 0, 80);
        assert!(
            whole[0].starts_with("the whole system: ") && whole[0].contains("1 caller,"),
            "{whole:#?}"
        );
    }

    #[test]
    fn numbers_are_highlighted_by_their_share_of_the_sum() {
        fn row(calls_per_s: f64) -> Row {
            Row {
                calls_per_s,
                ..Row::default()
            }
        }

        let rows = [row(50.0), row(30.0), row(10.0), row(1.0), row(0.0)];
        let table = rates_table(&rows, By::Program, &row(100.0));
        let styles: Vec<Style> = table.rows().iter().map(|cells| cells[1].style).collect();
        assert_eq!(
            styles,
            [
                Style::Bad,
                Style::Warning,
                Style::Good,
                Style::Plain,
                Style::Plain
            ]
        );
        assert_eq!(table.columns()[0].title, "program");
    }

    #[test]
    fn arguments_of_processes_are_harmless_and_short() {
        let arguments = Some(format!("-c \u{1b}[2J{}", "x".repeat(500)));
        let rows = [Row {
            arguments,
            ..Row::default()
        }];
        let table = rates_table(&rows, By::Process, &Row::default());
        let shown = &table.rows()[0].last().unwrap().text;
        assert!(
            shown.starts_with("-c ") && !shown.contains('\u{1b}') && shown.chars().count() == 100,
            "{shown}"
        );
    }
}
