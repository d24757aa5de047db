//! Cost models and crossovers in words for the notes below a table.

use crate::numbers::{in_percent, nanoseconds, significant, size};
use analysis::fit::{
    Coefficient, CostModel, Crossing, Family, FitWarning, Member, NoModel, Overtaking, Pair,
};
use model::{has_larger_unit, parameter_value};

/// `io.read_zero: fixed 153 ns (150 .. 156) + 0.031 ns per unit of size (0.030 .. 0.032); residual 2%`
pub fn model(member: &Member, parameter: &str) -> String {
    let label = member.series.label();
    match &member.model {
        Err(why) => format!("{label}: no cost model: {}", no_model(why)),
        Ok(line) => format!(
            "{label}: fixed {} ns{} + {} ns per unit of {parameter}{}{}; residual {}, largest {} at {}",
            nanoseconds(line.fixed.ns),
            range(&line.fixed, nanoseconds),
            significant(line.per_unit.ns),
            range(&line.per_unit, significant),
            if includes_zero(&line.per_unit) {
                ", not significantly different from 0"
            } else {
                ""
            },
            in_percent(100.0 * line.residual),
            in_percent(100.0 * line.worst.residual),
            parameter_value(parameter, line.worst.value)
        ),
    }
}

fn no_model(why: &NoModel) -> String {
    match why {
        NoModel::TooFewValues { values } => {
            format!("a line needs 3 values with a cost; only {values} have one")
        }
        NoModel::TooManyValues { values, most } => {
            format!("{values} values are more than the {most} that are fitted")
        }
        NoModel::TooClose => "the values are too close to each other for a line".to_string(),
    }
}

fn range(c: &Coefficient, text: fn(f64) -> String) -> String {
    c.interval.map_or(String::new(), |i| {
        format!(" ({} .. {})", text(i.low), text(i.high))
    })
}

fn includes_zero(c: &Coefficient) -> bool {
    c.interval.is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high)
}

pub fn warnings(line: &CostModel) -> Vec<String> {
    line.warnings.iter().map(warning).collect()
}

fn warning(warning: &FitWarning) -> String {
    match warning {
        FitWarning::FewValues { values } => {
            format!("with {values} values the residual of a line says little; measure more values")
        }
    }
}

const MOST_PAIRS: usize = 3;

pub fn crossovers(family: &Family) -> Vec<String> {
    let crosses = |pair: &&Pair| matches!(pair.overtaking, Overtaking::Crossings(_));
    let (crossing, others): (Vec<&Pair>, Vec<&Pair>) = family.pairs.iter().partition(crosses);
    let mut lines: Vec<String> = crossing
        .into_iter()
        .flat_map(|c| of_pair(family, c))
        .collect();
    if others.len() > MOST_PAIRS {
        lines.push(format!(
            "the other {} pairs do not cross within the measured values",
            others.len()
        ));
    } else {
        lines.extend(others.into_iter().flat_map(|c| of_pair(family, c)));
    }
    let left_out = family
        .members
        .len()
        .saturating_sub(analysis::fit::MOST_COMPARED);
    lines.extend(
        (left_out > 0).then(|| format!("the last {left_out} were not compared for crossovers")),
    );
    lines
}

fn of_pair(family: &Family, c: &Pair) -> Vec<String> {
    let [from, to] =
        [c.within.0, c.within.1].map(|value| parameter_value(&family.parameter, value));
    let within = format!("{} {from}..{to}", family.parameter);
    let label = |i: usize| label(family, i);
    match &c.overtaking {
        Overtaking::Crossings(crossings) => crossings
            .iter()
            .map(|crossing| overtaking(family, crossing))
            .collect(),
        Overtaking::AlwaysFaster(i) => {
            let other = label(if *i == c.a { c.b } else { c.a });
            vec![format!(
                "{other} does not overtake {} within {within}",
                label(*i)
            )]
        }
        Overtaking::Unresolved => {
            vec![format!(
                "{} and {} do not differ significantly within {within}",
                label(c.a),
                label(c.b)
            )]
        }
    }
}

/// `io.mmap overtakes io.read at size 210K, 95% 180K .. 250K; interpolated between 64K and 256K`
fn overtaking(family: &Family, crossing: &Crossing) -> String {
    let number = if has_larger_unit(&family.parameter) {
        significant
    } else {
        size
    };
    let interval = crossing
        .interval
        .map(|i| format!(", 95% {} .. {}", number(i.low), number(i.high)));
    let place = format!(
        "{} {}{}",
        family.parameter,
        number(crossing.at),
        interval.unwrap_or_default()
    );
    let (low, high) = crossing.between;
    let [low, high] = [low, high].map(|value| parameter_value(&family.parameter, value));
    let who = format!(
        "{} overtakes {}",
        label(family, crossing.faster_above),
        label(family, crossing.faster_below)
    );
    format!("{who} at {place}; interpolated between {low} and {high}")
}

pub fn label(family: &Family, index: usize) -> String {
    family
        .members
        .get(index)
        .map_or(String::new(), |member| member.series.label())
}
