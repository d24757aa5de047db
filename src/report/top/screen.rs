//! Rates as the lines of a terminal: as many columns and rows as fit, around the selected one. Pure.

use crate::clean;
use crate::report::{Align, Table};
use crate::write::fit;

/// A screen full of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    pub lines: Vec<String>,
    /// The index of the line of column titles.
    pub titles: usize,
    /// That of the selected row, if it has one.
    pub selected: Option<usize>,
}

const KEYS: &str = "q quit  s sort  b rows by  Enter in  Esc out  p pause  ? help";

/// The lines of a screen of `width` x `height`: `head`, the table around the `selected` row, the keys.
pub fn drawn(head: &[String], table: &Table, selected: usize, state: &str, width: u16, height: u16) -> Drawn {
    let (width, height) = (usize::from(width), usize::from(height));
    let cut = |line: &str| clean::cut(&clean::line(line), width);
    let mut lines: Vec<String> = head.iter().map(|line| cut(line)).collect();
    lines.push(String::new());
    let titles = lines.len();
    let table = fit(table, Some(u16::try_from(width).unwrap_or(u16::MAX)));
    let widths = widths(&table);
    let titled = table.columns().iter().map(|column| column.title.as_str());
    lines.push(cut(&line(&table, &widths, titled)));
    let room = height.saturating_sub(lines.len() + 1);
    let rows = table.rows();
    let first = (selected + 1).saturating_sub(room).min(rows.len().saturating_sub(room));
    for row in rows.iter().skip(first).take(room) {
        lines.push(cut(&line(&table, &widths, row.iter().map(|cell| cell.text.as_str()))));
    }
    let shown = selected.checked_sub(first).filter(|at| *at < room && selected < rows.len());
    lines.resize(height.saturating_sub(1).max(lines.len().min(height)), String::new());
    lines.truncate(height.saturating_sub(1));
    lines.push(cut(&if state.is_empty() { KEYS.to_string() } else { format!("{state}  {KEYS}") }));
    Drawn { lines, titles, selected: shown.map(|at| titles + 1 + at) }
}

fn widths(table: &Table) -> Vec<usize> {
    let of = |i: usize| table.rows().iter().map(|row| row[i].text.chars().count()).max().unwrap_or(0);
    let columns = table.columns().iter().enumerate();
    columns.map(|(i, column)| of(i).max(column.title.chars().count())).collect()
}

fn line<'a>(table: &Table, widths: &[usize], cells: impl Iterator<Item = &'a str>) -> String {
    let padded = cells.zip(table.columns()).zip(widths).map(|((text, column), width)| match column.align {
        Align::Left => format!("{text:width$}"),
        Align::Right => format!("{text:>width$}"),
    });
    padded.collect::<Vec<_>>().join("  ")
}

/// What the keys and columns mean.
pub fn help() -> Vec<String> {
    const TEXT: &str = "\
Keys
  q, Ctrl-C    quit
  s            sort by the next column: calls, errors, CPU, blocked, mean, p99
  b            other rows: processes, calls, classes, control groups, errors
  up, down, PgUp, PgDn, Home, End    select a row
  Enter        into it: the calls of a process, the classes of a call
  Esc          out of it
  p            pause, and go on
  ?            this help; any key leaves it

Columns, over the last interval
  calls/s      calls that ended
  errors/s     those that failed
  % CPU        time on CPUs inside calls, as a share of one CPU
  runnable     how many threads waited for a CPU in calls, on average: woken or preempted
  blocked      how many threads were blocked in calls, until woken; a call counts when it ends
  mean us      elapsed time per call
  p50, p99     median and 99th percentile of a call, over all processes";
    TEXT.lines().map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::top::table::rates_table;
    use crate::top::{By, Row};

    fn table(rows: usize) -> Table {
        let row = |i: usize| Row {
            call: Some(format!("call{i}")),
            calls_per_s: 1000.0 * i as f64,
            on_cpu_share: Some(0.5),
            ..Row::default()
        };
        rates_table(&(0..rows).map(row).collect::<Vec<_>>(), By::Call)
    }

    #[test]
    fn a_screen_is_full_and_no_wider_than_the_terminal() {
        for (width, height, rows, selected) in
            [(80, 24, 3, 1), (80, 24, 100, 99), (20, 5, 100, 50), (5, 2, 4, 0), (80, 1, 1, 0)]
        {
            let head = ["a long headline about what is traced here".to_string(), "cost".to_string()];
            let drawn = drawn(&head, &table(rows), selected, "", width, height);
            assert_eq!(drawn.lines.len(), usize::from(height), "{drawn:#?}");
            assert!(drawn.lines.iter().all(|line| line.chars().count() <= usize::from(width)), "{drawn:#?}");
            if height > 5 {
                let line = &drawn.lines[drawn.selected.unwrap()];
                assert!(line.starts_with(&format!("call{selected} ")), "{line}");
            }
        }
    }

    #[test]
    fn narrow_screens_lose_expendable_columns() {
        let titles = |width| {
            let drawn = drawn(&[], &table(2), 0, "", width, 10);
            drawn.lines[drawn.titles].clone()
        };
        assert_eq!(titles(80), "call   calls/s  errors/s  % CPU  runnable  blocked  mean us  p50 us  p99 us");
        assert_eq!(titles(24), "call   calls/s  % CPU");
    }
}
