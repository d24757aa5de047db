//! Every figure in docs/atlas.md is in the data set in atlas/.

use regex_lite::Regex;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syscost::atlas::{self, Atlas};
use syscost::model::atlas::AtlasKernel;

fn page() -> String {
    fs::read_to_string("docs/atlas.md").unwrap()
}

fn atlas() -> Atlas {
    atlas::read(Path::new("atlas")).unwrap()
}

/// A table's header and rows, without the line between.
fn tables(page: &str) -> Vec<Vec<Vec<String>>> {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
    let mut tables: Vec<Vec<Vec<String>>> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        let is_row = line.starts_with('|');
        if is_row && !inside {
            tables.push(Vec::new());
        }
        if is_row && !line.starts_with("|--") {
            tables.last_mut().unwrap().push(cells(line));
        }
        inside = is_row;
    }
    tables
}

/// The newest kernel of a series such as `6.12`, on the plainest machine.
fn newest<'a>(atlas: &'a Atlas, series: &str) -> &'a AtlasKernel {
    let is_of =
        |kernel: &&AtlasKernel| kernel.release.starts_with(&format!("{series}.")) && kernel.machine.append.is_empty();
    atlas.kernels.iter().rfind(is_of).unwrap_or_else(|| panic!("no kernel of {series}"))
}

fn count(kernel: &AtlasKernel, operation: &str) -> f64 {
    let cell = kernel.cells.iter().find(|cell| cell.operation == operation);
    cell.and_then(|cell| cell.count).unwrap_or_else(|| panic!("{operation} in {}", kernel.release)).mode
}

/// `12,437`.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

fn change(before: f64, after: f64) -> String {
    format!("{:+.0}%", 100.0 * (after / before - 1.0))
}

/// What a table of counts must say in the row of an operation.
fn counts(atlas: &Atlas, header: &[String], operation: &str) -> Vec<String> {
    let series: Vec<&String> = header[1..].iter().filter(|name| *name != "change").collect();
    let all: Vec<f64> = series.iter().map(|series| count(newest(atlas, series), operation)).collect();
    let mut row = vec![operation.to_string()];
    row.extend(all.iter().map(|value| thousands(*value)));
    if header.last().is_some_and(|name| name == "change") {
        row.push(change(all[0], all[all.len() - 1]));
    }
    row
}

/// What a table of functions must say of one in an operation's step between two series.
fn functions(atlas: &Atlas, header: &[String], row: &[String]) -> Vec<String> {
    let ends = [&header[2], &header[3]].map(|series| &newest(atlas, series).release);
    let steps = atlas.steps.iter().find(|steps| [&steps.before, &steps.after] == ends).unwrap();
    let step = steps.steps.iter().find(|step| step.operation == row[0]).unwrap_or_else(|| panic!("{row:?}"));
    let function = step.functions.iter().find(|function| function.name == row[1]).unwrap_or_else(|| panic!("{row:?}"));
    let numbers = [function.before, function.after].map(|count| thousands(count as f64));
    [&row[..2], &numbers[..]].concat()
}

/// What a table of times must say: instructions of the series, and the time in atlas/host.csv.
fn times(atlas: &Atlas, header: &[String], operation: &str) -> Vec<String> {
    let text = fs::read_to_string("atlas/host.csv").unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let of: BTreeMap<&str, f64> =
        lines.filter_map(|row| Some((row[at("operation")], row[at("median_ns")].parse().ok()?))).collect();
    let instructions = count(newest(atlas, header[1].split(' ').next().unwrap()), operation);
    let row = [thousands(instructions), thousands(of[operation]), format!("{:.2}", instructions / of[operation])];
    [&[operation.to_string()], &row[..]].concat()
}

#[test]
fn every_figure_of_the_atlas_page_is_in_the_data_set() {
    let (atlas, page) = (atlas(), page());
    let mut rows = 0;
    for table in tables(&page) {
        let header = &table[0];
        for row in &table[1..] {
            let expected = match header[1].as_str() {
                "function" => functions(&atlas, header, row),
                name if name.contains(' ') => times(&atlas, header, &row[0]),
                _ => counts(&atlas, header, &row[0]),
            };
            assert_eq!(*row, expected, "under {header:?}");
            rows += 1;
        }
    }
    assert!(rows > 60, "{rows} rows");
}

/// Figures are in tables, where the test above finds them.
#[test]
fn the_text_of_the_atlas_page_has_no_figures() {
    let code = Regex::new(r"(?s)```.*?```|`[^`]*`|\(https?:[^)]*\)").unwrap();
    let page = page();
    let text = code.replace_all(&page, "");
    let figure = Regex::new(r"[0-9]{3,}|[0-9],[0-9]|[0-9] ?%").unwrap();
    let found: Vec<&str> = text.lines().filter(|line| !line.starts_with('|') && figure.is_match(line)).collect();
    assert!(found.is_empty(), "{found:#?}");
}
