//! A race: the times of each command, certain differences with their cause, and the system calls that changed.

mod bill;
mod cause;
mod cells;

use crate::comparison::row;
use crate::numbers::TimeUnit;
use crate::{Cell, Columns, Records, Table};
use analysis::compare::{Mark, RaceFound, RaceResult, Ratio, Span, Verdict, Versus};
use cells::{COMMAND, Line, MOST_NAMED, half_width, label, lines, memory, row_name, verdict};
use document::write::markup::cut;
use document::{Block, Document, params};
use itertools::Itertools;
use model::prose::{counted, some};
use model::word;
use std::collections::BTreeSet;

/// The table of commands, the answers, and a table of changed calls for each comparison.
pub fn race_document(race: &RaceFound) -> Document {
    let mut blocks = vec![Block::Table(table(race)), Block::Notes(answers(race))];
    blocks.extend(
        cells::compared(race)
            .filter_map(|versus| Some(Block::Table(cause::changed(race, versus)?))),
    );
    Document {
        blocks,
        records: records(race),
    }
}

fn is_inside(race: &RaceFound) -> bool {
    race.results.iter().any(|result| result.inside.is_some())
}

fn table(race: &RaceFound) -> Table {
    let is_inside = is_inside(race);
    let main = if is_inside {
        cells::net
    } else {
        |result: &RaceResult| Some(wall(result))
    };
    let unit = TimeUnit::for_seconds(race.results.iter().filter_map(main).fold(0.0, f64::max));

    let (name, [main_title, ratio]) = if is_inside {
        ("environment", ["net", "net ratio"])
    } else {
        ("command", ["wall", "time ratio"])
    };
    let lines = lines(race);
    let mut columns = Columns::new(&lines).left(name, |line| row_name(line.result));
    if !is_inside {
        columns = columns.wrapping();
    }
    let columns = columns
        .right(&unit.title(main_title), time_cell(unit, main))
        .right("±", |line| half_width(line.result.figure()))
        .right(&unit.title("start-up"), |line| {
            cells::start_up_cell(line.result, unit)
        });
    let is_divided = race.results.iter().all(|result| result.user.is_some());
    let table = further_times(columns, unit, is_inside, is_divided)
        .right("peak MB", |line| {
            memory(race.least_memory_byte, line.result)
        })
        .expendable(3)
        .right("calls", |line| line.result.system_calls)
        .expendable(1)
        .left(ratio, verdict)
        .table()
        .without_empty();
    if is_inside {
        table.titled(cut(&race.results[0].command, 2 * COMMAND))
    } else {
        table
    }
}

type Seconds = fn(&RaceResult) -> Option<f64>;

fn time_cell(unit: TimeUnit, seconds: Seconds) -> impl Fn(&Line<'_>) -> Cell {
    move |line| {
        // The start-up that was subtracted may scatter by more than the command takes.
        let seconds = seconds(line.result).filter(|seconds| *seconds >= 0.0);
        Cell::known(seconds, |seconds| unit.text(seconds))
    }
}

/// Columns that narrow screens drop. A race of environments has others than a race of commands. The CPU time has one column unless it is
/// divided into user and system time for all commands.
fn further_times<'r, 'a>(
    mut columns: Columns<'r, Line<'a>>,
    unit: TimeUnit,
    is_inside: bool,
    is_divided: bool,
) -> Columns<'r, Line<'a>> {
    let times: [(_, Seconds, _, _); 7] = [
        ("first", |result| result.inside.as_ref()?.first, true, 3),
        (
            "wall",
            |result| result.inside.as_ref().map(|_| wall(result)),
            true,
            4,
        ),
        ("min", |result| outside(result, result.min), true, 4),
        ("max", |result| outside(result, result.max), true, 5),
        (
            "user",
            |result| outside(result, result.user?),
            is_divided,
            2,
        ),
        (
            "sys",
            |result| outside(result, result.system?),
            is_divided,
            2,
        ),
        ("CPU", cpu, is_inside || !is_divided, 2),
    ];
    for (title, seconds, is_shown, order) in times {
        columns = columns
            .right(&unit.title(title), time_cell(unit, seconds))
            .shown_if(is_shown)
            .expendable(order);
    }
    columns
}

fn wall(result: &RaceResult) -> f64 {
    result.trimmed_mean.unwrap_or(result.median)
}

