//! The parts of one run that a page needs, without its samples, so that many files fit into memory.

use crate::Table;
use crate::figure::{Distribution, Figure, Line};
use crate::fit::{over_parameter, parameter_table};
use crate::run::distribution::distribution;
use crate::run::latency::{curves, latency_table};
use analysis::compare::Column;
use analysis::fit::families;
use analysis::summary::{Panel, Summary, summarize};
use model::Run;

pub struct Portrait {
    /// Its `info` has host, tool and label.
    pub column: Column,
    /// `None` if only the comparison is wanted.
    pub detail: Option<Detail>,
}

#[derive(Debug)]
pub struct Detail {
    pub summary: Summary,
    /// For each row of the summary.
    pub distributions: Vec<Option<Distribution>>,
    /// By each parameter with enough values for a table.
    pub parameters: Vec<(Table, Figure)>,
    /// Table and curves of single calls, with a curve for each row that has one; `None` if none were timed.
    pub singles: Option<(Table, Vec<Line>)>,
    pub elapsed_s: f64,
    pub budget_s: f64,
}

impl Portrait {
    /// Summarizes the run, which can be dropped afterwards.
    pub fn new(label: &str, run: &Run, with_detail: bool) -> Portrait {
        let summary = summarize(run);
        Portrait {
            column: Column::from_summary(label, run, &summary),
            detail: if with_detail {
                Some(Detail::new(run, summary))
            } else {
                None
            },
        }
    }

    pub fn label(&self) -> &str {
        &self.column.info.label
    }
}

impl Detail {
    fn new(run: &Run, summary: Summary) -> Detail {
        let calm = Panel::new(run).calm;
        let families = families(run, &summary);
        let worthy = families.iter().filter(|family| family.is_worth_a_table());
        Detail {
            distributions: run
                .asked()
                .map(|record| distribution(record, &calm.only(record.outcome.measurement()?)))
                .collect(),
            singles: latency_table(&summary).map(|table| (table, curves(&summary))),
            summary,
            parameters: worthy
                .map(|family| (parameter_table(family), over_parameter(family)))
                .collect(),
            elapsed_s: run.elapsed_s,
            budget_s: run.plan.budget_s,
        }
    }
}
