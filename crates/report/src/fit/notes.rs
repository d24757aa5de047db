//! Lines and crossovers in words for the notes below a table.

use crate::numbers::{in_percent, nanoseconds, significant};
use analysis::fit::{Coefficient, Crossing, FARTHEST, Family, Member, Overtaking, Pair};
use model::parameter_value;
use model::prose::{few, note_on};

/// `io.read_zero: 153 ns (150 .. 156) + 0.031 ns per unit of size (0.030 .. 0.032)`
pub fn lines(family: &Family) -> Vec<String> {
    // Two costs always lie on a line, which shows nothing.
    let members = family.members.iter().filter(|member| {
        let points = &member.series.points;
        points.iter().filter(|point| point.cost.is_some()).count() >= 3
    });
    let members: Vec<&Member> = members.collect();
    let mut lines: Vec<String> = members
        .iter()
        .filter_map(|member| {
            let line = member.line?;
            let fixed = format!(
                "{}: {} ns{}",
                member.series.label(),
                nanoseconds(line.fixed.ns),
                range(&line.fixed, nanoseconds)
            );
            if member.is_constant() {
                return Some(format!("{fixed}, constant over {}", family.parameter));
            }
            Some(format!(
                "{fixed} {} {} ns per unit of {}{}",
                if line.per_unit.ns < 0.0 { '-' } else { '+' },
                significant(line.per_unit.ns.abs()),
                family.parameter,
                range(&line.per_unit, significant)
            ))
        })
        .collect();
    if members.iter().any(|member| {
        member
            .line
            .is_some_and(|line| line.fixed.next_run.is_some())
    }) {
        lines.push("in parentheses: 95% interval for the next run's line".to_string());
    }
    let without = members.iter().filter(|member| member.line.is_none());
    let text = format!(
        "no straight line fits all costs within {}",
        in_percent(100.0 * FARTHEST)
    );
    lines.extend(note_on(&text, without.map(|member| member.series.label())));
    lines
}

fn range(c: &Coefficient, text: fn(f64) -> String) -> String {
    c.next_run.map_or(String::new(), |i| {
        format!(" ({} .. {})", text(i.low), text(i.high))
    })
}

const MOST_PAIRS: usize = 3;

/// Where strategies overtake each other. Pairs that never do are summed if there are many.
pub fn crossovers(family: &Family) -> Vec<String> {
    let (crossing, others): (Vec<&Pair>, Vec<&Pair>) = family
        .pairs
        .iter()
        .partition(|pair| matches!(pair.overtaking, Overtaking::Crossings(_)));
    let mut lines: Vec<String> = crossing
        .into_iter()
        .flat_map(|c| of_pair(family, c))
        .collect();
    if others.len() > MOST_PAIRS {
        let other = if lines.is_empty() { "" } else { "other " };
        lines.push(format!(
            "no crossover in the {other}{} pairs within the measured values, as far as is certain",
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
    let [from, to] = values(family, c.within);
    let within = format!("{} {from}..{to}", family.parameter);
    let not_compared = named(family, "not compared at", &c.not_compared);
    match &c.overtaking {
        Overtaking::Crossings(crossings) => crossings
            .iter()
            .map(|crossing| overtaking(family, crossing))
            .collect(),
        Overtaking::AlwaysFaster(i) => {
            let other = if *i == c.a { c.b } else { c.a };
            vec![format!(
                "no crossover between {} and {} for {within}: the first is faster{}",
                label(family, *i),
                label(family, other),
                named(family, "not known at", &c.not_known) + &not_compared
            )]
        }
        Overtaking::Unresolved => {
            vec![format!(
                "no crossover between {} and {} for {within}: which one is faster is not certain{not_compared}",
                label(family, c.a),
                label(family, c.b)
            )]
        }
    }
}

/// `; not known at fds 1, 10`; empty without values.
fn named(family: &Family, what: &str, values: &[u64]) -> String {
    let values = values.iter();
    let values = few(values.map(|value| parameter_value(&family.parameter, *value)));
    if values.is_empty() {
        return values;
    }
    format!("; {what} {} {values}", family.parameter)
}

/// `io.mmap overtakes io.read between size 64K and 256K`
fn overtaking(family: &Family, crossing: &Crossing) -> String {
    let [low, high] = values(family, crossing.between);
    format!(
        "{} overtakes {} between {} {low} and {high}",
        label(family, crossing.faster_above),
        label(family, crossing.faster_below),
        family.parameter
    )
}

fn values(family: &Family, between: (u64, u64)) -> [String; 2] {
    let (low, high) = between;

    [low, high].map(|value| parameter_value(&family.parameter, value))
}

fn label(family: &Family, index: usize) -> String {
    family
        .members
        .get(index)
        .map_or(String::new(), |member| member.series.label())
}
