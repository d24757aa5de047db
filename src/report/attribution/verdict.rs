//! What stands below an attribution's comparison, in sentences: what is left out, which calls take more or less time there, and
//! whether that explains anything. The tables of attributions call it.

use crate::attribute::blocked::Blocked;
use crate::attribute::breakdown::Unpriced;
use crate::attribute::change::{Change, UnpricedCall};
use crate::attribute::lines::ChangeLine;
use crate::attribute::spread::Seconds;
use crate::attribute::waits;
use crate::attribute::wall::{Wall, WallKind, WallPart};
use crate::prose::some;
use crate::report::attribution::notes::{line, range, seconds};
use crate::report::numbers::{percent, thousands};

/// Seconds that make a difference of minutes.
const MINUTE: f64 = 60.0;

/// Lines under this share of the total change get no sentence.
const WORTH_NAMING: f64 = 0.05;

/// Calls without unit cost that are named.
const NAMED: usize = 8;

const CROSSINGS: &str = "Crossings are calls x cost of a null call. Lines in parentheses are not part of the total.";

/// What stands below a comparison: what is left out, the conclusions.
pub fn notes(change: &Change) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(change.crossings.as_ref().map(|_| CROSSINGS.to_string()));
    notes.extend(unpriced(change));
    notes.extend(verdict(change));
    notes
}

/// `Without a unit cost on both sides: keyctl (12 calls, 0.0031 s), ...`
fn unpriced(change: &Change) -> Option<String> {
    let one = |call: &UnpricedCall| {
        let time = call.on_cpu_s.map_or_else(String::new, |time| format!(", {} s", seconds(time)));
        format!("{} ({} calls{time})", call.call, thousands(call.calls as f64))
    };
    let calls = some(&change.unpriced.iter().map(one).collect::<Vec<_>>(), NAMED);
    let share = change.unpriced_share.map_or_else(String::new, |share| format!(" ({} of call time)", share_of(share)));
    (!change.unpriced.is_empty()).then(|| format!("Without a unit cost on both sides{share}: {calls}."))
}

/// `Without a unit cost: 3.1% of call time (keyctl, ...).`
pub fn without_unit_cost(unpriced: &Unpriced) -> Option<String> {
    let what = if unpriced.on_cpu_s.is_some() { "the calls' CPU time" } else { "the calls" };
    let share = unpriced.share?;
    if unpriced.names.is_empty() {
        return Some(format!("Every call has a unit cost: 0% of {what} is unpriced."));
    }
    Some(format!("Without a unit cost: {} of {what} ({}).", share_of(share), some(&unpriced.names, NAMED)))
}

fn share_of(share: f64) -> String {
    format!("{}%", percent(100.0 * share))
}

/// A sentence for each family of calls and one for bare calls, where they matter, and a conclusion.
pub fn verdict(change: &Change) -> Vec<String> {
    let total = change.total.change;
    let of_total = |line: &&ChangeLine| line.change.value.abs() > WORTH_NAMING * total.value.abs();
    let families = change.families.iter().filter(of_total);
    let mut sentences: Vec<String> = families.map(|family| sentence(line(family).0, family.change)).collect();
    sentences.extend(change.crossings.iter().filter(of_total).map(|line| sentence("the bare calls", line.change)));
    match change.wall.as_ref().filter(|wall| wall.here_s > 0.0) {
        Some(wall) => sentences.extend(of_wall(wall)),
        None => sentences.push(conclusion(total)),
    }
    sentences
}

/// What the wall time would be, in one sentence.
pub fn wall(change: &Change) -> String {
    let wall = change.wall.as_ref().filter(|wall| wall.here_s > 0.0);
    wall.and_then(|wall| of_wall(wall).into_iter().next()).unwrap_or_else(|| conclusion(change.total.change))
}

/// `Wall time: 4.00 s here as traced, 4.37 s there (4.26 to 4.59): +9.2%, between +6.4% and +14.8%.`, and why.
fn of_wall(wall: &Wall) -> Vec<String> {
    let (here, percent) = (wall.here_s, |there: f64| 100.0 * (there / wall.here_s - 1.0));
    let Some(there) = wall.there_s else {
        return vec![undecided(wall)];
    };
    let ends = [there.value, there.low, there.high].map(percent);
    let mut sentences = vec![format!(
        "Wall time: {} s here as traced, {} s there ({}): {:+.1}%, between {:+.1}% and {:+.1}%.",
        seconds(here),
        seconds(there.value),
        range(there),
        ends[0],
        ends[1],
        ends[2]
    )];
    let parts: Vec<String> = wall.parts.iter().filter(|part| matters(part, wall)).map(part).collect();
    sentences.extend((!parts.is_empty()).then(|| format!("That is {}.", parts.join("; "))));
    sentences
}

