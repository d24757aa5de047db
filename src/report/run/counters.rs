//! Counted events: a few as columns of a run's table, all of them in a view of their own.

use crate::document::Block;
use crate::model::{EVENTS, Event, Host, INSTRUCTIONS_KERNEL, INSTRUCTIONS_USER, PAGE_FAULTS, USER_ONLY};
use crate::prose::some;
use crate::report::numbers::{count, three_figures};
use crate::report::{Cell, Spec, Style, Table};
use crate::stats::Ranged;
use crate::summary::{EventCounts, Row, Summary};
use indexmap::IndexMap;

/// Maximum number of names in a note.
const MOST_NAMES: usize = 6;
/// An interval that is wider to either side, as a share, marks its count.
const DOUBT: f64 = 0.05;
const NOTHING: &str = "no events were counted in this run: measure with 'syscost run --counters'";

/// The columns of a run's table that counted events add, given those of a row: people see what was counted, programs get all.
pub fn columns<'a, R: 'a>(summary: &Summary, of: fn(&R) -> Option<&'a EventCounts>) -> Vec<Spec<'a, R>> {
    let has = |event: &str| counted(summary).any(|counts| counts.counted.contains_key(event));
    let has_ipc = counted(summary).any(|counts| counts.instructions_per_cycle.is_some());
    let cell = |event: &'static str| {
        move |row: &R| of(row).and_then(|counts| counts.counted.get(event)).map_or(Cell::default(), count_cell)
    };
    let mut specs = vec![
        Spec::right("instr:k", cell(INSTRUCTIONS_KERNEL)).shown_if(has(INSTRUCTIONS_KERNEL)),
        Spec::right("instr:u", cell(INSTRUCTIONS_USER)).shown_if(has(INSTRUCTIONS_USER)),
        Spec::right("IPC", move |row: &R| of(row).map_or(Cell::default(), ipc_cell))
            .shown_if(has_ipc)
            .number("instructions_per_cycle", move |row| of(row)?.instructions_per_cycle)
            .number("instructions_times_empty_call", move |row| of(row)?.instructions_times_empty_call),
        Spec::right("faults", cell(PAGE_FAULTS)).shown_if(has(PAGE_FAULTS)).expendable(if has_ipc { 2 } else { 0 }),
    ];
    let field = |event: &'static Event| Spec::hidden().number(event.field, move |row: &R| of(row)?.value(event.name));
    specs.extend(EVENTS.iter().map(field));
    specs
}

fn counted(summary: &Summary) -> impl Iterator<Item = &EventCounts> {
    summary.rows.iter().chain(&summary.baselines).filter_map(|row| row.counters.as_ref())
}

/// All events of a run, a row for each case and baseline.
pub fn counters_block(summary: &Summary, host: &Host) -> Block {
    let table = counter_table(summary, host);
    match table.columns().len() {
        0 | 1 => Block::Table(table.select(&[0]).noted(vec![NOTHING.to_string()])),
        _ => Block::Pages(table),
    }
}

