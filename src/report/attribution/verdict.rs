//! The conclusions of an attribution's comparison, in sentences: what is more or less there, and whether it explains
//! anything. The notes and the JSON of attributions call it.

use crate::attribute::change::{Change, Line};
use crate::attribute::spread::Seconds;

/// Differences under this many seconds are not one of minutes.
const MINUTE: f64 = 60.0;

/// What is under this share of the whole change is in no sentence.
const WORTH_NAMING: f64 = 0.05;

/// A sentence for each family of calls and one on bare calls, where they matter, and a conclusion. Nothing without a total.
pub fn verdict(change: &Change) -> Vec<String> {
    if change.here.is_none() {
        return vec!["Nothing can be compared without unit costs of this machine: say --costs FILE.".to_string()];
    }
    let Some(total) = &change.total else { return vec![] };
    let counts = |line: &&Line| line.change.value.abs() > WORTH_NAMING * total.change.value.abs();
    let families = change.families.iter().filter(counts);
    let mut words: Vec<String> = families.map(|family| sentence(&family.what, family.change)).collect();
    words.extend(change.crossings.iter().filter(counts).map(|line| sentence("the bare calls", line.change)));
    words.push(match change.wall {
        Some(wall) if wall.here_s > 0.0 => of_wall(total.change, wall.here_s),
        _ => conclusion(total.change),
    });
    words
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

/// `The stat family: 4.55 s more there (2.28 to 9.10 s).` Where no range is known, the next round number above.
fn sentence(what: &str, change: Seconds) -> String {
    let direction = if change.value < 0.0 { "less" } else { "more" };
    let name = what[..1].to_uppercase() + &what[1..];
    let size = change.value.abs();
    if change.is_exact() {
        return format!("{name}: {size:.2} s {direction} there, so at most {} s.", round_up(size));
    }
    if change.low < 0.0 && change.high > 0.0 {
        return format!(
            "{name}: {:+.2} s there ({:+.2} to {:+.2} s): more or less cannot be told.",
            change.value, change.low, change.high
        );
    }
    let (low, high) = (change.low.abs().min(change.high.abs()), change.low.abs().max(change.high.abs()));
    format!("{name}: {size:.2} s {direction} there ({low:.2} to {high:.2} s).")
}

/// The next number of one figure: 8 for 7.2.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powf(value.log10().floor());
    // Multiplied by a whole number or divided by one, a decimal stays as short as it is written.
    let figure = (value / unit - 1e-9).ceil();
    if unit >= 1.0 { figure * unit } else { figure / (1.0 / unit).round() }
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
        false => format!("{range}: whether these calls explain a difference of minutes cannot be told."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_up_to_one_figure() {
        assert_eq!([7.2, 8.0, 0.31, 45.0, 0.0].map(round_up), [8.0, 8.0, 0.4, 50.0, 0.0]);
    }

    #[test]
    fn conclusions_say_what_the_range_allows() {
        let end = |low, high| conclusion(Seconds { value: (low + high) / 2.0, low, high });
        assert!(end(5.0, 20.0).contains("do not explain"));
        assert!(end(-100.0, -70.0).contains("these calls explain"));
        assert!(end(-5.0, 70.0).contains("cannot be told"));
    }
}