/// Parts of the wall time under this share of it are not named.
const WORTH_A_PART: f64 = 0.005;

fn matters(part: &WallPart, wall: &Wall) -> bool {
    let most = part.change.low.abs().max(part.change.high.abs());
    most > WORTH_A_PART * wall.here_s
}

/// `calls and faults on a CPU +0.37 s (+0.26 to +0.59)`
fn part(part: &WallPart) -> String {
    let what = match part.kind {
        WallKind::CpuTime { mean, .. } if mean > 1.005 => {
            format!("calls and faults on a CPU, {mean:.1} threads at a time on average")
        }
        WallKind::CpuTime { .. } => "calls and faults on a CPU".to_string(),
        WallKind::Waits => "waits with a unit cost".to_string(),
        WallKind::WakeUps => "waits for other threads".to_string(),
        WallKind::Pauses => "pauses".to_string(),
        WallKind::FewerCpus { here, there } => format!("{there} CPUs instead of {here}"),
        WallKind::UnpricedWaits => "waits without a unit cost, assumed to take as long".to_string(),
        WallKind::Speed => "the machine's speed, and code outside calls".to_string(),
    };
    let Seconds { value, low, high } = part.change;
    let sign = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, seconds(value));
    format!("{what} {} s ({} to {})", sign(value), sign(low), sign(high))
}

/// Waits decide the wall time and have no unit cost: what they are, and what to measure.
fn undecided(wall: &Wall) -> String {
    let one = |wait: &Blocked| format!("{} ({} s)", wait.call, seconds(wait.stalled_s.unwrap_or(wait.blocked_s)));
    let calls = some(&wall.unpriced_waits.iter().map(one).collect::<Vec<_>>(), NAMED);
    let mut operations: Vec<&str> =
        wall.unpriced_waits.iter().filter_map(|wait| waits::operation(&wait.call)).collect();
    operations.dedup();
    let measure = if operations.is_empty() {
        "no operation is like them".to_string()
    } else {
        format!("measure {} on both sides", operations.join(", "))
    };
    format!(
        "Wall time: {} s here as traced; it cannot be predicted without a unit cost of the waits in {calls}: {measure}.",
        seconds(wall.here_s)
    )
}

/// `The stat family: 4.55 s more there (2.28 to 9.10 s).` Without a range, the next round number above.
fn sentence(what: &str, change: Seconds) -> String {
    let direction = if change.value < 0.0 { "less" } else { "more" };
    let name = what[..1].to_uppercase() + &what[1..];
    let size = change.value.abs();
    if change.is_exact() {
        return format!("{name}: {size:.2} s {direction} there, so at most {} s.", round_up(size));
    }
    if change.low < 0.0 && change.high > 0.0 {
        return format!(
            "{name}: {:+.2} s there ({:+.2} to {:+.2} s): inconclusive.",
            change.value, change.low, change.high
        );
    }
    let (low, high) = (change.low.abs().min(change.high.abs()), change.low.abs().max(change.high.abs()));
    format!("{name}: {size:.2} s {direction} there ({low:.2} to {high:.2} s).")
}

/// The next number above with one significant digit: 8 for 7.2.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powf(value.log10().floor());
    // Multiplying or dividing by a whole number keeps the decimal form short.
    let digit = (value / unit - 1e-9).ceil();
    if unit >= 1.0 { digit * unit } else { digit / (1.0 / unit).round() }
}

fn conclusion(change: Seconds) -> String {
    let most = change.low.abs().max(change.high.abs());
    let range = format!("{:+.2} s in all, between {:+.2} and {:+.2} s", change.value, change.low, change.high);
    if most < MINUTE {
        return format!("{range}: these calls do not explain a difference of minutes.");
    }
    let least = if change.low < 0.0 && change.high > 0.0 { 0.0 } else { change.low.abs().min(change.high.abs()) };
    if least >= MINUTE {
        format!("{range}: these calls explain a difference of minutes.")
    } else {
        format!("{range}: inconclusive whether these calls explain a difference of minutes.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_up_to_one_digit() {
        assert_eq!([7.2, 8.0, 0.31, 45.0, 0.0].map(round_up), [8.0, 8.0, 0.4, 50.0, 0.0]);
    }

    #[test]
    fn conclusions_say_what_the_range_allows() {
        let end = |low, high| conclusion(Seconds { value: (low + high) / 2.0, low, high });
        assert!(end(5.0, 20.0).contains("do not explain"));
        assert!(end(-100.0, -70.0).contains("these calls explain"));
        assert!(end(-5.0, 70.0).contains("inconclusive"));
    }
}