/// Total CPU time.
fn cpu(result: &RaceResult) -> Option<f64> {
    if let Some(inside) = &result.inside {
        return Some(inside.net_cpu?[0]);
    }
    let sum: f64 = result.cpu_times.iter().sum();
    (!result.cpu_times.is_empty()).then(|| sum / result.cpu_times.len() as f64)
}

/// Hides a column of plain races in a race of environments.
fn outside(result: &RaceResult, value: f64) -> Option<f64> {
    result.inside.is_none().then_some(value)
}

fn answers(race: &RaceFound) -> Vec<String> {
    // Without a time, each pair has the same answer: why is in the line about the rounds.
    let answers =
        cells::compared(race).map(|versus| answer(race, versus) + &bill::sentence(versus));
    let mut lines: Vec<String> = answers.unique().collect();
    lines.push(rounds(race));
    if race.results.iter().any(|result| result.control) {
        lines.push(CONTROL.to_string());
    }
    lines.extend(bill::note(race));
    lines.extend(cells::cautions(race));
    lines.extend(race.results.iter().filter_map(refusals));
    lines.extend(race.results.iter().find_map(uncounted));
    lines.extend(race.results.iter().filter_map(failures));
    lines.extend(race.results.iter().filter_map(left));
    lines.extend(race.results.iter().filter_map(changed_time));
    lines
}

fn rounds(race: &RaceFound) -> String {
    let mut order = format!("{} in random order", counted(race.rounds, "round"));
    if !race.complete {
        order += ", then interrupted";
    }
    if race.rounds < stats::FEWEST_TRIMMED {
        order += "; too few for an interval";
    }
    let times = if is_inside(race) {
        cells::WHAT
    } else {
        "wall: "
    };
    format!(
        "{order}; {}. {times}the mean without the highest and lowest fifth; ±: 95%.",
        executions(race)
    )
}

fn uncounted(result: &RaceResult) -> Option<String> {
    let why = result.not_counted.as_ref()?;
    let name = cut(result.name(), COMMAND);
    (!result.control).then_some(format!("System calls of {name} were not counted: {why}."))
}

/// `podman refuses what works natively: 3 calls mount (EPERM), 1 call connect (ENETUNREACH).`
fn refusals(result: &RaceResult) -> Option<String> {
    const MOST: usize = 4;
    if result.control {
        return None;
    }
    let inside = result.inside.as_ref()?;
    let calls: Vec<String> = inside
        .refused
        .iter()
        .map(|one| {
            format!(
                "{} {} ({})",
                counted(one.calls, "call"),
                one.call,
                one.error
            )
        })
        .collect();
    if calls.is_empty() {
        return None;
    }
    let names = some(&calls, MOST);
    Some(format!(
        "{} refuses what works natively: {names}.",
        inside.environment
    ))
}

const CONTROL: &str = "(again): the baseline, run twice a round as a control: a difference no larger than the control's is not known.";

/// `the command ran 376 times`
fn executions(race: &RaceFound) -> String {
    let names: BTreeSet<&str> = race.results.iter().map(|result| &*result.command).collect();
    let what = if names.len() == 1 {
        "the command"
    } else {
        "the commands"
    };
    format!("{what} ran {}", counted(race.executions as usize, "time"))
}

fn failures(result: &RaceResult) -> Option<String> {
    let failed: Vec<_> = result
        .exit_codes
        .iter()
        .filter(|code| **code != 0)
        .collect();
    let status = failed.first()?;
    Some(format!(
        "{} failed in {} of {}, first with status {status}.",
        cut(result.name(), COMMAND),
        failed.len(),
        counted(result.exit_codes.len(), "run")
    ))
}

fn left(result: &RaceResult) -> Option<String> {
    let names = some(&result.left_running, MOST_NAMED);
    let name = cut(result.name(), COMMAND);
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "{name} leaves processes running ({names}): --end-left ends them after each run."
    ))
}

fn changed_time(result: &RaceResult) -> Option<String> {
    let changed = result.changed?;
    let unit = TimeUnit::for_seconds(changed.before.max(changed.after));
    let (before, after) = (unit.text(changed.before), unit.with_name(changed.after));
    let rounds = counted(changed.rounds, "round");
    Some(format!(
        "{} changed: {before} in the first {rounds}, then {after}. Its mean describes neither; --warmup {} leaves the first out.",
        cut(result.name(), COMMAND),
        changed.rounds + 1
    ))
}

