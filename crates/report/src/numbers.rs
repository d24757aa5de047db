//! Numbers formatted for people.

pub use document::thousands;
use humantime::format_rfc3339_seconds;
use model::prose::plural;
use model::{Entries, Unit};
use std::time::{Duration, SystemTime};

/// `0.31`, `101.2`, `85,432`
pub fn nanoseconds(ns: f64) -> String {
    let magnitude = ns.abs();
    if magnitude >= 1e15 {
        // Twelve days per operation: not a measurement, and its digits would fill the screen.
        format!("{ns:.2e}")
    } else if magnitude < 10.0 {
        format!("{ns:.2}")
    } else if magnitude < 1000.0 {
        format!("{ns:.1}")
    } else {
        thousands(ns)
    }
}

/// Uses the digits of nanoseconds; `0` for what rounds to it.
pub fn count_text(value: f64) -> String {
    if value.abs() < 0.005 {
        "0".to_string()
    } else {
        nanoseconds(value)
    }
}

/// `2,731`, `2,731.6`; repeats that differ make tenths.
pub fn instructions(count: f64) -> String {
    let tenths = (count.abs() * 10.0).round();
    if tenths >= 1e15 || tenths % 10.0 == 0.0 {
        return if tenths >= 1e15 {
            format!("{count:.2e}")
        } else {
            thousands(count)
        };
    }
    let sign = if count < 0.0 { "-" } else { "" };
    format!(
        "{sign}{}.{:.0}",
        thousands((tenths / 10.0).floor()),
        tenths % 10.0
    )
}

/// The digits that suit the unit, without its name.
pub fn in_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => nanoseconds(value),
        Unit::Instructions => instructions(value),
    }
}

/// `101.2 ns`, `2,731 instr`
pub fn with_unit(value: f64, unit: Unit) -> String {
    format!("{} {}", in_unit(value, unit), short_name(unit))
}

/// `ns/op`, `instr/op`
pub fn per_operation(unit: Unit) -> String {
    format!("{}/op", short_name(unit))
}

fn short_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::Instructions => "instr",
    }
}

/// Puts a `+` before values above 0; `text` writes the sign of negative ones.
pub fn signed(value: f64, text: impl Fn(f64) -> String) -> String {
    format!("{}{}", if value > 0.0 { "+" } else { "" }, text(value))
}

/// `1 call`, `2,731 calls`
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {}", thousands(number as f64), plural(number, noun))
}

pub fn in_seconds(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e9)
}

/// `4.55`, `0.0312`, `0.000152`: seconds of a column.
pub fn seconds(value: f64) -> String {
    match value.abs() {
        // Thirty thousand years: its digits would fill the screen.
        v if v >= 1e12 => format!("{value:.2e}"),
        v if v >= 1000.0 => thousands(value),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.01 => format!("{value:.4}"),
        _ => significant(value),
    }
}

/// `4.55 s`, `0.0312 s`, `8.58 ms`, `85.8 us`: a time in a sentence.
pub fn duration(value: f64) -> String {
    match value.abs() {
        v if v == 0.0 || v >= 0.01 => format!("{} s", seconds(value)),
        v if v >= 1e-3 => format!("{} ms", significant(value * 1e3)),
        _ => format!("{} us", significant(value * 1e6)),
    }
}

/// `9.88M`, `12.3k`, `950`
pub fn rate(per_second: f64) -> String {
    prefixed(per_second, [(1e9, "G"), (1e6, "M"), (1e3, "k")])
}

fn prefixed(value: f64, units: [(f64, &str); 3]) -> String {
    let (unit, letter) = units
        .into_iter()
        .find(|(unit, _)| value >= *unit)
        .unwrap_or((1.0, ""));
    format!("{}{letter}", three_figures(value / unit))
}

/// `1.02`, `85.4`, `4,321`
pub fn three_figures(value: f64) -> String {
    match value.abs() {
        v if v < 10.0 => format!("{value:.2}"),
        v if v < 100.0 => format!("{value:.1}"),
        _ => thousands(value),
    }
}

/// [`three_figures`], also below 1: `0.0312`.
pub fn significant(value: f64) -> String {
    match value.abs() {
        v if v == 0.0 || !v.is_finite() => format!("{value:.0}"),
        v if v < 1.0 => format!(
            "{value:.*}",
            (2.0 - v.log10().floor()).clamp(0.0, 12.0) as usize
        ),
        _ => three_figures(value),
    }
}

#[derive(Clone, Copy)]
pub struct TimeUnit {
    name: &'static str,
    per_second: f64,
    digits: usize,
}

impl TimeUnit {
    /// The largest unit that `seconds` reaches.
    pub fn for_seconds(seconds: f64) -> TimeUnit {
        match seconds {
            v if v == 0.0 || v >= 1.0 => TimeUnit {
                name: "s",
                per_second: 1.0,
                digits: 4,
            },
            v if v >= 1e-3 => TimeUnit {
                name: "ms",
                per_second: 1e3,
                digits: 3,
            },
            _ => TimeUnit {
                name: "us",
                per_second: 1e6,
                digits: 1,
            },
        }
    }

    /// `on CPU ms`: a column's title, so that cells need no unit.
    pub fn title(self, what: &str) -> String {
        format!("{what} {}", self.name)
    }

    /// `3.142 ms`
    pub fn with_name(self, seconds: f64) -> String {
        format!("{} {}", self.text(seconds), self.name)
    }

    /// The number alone, with the digits of this unit.
    pub fn text(self, seconds: f64) -> String {
        format!("{:.*}", self.digits, seconds * self.per_second)
    }

