//! Rows and cells of the table of commands or environments, and notes on the start-up of environments.

use crate::Cell;
use crate::comparison::row;
use crate::numbers::{TimeUnit, percent, three_figures};
use analysis::compare::{InsideResult, RaceFound, RaceResult, Ratio, Span, Verdict, Versus};
use document::write::markup::cut;
use model::prose::{counted, some};
use model::word;
use stats::FEWEST_TRIMMED;

pub const COMMAND: usize = 40;

pub const MOST_NAMED: usize = 2;

/// Starting a command takes a little more memory than a process that does nothing.
const STARTING: f64 = 1.05;

/// The command, cut to the length of a sentence: its end, if another one begins alike.
pub fn label(race: &RaceFound, index: usize) -> String {
    let name = race.results[index].name();
    let label = cut(name, COMMAND);
    let mut others = race.results.iter().map(RaceResult::name);
    let is_unclear = others.any(|other| other != name && cut(other, COMMAND) == label);
    let end = name.char_indices().nth_back(COMMAND - 2);
    match end {
        Some((at, _)) if is_unclear => format!("…{}", &name[at..]),
        _ => label,
    }
}

/// The control has the name of the baseline, with `(again)`.
pub fn row_name(result: &RaceResult) -> String {
    let again = if result.control { " (again)" } else { "" };
    format!("{}{again}", result.name())
}

/// The second run of the baseline that `versus` is compared with.
pub fn control_of<'a>(race: &'a RaceFound, versus: &Versus) -> Option<&'a Versus> {
    race.versus
        .iter()
        .find(|control| control.base == versus.base && race.results[control.head].control)
}

/// Comparisons without the controls.
pub fn compared(race: &RaceFound) -> impl Iterator<Item = &Versus> {
    let versus = race.versus.iter();
    versus.filter(|versus| !race.results[versus.head].control)
}

/// A row: a command, and its comparison with the baseline.
pub struct Line<'a> {
    pub result: &'a RaceResult,
    pub versus: Option<&'a Versus>,
}

impl Line<'_> {
    /// The row's role, as CSV has it.
    pub fn role(&self) -> &'static str {
        match self.versus {
            None => "baseline",
            Some(_) if self.result.control => "control",
            Some(_) => "compared",
        }
    }

    /// The ratio of wall times; `None` for the baseline, or with too few rounds.
    pub fn wall(&self) -> Option<&Ratio> {
        self.versus?.wall.as_ref()
    }
}

/// Controls stand below what they repeat.
pub fn lines(race: &RaceFound) -> Vec<Line<'_>> {
    let mut lines: Vec<(usize, Line)> = race
        .results
        .iter()
        .enumerate()
        .map(|(index, result)| {
            let versus = race.versus.iter().find(|versus| versus.head == index);
            (index, Line { result, versus })
        })
        .collect();
    // The sort is stable, so commands keep the order of the command line.
    lines.sort_by_key(|(index, line)| match line.versus {
        Some(versus) if line.result.control => (versus.base, 1),
        _ => (*index, 0),
    });
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Half of the interval in percent of the middle.
pub fn half_width(interval: Option<[f64; 3]>) -> Cell {
    let Some([middle, low, high]) = interval.filter(|interval| interval[0] > 0.0) else {
        return Cell::default();
    };
    let share = 100.0 * (high - low) / 2.0 / middle;
    Cell::number(format!("{}%", percent(share)), share)
}

/// The median of the peaks; with `<` if it is as small as that of an empty program.
pub fn memory(least_byte: u64, result: &RaceResult) -> Cell {
    if result.memory_usage_byte.is_empty() {
        return Cell::default();
    }
    let least_byte = result
        .inside
        .as_ref()
        .map_or(least_byte, |inside| inside.empty_memory_byte);
    let bytes = Span::from_values(result.memory_usage_byte.clone()).median;
    let below = if bytes as f64 <= STARTING * least_byte as f64 {
        "< "
    } else {
        ""
    };
    Cell::number(
        format!("{below}{}", three_figures(bytes as f64 / 1e6)),
        bytes as f64,
    )
}