fn answer(race: &RaceFound, versus: &Versus) -> String {
    let Some(wall) = &versus.wall else {
        return cells::no_ratio(race, versus);
    };
    let mut text = in_wall_time(race, versus, wall);
    if let Some(cpu) = versus.cpu
        && cpu.mark.is_change()
        && !wall.mark.is_change()
    {
        text += &format!(" CPU time: {}.", row::verdict(&Verdict::Ratio(cpu)).text);
    }
    text + &cause::sentence(versus)
}

fn in_wall_time(race: &RaceFound, versus: &Versus, wall: &Ratio) -> String {
    let (head, base) = (label(race, versus.head), label(race, versus.base));
    if wall.mark.is_better() {
        let width = (1.0 / wall.low - 1.0 / wall.high) / 2.0;
        let times = times(1.0 / wall.ratio, width);
        return format!("{head}: {times} times as fast as {base}.");
    }
    if wall.mark.is_worse() {
        let times = times(wall.ratio, (wall.high - wall.low) / 2.0);
        return format!("{head}: takes {times} times as long as {base}.");
    }
    if wall.mark == Mark::Equal {
        let margin = row::share(race.margin);
        return format!("{head}: takes as long as {base}, within {margin}.");
    }
    match withheld(race, versus, wall) {
        Some(control) => format!(
            "{head}: not known: {base} against itself takes {} times as long.",
            range(&control)
        ),
        None => format!(
            "{head}: not known: takes {} times as long as {base}. More rounds show smaller differences.",
            range(wall)
        ),
    }
}

/// The control's ratio, if the rounds alone would show a difference.
fn withheld(race: &RaceFound, versus: &Versus, wall: &Ratio) -> Option<Ratio> {
    let is_apart = wall.low > 1.0 + race.margin || wall.high < 1.0 / (1.0 + race.margin);
    let control = cells::control_of(race, versus)?.wall;
    if !is_apart {
        return None;
    }
    control
}

/// `0.94 to 1.06`
fn range(ratio: &Ratio) -> String {
    format!("{} to {}", row::number(ratio.low), row::number(ratio.high))
}

/// `2.31 ± 0.04`: as many digits as the error needs.
fn times(value: f64, error: f64) -> String {
    if value > cells::MOST_RATIO {
        return format!("more than {}", cells::MOST_RATIO);
    }
    let digits = (1.0 - error.max(1e-6).log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{value:.digits$} ± {error:.digits$}")
}

/// Named as in the CSV of hyperfine.
fn records(race: &RaceFound) -> Records {
    let lines = lines(race);
    let columns = Columns::new(&lines)
        .field("command", |line| &line.result.command)
        .field("role", Line::role)
        .field("mean", |line| line.result.mean)
        .field("stddev", |line| line.result.stddev)
        .field("median", |line| line.result.median)
        .field("user", |line| line.result.user)
        .field("system", |line| line.result.system)
        .field("min", |line| line.result.min)
        .field("max", |line| line.result.max)
        .field("parameters", |line| params(&line.result.parameters))
        .field("trimmed_mean", |line| line.result.trimmed_mean)
        .field("ci_low", |line| line.result.low)
        .field("ci_high", |line| line.result.high)
        .field("peak_memory_byte", |line| {
            Span::from_values(line.result.memory_usage_byte.clone()).median
        })
        .field("system_calls", |line| line.result.system_calls)
        .field("ratio", |line| Some(line.wall()?.ratio))
        .field("ratio_low", |line| Some(line.wall()?.low))
        .field("ratio_high", |line| Some(line.wall()?.high))
        .field("verdict", |line| Some(word(line.wall()?, "verdict")))
        .field("environment", |line| {
            Some(&line.result.inside.as_ref()?.environment)
        })
        .field("start_up", |line| {
            Some(line.result.inside.as_ref()?.start_up?[0])
        })
        .field("net", |line| cells::net(line.result))
        .ends(["net_low", "net_high"], |line| {
            let [_, low, high] = line.result.inside.as_ref()?.net?;
            Some((low, high))
        });
    columns.records()
}
