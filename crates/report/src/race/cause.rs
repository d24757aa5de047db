//! Why a command takes longer: in a sentence, and the system calls that differ.

use super::cells::{MOST_NAMED, label};
use crate::comparison::profiles::{change, part_name, span, what};
use crate::numbers::{self, TimeUnit, thousands, three_figures};
use crate::{Cell, Columns, Table};
use analysis::compare::{Cause, CauseOf, Counts, Part, ProfileRow, RaceFound, Versus};
use model::prose::{counted, some};

/// Causes that are named, until they make this share of the difference together.
const MOST_CAUSES: usize = 3;
const ENOUGH: f64 = 0.8;

/// From this share of the difference on, a part is its cause.
const MAIN: f64 = 0.5;

/// Figures that differ by a smaller share need no explanation.
const APART: f64 = 0.1;

/// ` Cause: pread64 takes 10.9 times as long a call (1.20 -> 13.1 us): 0.31 of the 0.33 s (0.32 to
/// 0.34).`
pub fn sentence(versus: &Versus) -> String {
    let Some([difference, low, high]) = versus.explained() else {
        return String::new();
    };
    let unit = TimeUnit::of(difference.abs());
    let size = |seconds: f64| unit.text(seconds.abs());
    let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    let whole = format!(
        "{} ({} to {})",
        unit.with_name(difference.abs()),
        size(least),
        size(most)
    );
    let Some((first, others)) = named(&versus.causes, difference).split_first() else {
        return format!(
            " The commands differ by {whole}; no part of it is larger than the others.{}",
            counts(versus)
        );
    };
    let share = first.seconds / difference;
    let begin = if share >= MAIN {
        "Cause"
    } else {
        "Largest part"
    };
    let part = |cause: &Cause, text: fn(TimeUnit, f64) -> String| {
        if cause.seconds / difference > 1.0 {
            "all".to_string()
        } else {
            text(unit, cause.seconds.abs())
        }
    };
    let mut text = format!(
        " {begin}: {}: {} of the {whole}",
        describe(versus, first),
        part(first, TimeUnit::text)
    );
    for cause in others {
        text += &format!(
            "; {}: {}",
            describe(versus, cause),
            part(cause, TimeUnit::with_name)
        );
    }
    let is_untimed = versus
        .causes
        .iter()
        .any(|cause| cause.of == CauseOf::UntimedKernel);
    text + "."
        + &scaled(versus, first, difference)
        + &if is_untimed {
            counts(versus)
        } else {
            String::new()
        }
}

/// Where the table of calls has another figure: ` Traced: 0.17 s, summed over parallel threads.`
fn scaled(versus: &Versus, cause: &Cause, difference: f64) -> String {
    let (CauseOf::Calls { call } | CauseOf::TimePerCall { call }) = &cause.of else {
        return String::new();
    };
    let row = versus.changed().iter().find(|row| row.call == *call);
    let Some(traced) = row
        .map(|row| (ms(&row.counts[1]).unwrap_or(0.0) - ms(&row.counts[0]).unwrap_or(0.0)) / 1e3)
    else {
        return String::new();
    };
    let text = TimeUnit::of(traced.abs()).with_name(traced.abs());
    match cause.seconds.abs().min(difference.abs()) / traced.abs() {
        less if less < 1.0 - APART => format!(" Traced: {text}, summed over parallel threads."),
        _ => String::new(),
    }
}

fn named(causes: &[Cause], difference: f64) -> &[Cause] {
    let mut sum = 0.0;
    let enough = causes.iter().position(|cause| {
        sum += cause.seconds / difference;
        sum >= ENOUGH
    });
    &causes[..enough
        .map_or(causes.len(), |last| last + 1)
        .min(MOST_CAUSES)]
}

fn describe(versus: &Versus, Cause { of, seconds }: &Cause) -> String {
    let row = |call: &String| versus.changed().iter().find(|row| row.call == *call);
    match of {
        CauseOf::Calls { call } => row(call).and_then(moved).unwrap_or_else(|| call.clone()),
        CauseOf::TimePerCall { call } => row(call).and_then(longer).unwrap_or_else(|| call.clone()),
        CauseOf::UserMode => "user mode".to_string(),
        CauseOf::PageFaults => format!("page faults{}", faults(versus)),
        CauseOf::Kernel => "the kernel outside of system calls".to_string(),
        CauseOf::UntimedKernel => {
            format!(
                "the kernel (its calls{} were not timed; root's eBPF tracer times them)",
                and_faults(versus)
            )
        }
        CauseOf::UserOrKernel => {
            "on a CPU outside of timed calls (too short to tell user mode from the kernel)"
                .to_string()
        }
        CauseOf::Waiting => "waiting outside of system calls, as for a CPU".to_string(),
        CauseOf::OutsideCalls => {
            let calls = versus
                .calls
                .as_ref()
                .and_then(|calls| calls.total.as_ref())
                .map_or(0, |total| total.counts[1].calls.median);
            let each = three_figures(1e6 * seconds.abs() / calls.max(1) as f64);
            format!(
                "outside of system calls, {each} us for each of the {}",
                numbers::counted(calls, "call")
            )
        }
    }
}

