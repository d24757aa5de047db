//! Why a command takes longer: in a sentence, and the system calls that differ.

use super::cells::{MOST_NAMED, label};
use crate::comparison::profiles::{change, part_name, span, what};
use crate::numbers::{self, TimeUnit, thousands, three_figures};
use crate::{Cell, Columns, Table};
use analysis::compare::{Cause, CauseOf, Counts, Part, ProfileRow, RaceFound, Versus};
use model::prose::{counted, some};
use std::cmp::Ordering;

/// Causes that are named, until they make this share of the difference together.
const MOST_CAUSES: usize = 3;
const ENOUGH: f64 = 0.8;

/// From this share of the difference on, a part is its cause.
const MAIN: f64 = 0.5;

/// Figures that differ by a smaller share need no explanation.
const APART: f64 = 0.1;

/// ` Cause: pread64 takes 10.9 times as long a call (1.20 -> 13.1 us): 0.31 s of the difference of 0.33 s (0.32 to 0.34).`
pub fn sentence(versus: &Versus) -> String {
    let Some([difference, low, high]) = versus.explained() else {
        return String::new();
    };
    let unit = TimeUnit::for_seconds(difference.abs());
    let [least, most] = if low.abs() < high.abs() {
        [low, high]
    } else {
        [high, low]
    };
    let whole = format!(
        "{} ({} to {})",
        unit.with_name(difference.abs()),
        unit.text(least.abs()),
        unit.text(most.abs())
    );
    let Some((first, others)) = named(&versus.causes, difference).split_first() else {
        let parts = match versus.calls {
            Some(_) => "no part of it is larger than the others",
            None => "the calls of one were not counted, so its parts are not known",
        };
        return format!(
            " The commands differ by {whole}; {parts}.{}",
            counts(versus)
        );
    };
    let begin = if first.seconds / difference >= MAIN {
        "Cause"
    } else {
        "Largest part"
    };
    let mut text = format!(
        " {begin}: {}: {} of the difference of {whole}",
        describe(versus, first),
        size(first, difference)
    );
    for cause in others {
        let size = size(cause, difference);
        text += &format!("; {}: {size}", describe(versus, cause));
    }
    text += ".";
    text += &scaled(versus, first, difference);
    let mut causes = versus.causes.iter();
    if causes.any(|cause| cause.kind == CauseOf::UntimedKernel) {
        text += &counts(versus);
    }
    text
}

fn size(cause: &Cause, difference: f64) -> String {
    if cause.seconds / difference > 1.0 {
        "all".to_string()
    } else {
        TimeUnit::for_seconds(difference.abs()).with_name(cause.seconds.abs())
    }
}

/// Where the table of calls has another figure: ` Traced, summed over threads: 0.17 s.`
fn scaled(versus: &Versus, cause: &Cause, difference: f64) -> String {
    let traced = traced(versus, cause).unwrap_or_default().abs();
    if cause.seconds.abs().min(difference.abs()) < (1.0 - APART) * traced {
        let text = TimeUnit::for_seconds(traced).with_name(traced);
        format!(" Traced, summed over threads: {text}.")
    } else {
        String::new()
    }
}

/// Seconds by which the times of the cause's call differ.
fn traced(versus: &Versus, cause: &Cause) -> Option<f64> {
    let (CauseOf::Calls { call } | CauseOf::TimePerCall { call }) = &cause.kind else {
        return None;
    };
    Some(ms_more(row(versus, call)?) / 1e3)
}

/// 0 if the calls were not timed.
fn ms_more(row: &ProfileRow) -> f64 {
    let [base, head] = [0, 1].map(|side| ms(&row.counts[side]).unwrap_or(0.0));
    head - base
}

fn row<'a>(versus: &'a Versus, call: &str) -> Option<&'a ProfileRow> {
    versus.changed().iter().find(|row| row.call == call)
}

fn named(causes: &[Cause], difference: f64) -> &[Cause] {
    let mut sum = 0.0;
    let few = causes.iter().take(MOST_CAUSES).take_while(|cause| {
        let lacks = sum < ENOUGH;
        sum += cause.seconds / difference;
        lacks
    });
    &causes[..few.count()]
}

