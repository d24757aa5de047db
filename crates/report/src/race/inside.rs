//! One command in several environments: what to know of their start-up.

use super::cells::{Line, label};
use crate::Spec;
use analysis::compare::{InsideResult, RaceFound, RaceResult, Versus};
use model::prose::some;

pub const WHAT: &str = "start-up: the extra time of an empty program there; first: the first execution there, before the rounds; \
     net: wall time without start-up: ";

const MOST_NAMED: usize = 4;

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
        let names = some(&long, MOST_NAMED);
        format!("The start-up takes longer than the command, and hides small differences: {names}.")
    });
    let apart = (!apart.is_empty()).then(|| {
        format!(
            "CPU time and memory are not known where other processes do the work: {}.",
            some(&apart, MOST_NAMED)
        )
    });
    let copies = "Each execution started in a fresh copy of the working directory.".to_string();
    long.into_iter()
        .chain(apart)
        .chain(found.fresh_copies.then_some(copies))
        .collect()
}

pub fn records<'a>() -> Spec<'a, Line<'a>> {
    Spec::hidden()
        .text("environment", |line: &Line| {
            Some(inside(line.own)?.environment.clone())
        })
        .number("start_up", |line| Some(inside(line.own)?.start_up?[0]))
        .number("net", |line| net(line.own))
        .number("net_low", |line| Some(inside(line.own)?.net?[1]))
        .number("net_high", |line| Some(inside(line.own)?.net?[2]))
}
