//! Which cases are in the same matrix: all, or, if the same names were measured with several sets of parameters, those
//! with the same set, like a loop around cmpthese.

use super::LONGEST_NOTE;
use crate::numbers::instructions;
use crate::run::columns::environments;
use analysis::summary::{Row, RowCost, RowFigure, Summary};
use model::clean::cut;
use model::{Case, Measurement, Record, Run, grouped};

const LONGEST_NAME: usize = 200;

#[derive(Debug, Default)]
pub struct Group<'a> {
    /// The parameters that they share, if there are several groups.
    pub heading: String,
    pub timings: Vec<Timing<'a>>,
    /// Cases without a time, with the reason.
    pub others: Vec<(String, String)>,
}

/// One case in Benchmark's terms.
#[derive(Debug)]
pub struct Timing<'a> {
    pub name: String,
    /// Waits included. More than 0.
    pub rate: f64,
    pub measurement: Option<&'a Measurement>,
}

/// The shortest time that has a rate, in nanoseconds.
const SHORTEST_NS: f64 = 1e-6;

impl<'a> Timing<'a> {
    fn new(name: String, figure: &RowCost, record: &'a Record) -> Timing<'a> {
        let rate = 1e9 / figure.median.0.max(SHORTEST_NS);
        Timing {
            name,
            rate: rate.max(f64::MIN_POSITIVE),
            measurement: record.outcome.measurement(),
        }
    }
}

type Pair<'a> = (&'a Row, &'a Record);

/// The groups of cases that have a matrix of their own.
pub fn groups<'a>(run: &'a Run, summary: &'a Summary) -> Vec<Group<'a>> {
    let pairs: Vec<Pair> = summary.rows.iter().zip(run.asked()).collect();
    let sets = grouped(pairs.iter().map(|pair| (&pair.0.case.params, *pair)));
    let environments = environments(summary).len() > 1;
    let several = sets.len() > 1 && sets.values().all(|members| members.len() > 1);
    if !several {
        return vec![group(String::new(), &pairs, true, environments)];
    }
    sets.iter()
        .map(|(params, members)| group(document::params(*params), members, false, environments))
        .collect()
}

fn group<'a>(heading: String, members: &[Pair<'a>], params: bool, environments: bool) -> Group<'a> {
    let mut group = Group {
        heading,
        ..Group::default()
    };
    let mut counted = Vec::new();
    for (row, record) in members {
        let name = name(&row.case, params, environments);
        match &row.figure {
            Ok(RowFigure::Time(cost)) => group.timings.push(Timing::new(name, cost, record)),
            Ok(RowFigure::Instructions(count)) => {
                let count = instructions(count.per_operation);
                counted.push((name, format!("{count} instructions, no time")));
            }
            Err(failure) => {
                let why = cut(&failure.message, LONGEST_NOTE);
                group.others.push((name, format!("not measured: {why}")));
            }
        }
    }
    group.others.extend(counted);
    group.timings.sort_by(|a, b| a.name.cmp(&b.name));
    group
}

/// Includes parameters and environment if they distinguish cases.
fn name(case: &Case, params: bool, environments: bool) -> String {
    let mut named = case.clone();
    if !params {
        named.params.clear();
    }
    let mut name = named.to_string();
    if environments {
        name += &format!(" ({})", case.environment);
    }
    cut(&name, LONGEST_NAME)
}
