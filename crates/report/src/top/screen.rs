//! Rates as the lines of a terminal: as many columns and rows as fit, around the selected one.

use crate::{Align, Table};
use document::Style;
use document::write::fit;
use model::clean;

pub struct Screen<'a> {
    pub head: &'a [String],
    pub table: &'a Table,
    pub selected: usize,
    /// The title of a column.
    pub sorted: &'a str,
    /// The effect of keys in this state, if it is not the usual one.
    pub state: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    Cell(Style),
    Titles,
    Selected,
}

impl Look {
    fn new(is_marked: bool, style: Style) -> Look {
        if is_marked {
            Look::Selected
        } else {
            Look::Cell(style)
        }
    }
}

pub type Span = (String, Look);

const PLAIN: Look = Look::Cell(Style::Plain);
const KEYS: &str = "F1 help  F4 filter  F6 sort  b rows  Enter in  F10 quit";

/// The headline, the table around the marked row, the keys.
pub fn drawn(screen: &Screen, width: u16, height: u16) -> Vec<Vec<Span>> {
    let (width, height) = (usize::from(width), usize::from(height));
    let mut lines: Vec<_> = screen.head.iter().map(|line| plain(line, width)).collect();
    lines.push(Vec::new());
    let room = height.saturating_sub(lines.len() + 1);
    lines.extend(rows(screen, width, room));
    lines.truncate(height.saturating_sub(1));
    let last = if screen.state.is_empty() {
        KEYS
    } else {
        &screen.state
    };
    lines.push(plain(last, width));
    lines
}

fn plain(text: &str, width: usize) -> Vec<Span> {
    vec![(clean::cut(&clean::line(text), width), PLAIN)]
}

/// Titles, and rows around the marked one, filled to the whole width.
fn rows(screen: &Screen, width: usize, height: usize) -> Vec<Vec<Span>> {
    let width_of_table = u16::try_from(width).unwrap_or(u16::MAX);
    let table = fit(screen.table, Some(width_of_table));
    let titles: Vec<String> = table
        .columns()
        .iter()
        .map(|column| title(&column.title, screen.sorted))
        .collect();
    let widths = widths(&table, &titles);
    let titled = titles.iter().map(|title| (title.as_str(), Look::Titles));
    let mut lines = vec![cut(line(&table, &widths, titled), width, Look::Titles)];
    let room = height.saturating_sub(1);
    let first = (screen.selected + 1)
        .saturating_sub(room)
        .min(table.rows().len().saturating_sub(room));
    for (at, row) in table.rows().iter().enumerate().skip(first).take(room) {
        let is_marked = at == screen.selected;
        let cells = row
            .iter()
            .map(|cell| (cell.text.as_str(), Look::new(is_marked, cell.style)));
        let rest = Look::new(is_marked, Style::Plain);
        lines.push(cut(line(&table, &widths, cells), width, rest));
    }
    lines.resize(height, cut(Vec::new(), width, PLAIN));
    lines
}

fn title(title: &str, sorted: &str) -> String {
    if title == sorted {
        format!("{title} v")
    } else {
        title.to_string()
    }
}

fn widths(table: &Table, titles: &[String]) -> Vec<usize> {
    let mut widths: Vec<usize> = titles.iter().map(|title| title.chars().count()).collect();
    for row in table.rows() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.chars().count());
        }
    }
    widths
}

fn line<'a>(
    table: &Table,
    widths: &[usize],
    cells: impl Iterator<Item = (&'a str, Look)>,
) -> Vec<Span> {
    // Nothing follows the last column, whose cells may be wider than the screen.
    let last = widths.len().saturating_sub(1);
    let columns = table.columns().iter().zip(widths);
    cells
        .zip(columns)
        .enumerate()
        .map(|(i, ((text, look), (column, width)))| {
            let gap = if i > 0 { "  " } else { "" };
            let text = match column.align {
                Align::Left if i == last => format!("{gap}{text}"),
                Align::Left => format!("{gap}{text:width$}"),
                Align::Right => format!("{gap}{text:>width$}"),
            };
            (clean::line(&text), look)
        })
        .collect()
}

