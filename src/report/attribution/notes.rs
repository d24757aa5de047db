//! Seconds with their range in words, and the conclusions below a comparison. The tables of attributions call it.

use crate::attribute::change::{Change, Unpriced};
use crate::attribute::spread::Seconds;
use crate::prose::some;
use crate::report::attribution::verdict::verdict;
use crate::report::numbers::thousands;

/// Seconds with so many decimals that tenths of milliseconds show only where they matter: `4.55`, `0.0312`.
pub fn seconds(value: f64) -> String {
    match value.abs() {
        // Thirty thousand years: its digits would fill the screen.
        v if v >= 1e12 => format!("{value:.2e}"),
        v if v >= 1000.0 => thousands(value),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// `2.28 to 9.10`; empty where the value is known exactly, or as exactly as it is shown.
pub fn range(time: Seconds) -> String {
    let (low, high) = (seconds(time.low), seconds(time.high));
    if low == high { String::new() } else { format!("{low} to {high}") }
}

/// Calls without unit cost that are named.
const NAMED: usize = 8;

const BRACKETS: &str =
    "Crossings are calls x cost of a null call; other: of calls without a unit cost. In brackets: beside the total.";

/// What stands below a comparison: wall time, what is kept out, the conclusions.
pub fn notes(change: &Change) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(change.crossings.as_ref().map(|_| BRACKETS.to_string()));
    notes.extend(change.wall.map(|wall| {
        format!(
            "Wall time: {} s here as traced, {} s there ({}), if waiting stays as it is.",
            seconds(wall.here_s),
            seconds(wall.there_s.value),
            range(wall.there_s)
        )
    }));
    let blocked = change.blocked_s.filter(|blocked| *blocked > 0.0);
    notes.extend(blocked.map(|s| format!("Blocked in calls: {} s, not predicted.", seconds(s))));
    notes.extend(unpriced(change));
    notes.extend(verdict(change));
    notes
}

/// `Without a unit cost, kept out: keyctl (12 calls, 0.0031 s), ...`
fn unpriced(change: &Change) -> Option<String> {
    let all = &change.unpriced;
    let one = |Unpriced { call, calls, on_cpu_s }: &Unpriced| {
        let time = on_cpu_s.map_or_else(String::new, |time| format!(", {} s", seconds(time)));
        format!("{call} ({} calls{time})", thousands(*calls as f64))
    };
    let calls = some(&all.iter().map(one).collect::<Vec<_>>(), NAMED);
    (!all.is_empty()).then(|| format!("Without a unit cost on both sides, kept out: {calls}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_shown_where_they_have_a_width() {
        assert_eq!(range(Seconds::exactly(3.0)), "");
        assert_eq!(range(Seconds { value: 4.552, low: 2.276, high: 9.104 }), "2.28 to 9.10");
        assert_eq!([4.552, 0.03125, 0.0, 12345.0].map(seconds), ["4.55", "0.0312", "0.00", "12,345"]);
    }
}
