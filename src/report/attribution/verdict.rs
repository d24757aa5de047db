//! What stands below an attribution's comparison, in sentences: what is left out, which calls take more or less time there, and
//! whether that explains anything. The tables of attributions call it.

use crate::attribute::change::{Change, ChangeLine, UnpricedCall, Wall};
use crate::attribute::spread::Seconds;
use crate::prose::some;
use crate::report::attribution::notes::{line, range, seconds};
use crate::report::numbers::thousands;

/// Seconds that make a difference of minutes.
const MINUTE: f64 = 60.0;

/// Lines under this share of the total change get no sentence.
const WORTH_NAMING: f64 = 0.05;

/// Calls without unit cost that are named.
const NAMED: usize = 8;

const CROSSINGS: &str = "Crossings are calls x cost of a null call; \"other\" are those of calls without a unit cost. Lines in \
                         parentheses are not part of the total.";

/// What stands below a comparison: wall time, what is left out, the conclusions.
pub fn notes(change: &Change) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(change.crossings.as_ref().map(|_| CROSSINGS.to_string()));
    notes.extend(change.wall.map(|Wall { here_s, there_s }| {
        let (here, value, range) = (seconds(here_s), seconds(there_s.value), range(there_s));
        format!("Wall time: {here} s here as traced, {value} s there ({range}), if blocked time stays the same.")
    }));
    let blocked = change.blocked_s.filter(|blocked| *blocked > 0.0);
    notes.extend(blocked.map(|s| format!("Blocked in calls: {} s, not predicted.", seconds(s))));
    notes.extend(unpriced(&change.unpriced));
    notes.extend(verdict(change));
    notes
}

/// `Left out, without a unit cost on both sides: keyctl (12 calls, 0.0031 s), ...`
fn unpriced(all: &[UnpricedCall]) -> Option<String> {
    let one = |call: &UnpricedCall| {
        let time = call.on_cpu_s.map_or_else(String::new, |time| format!(", {} s", seconds(time)));
        format!("{} ({} calls{time})", call.call, thousands(call.calls as f64))
    };
    let calls = some(&all.iter().map(one).collect::<Vec<_>>(), NAMED);
    (!all.is_empty()).then(|| format!("Left out, without a unit cost on both sides: {calls}."))
}

/// A sentence for each family of calls and one for bare calls, where they matter, and a conclusion.
pub fn verdict(change: &Change) -> Vec<String> {
    let total = change.total.change;
    let matters = |line: &&ChangeLine| line.change.value.abs() > WORTH_NAMING * total.value.abs();
    let families = change.families.iter().filter(matters);
    let mut sentences: Vec<String> = families.map(|family| sentence(line(family).0, family.change)).collect();
    sentences.extend(change.crossings.iter().filter(matters).map(|line| sentence("the bare calls", line.change)));
    sentences.push(match change.wall {
        Some(wall) if wall.here_s > 0.0 => of_wall(total, wall.here_s),
        _ => conclusion(total),
    });
    sentences
}

/// `+0.37 s in all, between +0.26 and +0.59 s: 9.2% of the wall time here.`
fn of_wall(change: Seconds, wall: f64) -> String {
    let percent = |value: f64| 100.0 * value / wall;
    format!(
        "{:+.2} s of CPU time in all, between {:+.2} and {:+.2} s: {:+.1}% of the wall time here, between {:+.1}% and {:+.1}%.",
        change.value,
        change.low,
        change.high,
        percent(change.value),
        percent(change.low),
        percent(change.high)
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
    match least >= MINUTE {
        true => format!("{range}: these calls explain a difference of minutes."),
        false => format!("{range}: inconclusive whether these calls explain a difference of minutes."),
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
