//! Counted events of a run: a column for each, a row for each case and baseline.

use crate::numbers::count_text;
use crate::run::columns::case_fields;
use crate::run::names::name;
use crate::run::warnings::of_run;
use crate::{Cell, Columns, Table};
use analysis::summary::{Row, Summary};
use document::{Block, Document};
use itertools::Itertools;
use model::{EVENTS, Host};
use stats::event_count;

/// A wider interval to either side, as a share, marks a count.
const DOUBT: f64 = 0.05;
const NOTHING: &str = "no events were counted in this run: they need 'syscost run --view counters', a processor with counters, and no emulated kernel";
const WHAT: &str = "per iteration, counted in separate untimed batches, with all processes and threads of the operation; ~: the 95% interval over launches is wider than ±5%; -: something else (perf, the NMI watchdog) used the counters, or the count stayed at an impossible 0";

/// The table, with a note if the run counted no events.
pub fn counters_document(summary: &Summary, host: &Host) -> Document {
    let table = counter_table(summary, host);
    let shown = match table.columns().len() {
        0 | 1 => Block::Table(table.select(&[0]).noted([NOTHING])),
        _ => Block::Pages(table.clone()),
    };
    Document {
        records: table.records().clone(),
        blocks: vec![shown],
    }
}

fn counter_table(summary: &Summary, host: &Host) -> Table {
    let rows: Vec<&Row> = summary
        .rows
        .iter()
        .chain(summary.other_baselines())
        .collect();
    let mut columns = Columns::new(&rows).left("per iteration", |row| name(row));
    columns = case_fields(columns, |row| &row.case);
    for event in EVENTS {
        let is_empty = |row: &&Row| launches(row, event.name).is_none_or(<[f64]>::is_empty);
        if rows.iter().all(is_empty) {
            continue;
        }
        columns = columns
            .right(event.name, |row| cell(row, event.name))
            .field(event.name, |row| value(row, event.name));
    }
    let columns = columns
        .right("IPC", |row| {
            Cell::known(ipc(row), |ipc| format!("{ipc:.2}"))
        })
        .shown_if(rows.iter().any(|row| ipc(row).is_some()));
    let cautions = summary
        .warnings
        .iter()
        .map(|warning| format!("warning: {}", of_run(warning)));
    let title = [host.cpu.clone(), host.kernel.clone()]
        .into_iter()
        .flatten()
        .join(", ");
    columns
        .table()
        .titled(title)
        .cautioned(cautions)
        .noted([WHAT])
}

fn launches<'a>(row: &'a Row, event: &str) -> Option<&'a [f64]> {
    row.counters.as_ref()?.get(event).map(Vec::as_slice)
}

fn value(row: &Row, event: &str) -> Option<f64> {
    Some(event_count(launches(row, event)?)?.value)
}

fn ipc(row: &Row) -> Option<f64> {
    let instructions = value(row, "instructions:u")? + value(row, "instructions:k")?;
    let cycles = value(row, "cycles:u")? + value(row, "cycles:k")?;
    Some(instructions / cycles).filter(|ipc| ipc.is_finite())
}

/// Has a `~` in front if its interval is wide.
fn cell(row: &Row, event: &str) -> Cell {
    let Some(launches) = launches(row, event) else {
        return Cell::default();
    };
    let Some(ranged) = event_count(launches) else {
        return Cell::dash();
    };
    let half = ranged
        .low_high
        .map_or(f64::INFINITY, |(low, high)| (high - low) / 2.0);
    let text = count_text(ranged.value);
    let doubt = if half > DOUBT * ranged.value.abs() && text != "0" {
        "~"
    } else {
        ""
    };
    Cell::number(format!("{doubt}{text}"), ranged.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_text;
    use analysis::summary::summarize;
    use model::Record;
    use model::fixtures::{record, run};
    use snapbox::{assert_data_eq, str};

    #[test]
    fn what_was_counted_has_a_column_and_wide_intervals_are_marked() {
        fn shown(record: Record) -> String {
            let summary = summarize(&run(vec![record]));
            as_text(counters_document(&summary, &Host::default()))
        }

        let counts: [(&str, &[f64]); 6] = [
            ("instructions:k", &[274.6; 5]),
            ("instructions:u", &[25.4; 5]),
            ("cycles:k", &[180.0; 5]),
            ("cycles:u", &[20.0; 5]),
            ("page-faults", &[2.0, 2.0, 3.0]),
            ("cpu-migrations", &[]),
        ];
        let counters = counts.map(|(name, values)| (name.to_string(), values.to_vec()));
        let counted = Record {
            counters: Some(counters.into()),
            ..record("id.getppid", 90)
        };
        assert_data_eq!(
            shown(counted),
            str![[r#"
per iteration  instructions:k  instructions:u  cycles:k  cycles:u  page-faults   IPC
id.getppid              274.6            25.4     180.0      20.0        ~2.00  1.50

per iteration, counted in separate untimed batches, with all processes and threads of the operation; ~: the 95% interval over launches is wider than ±5%; -: something else (perf, the NMI watchdog) used the counters, or the count stayed at an impossible 0

"#]]
        );
        assert!(shown(record("id.getppid", 90)).contains(NOTHING));
    }
}