fn describe(versus: &Versus, cause: &Cause) -> String {
    match &cause.kind {
        CauseOf::Calls { call } => row(versus, call).and_then(moved).unwrap_or(call.clone()),
        CauseOf::TimePerCall { call } => row(versus, call).and_then(longer).unwrap_or(call.clone()),
        CauseOf::UserMode => "user mode".to_string(),
        CauseOf::PageFaults => format!("page faults{}", faults(versus)),
        CauseOf::Kernel => "the kernel outside of system calls".to_string(),
        CauseOf::AroundCalls => {
            "the kernel outside of timed system calls (a filter runs before a call is timed)"
                .to_string()
        }
        CauseOf::OtherProcesses => {
            "outside of system calls, with other processes that do a part of the work".to_string()
        }
        CauseOf::UntimedKernel => {
            let faults = versus
                .page_faults
                .map(|_| format!(" and page faults{}", faults(versus)));
            format!(
                "the kernel (its calls{} were not timed; root's eBPF tracer times them)",
                faults.unwrap_or_default()
            )
        }
        CauseOf::UserOrKernel => {
            "on a CPU outside of timed calls (too short to separate user mode from the kernel)"
                .to_string()
        }
        CauseOf::Waiting if versus.by_calls.is_some() => {
            "waiting outside of timed system calls, for example for a CPU or the sandbox's supervisor".to_string()
        }
        CauseOf::Waiting => "waiting outside of system calls, for example for a CPU".to_string(),
        CauseOf::OutsideCalls => {
            let total = versus.calls.as_ref().and_then(|calls| calls.total.as_ref());
            let calls = total.map_or(0, |total| total.counts[1].calls.median);
            format!(
                "outside of system calls, {} us for each of the {}",
                three_figures(1e6 * cause.seconds.abs() / calls.max(1) as f64),
                numbers::counted(calls, "call")
            )
        }
    }
}

/// ` System calls differ: openat fell from 4,168 to 110 calls (depth 2).`
pub fn counts(versus: &Versus) -> String {
    let calls: Vec<String> = versus.changed().iter().filter_map(moved).collect();
    if !calls.is_empty() {
        format!(" System calls differ: {}.", some(&calls, MOST_NAMED))
    } else if versus.calls.is_some() {
        " They make the same system calls equally often.".to_string()
    } else {
        String::new()
    }
}

/// ` (333 -> 900)`
fn faults(versus: &Versus) -> String {
    versus.page_faults.map_or_else(String::new, |counts| {
        let [base, head] = counts.map(|count| thousands(count as f64));
        format!(" ({base} -> {head})")
    })
}

/// `openat fell from 4,168 to 110 calls (depth 2)`
fn moved(row: &ProfileRow) -> Option<String> {
    let [base, head] = [0, 1].map(|side| row.counts[side].calls.median);
    let (verb, parts) = match head.cmp(&base) {
        Ordering::Less => ("fell", &row.fell[1]),
        Ordering::Equal => return None,
        Ordering::Greater => ("rose", &row.grew[1]),
    };
    let part = class(parts).map(|text| format!(" ({text})"));
    Some(format!(
        "{} {verb} from {} to {}{}",
        row.call,
        thousands(base as f64),
        numbers::counted(head, "call"),
        part.unwrap_or_default()
    ))
}

/// `pread64 takes 10.9 times as long a call (1.20 -> 13.1 us, size 262144 in place of 4096)`
fn longer(row: &ProfileRow) -> Option<String> {
    let [base, head] = [each_us(&row.counts[0])?, each_us(&row.counts[1])?];
    let classes = match (class(&row.grew[1]), class(&row.fell[1])) {
        (Some(new), Some(old)) if new != old => format!("; {new} in place of {old}"),
        _ => String::new(),
    };
    let [factor, base, head] = [head / base, base, head].map(three_figures);
    Some(format!(
        "{} takes {factor} times as long a call ({base} -> {head} us{classes})",
        row.call
    ))
}

fn class(parts: &[Part]) -> Option<String> {
    parts.iter().map(part_name).find(|text| !text.is_empty())
}

