//! Whether two records did the same work: by the counts of their kernel entries, not by names, which differ between systems (some C
//! libraries implement `lstat` by `newfstatat`).

use super::cell::Cell;
use super::verdict::Difference;
use model::Entries;

// Chosen: a share alone would call rare entries different, a number alone frequent ones.
/// As a share, and as a number: partner processes and caches make counts vary.
const EQUAL_SHARE: f64 = 0.02;
const EQUAL: f64 = 0.01;

#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    Same,
    Different(Difference),
    Unknown,
}

/// Whether a cell has the same kernel entries as the baseline's; entries that were not proven are unknown.
pub fn work(cell: &Cell, base: &Cell) -> Work {
    let (Some(entries), Some(theirs)) = (&cell.entries, &base.entries) else {
        return Work::Unknown;
    };
    if is_same(entries, theirs) {
        Work::Same
    } else {
        Work::Different(difference(entries, theirs))
    }
}

fn equal(a: f64, b: f64) -> bool {
    (a - b).abs() <= EQUAL.max(EQUAL_SHARE * a.max(b))
}

/// Calls that are hardly ever made do not count.
pub fn is_same(a: &Entries, b: &Entries) -> bool {
    fn sorted(entries: &Entries) -> Vec<f64> {
        let mut counts: Vec<f64> = entries
            .iter()
            .map(|(_, count)| count)
            .filter(|count| *count > EQUAL)
            .collect();
        counts.sort_by(f64::total_cmp);
        counts
    }

    let (a, b) = (sorted(a), sorted(b));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| equal(*a, *b))
}

fn difference(entries: &Entries, base: &Entries) -> Difference {
    fn unlike(a: &Entries, b: &Entries) -> Entries {
        let kept = a
            .iter()
            .filter(|(name, count)| *count > EQUAL && !equal(*count, b.get(name)));
        kept.map(|(name, count)| (name.to_string(), count))
            .collect()
    }

    Difference {
        entries: unlike(entries, base),
        base: unlike(base, entries),
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::cell;
    use super::*;
    use model::fixtures::pairs;

    fn compared(entries: &[(&str, f64)], base: &[(&str, f64)]) -> Work {
        work(&cell(100.0, Some(entries)), &cell(100.0, Some(base)))
    }

    #[test]
    fn counts_decide_and_not_names() {
        assert_eq!(compared(&[("lstat", 1.0)], &[("lstat", 1.0)]), Work::Same);
        assert_eq!(
            compared(&[("newfstatat", 1.0)], &[("lstat", 1.0)]),
            Work::Same
        );
        assert_eq!(compared(&[("read", 1.01)], &[("read", 1.0)]), Work::Same);
        assert_eq!(compared(&[("gettimeofday", 0.002)], &[]), Work::Same);
        assert_eq!(work(&cell(1.0, None), &cell(1.0, Some(&[]))), Work::Unknown);
    }

    #[test]
    fn of_other_work_only_what_differs_is_kept() {
        fn differs(entries: &[(&str, f64)], base: &[(&str, f64)]) -> Work {
            Work::Different(Difference {
                entries: pairs(entries),
                base: pairs(base),
            })
        }

        let (open, stat) = (("openat", 1.0), ("fstat", 1.0));
        let (once, twice) = (("read", 1.0), ("read", 2.0));
        assert_eq!(compared(&[open], &[]), differs(&[open], &[]));
        assert_eq!(compared(&[once, stat], &[once]), differs(&[stat], &[]));
        assert_eq!(compared(&[twice], &[once]), differs(&[twice], &[once]));
    }
}
