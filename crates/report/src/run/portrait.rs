//! What a page needs of one run, without its samples, so that many files fit into memory.

use crate::fit::{over_parameter, parameter_table};
use crate::run::detail::{ByParameter, Detail, Singles};
use crate::run::distribution::distribution;
use crate::run::latency::{curves, latency_table};
use analysis::compare::Column;
use analysis::fit::families;
use analysis::summary::{Summary, steady_range, summarize};
use model::{Outcome, Record, Role, Run};

#[derive(Clone, Debug)]
pub struct Portrait {
    /// Its `info` has host, tool and label.
    pub column: Column,
    /// `None` if only the comparison is wanted.
    pub detail: Option<Detail>,
}

impl Portrait {
    pub fn new(label: &str, run: &Run, with_detail: bool) -> Portrait {
        let summary = summarize(run);
        let column = Column::of(label, run, &summary);
        Portrait {
            column,
            detail: with_detail.then(|| Detail::of(run, summary)),
        }
    }

    pub fn label(&self) -> &str {
        &self.column.info.label
    }
}

impl Detail {
    pub fn new(run: &Run) -> Detail {
        Detail::of(run, summarize(run))
    }

    fn of(run: &Run, summary: Summary) -> Detail {
        let (steady, _) = steady_range(run);
        let asked = run
            .records
            .iter()
            .filter(|record| record.role == Role::Asked);
        let one = |record: &Record| match &record.outcome {
            Outcome::Measured(m) => distribution(record, m, &steady),
            Outcome::Failed(_) | Outcome::Published(_) | Outcome::Counted(_) => None,
        };
        let families = families(run);
        let worthy = families.iter().filter(|family| family.is_worth_a_table());
        Detail {
            distributions: asked.map(one).collect(),
            singles: latency_table(&summary).map(|table| Singles {
                table,
                curves: curves(&summary),
            }),
            summary,
            parameters: worthy
                .map(|f| ByParameter {
                    table: parameter_table(f),
                    figure: over_parameter(f),
                })
                .collect(),
            elapsed_s: run.elapsed_s,
            budget_s: run.plan.budget_s,
        }
    }
}