/// On a CPU, and waiting.
fn each_us(counts: &Counts) -> Option<f64> {
    Some(ms(counts)? * 1e3 / counts.calls.median as f64).filter(|us| us.is_finite())
}

/// `None` if they were not timed.
pub fn ms(counts: &Counts) -> Option<f64> {
    counts.on_cpu_ns.or(counts.stalled_ns)?;
    let ns = [counts.on_cpu_ns, counts.stalled_ns]
        .into_iter()
        .flatten()
        .map(|span| span.median as f64);
    Some(ns.sum::<f64>() / 1e6)
}

const MOST_ROWS: usize = 8;

/// `None` if none differ.
pub fn changed(race: &RaceFound, versus: &Versus) -> Option<Table> {
    let calls = versus
        .calls
        .as_ref()
        .filter(|calls| !calls.rows.is_empty())?;
    let mut rows = by_time(&calls.rows);
    rows.truncate(MOST_ROWS);
    rows.extend(&calls.total);
    let columns = Columns::new(&rows)
        .left("call", |row| &row.call)
        .right("calls before", |row| calls_cell(row, 0))
        .right("calls after", |row| calls_cell(row, 1))
        .right("change", |row| change(row, 1, 0))
        .right("ms before", |row| ms_cell(row, 0))
        .right("ms after", |row| ms_cell(row, 1))
        .right("us a call before", |row| each_us_cell(row, 0))
        .expendable(1)
        .right("us a call after", |row| each_us_cell(row, 1))
        .left("what", |row| what(row))
        .wrapping()
        .expendable(2);
    let last = rows.len() - 1;
    let verb = if calls.rows.len() == 1 {
        "differs"
    } else {
        "differ"
    };
    let others = match calls.left_out {
        0 => String::new(),
        others => format!(", the others ({others}) do not"),
    };
    let mut notes = vec![format!(
        "{} {verb}{others}.",
        counted(calls.rows.len(), "call")
    )];
    if rows
        .iter()
        .flat_map(|row| &row.counts)
        .any(|counts| ms(counts).is_some())
    {
        notes.push("ms: as traced, on a CPU or with the whole program waiting.".to_string());
    }
    let table = columns
        .table()
        .with_headings(|row| row == last)
        .without_empty()
        .titled(format!(
            "System calls, {} against {}",
            label(race, versus.head),
            label(race, versus.base)
        ));
    Some(table.noted(notes))
}

/// Calls without times keep their order.
fn by_time(rows: &[ProfileRow]) -> Vec<&ProfileRow> {
    let mut rows: Vec<&ProfileRow> = rows.iter().collect();
    rows.sort_by(|a, b| ms_more(b).abs().total_cmp(&ms_more(a).abs()));
    rows
}

fn calls_cell(row: &ProfileRow, side: usize) -> Cell {
    span(row, side, |counts| Some(counts.calls))
}

fn ms_cell(row: &ProfileRow, side: usize) -> Cell {
    Cell::known(ms(&row.counts[side]), |ms| format!("{ms:.3}"))
}

fn each_us_cell(row: &ProfileRow, side: usize) -> Cell {
    Cell::known(each_us(&row.counts[side]), three_figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::compare::Span;

    #[test]
    fn calls_whose_time_changed_most_come_first() {
        fn row(call: &str, ns: [Option<u64>; 2]) -> ProfileRow {
            let counts = ns.map(|ns| Counts {
                on_cpu_ns: ns.map(|ns| Span::from_values(vec![ns])),
                ..Counts::default()
            });
            ProfileRow {
                call: call.into(),
                counts: counts.into(),
                grew: Vec::new(),
                fell: Vec::new(),
            }
        }

        let rows = [
            row("rt_sigaction", [Some(1_000), Some(2_000)]),
            row("brk", [None, None]),
            row("copy_file_range", [Some(23_700_000), None]),
            row("close", [None, None]),
            row("write", [None, Some(5_000)]),
        ];
        let names: Vec<&str> = by_time(&rows).iter().map(|row| &*row.call).collect();
        assert_eq!(
            names,
            ["copy_file_range", "write", "rt_sigaction", "brk", "close"]
        );
    }
}
