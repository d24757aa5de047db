//! Every ratio in every table that a golden file or a sample of the documents shows is the quotient of the figures beside it.

use std::fs;
use std::path::PathBuf;

/// A cell, with the place where it ends in its line.
type Cell<'a> = (usize, &'a str);

/// Of a line whose cells have two spaces or more between them.
fn cells(line: &str) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    let mut at = 0;
    for part in line.split("  ") {
        let cell = part.trim();
        let begin = at + (part.len() - part.trim_start().len());
        if !cell.is_empty() {
            let end = line[..begin].chars().count() + cell.chars().count();
            cells.push((end, cell));
        }
        at += part.len() + 2;
    }
    cells
}

/// The ends of what a printed number may be, by its last digit.
fn range(text: &str) -> Option<(f64, f64)> {
    let text = text
        .trim_start_matches(['~', '+'])
        .trim_end_matches(['*', '?']);
    let plain = text.replace(',', "");
    let value: f64 = plain.parse().ok()?;
    let digits = plain.split_once('.').map_or(0, |(_, digits)| digits.len());
    let half = 0.5000001 * 10f64.powi(-(digits as i32));
    Some((value - half, value + half))
}

fn agrees(ratio: &str, own: &str, base: &str) -> bool {
    let number = ratio.split_whitespace().next().unwrap_or_default();
    let [Some(ratio), Some(own), Some(base)] = [number, own, base].map(range) else {
        return true;
    };
    base.0 <= 0.0 || (own.0 / base.1 <= ratio.1 && ratio.0 <= own.1 / base.0)
}

struct Table<'a> {
    /// `ns/op, and the ratio to native`
    base: Option<&'a str>,
    header: Vec<Cell<'a>>,
    rows: Vec<Vec<Cell<'a>>>,
}

impl<'a> Table<'a> {
    fn at(row: &[Cell<'a>], column: Cell) -> &'a str {
        let found = row.iter().find(|(end, _)| *end == column.0);
        found.map_or("", |(_, text)| text)
    }

    /// Figures stand left of their ratio; only `±` and intervals may be between.
    fn figure_before(&self, column: usize) -> Option<Cell<'a>> {
        let skipped = |(_, name): &&Cell| matches!(*name, "±" | "95% interval" | "interval");
        self.header[..column]
            .iter()
            .rev()
            .find(|cell| !skipped(cell))
            .copied()
    }

    /// The column with what a ratio divides by.
    fn base(&self, column: usize) -> Option<Cell<'a>> {
        let name = self.header[column].1;
        let named = |base: &str| {
            let starts = |(_, own): &&Cell| own.split(' ').next() == Some(base);
            self.header.iter().find(starts).copied()
        };
        match (name, self.base) {
            ("ratio", Some(base)) => named(base),
            ("ratio", None) => self.header.get(1).copied(),
            _ => named(name.strip_prefix("/ ")?),
        }
    }