/// ` System calls differ: openat fell from 4,168 to 110 calls (depth 2).`
pub fn counts(versus: &Versus) -> String {
    let calls = some(
        &versus
            .changed()
            .iter()
            .filter_map(moved)
            .collect::<Vec<_>>(),
        MOST_NAMED,
    );
    match (calls.is_empty(), &versus.calls) {
        (true, None) => String::new(),
        (true, Some(_)) => " They make the same system calls equally often.".to_string(),
        (false, _) => format!(" System calls differ: {calls}."),
    }
}

/// ` (333 -> 900)`
fn faults(versus: &Versus) -> String {
    versus.page_faults.map_or_else(String::new, |[base, head]| {
        let [base, head] = [base, head].map(|count| thousands(count as f64));
        format!(" ({base} -> {head})")
    })
}

fn and_faults(versus: &Versus) -> String {
    versus.page_faults.map_or_else(String::new, |_| {
        format!(" and page faults{}", faults(versus))
    })
}

/// `openat fell from 4,168 to 110 calls (depth 2)`
fn moved(row: &ProfileRow) -> Option<String> {
    let [base, head] = [0, 1].map(|side| row.counts[side].calls.median);
    let (verb, parts) = if head < base {
        ("fell", &row.fell[1])
    } else {
        ("rose", &row.grew[1])
    };
    let part = class(parts).map_or_else(String::new, |text| format!(" ({text})"));
    let (from, to) = (thousands(base as f64), numbers::counted(head, "call"));
    (base != head).then(|| format!("{} {verb} from {from} to {to}{part}", row.call))
}

/// `pread64 takes 10.9 times as long a call (1.20 -> 13.1 us, size 262144 in place of 4096)`
fn longer(row: &ProfileRow) -> Option<String> {
    let [base, head] = [each_us(&row.counts[0])?, each_us(&row.counts[1])?];
    let what = class(&row.grew[1])
        .zip(class(&row.fell[1]))
        .filter(|(new, old)| new != old);
    let what = what.map_or_else(String::new, |(new, old)| {
        format!("; {new} in place of {old}")
    });
    let (factor, from, to) = (
        three_figures(head / base),
        three_figures(base),
        three_figures(head),
    );
    Some(format!(
        "{} takes {factor} times as long a call ({from} -> {to} us{what})",
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
pub fn changed(found: &RaceFound, versus: &Versus) -> Option<Table> {
    let calls = versus
        .calls
        .as_ref()
        .filter(|calls| !calls.rows.is_empty())?;
    let rows: Vec<&ProfileRow> = calls
        .rows
        .iter()
        .take(MOST_ROWS)
        .chain(&calls.total)
        .collect();
    let count = |side: usize| move |row: &&ProfileRow| span(row, side, |counts| Some(counts.calls));
    let time = |side: usize, of: fn(&Counts) -> Option<f64>, digits: Digits| {
        move |row: &&ProfileRow| Cell::known(of(&row.counts[side]), digits)
    };
    let columns = Columns::of(&rows)
        .left("call", |row| &row.call)
        .right("calls before", count(0))
        .right("calls after", count(1))
        .right("change", |row| change(row, 1, 0))
        .right("ms before", time(0, ms, thousandths))
        .right("ms after", time(1, ms, thousandths))
        .right("us a call before", time(0, each_us, three_figures))
        .expendable(1)
        .right("us a call after", time(1, each_us, three_figures))
        .left("what", |row| what(row))
        .wrapping()
        .expendable(2);
    let last = rows.len() - 1;
    let heading = format!(
        "System calls, {} against {}",
        label(found, versus.head),
        label(found, versus.base)
    );
    let verb = if calls.rows.len() == 1 {
        "differs"
    } else {
        "differ"
    };
    let counts = format!(
        "{} {verb}, the others ({}) do not.",
        counted(calls.rows.len(), "call"),
        calls.left_out
    );
    let is_timed = rows
        .iter()
        .any(|row| row.counts.iter().any(|counts| ms(counts).is_some()));
    let times = "ms: as traced, on a CPU or with the whole program waiting.".to_string();
    let table = columns
        .table()
        .with_headings(|row| row == last)
        .without_empty()
        .titled(heading);
    Some(table.noted([counts].into_iter().chain(is_timed.then_some(times))))
}

type Digits = fn(f64) -> String;

fn thousandths(ms: f64) -> String {
    format!("{ms:.3}")
}
