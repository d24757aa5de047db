//! Which rows of a comparison pass a limit on growth and a rule about kernel entries, which fail, and which cannot be judged.

use super::cell::Cell;
use super::row::{ComparedRow, Key};
use super::same_work::{Work, work};
use super::verdict::{Difference, Ratio, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

/// Partner processes and caches make entries vary.
const EQUAL: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    pub limit: Option<f64>,
    pub entries: Option<EntriesRule>,
}

/// Which change of kernel entries fails.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum EntriesRule {
    /// More kernel entries per iteration than the baseline's.
    More,
    /// Other kernel entries, be they more or fewer.
    Any,
}

/// The verdicts of a gate.
#[derive(Serialize, JsonSchema)]
pub struct Gated {
    /// As a share; null if costs are not limited.
    pub limit: Option<f64>,
    /// Null if only `limit` judges.
    pub entries: Option<EntriesRule>,
    /// One for each row and column but the baseline's.
    pub rows: Vec<GatedRow>,
}

/// One row in one column.
#[derive(Serialize, JsonSchema)]
pub struct GatedRow {
    #[serde(flatten)]
    pub key: Key,
    /// Which column.
    pub column: usize,
    #[serde(flatten)]
    pub verdict: GateVerdict,
}

/// The verdict of a gate, with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "gate", rename_all = "snake_case")]
pub enum GateVerdict {
    /// Certainly within the limit, with no more entries.
    Passed,
    /// The limit lies within the interval: it passes, as the growth is not certain.
    Unclear { ratio: f64, low: f64, high: f64 },
    /// The whole interval lies above the limit.
    Grown { ratio: f64, low: f64, high: f64 },
    /// The entries changed in a way that fails.
    Entries(Difference),
    /// Neither passed nor failed.
    NotJudged { reason: NotJudged },
}

/// Why a row is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotJudged {
    /// One of the two is missing or failed.
    Missing,
    /// The kernel entries of one or both are not known.
    EntriesUnknown,
    /// Other kernel entries, though not more of them, so costs have no ratio.
    OtherWork,
    /// One of the two is a single value without an interval.
    NoInterval,
    /// The cost depends on earlier file system activity.
    DependsOnHistory,
    /// One was measured under a tracer of system calls, the other was not.
    Traced,
    /// One of the two runs was disturbed all the time.
    Disturbed,
    /// One is a time and the other a number of instructions.
    OtherUnit,
}

impl From<NotJudged> for GateVerdict {
    fn from(reason: NotJudged) -> GateVerdict {
        GateVerdict::NotJudged { reason }
    }
}

impl Gate {
    pub fn judge(&self, rows: &[ComparedRow], baseline: usize) -> Gated {
        Gated {
            limit: self.limit,
            entries: self.entries,
            rows: rows
                .iter()
                .flat_map(|row| {
                    let columns = (0..row.cells.len()).filter(move |column| *column != baseline);
                    columns.map(move |column| GatedRow {
                        key: row.key.clone(),
                        column,
                        verdict: self.row_verdict(row, column, baseline),
                    })
                })
                .collect(),
        }
    }

    fn row_verdict(&self, row: &ComparedRow, column: usize, baseline: usize) -> GateVerdict {
        let [cell, base] = [column, baseline].map(|column| row.cells[column].as_deref());
        let work = both(cell, base).map(|(cell, base)| work(cell, base));
        self.verdict(work, ratio(&row.verdicts[column]))
    }

    fn verdict(&self, work: Option<Work>, ratio: Result<&Ratio, NotJudged>) -> GateVerdict {
        match work {
            None => NotJudged::Missing.into(),
            Some(Work::Different(difference)) => match self.other_work(difference) {
                // Within one run, there is a ratio all the same.
                GateVerdict::NotJudged { .. } if ratio.is_ok() => self.by_cost(ratio),
                findings => findings,
            },
            Some(Work::Unknown) if self.entries.is_some() => match self.by_cost(ratio) {
                // Certain growth fails even if the entries are unknown.
                grown @ GateVerdict::Grown { .. } => grown,
                _ => NotJudged::EntriesUnknown.into(),
            },
            Some(_) => self.by_cost(ratio),
        }
    }