/// One column for each event that was counted for any case.
pub fn counter_table(summary: &Summary, host: &Host) -> Table {
    let asked = |row: &&Row| !summary.rows.iter().any(|own| own.case == row.case);
    let rows: Vec<&Row> = summary.rows.iter().chain(summary.baselines.iter().filter(asked)).collect();
    let several = rows.iter().any(|row| row.case.environment != rows[0].case.environment);
    let name = move |row: &&Row| match several {
        true => Cell::from(format!("{} ({})", row.case, row.case.environment)),
        false => Cell::from(row.case.to_string()),
    };
    let mut specs = vec![Spec::left("per iteration", name)];
    specs.extend(names(summary).into_iter().map(|name| {
        let title = name.clone();
        Spec::right(&title, move |row: &&Row| event_cell(row, &name))
    }));
    let ipc = |row: &&Row| row.counters.as_ref().map_or(Cell::default(), ipc_cell);
    let times = |row: &&Row| {
        let times = row.counters.as_ref().and_then(|counts| counts.instructions_times_empty_call);
        times.map_or(Cell::default(), |times| Cell::number(three_figures(times), times))
    };
    specs.push(Spec::right("IPC", ipc).shown_if(counted(summary).any(|c| c.instructions_per_cycle.is_some())));
    let has_times = counted(summary).any(|c| c.instructions_times_empty_call.is_some());
    specs.push(Spec::right("x call", times).shown_if(has_times));
    let cautions = summary.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
    let title = [host.cpu.clone(), host.kernel.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    Table::of(&specs, &rows).titled(title).cautioned(cautions).noted(notes(summary, has_times))
}

/// What was counted for any case, in the order of the table of events.
fn names(summary: &Summary) -> Vec<String> {
    let both = |event: &Event| [event.name.to_string(), format!("{}{USER_ONLY}", event.name)];
    let is_counted = |name: &String| counted(summary).any(|counts| counts.counted.contains_key(name));
    EVENTS.iter().flat_map(both).filter(is_counted).collect()
}

fn event_cell(row: &Row, name: &str) -> Cell {
    let Some(counts) = &row.counters else { return Cell::default() };
    match counts.counted.get(name) {
        Some(found) => count_cell(found),
        None if counts.not_counted.contains_key(name) => Cell::styled("-", Style::Faint),
        None => Cell::default(),
    }
}

/// A count, with `~` in front if its interval is wide.
fn count_cell(found: &Ranged) -> Cell {
    let half = found.low_high.map_or(f64::INFINITY, |(low, high)| (high - low) / 2.0);
    let text = count(found.value);
    let doubt = if half > DOUBT * found.value.abs() && text != "0" { "~" } else { "" };
    Cell::number(format!("{doubt}{text}"), found.value)
}

fn ipc_cell(counts: &EventCounts) -> Cell {
    counts.instructions_per_cycle.map_or(Cell::default(), |ipc| Cell::number(format!("{ipc:.2}"), ipc))
}

fn notes(summary: &Summary, has_times: bool) -> Vec<String> {
    let mut by_reason: IndexMap<&str, Vec<String>> = IndexMap::new();
    for row in &summary.rows {
        for (event, reason) in row.counters.iter().flat_map(|counts| &counts.not_counted) {
            by_reason.entry(reason).or_default().push(format!("{} of {}", event, row.case));
        }
    }
    let mut notes = vec![
        "counted in untimed requests of two lengths, per iteration, with all processes and threads of the operation; ~: \
         the 95% interval over launches is wider than 5% to either side"
            .to_string(),
    ];
    notes.extend(has_times.then(|| "x call: instructions in both modes against those of call.direct".to_string()));
    notes.extend(by_reason.iter().map(|(reason, names)| format!("not counted: {}: {reason}", some(names, MOST_NAMES))));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{record, run};
    use crate::model::{Counters, Record};
    use crate::report::run::columns;
    use crate::report::{Format, Screen, write_document};
    use crate::summary::summarize;

    fn with(record: Record, counts: &[(&str, f64)]) -> Record {
        let launches = |value: f64| vec![vec![value]; 5];
        let counted = counts.iter().map(|(name, value)| (name.to_string(), launches(*value))).collect();
        let not_counted = [("LLC-load-misses".to_string(), "no counter was free".to_string())].into_iter().collect();
        Record { counters: Some(Counters { counted, not_counted }), ..record }
    }

    const ALL: [(&str, f64); 5] = [
        ("instructions:k", 274.6),
        ("instructions:u", 25.4),
        ("cycles:k", 180.0),
        ("cycles:u", 20.0),
        ("page-faults", 0.0),
    ];

    fn written(records: Vec<Record>, width: Option<u16>) -> String {
        let mut out = Vec::new();
        let screen = Screen { width, colour: false, plots: true };
        let block = counters_block(&summarize(&run(records)), &Host::default());
        write_document(&block.into(), Format::Text, screen, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_events_have_a_column() {
        let empty = with(record("call.direct", 1), &[("instructions:k", 0.0), ("instructions:u", 6.0)]);
        let text = written(vec![with(record("id.getppid", 90), &ALL), empty], None);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let names = ["instructions:k", "instructions:u", "cycles:k", "cycles:u", "page-faults", "IPC", "x", "call"];
        assert!(lines.iter().any(|line| line.ends_with(&names)), "{text}");
        let row = ["id.getppid", "274.6", "25.4", "180.0", "20.0", "0", "1.50", "50.0"];
        assert!(lines.contains(&row.to_vec()), "{text}");
        assert!(text.contains("not counted: LLC-load-misses of id.getppid"), "{text}");
    }

    #[test]
    fn narrow_screens_get_several_tables() {
        let text = written(vec![with(record("id.getppid", 90), &ALL)], Some(60));
        assert!(text.lines().filter(|line| line.starts_with("id.getppid")).count() > 1, "{text}");
    }

    #[test]
    fn a_run_without_counters_says_how_to_get_them() {
        assert!(written(vec![record("id.getppid", 90)], None).contains(NOTHING));
    }

    #[test]
    fn a_run_has_columns_only_for_what_was_counted() {
        let titles = |record: Record| {
            let run = run(vec![record]);
            let summary = summarize(&run);
            let rows: Vec<&Row> = summary.rows.iter().collect();
            let table = Table::of(&columns::columns(&summary), &columns::lines(&summary, &rows));
            let titles: Vec<String> = table.columns().iter().map(|column| column.title.clone()).collect();
            (titles, table.records().names().len())
        };
        let (without, fields) = titles(record("id.getppid", 90));
        assert!(!without.contains(&"IPC".to_string()) && !without.contains(&"faults".to_string()));
        let (software, _) = titles(with(record("id.getppid", 90), &ALL[4..]));
        assert!(software.contains(&"faults".to_string()) && !software.contains(&"instr:k".to_string()));
        let (all, same) = titles(with(record("id.getppid", 90), &ALL));
        assert!(["instr:k", "instr:u", "IPC"].iter().all(|title| all.contains(&title.to_string())));
        assert_eq!(fields, same, "programs always get the same columns");
    }

    #[test]
    fn a_wide_interval_is_marked() {
        let ranged = |low, high| Ranged { value: 100.0, low_high: Some((low, high)) };
        assert_eq!(count_cell(&ranged(99.0, 101.0)).text, "100.0");
        assert_eq!(count_cell(&ranged(90.0, 110.0)).text, "~100.0");
        assert_eq!(count_cell(&Ranged { value: 0.001, low_high: None }).text, "0");
    }
}
