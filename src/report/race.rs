//! A race: what each command took, what differs certainly and why, and the system calls that changed. Called by `cli::race`.

mod cells;
mod inside;

use crate::compare::{ProfileComparison, ProfileRow, RaceFound, RaceResult, Ratio, Span, Verdict, Versus};
use crate::document::{Block, Document};
use crate::prose::{counted, some};
use crate::report::comparison::profiles::{calls_side_by_side, part_name};
use crate::report::comparison::row;
use crate::report::numbers::{TimeUnit, percent, thousands};
use crate::report::{Cell, JsonDocument, Records, Spec, Table};
use crate::write::markup::cut;
use cells::{COMMAND, Line, calls_made, half_width, label, lines, memory, verdict};

/// Calls that a table and a sentence name.
const MOST_ROWS: usize = 8;
const MOST_NAMED: usize = 2;

/// Share of the difference from which on the calls that changed are called its cause.
const CAUSE: f64 = 0.5;

impl JsonDocument for RaceFound {
    const SCHEMA: &'static str = "syscost.race/1";
}

/// The table of commands, what it shows, and a table of the calls that differ for each comparison.
pub fn race_document(found: &RaceFound) -> Document {
    let table = if is_inside(found) { inside::environments(found) } else { commands(found) };
    let mut blocks = vec![Block::Table(table), Block::Notes(answers(found))];
    blocks.extend(found.versus.iter().filter_map(|versus| Some(Block::Table(calls(found, versus)?))));
    Document { blocks, records: records(found) }
}

fn calls(found: &RaceFound, versus: &Versus) -> Option<Table> {
    let calls = versus.calls.as_ref().filter(|calls| !calls.rows.is_empty())?;
    let most = ProfileComparison { rows: calls.rows.iter().take(MOST_ROWS).cloned().collect(), ..calls.clone() };
    let heading = format!("System calls, {} against {}", label(found, versus.head), label(found, versus.base));
    let counts = format!("{} differ, {} do not.", counted(calls.rows.len(), "call"), calls.left_out);
    Some(calls_side_by_side(&most).titled(heading).noted(vec![counts]))
}

/// Whether environments are compared, and not commands.
fn is_inside(found: &RaceFound) -> bool {
    found.results.iter().any(|own| own.inside.is_some())
}

fn commands(found: &RaceFound) -> Table {
    let unit = TimeUnit::of(found.results.iter().map(|own| own.median).fold(0.0, f64::max));
    let time = |title: &str, of: fn(&RaceResult) -> f64| {
        Spec::right(&unit.title(title), move |line: &Line| Cell::number(unit.text(of(line.own)), of(line.own)))
    };
    let specs = [
        Spec::left("command", |line: &Line| line.own.command.as_str().into()).wrapping(),
        time("wall", |own| own.trimmed_mean.unwrap_or(own.median)),
        Spec::right("±", |line: &Line| half_width(own_interval(line.own))),
        time("min", |own| own.min).expendable(4),
        time("max", |own| own.max).expendable(5),
        time("user", |own| own.user.unwrap_or_default()).expendable(2),
        time("sys", |own| own.system.unwrap_or_default()).expendable(2),
        Spec::right("peak MB", |line: &Line| memory(found.least_memory_byte, line.own)).expendable(3),
        Spec::right("calls", |line: &Line| calls_made(line.own)),
        Spec::left("time ratio", |line: &Line| verdict(line.versus.and_then(|versus| versus.wall.as_ref()))),
    ];
    Table::of(&specs, &lines(found)).without_empty()
}

fn own_interval(own: &RaceResult) -> Option<[f64; 3]> {
    Some([own.trimmed_mean?, own.low?, own.high?])
}

