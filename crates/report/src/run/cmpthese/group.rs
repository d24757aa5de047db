//! Which cases are in the same matrix: all, or, if the same names were measured with several sets of parameters, those
//! with the same set, like a loop around cmpthese.

use super::Timing;
use crate::run::columns::environments;
use analysis::summary::{Instructions, Row, RowFigure, Summary};
use model::clean::cut;
use model::{Case, Failure, Record, Run, grouped};

const LONGEST_NAME: usize = 200;

#[derive(Debug, Default)]
pub struct Group<'a> {
    /// The parameters that they share, if there are several groups.
    pub heading: String,
    pub timings: Vec<Timing<'a>>,
    pub failures: Vec<(String, &'a Failure)>,
    /// Instructions have no rate.
    pub counted: Vec<(String, Instructions)>,
}

type Pair<'a> = (&'a Row, &'a Record);

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
    for (row, record) in members {
        let name = name(&row.case, params, environments);
        match &row.figure {
            Ok(RowFigure::Time(cost)) => group.timings.push(Timing::of(name, cost, record)),
            Ok(RowFigure::Instructions(count)) => group.counted.push((name, *count)),
            Err(failure) => group.failures.push((name, failure)),
        }
    }
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
