//! The extra time of a command's calls in an environment, by their unit costs.

use crate::numbers::{counted, duration, nanoseconds};
use analysis::attribute::bill::Bill;
use analysis::compare::{CauseOf, RaceFound, Versus};

/// ` Its calls add 40.1 us (22.3 us to 61.0 us): 3,185 calls x 12.6 ns, most in openat.`; empty without unit costs.
pub fn sentence(versus: &Versus) -> String {
    let Some(bill) = &versus.by_calls else {
        return String::new();
    };
    let [middle, low, high] = bill.added_s;
    if high <= 0.0 {
        return " Its calls add nothing.".to_string();
    }
    if low <= 0.0 {
        return format!(
            " Its calls add at most {}: {}.",
            duration(high),
            calls(bill, high)
        );
    }
    let [added, low, high] = bill.added_s.map(duration);
    format!(
        " Its calls add {added} ({low} to {high}): {}{}.{}",
        calls(bill, middle),
        most(bill),
        disagreement(versus, bill)
    )
}

/// If the race measured more or less than the calls add, beyond both intervals: by how much at least, and where.
fn disagreement(versus: &Versus, bill: &Bill) -> String {
    let Some([_, raced_low, raced_high]) = versus.difference else {
        return String::new();
    };
    let [_, low, high] = bill.added_s;
    if raced_low > high {
        let place = versus.causes.first().and_then(|cause| match &cause.kind {
            CauseOf::Calls { call } | CauseOf::TimePerCall { call } => Some(call.as_str()),
            _ => None,
        });
        let place = place.map_or("outside of them".to_string(), |call| format!("in {call}"));
        let more = duration(raced_low - high);
        format!(
            " The race measured at least {more} more; the largest part of its difference is {place}."
        )
    } else if raced_high < low {
        let less = duration(low - raced_high);
        format!(
            " The race measured at least {less} less; the largest part of the bill is {}.",
            bill.most
        )
    } else {
        String::new()
    }
}

/// `3,185 calls x 12.6 ns`
fn calls(bill: &Bill, added_s: f64) -> String {
    let each_ns = 1e9 * added_s / bill.calls.max(1) as f64;
    let each = if each_ns < 1000.0 {
        format!("{} ns", nanoseconds(each_ns))
    } else {
        duration(each_ns / 1e9)
    };
    format!("{} x {each}", counted(bill.calls, "call"))
}

/// Named if it adds more than half.
fn most(bill: &Bill) -> String {
    if bill.most_s > bill.added_s[0] / 2.0 {
        format!(", most in {}", bill.most)
    } else {
        String::new()
    }
}

/// The meaning of additional times by unit costs; `None` if none were measured.
pub fn note(race: &RaceFound) -> Option<String> {
    let first = race
        .versus
        .iter()
        .find(|versus| versus.by_calls.is_some())?;
    Some(format!(
        "Additional time of calls: their number x the difference of their cost from {}, measured after the race; without starting processes, page faults \
         and waiting.",
        race.results[first.base].name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(added_ms: [f64; 3]) -> String {
        added_beside(added_ms, serde_json::Value::Null)
    }

    /// `difference` is that of the race, in seconds.
    fn added_beside(added_ms: [f64; 3], difference: serde_json::Value) -> String {
        let bill = Bill {
            calls: 4000,
            bare_calls: 0,
            added_s: added_ms.map(|ms| ms / 1e3),
            most: "openat".to_string(),
            most_s: 0.03,
        };
        let causes =
            serde_json::json!([{"cause": "time_per_call", "call": "openat", "seconds": 0.1}]);
        let versus = serde_json::json!({
            "base": 0, "head": 1, "by_calls": bill, "difference": difference, "causes": causes,
        });
        sentence(&serde_json::from_value(versus).unwrap())
    }

    #[test]
    fn what_may_be_nothing_is_a_bound() {
        for (added_ms, expected) in [
            ([-1.0, -2.0, -0.5], " Its calls add nothing."),
            (
                [0.01, -0.01, 0.04],
                " Its calls add at most 40.0 us: 4,000 calls x 10.0 ns.",
            ),
            (
                [40.0, 20.0, 60.0],
                " Its calls add 0.0400 s (0.0200 s to 0.0600 s): 4,000 calls x 10.0 us, most in openat.",
            ),
            (
                [80.0, 70.0, 90.0],
                " Its calls add 0.0800 s (0.0700 s to 0.0900 s): 4,000 calls x 20.0 us.",
            ),
        ] {
            assert_eq!(added(added_ms), expected);
        }
    }

    #[test]
    fn a_race_that_measured_another_difference_says_where() {
        let beside =
            |difference: [f64; 3]| added_beside([80.0, 70.0, 90.0], serde_json::json!(difference));
        let more = beside([0.2, 0.15, 0.25]);
        let expected = " The race measured at least 0.0600 s more; the largest part of its difference is in openat.";
        assert!(more.ends_with(expected), "{more}");
        let less = beside([0.02, 0.01, 0.03]);
        let expected =
            " The race measured at least 0.0400 s less; the largest part of the bill is openat.";
        assert!(less.ends_with(expected), "{less}");
        let agrees = beside([0.1, 0.05, 0.15]);
        assert!(agrees.ends_with("4,000 calls x 20.0 us."), "{agrees}");
    }
}