fn answers(found: &RaceFound) -> Vec<String> {
    let mut lines: Vec<String> = found.versus.iter().map(|versus| answer(found, versus)).collect();
    let rounds = counted(found.rounds, "round");
    let interrupted = if found.complete { "" } else { ", then interrupted" };
    let few = if found.rounds < crate::stats::FEWEST_TRIMMED { "; too few for an interval" } else { "" };
    let what = if is_inside(found) { inside::WHAT } else { "wall: " };
    lines.push(format!(
        "{rounds} in random order{interrupted}{few}. {what}the mean without the highest and lowest fifth; ±: 95%."
    ));
    lines.extend(inside::cautions(found));
    // In environments, calls are those of the first that they can be counted in.
    let counted_one = is_inside(found) && found.results.iter().any(|own| own.system_calls.is_some());
    let uncounted = found.results.iter().filter(|_| !counted_one);
    let uncounted = uncounted.filter_map(|own| Some((own, own.not_counted.as_ref()?)));
    lines.extend(
        uncounted
            .take(1)
            .map(|(own, why)| format!("System calls of {} were not counted: {why}.", cut(own.name(), COMMAND))),
    );
    lines.extend(found.results.iter().filter_map(failures));
    lines.extend(found.results.iter().filter_map(left));
    lines.extend(found.results.iter().filter_map(changed_time));
    lines
}

fn failures(own: &RaceResult) -> Option<String> {
    let failed: Vec<i32> = own.exit_codes.iter().copied().filter(|status| *status != 0).collect();
    let status = failed.first()?;
    let runs = counted(own.exit_codes.len(), "run");
    Some(format!("{} failed in {} of {runs}, first with status {status}.", cut(own.name(), COMMAND), failed.len()))
}

fn left(own: &RaceResult) -> Option<String> {
    let names = some(&own.left_running, MOST_NAMED);
    let name = cut(own.name(), COMMAND);
    (!names.is_empty())
        .then(|| format!("{name} leaves processes running ({names}): --end-left ends them after each run."))
}

fn changed_time(own: &RaceResult) -> Option<String> {
    let changed = own.changed?;
    let unit = TimeUnit::of(changed.before.max(changed.after));
    let (before, after) = (unit.text(changed.before), unit.with_name(changed.after));
    let rounds = counted(changed.rounds, "round");
    Some(format!(
        "{} changed: {before} in the first {rounds}, then {after}. Its mean is neither; --warmup {} leaves the first out.",
        cut(own.name(), COMMAND),
        changed.rounds + 1
    ))
}

/// Which is faster, by how much, and what of it the calls that changed explain.
fn answer(found: &RaceFound, versus: &Versus) -> String {
    let Some(wall) = &versus.wall else { return inside::no_ratio(found, versus) };
    let certain = |ratio: &Ratio| ratio.mark.is_better() || ratio.mark.is_worse();
    let mut text = in_wall_time(found, versus, wall);
    if let Some(cpu) = versus.cpu.as_ref().filter(|cpu| certain(cpu) && !certain(wall)) {
        let ratio = row::verdict(&Verdict::Ratio(*cpu)).text;
        text += &format!(" CPU time: {ratio}.{}", changed(versus));
    }
    if certain(wall) {
        text += &cause(versus);
    }
    text
}

fn in_wall_time(found: &RaceFound, versus: &Versus, wall: &Ratio) -> String {
    let (head, base) = (label(found, versus.head), label(found, versus.base));
    let Ratio { ratio, low, high, mark, .. } = *wall;
    match mark {
        mark if mark.is_better() => {
            let width = (1.0 / low - 1.0 / high) / 2.0;
            format!("{head}: {} times as fast as {base}.", with_error(1.0 / ratio, width))
        }
        mark if mark.is_worse() => {
            format!("{head}: takes {} times as long as {base}.", with_error(ratio, (high - low) / 2.0))
        }
        crate::compare::Mark::Unchanged => {
            format!("{head}: takes as long as {base}, within {}.", row::share(found.margin))
        }
        _ => format!(
            "{head}: inconclusive; takes {} to {} times as long as {base}. More rounds show smaller differences.",
            row::number(low),
            row::number(high)
        ),
    }
}

