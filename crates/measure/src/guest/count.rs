//! A case whose instructions are counted in a guest (`probe/count.c` has how).

use crate::runner::failure_in;
use model::{Counted, Failure, Planned};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToCount {
    /// The first line of its channel, e.g. `op file.lstat depth=4`.
    pub greeting: String,
    pub limit: Option<u64>,
    /// Whether what it leaves to others counts too, in long batches: for operations of which short
    /// batches do not agree.
    pub is_deferred: bool,
}

impl ToCount {
    pub fn new(planned: &Planned, greeting: String) -> ToCount {
        let is_deferred = planned.traits.switches || planned.traits.children;
        ToCount {
            greeting,
            limit: planned.limit,
            is_deferred,
        }
    }

    pub(super) fn line(&self) -> String {
        let kind = if self.is_deferred { "deferred" } else { "own" };
        format!("count {} {kind} {}", self.limit.unwrap_or(0), self.greeting)
    }
}

pub(super) fn counted(line: &str) -> Result<Counted, Failure> {
    parse(line).ok_or_else(|| failure_in(line))
}

fn parse(line: &str) -> Option<Counted> {
    let mut words = line.strip_prefix("counted ")?.split(' ');
    let mut next = || words.next()?.parse().ok();
    let (fewer, more) = (next()?, next()?);
    let pair = |word: &str| {
        let (few, many) = word.split_once(':')?;
        Some((few.parse().ok()?, many.parse().ok()?))
    };
    let batches = words.map(pair).collect::<Option<Vec<(u64, u64)>>>()?;
    (!batches.is_empty()).then_some(Counted {
        fewer,
        more,
        batches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_one_line_and_its_count_another() {
        let case = ToCount {
            greeting: "op file.lstat depth=4".into(),
            limit: None,
            is_deferred: true,
        };
        assert_eq!(case.line(), "count 0 deferred op file.lstat depth=4");
        let read = counted("counted 192 768 63291:252747 63290:252746").unwrap();
        assert_eq!((read.fewer, read.more, read.batches.len()), (192, 768, 2));
        for line in [
            "",
            "counted",
            "counted 1 2",
            "counted 1 2 3",
            "counted 1 2 3:x",
            "total 1 2 3 4",
        ] {
            assert!(counted(line).is_err(), "{line:?}");
        }
    }
}
