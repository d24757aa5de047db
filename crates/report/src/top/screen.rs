//! Rates as the lines of a terminal: as many columns and rows as fit, around the selected one, and
//! on a wide screen what is inside that row.

use crate::{Align, Table};
use document::Style;
use document::write::fit;
use model::clean;

/// Wide enough for two tables.
const WIDE: usize = 120;
const BETWEEN: &str = " | ";

pub struct Screen<'a> {
    pub head: &'a [String],
    pub table: &'a Table,
    pub selected: usize,
    /// The title of a column, and whether the order is reversed.
    pub sorted: (&'a str, bool),
    /// For wide screens.
    pub inside: Option<(String, Table)>,
    /// What keys do now, if it is not what they always do.
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
const KEYS: &str = "F1 help  F4 filter  F6 sort  I reverse  b rows  i idle  Enter in  F10 quit";

pub fn is_wide(width: u16) -> bool {
    usize::from(width) >= WIDE
}

/// The headline, the table around the marked row, the keys.
pub fn drawn(screen: &Screen, width: u16, height: u16) -> Vec<Vec<Span>> {
    let (width, height) = (usize::from(width), usize::from(height));
    let plain = |text: &str| vec![(clean::cut(&clean::line(text), width), PLAIN)];
    let mut lines: Vec<_> = screen.head.iter().map(|line| plain(line)).collect();
    lines.push(Vec::new());
    let room = height.saturating_sub(lines.len() + 1);
    let inside = if width < WIDE {
        None
    } else {
        screen.inside.as_ref()
    };
    match inside {
        None => lines.extend(main(screen, width, room)),
        Some((title, table)) => {
            let right = width * 2 / 5;
            let left = width - right - BETWEEN.len();
            lines.pop();
            lines.push(vec![
                (" ".repeat(left + BETWEEN.len()), PLAIN),
                (clean::cut(&clean::line(title), right), PLAIN),
            ]);
            let left = main(screen, left, room);
            let right = part(table, None, screen.sorted, right, room);
            lines.extend(left.into_iter().zip(right).map(|(left, right)| {
                left.into_iter()
                    .chain([(BETWEEN.to_string(), Look::Cell(Style::Faint))])
                    .chain(right)
                    .collect()
            }));
        }
    }
    lines.truncate(height.saturating_sub(1));
    lines.push(plain(if screen.state.is_empty() {
        KEYS
    } else {
        &screen.state
    }));
    lines
}

fn main(screen: &Screen, width: usize, height: usize) -> Vec<Vec<Span>> {
    let selected = Some(screen.selected);
    part(screen.table, selected, screen.sorted, width, height)
}

/// Titles, and rows around the marked one, filled to the whole width.
fn part(
    table: &Table,
    marked: Option<usize>,
    sorted: (&str, bool),
    width: usize,
    height: usize,
) -> Vec<Vec<Span>> {
    let table = fit(table, Some(u16::try_from(width).unwrap_or(u16::MAX)));
    let titles: Vec<String> = table
        .columns()
        .iter()
        .map(|column| title(&column.title, sorted))
        .collect();
    let widths = widths(&table, &titles);
    let titled = titles.iter().map(|title| (title.as_str(), Look::Titles));
    let mut lines = vec![cut(line(&table, &widths, titled), width, Look::Titles)];
    let room = height.saturating_sub(1);
    let first = (marked.unwrap_or(0) + 1)
        .saturating_sub(room)
        .min(table.rows().len().saturating_sub(room));
    for (at, row) in table.rows().iter().enumerate().skip(first).take(room) {
        let is_marked = marked == Some(at);
        let cells = row
            .iter()
            .map(|cell| (cell.text.as_str(), Look::new(is_marked, cell.style)));
        let rest = Look::new(is_marked, Style::Plain);
        lines.push(cut(line(&table, &widths, cells), width, rest));
    }
    lines.resize(height, cut(Vec::new(), width, PLAIN));
    lines
}

fn title(title: &str, order: (&str, bool)) -> String {
    let (sorted, is_reversed) = order;

    let mark = if is_reversed { '^' } else { 'v' };
    if title == sorted {
        format!("{title} {mark}")
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

pub fn help() -> Vec<String> {
    const TEXT: &str = "\
Keys
  F4, F3, /    show rows with a text only; Enter keeps the filter, Esc clears it
  F6, s        sort by the next column;  I  reverses the order
  b            rows by program, process, call, class, error or control group
  i            hide idle rows (below 0.05% of a CPU in calls), or show them
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
            sorted: ("calls/s", false),
            inside: None,
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
            let inside = Some(("inside".to_string(), table(100)));
            let table = table(rows);
            let lines = drawn(
                &Screen {
                    head: &head,
                    inside,
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
        fn titles(width: u16, sorted: (&str, bool)) -> String {
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
        assert_eq!(titles(80, ("calls/s", false)), wide);
        assert_eq!(titles(24, ("% CPU", true)), "call   calls/s  % CPU ^");
    }

    #[test]
    fn wide_screens_have_what_is_inside_the_marked_row() {
        let (outer, inner) = (table(3), table(5));
        let lines = |width| {
            let inside = Some(("calls of git".to_string(), inner.clone()));
            drawn(
                &Screen {
                    inside,
                    ..screen(&outer, 0)
                },
                width,
                10,
            )
        };
        let wide = lines(120);
        assert_eq!(text(&wide[0]).trim(), "calls of git");
        assert!(text(&wide[6]).contains("| call4 "), "{}", text(&wide[6]));
        assert!(marked(&wide)[0].contains("| call0"));
        assert!(!lines(119).iter().any(|line| text(line).contains('|')));
    }
}