/// `2.31 ± 0.04`: as many digits as the error needs.
fn with_error(value: f64, error: f64) -> String {
    let digits = (1.0 - error.max(1e-6).log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{value:.digits$} ± {error:.digits$}")
}

/// ` System calls differ: openat fell from 4,168 to 110 (depth 2).`
fn changed(versus: &Versus) -> String {
    let calls = some(&named(versus), MOST_NAMED);
    if calls.is_empty() { String::new() } else { format!(" System calls differ: {calls}.") }
}

fn named(versus: &Versus) -> Vec<String> {
    versus.changed().iter().filter_map(fell_or_rose).collect()
}

/// ` Because of system calls: openat fell from 4,168 to 110 (depth 2). Calls differ by 31.0 ms, as traced, the commands by
/// 42.1 ms (41.0 to 43.2).`
fn cause(versus: &Versus) -> String {
    let (named, faults) = (named(versus), faults(versus));
    let Some([difference, low, high]) = versus.difference else { return String::new() };
    if named.is_empty() {
        let none = if versus.calls.is_some() { " Their system calls are the same." } else { "" };
        return format!("{none}{faults}");
    }
    let Some(explained) = versus.explained else { return changed(versus) + &faults };
    let unit = TimeUnit::of(difference.abs());
    let size = |seconds: f64| unit.text(seconds.abs());
    let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    let whole = format!("{} ({} to {})", unit.with_name(difference.abs()), size(least), size(most));
    let how = if explained.range.is_none() { "as traced" } else { "by unit costs" };
    let calls = some(&named, MOST_NAMED);
    let time = unit.with_name(explained.seconds.abs());
    let text = match explained.seconds / difference {
        share if share >= CAUSE => {
            format!(" Because of system calls: {calls}. Calls differ by {time}, {how}, the commands by {whole}.")
        }
        share if share > 0.0 => {
            let share = percent(100.0 * share);
            format!(" System calls that differ take {share}% of the {whole}, {how}: {calls}.")
        }
        _ => format!(" System calls do not explain it: {calls}; {how}, that is {time} the other way."),
    };
    text + &faults
}

/// ` Page faults rose from 333 to 900.`
fn faults(versus: &Versus) -> String {
    versus.page_faults.map_or_else(String::new, |[base, head]| format!(" Page faults {}.", moved(base, head)))
}

/// `fell from 4,168 to 110`
fn moved(base: u64, head: u64) -> String {
    let verb = if head < base { "fell" } else { "rose" };
    format!("{verb} from {} to {}", thousands(base as f64), thousands(head as f64))
}

/// `openat fell from 4,168 to 110 (depth 2)`; `None` if only errors or bytes differ.
fn fell_or_rose(row: &ProfileRow) -> Option<String> {
    let [base, head] = [0, 1].map(|side| row.counts[side].calls.median);
    let parts = if head < base { &row.fell[1] } else { &row.grew[1] };
    let part = parts.iter().map(part_name).find(|text| !text.is_empty());
    let part = part.map_or_else(String::new, |text| format!(" ({text})"));
    (base != head).then(|| format!("{} {}{part}", row.call, moved(base, head)))
}

/// One record for each command or environment; the names of its times are those of hyperfine's CSV.
fn records(found: &RaceFound) -> Records {
    let ratio = |of: fn(&Ratio) -> f64| move |line: &Line| line.versus.and_then(|versus| versus.wall.as_ref()).map(of);
    let specs = [
        Spec::hidden()
            .text("command", |line: &Line| line.own.command.clone())
            .number("mean", |line| line.own.mean)
            .number("stddev", |line| line.own.stddev)
            .number("median", |line| line.own.median)
            .number("user", |line| line.own.user)
            .number("system", |line| line.own.system)
            .number("min", |line| line.own.min)
            .number("max", |line| line.own.max),
        Spec::hidden()
            .text("parameters", |line: &Line| {
                let parameters = line.own.parameters.iter().map(|(name, value)| format!("{name}={value}"));
                parameters.collect::<Vec<_>>().join(" ")
            })
            .number("trimmed_mean", |line| line.own.trimmed_mean)
            .number("ci_low", |line| line.own.low)
            .number("ci_high", |line| line.own.high)
            .count("peak_memory_byte", |line| Span::of(line.own.memory_usage_byte.clone()).median)
            .count("system_calls", |line| line.own.system_calls),
        Spec::hidden()
            .number("ratio", ratio(|wall| wall.ratio))
            .number("ratio_low", ratio(|wall| wall.low))
            .number("ratio_high", ratio(|wall| wall.high))
            .text("verdict", |line: &Line| {
                let wall = line.versus.and_then(|versus| versus.wall.as_ref())?;
                Some(row::word(&Verdict::Ratio(*wall)).to_string())
            }),
        inside::records(),
    ];
    Records::of(&specs, &lines(found))
}
