//! Columns of counts of an event instead of times.

use super::column::{Column, ColumnRow};
use super::metric::Metric;
use crate::model::{Case, Failure, FailureKind, Run};
use crate::stats::{self, Launches};
use std::collections::HashMap;

impl Column {
    /// The column of `run`, by `metric`. By an event, each row has its count, and the medians of launches are of counts.
    pub fn by(metric: &Metric, run: &Run) -> Column {
        let column = Column::new("", run);
        let Metric::Events(events) = metric else { return column };
        let counts: HashMap<&Case, _> =
            run.records.iter().map(|r| (&r.case, events.launches(r.counters.as_ref()))).collect();
        let rows = column.rows.into_iter().map(|row| counted(counts.get(&row.case), row)).collect();
        Column { metric: metric.clone(), rows, derived: Vec::new(), panel: Vec::new(), ..column }
    }

    /// Why no row has a count of the event that the column is by; `None` if one has, and for times.
    pub fn not_counted(&self) -> Option<&str> {
        self.metric.events()?;
        let first = self.rows.first().filter(|_| self.rows.iter().all(|row| row.events.is_none()))?;
        first.figure.as_ref().err().map(|failure| failure.message.as_str())
    }
}

/// `row` with its counts instead of its times.
fn counted(counts: Option<&Result<&Vec<f64>, String>>, mut row: ColumnRow) -> ColumnRow {
    row.cell.runs.clear();
    match counts {
        Some(Ok(launches)) if row.figure.is_ok() => {
            let medians_ns = launches.to_vec();
            row.cell.events = stats::event_count(&medians_ns);
            row.cell.runs = vec![Some(Launches { medians_ns, ..Launches::default() })];
        }
        Some(Err(_)) if row.instructions().is_some() => {
            let text = "counted by an emulated machine: compare without --metric";
            row.cell.figure = Err(Failure::new(FailureKind::Unsupported, text));
        }
        Some(Err(reason)) if row.figure.is_ok() => {
            row.cell.figure = Err(Failure::new(FailureKind::Unsupported, reason.clone()));
        }
        _ => {}
    }
    if row.figure.is_ok() && row.events.is_none() {
        row.cell.figure = Err(Failure::new(FailureKind::Unsupported, "no counts"));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{record, run};
    use crate::model::{Counters, Record};

    #[test]
    fn a_file_without_the_metric_says_so() {
        let counters = Counters::from([("page-faults".into(), vec![1.0; 5])]);
        let run = run(vec![Record { counters: Some(counters), ..record("id.getppid", 100) }]);
        let why = |metric: &str| Column::by(&Metric::find(metric).unwrap(), &run).not_counted().map(str::to_string);
        assert!(why("instructions:k").unwrap().starts_with("this machine does not count it"));
        assert_eq!(why("page-faults"), None);
    }
}
