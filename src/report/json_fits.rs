//! Cost models and crossovers as the JSON document shows them. Called by `json`.

use super::fit_words::{no_model, warnings};
use crate::fit::{Coefficient, CostModel, Crossing, Family, Member, Overtaking, Pair};
use crate::model::Case;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What varies in no way within a series of records.
#[derive(Serialize, JsonSchema)]
struct Strategy {
    /// Id of the operation, or text of the snippet.
    operation: String,
    /// The name that a study gives it.
    name: Option<String>,
    /// Language of a snippet.
    language: Option<String>,
    /// How the probe was built and started.
    environment: String,
    /// All parameters but the one that varies.
    params: BTreeMap<String, u64>,
}

/// The cost of one strategy as a line over one parameter: fixed + per_unit * value.
#[derive(Serialize, JsonSchema)]
pub struct FitDocument {
    #[serde(flatten)]
    strategy: Strategy,
    /// The parameter that varies.
    parameter: String,
    /// Values of the parameter that have a cost.
    values: usize,
    /// Unit of fixed (`ns`) and of per_unit (`ns` per unit of the parameter).
    unit: &'static str,
    /// Cost whatever the value; null where there is no line.
    fixed: Option<f64>,
    /// Lower end of its interval of at least 95%; null with fewer than 10 time blocks.
    fixed_low: Option<f64>,
    /// Upper end of it.
    fixed_high: Option<f64>,
    /// Cost for each unit of the parameter.
    per_unit: Option<f64>,
    /// Lower end of its interval of at least 95%; null with fewer than 10 time blocks.
    per_unit_low: Option<f64>,
    /// Upper end of it.
    per_unit_high: Option<f64>,
    /// Median of |cost / line - 1|.
    residual: Option<f64>,
    /// The largest of |cost / line - 1|.
    worst_residual: Option<f64>,
    /// The parameter's value there.
    worst_at: Option<u64>,
    /// Where the line does not fit, in words; null where it does.
    warning: Option<String>,
    /// Why there is no line; null where there is one.
    error: Option<String>,
}

/// Two strategies over one parameter: one such object for each crossover, or one with null in `at` for none.
#[derive(Serialize, JsonSchema)]
pub struct CrossoverDocument {
    /// The parameter.
    parameter: String,
    /// The smallest value that both were measured at.
    from: u64,
    /// The largest value that both were measured at.
    to: u64,
    /// One strategy.
    a: Strategy,
    /// The other one.
    b: Strategy,
    /// `a` or `b`, the cheaper one below `at`; of all values where there is no crossover; null where they cannot be told
    /// apart.
    cheaper_below: Option<&'static str>,
    /// `a` or `b`, the cheaper one above `at`, as before.
    cheaper_above: Option<&'static str>,
    /// The value of the parameter at which both cost the same; null for none.
    at: Option<f64>,
    /// Lower end of its interval of at least 95%; null with fewer than 10 time blocks.
    low: Option<f64>,
    /// Upper end of it.
    high: Option<f64>,
}

pub fn fits(families: &[Family]) -> Vec<FitDocument> {
    families.iter().flat_map(|family| family.members.iter().map(|member| fit(family, member))).collect()
}

pub fn crossovers(families: &[Family]) -> Vec<CrossoverDocument> {
    let of_one = |family| move |one: &Pair| pair(family, one);
    families.iter().flat_map(|family| family.pairs.iter().flat_map(of_one(family))).collect()
}

fn strategy(case: &Case) -> Strategy {
    Strategy {
        operation: case.operation.clone(),
        name: case.name.clone(),
        language: case.language.clone(),
        environment: case.environment.clone(),
        params: case.effective_params(),
    }
}

fn fit(family: &Family, member: &Member) -> FitDocument {
    let line = member.model.as_ref().ok();
    let number = |pick: fn(&CostModel) -> Coefficient| {
        let coefficient = line.map(pick);
        let interval = coefficient.and_then(|c| c.interval);
        (coefficient.map(|c| c.ns), interval.map(|i| i.low), interval.map(|i| i.high))
    };
    let (fixed, fixed_low, fixed_high) = number(|line| line.fixed);
    let (per_unit, per_unit_low, per_unit_high) = number(|line| line.per_unit);
    FitDocument {
        strategy: strategy(&member.series.case),
        parameter: family.parameter.clone(),
        values: member.series.points.iter().filter(|p| p.cost.is_some()).count(),
        unit: "ns",
        fixed,
        fixed_low,
        fixed_high,
        per_unit,
        per_unit_low,
        per_unit_high,
        residual: line.map(|l| l.residual),
        worst_residual: line.map(|l| l.worst.residual),
        worst_at: line.map(|l| l.worst.value),
        warning: line.map(|l| warnings(l, &family.parameter).join("; ")).filter(|text| !text.is_empty()),
        error: member.model.as_ref().err().map(no_model),
    }
}

fn pair(family: &Family, c: &Pair) -> Vec<CrossoverDocument> {
    let name = |i: usize| if i == c.a { "a" } else { "b" };
    match &c.overtaking {
        Overtaking::AlwaysFaster(i) => {
            vec![CrossoverDocument { cheaper_below: Some(name(*i)), cheaper_above: Some(name(*i)), ..apart(family, c) }]
        }
        Overtaking::Unresolved => vec![apart(family, c)],
        Overtaking::Crossings(crossings) => crossings.iter().map(|crossing| crossover(family, c, crossing)).collect(),
    }
}

fn crossover(family: &Family, c: &Pair, crossing: &Crossing) -> CrossoverDocument {
    let (below, above) = if crossing.overtakes == c.a { ("b", "a") } else { ("a", "b") };
    CrossoverDocument {
        cheaper_below: Some(below),
        cheaper_above: Some(above),
        at: Some(crossing.at),
        low: crossing.interval.map(|i| i.low),
        high: crossing.interval.map(|i| i.high),
        ..apart(family, c)
    }
}

/// A pair of which nothing is said.
fn apart(family: &Family, c: &Pair) -> CrossoverDocument {
    CrossoverDocument {
        parameter: family.parameter.clone(),
        from: c.within.0,
        to: c.within.1,
        a: strategy(&family.members[c.a].series.case),
        b: strategy(&family.members[c.b].series.case),
        cheaper_below: None,
        cheaper_above: None,
        at: None,
        low: None,
        high: None,
    }
}