    /// `0 to 3`, `1.2 to 6.5`: with two figures of the larger end.
    pub fn range(self, ends: [f64; 2]) -> String {
        let [low, high] = ends.map(|seconds| seconds * self.per_second);
        let digits = (1.0 - high.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{low:.digits$} to {high:.digits$}")
    }
}

/// Uses the suffixes of parameters: `210K`, `1.25M`, `12.3`.
pub fn size(value: f64) -> String {
    prefixed(
        value,
        [
            (2f64.powi(30), "G"),
            (2f64.powi(20), "M"),
            (2f64.powi(10), "K"),
        ],
    )
}

/// `2.3`, from 10 on `12`.
pub fn percent(value: f64) -> String {
    if value < 9.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// [`percent`] with its sign.
pub fn in_percent(value: f64) -> String {
    format!("{}%", percent(value))
}

/// How far a next value may be from this one: `4.2%`, or `> 100%` if hardly anything is known.
pub fn half_width(percent: f64) -> String {
    if percent > 100.0 {
        "> 100%".to_string()
    } else {
        in_percent(percent)
    }
}

/// `2026-03-01 10:00`, in UTC; the number itself if the calendar does not reach it.
pub fn date(unix_s: u64) -> String {
    if unix_s >= YEAR_10000_UNIX_S {
        return format!("{unix_s} s after 1970");
    }
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s);
    format_rfc3339_seconds(time).to_string()[..16].replace('T', " ")
}

/// From here on, years have five digits.
const YEAR_10000_UNIX_S: u64 = 253_402_300_800;

const MOST_NAMES: usize = 4;

/// `openat x1 close x1`; of many names the first few and the number of others.
pub fn entries(entries: &Entries) -> String {
    let words: Vec<String> = entries.to_string().split(' ').map(with_thousands).collect();
    // Names and counts alternate.
    if words.len() <= 2 * MOST_NAMES {
        return words.join(" ");
    }
    let more = words.len() / 2 - MOST_NAMES;
    let total = entries.total();
    let total = if total.fract() == 0.0 {
        thousands(total)
    } else {
        three_figures(total)
    };
    format!(
        "{} +{}, {total} in all",
        words[..2 * MOST_NAMES].join(" "),
        counted(more as u64, "name")
    )
}

fn with_thousands(count: &str) -> String {
    count
        .strip_prefix("x1/")
        .and_then(|n| n.parse().ok())
        .map_or_else(|| count.to_string(), |n| format!("x1/{}", thousands(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_they_reach() {
        let shown = [12.5, 0.3246, 0.00858, 0.0000858, 0.0].map(duration);
        assert_eq!(
            shown,
            ["12.50 s", "0.3246 s", "8.58 ms", "85.8 us", "0.00 s"]
        );
        assert_eq!(
            [1, 2731].map(|calls| counted(calls, "call")),
            ["1 call", "2,731 calls"]
        );
    }

    #[test]
    fn the_largest_time_decides_the_unit_of_a_table() {
        fn shown(largest: f64, seconds: f64) -> (String, String) {
            let unit = TimeUnit::for_seconds(largest);
            (unit.title("on CPU"), unit.text(seconds))
        }

        assert_eq!(shown(12.0, 0.05), ("on CPU s".into(), "0.0500".into()));
        assert_eq!(shown(0.05, 80e-6), ("on CPU ms".into(), "0.080".into()));
        assert_eq!(shown(80e-6, 80e-6), ("on CPU us".into(), "80.0".into()));
        assert_eq!(shown(0.0, 0.0), ("on CPU s".into(), "0.0000".into()));
    }

    fn written(format: fn(f64) -> String, values: &[f64]) -> String {
        values
            .iter()
            .map(|value| format(*value))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn numbers_for_people() {
        let ns = [0.312, 9.996, 101.23, 999.9, 1000.0, 85432.1, 1e7, 1.5e290];
        assert_eq!(
            written(nanoseconds, &ns),
            "0.31 10.00 101.2 999.9 1,000 85,432 10,000,000 1.50e290"
        );
        let rates = written(rate, &[9.88e6, 12345.0, 950.0, 3.2e9, 0.5]);
        assert_eq!(rates, "9.88M 12.3k 950 3.20G 0.50");
        let counts = written(
            instructions,
            &[327.0, 2731.6, 2731.96, 0.04, -12.5, 1.5e290],
        );
        assert_eq!(counts, "327 2,731.6 2,732 0 -12.5 1.50e290");
        let few = written(significant, &[0.03124, -0.5, 0.0, 1.5, 4321.0, 1e-9]);
        assert_eq!(few, "0.0312 -0.500 0 1.50 4,321 0.00000000100");
        assert_eq!(
            written(size, &[215040.0, 1310720.0, 12.34]),
            "210K 1.25M 12.3"
        );
        assert_eq!(
            written(|v| signed(v, thousands), &[1234.0, -1234.0, 0.0]),
            "+1,234 -1,234 0"
        );
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix_s, expected) in [
            (0, "1970-01-01 00:00"),
            (951_782_400, "2000-02-29 00:00"),
            (951_868_800, "2000-03-01 00:00"),
            (1_735_689_599, "2024-12-31 23:59"),
            (4_107_542_400, "2100-03-01 00:00"),
            (u64::MAX, "18446744073709551615 s after 1970"),
        ] {
            assert_eq!(date(unix_s), expected);
        }
    }

    #[test]
    fn many_entries_are_counted() {
        let many: Entries = (0..9).map(|i| (format!("call{i}"), 1.0)).collect();
        assert_eq!(
            entries(&many),
            "call0 x1 call1 x1 call2 x1 call3 x1 +5 names, 9 in all"
        );
        assert_eq!(entries(&Entries::default()), "none");
    }
}