    fn other_work(&self, difference: Difference) -> GateVerdict {
        let (total, base) = (difference.entries.total(), difference.base.total());
        let fails = match (self.entries, self.limit) {
            (Some(EntriesRule::Any), _) => true,
            (Some(EntriesRule::More), _) => total > base + EQUAL,
            // Without a rule about entries, these may grow as much as costs may.
            (None, limit) => total > base * (1.0 + limit.unwrap_or(0.0)) + EQUAL,
        };
        match (fails, self.limit) {
            (true, _) => GateVerdict::Entries(difference),
            (false, None) => GateVerdict::Passed,
            (false, Some(_)) => NotJudged::OtherWork.into(),
        }
    }

    fn by_cost(&self, ratio: Result<&Ratio, NotJudged>) -> GateVerdict {
        let (limit, ratio) = match (self.limit, ratio) {
            (None, _) => return GateVerdict::Passed,
            (Some(_), Err(reason)) => return reason.into(),
            (Some(limit), Ok(ratio)) => (1.0 + limit, ratio),
        };
        let Ratio {
            ratio, low, high, ..
        } = *ratio;
        if low > limit {
            GateVerdict::Grown { ratio, low, high }
        } else if high <= limit {
            GateVerdict::Passed
        } else {
            GateVerdict::Unclear { ratio, low, high }
        }
    }
}

fn both<'a>(cell: Option<&'a Cell>, base: Option<&'a Cell>) -> Option<(&'a Cell, &'a Cell)> {
    cell.zip(base)
        .filter(|(cell, base)| cell.figure.is_ok() && base.figure.is_ok())
}

fn ratio(verdict: &Verdict) -> Result<&Ratio, NotJudged> {
    verdict.interval().ok_or(match verdict {
        Verdict::DependsOnHistory(_) => NotJudged::DependsOnHistory,
        Verdict::Traced(_) => NotJudged::Traced,
        Verdict::Disturbed(_) => NotJudged::Disturbed,
        Verdict::OtherUnit => NotJudged::OtherUnit,
        Verdict::Missing => NotJudged::Missing,
        _ => NotJudged::NoInterval,
    })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::compared;
    use super::super::{Mark, RatioOf};
    use super::*;
    use model::fixtures::{entering, record};

    fn verdict_on(gate: Gate, ns: u64) -> GateVerdict {
        fn side(ns: u64) -> Vec<model::Record> {
            let reference = record("id.getppid", 100_000);
            vec![entering("file.stat", ns, &[("stat", 1.0)]), reference]
        }

        let mut comparison = compared(side(100_000), side(ns));
        comparison.gate(&gate);
        comparison.gate.unwrap().rows[0].verdict.clone()
    }

    const LIMIT: Gate = Gate {
        limit: Some(0.1),
        entries: None,
    };
    const MORE: Gate = Gate {
        limit: None,
        entries: Some(EntriesRule::More),
    };

    #[test]
    fn a_limit_may_lie_within_the_interval() {
        let findings = verdict_on(LIMIT, 130_000);
        assert!(matches!(findings, GateVerdict::Grown { low, .. } if low > 1.1));
        assert!(matches!(
            verdict_on(LIMIT, 110_500),
            GateVerdict::Unclear { .. }
        ));
        assert_eq!(verdict_on(MORE, 130_000), GateVerdict::Passed);
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        fn not_judged(reason: NotJudged) -> GateVerdict {
            GateVerdict::NotJudged { reason }
        }

        let ratio_of = RatioOf::Instructions { difference: 0.0 };
        let same = Ratio {
            ratio: 1.0,
            low: 0.99,
            high: 1.01,
            kind: ratio_of,
            mark: Mark::Equal,
        };
        let unknown = |gate: Gate| gate.verdict(Some(Work::Unknown), Ok(&same));
        assert_eq!(unknown(LIMIT), GateVerdict::Passed);
        assert_eq!(unknown(MORE), not_judged(NotJudged::EntriesUnknown));
        assert_eq!(
            MORE.verdict(None, Ok(&same)),
            not_judged(NotJudged::Missing)
        );
    }
}