/// `rest` is the look of what fills them.
fn cut(spans: Vec<Span>, width: usize, rest: Look) -> Vec<Span> {
    let mut left = width;
    let mut kept = Vec::new();
    for (text, look) in spans {
        if left == 0 {
            break;
        }
        let text = clean::cut(&text, left);
        left -= text.chars().count();
        kept.push((text, look));
    }
    kept.push((" ".repeat(left), rest));
    kept
}

/// The text of the help screen.
pub fn help() -> Vec<String> {
    const TEXT: &str = "\
Keys
  F4, F3, /    show rows with a text only; Enter keeps the filter, Esc clears it
  F6, s        sort by the next column
  b            rows by program, process, call, class, error or control group
  up, down, PgUp, PgDn, Home, End    mark a row
  Enter        into it: the calls of a program, the classes of a call
  Esc          out of it
  p            pause or resume
  F1, ?        this help; any key leaves it
  F10, q       quit, as Ctrl-C does

Columns, over the last interval
  calls/s      calls that ended
  errors/s     those that failed
  % CPU        time on CPUs inside calls, as a share of one CPU
  runnable     how many threads waited for a CPU in calls, on average
  blocked      how many threads were blocked in calls that ended
  mean us      elapsed time per call
  p50, p99     median and 99th percentile of a call, over all processes
  Colours: of the sum, 5% or more is green, 20% yellow, 50% red.";
    TEXT.lines().map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::table::rates_table;
    use analysis::top::{By, Row, RowKey};

    fn table(rows: usize) -> Table {
        rates_table(
            &(0..rows)
                .map(|i| Row {
                    key: RowKey {
                        call: Some(format!("call{i}")),
                        ..RowKey::default()
                    },
                    calls_per_s: 1000.0 * i as f64,
                    on_cpu_share: Some(0.5),
                    ..Row::default()
                })
                .collect::<Vec<_>>(),
            By::Call,
            &Row {
                calls_per_s: 1e6,
                ..Row::default()
            },
        )
    }

    fn screen(table: &Table, selected: usize) -> Screen<'_> {
        Screen {
            head: &[],
            table,
            selected,
            sorted: "calls/s",
            state: String::new(),
        }
    }

    fn text(line: &[Span]) -> String {
        line.iter().map(|(text, _)| text.as_str()).collect()
    }

    fn marked(lines: &[Vec<Span>]) -> Vec<String> {
        lines
            .iter()
            .filter(|line| line.iter().any(|(_, look)| *look == Look::Selected))
            .map(|line| text(line))
            .collect()
    }

    #[test]
    fn a_screen_is_full_and_no_wider_than_the_terminal() {
        for (width, height, rows, selected) in [
            (80, 24, 3, 1),
            (80, 24, 100, 99),
            (20, 6, 100, 50),
            (5, 2, 4, 0),
            (80, 1, 1, 0),
            (140, 40, 100, 70),
        ] {
            let head = [
                "a long headline about what is traced here".to_string(),
                "cost".to_string(),
            ];
            let table = table(rows);
            let lines = drawn(
                &Screen {
                    head: &head,
                    ..screen(&table, selected)
                },
                width,
                height,
            );
            assert_eq!(lines.len(), usize::from(height), "{lines:#?}");
            assert!(
                lines
                    .iter()
                    .all(|line| text(line).chars().count() <= usize::from(width)),
                "{lines:#?}"
            );
            if height > 5 {
                let [line] = &marked(&lines)[..] else {
                    panic!("{lines:#?}")
                };
                assert!(line.starts_with(&format!("call{selected} ")), "{line}");
            }
        }
    }

    #[test]
    fn narrow_screens_lose_expendable_columns() {
        fn titles(width: u16, sorted: &str) -> String {
            let table = table(2);
            let lines = drawn(
                &Screen {
                    sorted,
                    ..screen(&table, 0)
                },
                width,
                10,
            );
            text(&lines[1]).trim_end().to_string()
        }

        let wide = "call   calls/s v  errors/s  % CPU  runnable  blocked  mean us  p50 us  p99 us";
        assert_eq!(titles(80, "calls/s"), wide);
        assert_eq!(titles(24, "% CPU"), "call   calls/s  % CPU v");
    }
}
