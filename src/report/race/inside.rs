//! One command in several environments: the table of these, and what to know of their start-up. Called by `race`.

use super::cells::{COMMAND, Line, calls_made, half_width, label, lines, memory, verdict};
use crate::compare::{InsideResult, RaceFound, RaceResult, Versus};
use crate::prose::some;
use crate::report::numbers::TimeUnit;
use crate::report::{Cell, Spec, Table};
use crate::write::markup::cut;

/// What the table shows, before how that was found.
pub const WHAT: &str = "start-up: what a program that does nothing takes there more than natively; first: the first execution there, before the rounds; \
     net: wall time without start-up: ";

/// Environments that a sentence names.
const MOST_NAMED: usize = 4;

/// The table of environments.
pub fn environments(found: &RaceFound) -> Table {
    let unit = TimeUnit::of(found.results.iter().filter_map(net).fold(0.0, f64::max));
    let time = |title: &str, of: fn(&RaceResult) -> Option<f64>| {
        Spec::right(&unit.title(title), move |line: &Line| match of(line.own) {
            Some(seconds) => Cell::number(unit.text(seconds), seconds),
            None => Cell::default(),
        })
    };
    let specs = [
        Spec::left("environment", |line: &Line| line.own.name().into()),
        time("net", net),
        Spec::right("±", |line: &Line| half_width(inside(line.own).and_then(|inside| inside.net))),
        time("start-up", start_up),
        time("first", |own| inside(own)?.first).expendable(3),
        time("wall", |own| own.trimmed_mean.or(Some(own.median))).expendable(4),
        time("CPU", |own| Some(inside(own)?.net_cpu?[0])).expendable(2),
        Spec::right("peak MB", |line: &Line| peak(line.own)).expendable(3),
        Spec::right("calls", |line: &Line| calls_made(line.own)).expendable(1),
        Spec::left("net ratio", |line: &Line| verdict(line.versus.and_then(|versus| versus.wall.as_ref()))),
    ];
    let command = found.results.first().map_or("", |own| &own.command);
    Table::of(&specs, &lines(found)).without_empty().titled(cut(command, 2 * COMMAND))
}

fn inside(own: &RaceResult) -> Option<&InsideResult> {
    own.inside.as_ref()
}

fn net(own: &RaceResult) -> Option<f64> {
    Some(inside(own)?.net?[0])
}

/// None natively, by definition.
fn start_up(own: &RaceResult) -> Option<f64> {
    Some(inside(own)?.start_up?[0]).filter(|seconds| *seconds != 0.0)
}

fn peak(own: &RaceResult) -> Cell {
    match inside(own) {
        Some(inside) if !own.memory_usage_byte.is_empty() => memory(inside.empty_memory_byte, own),
        _ => Cell::default(),
    }
}

/// What is known where there is no ratio.
pub fn no_ratio(found: &RaceFound, versus: &Versus) -> String {
    let head = &found.results[versus.head];
    match inside(head).and_then(|inside| inside.net) {
        None => "No comparison.".to_string(),
        Some(_) => {
            format!("{}: no comparison: the command takes less than its start-up scatters.", label(found, versus.head))
        }
    }
}

/// What to know before believing the figures.
pub fn cautions(found: &RaceFound) -> Vec<String> {
    let named = |is_meant: fn(&RaceResult) -> bool| -> Vec<String> {
        found.results.iter().filter(|own| is_meant(own)).map(|own| own.name().to_string()).collect()
    };
    let long = named(|own| start_up(own).zip(net(own)).is_some_and(|(start, net)| start > net));
    let apart = named(|own| inside(own).is_some() && own.user.is_none());
    let long = (!long.is_empty()).then(|| {
        let names = some(&long, MOST_NAMED);
        format!("The start-up takes longer than the command, and hides small differences: {names}.")
    });
    let apart = (!apart.is_empty()).then(|| {
        format!("CPU time and memory are not known where other processes do the work: {}.", some(&apart, MOST_NAMED))
    });
    let copies = "Each execution started in a fresh copy of the working directory.".to_string();
    long.into_iter().chain(apart).chain(found.fresh_copies.then_some(copies)).collect()
}

/// What programs get of an environment.
pub fn records<'a>() -> Spec<'a, Line<'a>> {
    Spec::hidden()
        .text("environment", |line: &Line| Some(inside(line.own)?.environment.clone()))
        .number("start_up", |line| Some(inside(line.own)?.start_up?[0]))
        .number("net", |line| net(line.own))
        .number("net_low", |line| Some(inside(line.own)?.net?[1]))
        .number("net_high", |line| Some(inside(line.own)?.net?[2]))
}
