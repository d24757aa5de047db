//! The entries of an iteration that makes too many to count, extrapolated from the same case at smaller values of a parameter. Pure.

use model::Entries;
use std::collections::BTreeSet;

const FEWEST: usize = 3;
const EXACT: f64 = 1e-9;

/// `None` unless, for each call, all counts at smaller values are on one line.
pub fn on_line(counted: &[(u64, &Entries)], value: u64) -> Option<Entries> {
    let (first, last) = (counted.first()?, counted.last()?);
    if counted.len() < FEWEST || first.0 == last.0 {
        return None;
    }
    let names: BTreeSet<&str> = counted
        .iter()
        .flat_map(|(_, entries)| entries.names())
        .collect();
    let is_line = names.iter().all(|name| {
        counted.iter().all(|(value, entries)| {
            let count = entries.get(name);
            (count - count_on_line(first, last, name, *value)).abs() <= EXACT * count.max(1.0)
        })
    });
    if !is_line {
        return None;
    }
    Some(
        names
            .into_iter()
            .map(|name| (name.to_string(), count_on_line(first, last, name, value)))
            .collect(),
    )
}

fn count_on_line(first: &(u64, &Entries), last: &(u64, &Entries), name: &str, value: u64) -> f64 {
    let slope = (last.1.get(name) - first.1.get(name)) / (last.0 as f64 - first.0 as f64);
    first.1.get(name) + slope * (value as f64 - first.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(reads: f64) -> Entries {
        let counts = [("openat", 1.0), ("read", reads)];
        counts
            .map(|(name, count)| (name.to_string(), count))
            .into_iter()
            .collect()
    }

    #[test]
    fn three_values_on_a_line_tell_the_entries_of_a_larger_one() {
        fn entries_on_line(counted: &[(u64, f64)]) -> Option<String> {
            let counted: Vec<_> = counted
                .iter()
                .map(|(value, reads)| (*value, entries(*reads)))
                .collect();
            let counted: Vec<_> = counted
                .iter()
                .map(|(value, entries)| (*value, entries))
                .collect();
            on_line(&counted, 1 << 18).map(|entries| entries.to_string())
        }

        let counted = [(1024, 1025.0), (4096, 4097.0), (16384, 16385.0)];
        assert_eq!(
            entries_on_line(&counted).as_deref(),
            Some("openat x1 read x262145")
        );
        assert_eq!(
            entries_on_line(&counted[..2]),
            None,
            "nothing confirms the line"
        );
        assert_eq!(
            entries_on_line(&[(1024, 2.0), (4096, 2.0), (16384, 3.0)]),
            None,
            "steps of a buffer"
        );
    }
}
