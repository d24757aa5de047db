//! Every figure in docs/options.md is in atlas/options.csv. `SNAPSHOTS=overwrite cargo test --test files options_page` writes them anew.

use crate::atlas_doc::thousands;
use crate::common::*;
use snapbox::Data;
use snapbox::data::DataFormat;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

/// By operation and environment, instructions of one iteration. None where it failed.
type Counts = HashMap<(String, String), Option<f64>>;

fn counts() -> Counts {
    let text = fs::read_to_string("atlas/options.csv").unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let row = (cells[0].to_string(), cells[1].to_string());
        (row, cells[2].parse().ok())
    });
    rows.collect()
}

fn count(counts: &Counts, operation: &str, environment: &str) -> Option<f64> {
    let row = (operation.to_string(), environment.to_string());
    let count = counts.get(&row);
    *count.unwrap_or_else(|| panic!("{row:?} is not in the data"))
}

/// Programs that the launcher starts are compared with one that it only starts.
const LAUNCHED: &str = "confine=none";

fn is_baseline(option: &str) -> bool {
    ["none", LAUNCHED].contains(&option)
}

/// Counts of processes and pipes differ by less between boots.
const VARIES: f64 = 0.002;

/// What `option` adds to an operation; `?` where it failed.
fn added(counts: &Counts, operation: &str, kernel: &str, option: &str) -> String {
    let baseline = if option.starts_with("confine=") {
        format!("linux-{kernel} {LAUNCHED}")
    } else {
        format!("linux-{kernel}")
    };
    let (Some(plain), Some(with)) = (
        count(counts, operation, &baseline),
        count(counts, operation, &format!("linux-{kernel} {option}")),
    ) else {
        return "?".to_string();
    };
    let difference = (with - plain).round();
    if difference.abs() < VARIES * plain || difference == 0.0 {
        return "=".to_string();
    }
    let sign = if difference < 0.0 { '-' } else { '+' };
    format!("{sign}{}", thousands(difference.abs()))
}

/// The page with the cells of its tables as the data have them, and the number of rows.
fn filled(page: &str, counts: &Counts) -> (String, usize) {
    let (mut kernel, mut operations, mut rows) = (String::new(), Vec::new(), 0);
    let mut lines = Vec::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## Linux ") {
            kernel = heading.to_string();
        }
        let cells: Vec<String> = line
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().replace('`', ""))
            .collect();
        let is_row = line.starts_with("| ") && !kernel.is_empty();
        if is_row && ["option", "hook"].contains(&&*cells[0]) {
            operations = cells[1..].to_vec();
        } else if is_row {
            rows += 1;
            let option = &cells[0][..];
            let environment = format!("linux-{kernel} {}", option.trim_start_matches("none"));
            let row = operations.iter().map(|operation| {
                if is_baseline(option) {
                    thousands(count(counts, operation, environment.trim()).unwrap())
                } else {
                    added(counts, operation, &kernel, option)
                }
            });
            let row: Vec<String> = row.collect();
            lines.push(format!("| `{}` | {} |", cells[0], row.join(" | ")));
            continue;
        }
        lines.push(line.to_string());
    }
    (lines.join("\n") + "\n", rows)
}

#[test]
fn every_figure_of_the_options_page_is_in_the_data() {
    let path = "docs/options.md";
    let counts = counts();
    let (filled, rows) = filled(&fs::read_to_string(root().join(path)).unwrap(), &counts);
    let environments: HashSet<&String> =
        counts.keys().map(|(_, environment)| environment).collect();
    assert_eq!(
        rows,
        environments.len(),
        "the page has a row for each environment"
    );
    let kept = Data::read_from(Path::new(path), Some(DataFormat::Text)).raw();
    snapbox::assert_data_eq!(filled, kept);
}
