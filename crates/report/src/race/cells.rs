//! Rows and cells of the table of commands or environments, and what to know of the start-up of
//! environments.

use crate::Cell;
use crate::comparison::row;
use crate::numbers::{percent, three_figures};
use analysis::compare::{InsideResult, RaceFound, RaceResult, Ratio, Span, Verdict, Versus};
use document::write::markup::cut;
use model::prose::some;

pub const COMMAND: usize = 40;

pub const MOST_NAMED: usize = 2;

/// Starting a command takes a little more memory than a process that does nothing.
const STARTING: f64 = 1.05;

pub fn label(found: &RaceFound, index: usize) -> String {
    cut(found.results[index].name(), COMMAND)
}

/// A command, and what it is compared by.
pub struct Line<'a> {
    pub own: &'a RaceResult,
    pub versus: Option<&'a Versus>,
}

impl Line<'_> {
    pub fn wall(&self) -> Option<&Ratio> {
        self.versus?.wall.as_ref()
    }
}

pub fn lines(found: &RaceFound) -> Vec<Line<'_>> {
    let versus = |index: usize| found.versus.iter().find(|versus| versus.head == index);
    found
        .results
        .iter()
        .enumerate()
        .map(|(index, own)| Line {
            own,
            versus: versus(index),
        })
        .collect()
}

pub fn half_width(interval: Option<[f64; 3]>) -> Cell {
    let Some([middle, low, high]) = interval.filter(|interval| interval[0] > 0.0) else {
        return Cell::default();
    };
    let share = 100.0 * (high - low) / 2.0 / middle;
    Cell::number(format!("{}%", percent(share)), share)
}

/// The median of the peaks; `<` where no less could be seen.
pub fn memory(least_byte: u64, own: &RaceResult) -> Cell {
    if own.memory_usage_byte.is_empty() {
        return Cell::default();
    }
    let least_byte = own
        .inside
        .as_ref()
        .map_or(least_byte, |inside| inside.empty_memory_byte);
    let bytes = Span::of(own.memory_usage_byte.clone()).median;
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

pub fn verdict(ratio: &Ratio) -> Cell {
    row::verdict(&Verdict::Ratio(*ratio))
}

pub const WHAT: &str = "start-up: the extra time of an empty program there; first: the first execution there, before the rounds; \
     net: wall time without start-up: ";

const MOST_ENVIRONMENTS: usize = 4;

fn inside(own: &RaceResult) -> Option<&InsideResult> {
    own.inside.as_ref()
}

pub fn net(own: &RaceResult) -> Option<f64> {
    Some(inside(own)?.net?[0])
}

/// None natively, by definition.
pub fn start_up(own: &RaceResult) -> Option<f64> {
    Some(inside(own)?.start_up?[0]).filter(|seconds| *seconds != 0.0)
}

pub fn no_ratio(found: &RaceFound, versus: &Versus) -> String {
    let head = &found.results[versus.head];
    match inside(head).and_then(|inside| inside.net) {
        None => "No comparison.".to_string(),
        Some(_) => {
            format!(
                "{}: not compared: the command takes less time than its start-up varies by.",
                label(found, versus.head)
            )
        }
    }
}

pub fn cautions(found: &RaceFound) -> Vec<String> {
    let named = |is_meant: fn(&RaceResult) -> bool| -> Vec<String> {
        found
            .results
            .iter()
            .filter(|own| is_meant(own))
            .map(|own| own.name().to_string())
            .collect()
    };
    let long = named(|own| {
        start_up(own)
            .zip(net(own))
            .is_some_and(|(start, net)| start > net)
    });
    let apart = named(|own| inside(own).is_some() && own.user.is_none());
    let long = (!long.is_empty()).then(|| {
        let names = some(&long, MOST_ENVIRONMENTS);
        format!("The start-up takes longer than the command, and hides small differences: {names}.")
    });
    let apart = (!apart.is_empty()).then(|| {
        format!(
            "CPU time and memory are not known where other processes do the work: {}.",
            some(&apart, MOST_ENVIRONMENTS)
        )
    });
    let copies = "Each execution started in a fresh copy of the working directory.".to_string();
    long.into_iter()
        .chain(apart)
        .chain(found.fresh_copies.then_some(copies))
        .collect()
}