/// The ratio, its interval and the verdict; a control has no verdict.
pub fn verdict(line: &Line) -> Option<Cell> {
    let wall = line.wall()?;
    if wall.ratio > MOST_RATIO {
        return Some(format!("> {MOST_RATIO} {}", word(wall, "verdict")).into());
    }
    let verdict = Verdict::Ratio(*wall);
    if !line.result.control {
        return Some(row::verdict(&verdict));
    }
    let [ratio, interval] = [row::ratio(&verdict), row::interval(&verdict)].map(|cell| cell.text);
    Some(format!("{ratio} ({interval}) control").into())
}

/// Larger ratios are shown as `> 100`.
pub const MOST_RATIO: f64 = 100.0;

pub const WHAT: &str = "start-up: the extra time of an empty program there; first: the first execution there, before the rounds; \
     net: wall time without start-up: ";

const MOST_ENVIRONMENTS: usize = 4;

fn inside(result: &RaceResult) -> Option<&InsideResult> {
    result.inside.as_ref()
}

/// Wall time without the start-up of the environment, in seconds.
pub fn net(result: &RaceResult) -> Option<f64> {
    Some(inside(result)?.net?[0])
}

/// The additional time of an empty program, in seconds. Native has none, by definition.
pub fn start_up(result: &RaceResult) -> Option<f64> {
    Some(inside(result)?.start_up?[0]).filter(|seconds| *seconds != 0.0 && !result.control)
}

/// `5.61 ±0.13`
pub fn start_up_cell(result: &RaceResult, unit: TimeUnit) -> Option<Cell> {
    let start_up = start_up(result)?;
    let [_, low, high] = inside(result)?.start_up?;
    let error = unit.text((high - low) / 2.0);
    Some(Cell::number(
        format!("{} ±{error}", unit.text(start_up)),
        start_up,
    ))
}

/// Why two commands have no ratio.
pub fn no_ratio(race: &RaceFound, versus: &Versus) -> String {
    if net(&race.results[versus.head]).is_none() {
        let [base, head] = [versus.base, versus.head].map(|index| race.results[index].median);
        return format!(
            "{}: about {} times as long{} in {}; a verdict needs {FEWEST_TRIMMED}: use 'syscost race' with a longer --time or more --runs.",
            label(race, versus.head),
            three_figures(head / base),
            inside(&race.results[versus.head]).map_or("", |_| ", with its start-up,"),
            counted(race.rounds as u64, "round")
        );
    }
    format!(
        "{}: not known: the scatter of the start-up is larger than the command's time.",
        label(race, versus.head)
    )
}

/// Limits of the figures of environments.
pub fn cautions(race: &RaceFound) -> Vec<String> {
    let mut cautions = Vec::new();
    if let Some(names) = named(race, hides_under_start_up) {
        cautions.push(format!(
            "The start-up takes longer than the command, and hides small differences: {names}."
        ));
    }
    if let Some(names) = named(race, |result| {
        inside(result).is_some() && result.cpu_times.is_empty()
    }) {
        cautions.push(format!(
            "CPU time and memory are not known if other processes do the work: {names}."
        ));
    }
    if race.fresh_copies {
        cautions.push("Each execution started in a fresh copy of the working directory.".into());
    }
    cautions
}

fn hides_under_start_up(result: &RaceResult) -> bool {
    let start_up = start_up(result).zip(net(result));
    start_up.is_some_and(|(start, net)| start > net)
}

fn named(race: &RaceFound, is_meant: fn(&RaceResult) -> bool) -> Option<String> {
    let results = race.results.iter().filter(|result| is_meant(result));
    let names: Vec<&str> = results.map(RaceResult::name).collect();
    (!names.is_empty()).then_some(some(&names, MOST_ENVIRONMENTS))
}
