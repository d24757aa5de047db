//! Cost models and crossovers in words: the same under a table and in the JSON document.

use crate::fit::{Coefficient, Comparison, Crossing, Family, Line, Member, Misfit, Verdict};
use crate::model::Size;
use crate::report::numbers::{nanoseconds, significant, size};

/// `io.read_zero: fixed 153 ns (150 .. 156) + 0.031 ns per unit of size (0.030 .. 0.032); residual 2%`
pub fn model(member: &Member, parameter: &str) -> String {
    let label = member.series.label();
    match &member.line {
        Err(reason) => format!("{label}: no cost model: {reason}"),
        Ok(line) => format!(
            "{label}: fixed {} + {} per unit of {parameter}{}{}; residual {}, largest {} at {}",
            coefficient(&line.fixed, nanoseconds),
            number(&line.per_unit, significant),
            range(&line.per_unit, significant),
            if may_be_none(&line.per_unit) { ", which may be none" } else { "" },
            percent(line.residual),
            percent(line.worst.residual),
            Size(line.worst.value)
        ),
    }
}

fn coefficient(c: &Coefficient, text: fn(f64) -> String) -> String {
    format!("{}{}", number(c, text), range(c, text))
}

fn number(c: &Coefficient, text: fn(f64) -> String) -> String {
    format!("{} ns", text(c.ns))
}

fn range(c: &Coefficient, text: fn(f64) -> String) -> String {
    c.interval.map_or(String::new(), |i| format!(" ({} .. {})", text(i.low), text(i.high)))
}

/// Whether the interval holds 0.
fn may_be_none(c: &Coefficient) -> bool {
    c.interval.is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high)
}

fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value < 9.95 { format!("{value:.1}%") } else { format!("{value:.0}%") }
}

/// Why a line is no good model; `None` where it fits.
pub fn warning(line: &Line, parameter: &str) -> Option<String> {
    let what = match line.misfit? {
        Misfit::Step { between: (low, high), per_unit: (below, above) } => {
            let verb = if above > below { "rises" } else { "falls" };
            let (below, above) = (significant(below), significant(above));
            let guess = if parameter == "size" && verb == "rises" { guess(low, high) } else { "" };
            format!("cost per unit {verb} from {below} to {above} ns at {}..{}{guess}", Size(low), Size(high))
        }
        Misfit::Alone { value, times } => {
            format!("the cost at {} alone is {} times what the line says", Size(value), significant(times))
        }
    };
    Some(format!("the line does not fit: {what}"))
}

/// Caches of less than 16K are not made any more, and pages are of 4K or more.
fn guess(low: u64, high: u64) -> &'static str {
    match (low, high) {
        (_, 16_385..) => ": a cache size?",
        (..=4096, 4097..) => ": the page size?",
        _ => "",
    }
}

/// Pairs that do not cross are told one by one up to this many.
const MOST_PAIRS: usize = 3;

/// Which strategy overtakes which, and where.
pub fn crossovers(family: &Family) -> Vec<String> {
    let crosses = |c: &&Comparison| matches!(c.verdict, Verdict::Crossings(_));
    let (crossing, still): (Vec<&Comparison>, Vec<&Comparison>) = family.comparisons.iter().partition(crosses);
    let mut lines: Vec<String> = crossing.into_iter().flat_map(|c| comparison(family, c)).collect();
    if still.len() > MOST_PAIRS {
        lines.push(format!("the other {} pairs do not cross within the values measured", still.len()));
    } else {
        lines.extend(still.into_iter().flat_map(|c| comparison(family, c)));
    }
    let left_out = family.members.len().saturating_sub(crate::fit::MOST_COMPARED);
    lines.extend((left_out > 0).then(|| format!("the last {left_out} were not looked at for crossovers")));
    lines
}

fn comparison(family: &Family, c: &Comparison) -> Vec<String> {
    let within = format!("{} {}..{}", family.parameter, Size(c.within.0), Size(c.within.1));
    let label = |i: usize| label(family, i);
    match &c.verdict {
        Verdict::Crossings(crossings) => crossings.iter().map(|crossing| overtaking(family, crossing)).collect(),
        Verdict::Cheaper(i) => {
            let other = label(if *i == c.a { c.b } else { c.a });
            vec![format!("{other} does not overtake {} within {within}", label(*i))]
        }
        Verdict::Unresolved => vec![format!("{} and {} cannot be told apart within {within}", label(c.a), label(c.b))],
    }
}

/// `io.mmap overtakes io.read at size 210K, 95% 180K .. 250K; interpolated between 64K and 256K`
fn overtaking(family: &Family, crossing: &Crossing) -> String {
    let interval = crossing.interval.map(|i| format!(", 95% {} .. {}", size(i.low), size(i.high)));
    let place = format!("{} {}{}", family.parameter, size(crossing.at), interval.unwrap_or_default());
    let (low, high) = (Size(crossing.between.0), Size(crossing.between.1));
    let who = format!("{} overtakes {}", label(family, crossing.faster_above), label(family, crossing.faster_below));
    format!("{who} at {place}; interpolated between {low} and {high}")
}

/// The name of a member.
pub fn label(family: &Family, index: usize) -> String {
    family.members.get(index).map_or(String::new(), |member| member.series.label())
}