    fn own_row(&self, wanted: &str) -> Option<&Vec<Cell<'a>>> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.first().is_some_and(|(_, name)| *name == wanted))
    }

    /// The number of ratios that were looked at, and those that are wrong.
    fn checked(&self) -> (usize, Vec<String>) {
        let (mut seen, mut wrong) = (0, Vec::new());
        for (column, head) in self.header.iter().enumerate() {
            let is_ratio = head.1 == "ratio" || head.1.starts_with("/ ");
            if !is_ratio && head.1 != "x getppid" {
                continue;
            }
            for row in &self.rows {
                let ratio = Table::at(row, *head);
                let (own, base) = self.beside(row, column);
                seen += usize::from(!own.is_empty() && !base.is_empty() && !ratio.is_empty());
                if !agrees(ratio, own, base) {
                    wrong.push(format!("{}: {own} / {base} is not {ratio}", row[0].1));
                }
            }
        }
        for row in &self.rows {
            let Some((ratio, own, base)) = self.derived(row) else {
                continue;
            };
            seen += 1;
            if !agrees(ratio, own, base) {
                wrong.push(format!("{}: {own} / {base} is not {ratio}", row[0].1));
            }
        }
        (seen, wrong)
    }

    /// Of a row such as `HEAD / BASE (ratio)` its ratio and the figures of the two rows.
    fn derived(&self, row: &[Cell<'a>]) -> Option<(&'a str, &'a str, &'a str)> {
        let (own, base) = row.first()?.1.strip_suffix(" (ratio)")?.split_once(" / ")?;
        let figure = self.header.iter().find(|(_, name)| *name == "ns/op")?;
        let ratio = Table::at(row, *figure).strip_prefix("x ")?;
        let of = |name| Some(Table::at(self.own_row(name)?, *figure));
        Some((ratio, of(own)?, of(base)?))
    }

    /// A figure and what it is divided by: in the same row, or in that of the reference.
    fn beside(&self, row: &[Cell<'a>], column: usize) -> (&'a str, &'a str) {
        let unit = |(_, name): &&Cell| *name == "ns/op";
        let figure = match self.header[column].1 {
            "x getppid" => self.header.iter().find(unit).copied(),
            _ => self.figure_before(column),
        };
        let Some(figure) = figure else {
            return ("", "");
        };
        let own = Table::at(row, figure);
        let reference = match (self.header[column].1, self.base) {
            ("x getppid", _) => self.own_row("id.getppid"),
            ("ratio", Some(base)) => self.own_row(base),
            _ => None,
        };
        let base = match (reference, self.base(column)) {
            (Some(reference), _) => Table::at(reference, figure),
            (None, Some(base)) => Table::at(row, base),
            (None, None) => "",
        };
        (own, base)
    }
}

/// Tables begin with a line of headings after an empty line or a title, and end with an empty line.
fn tables(text: &str) -> Vec<Table<'_>> {
    let mut tables = Vec::new();
    for block in text.split("\n\n") {
        let lines: Vec<&str> = block.lines().collect();
        let begins = |line: &&str| {
            ["operation  ", "environment  "]
                .iter()
                .any(|head| line.starts_with(head))
        };
        if let Some(first) = lines.iter().position(begins) {
            let title = text[..text.find(block).unwrap_or(0)].trim_end();
            let base = title
                .lines()
                .last()
                .and_then(|title| title.split_once("and the ratio to "))
                .map(|(_, base)| base);
            tables.push(Table {
                base,
                header: cells(lines[first]),
                rows: lines[first + 1..].iter().map(|line| cells(line)).collect(),
            });
        }
    }
    tables
}

fn texts() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let files = ["tests/golden", "docs"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let files = files
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    files
        .chain([root.join("README.md")])
        .filter(|path| {
            path.extension()
                .is_some_and(|own| own == "txt" || own == "md")
        })
        .collect()
}

#[test]
fn every_ratio_is_the_quotient_of_the_figures_beside_it() {
    let (mut all, mut wrong) = (0, Vec::new());
    for path in texts() {
        let text = fs::read_to_string(&path).unwrap();
        for table in tables(&text) {
            let (seen, found) = table.checked();
            all += seen;
            wrong.extend(
                found
                    .into_iter()
                    .map(|line| format!("{}: {line}", path.display())),
            );
        }
    }
    assert!(all > 100, "only {all} ratios were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_quotient_is_found() {
    let table = |ratio: &str| {
        format!(
            "CPU\n\noperation   native ns/op     ±  strace ns/op     ±  / native\nid.getppid         473.8  1.0%       191,732  2.0%     {ratio}\n"
        )
    };
    let found = |ratio: &str| tables(&table(ratio))[0].checked();
    assert_eq!(found("404.7"), (1, Vec::new()));
    let (seen, wrong) = found("856.0");
    assert_eq!((seen, wrong.len()), (1, 1));
    let named = "operation                ns/op\nBASE                     100.0\nHEAD                     110.0\nHEAD / BASE (ratio)    x 1.050\n";
    assert_eq!(tables(named)[0].checked().1.len(), 1);
    let title = "ns/op, and the ratio to native\n\nenvironment  id.getppid  ratio\nnative            100.0\nfilter            150.0  1.400\n";
    assert_eq!(tables(title)[0].checked().1.len(), 1);
}
