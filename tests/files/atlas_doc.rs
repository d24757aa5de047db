//! Every figure in docs/atlas.md is in the data set in atlas/. `SNAPSHOTS=overwrite cargo test --test files atlas_page` writes them anew.

use crate::common::*;
use model::atlas::{self, Atlas};
use model::atlas::{AtlasKernel, AtlasMachine};
use regex_lite::Regex;
use snapbox::Data;
use snapbox::data::DataFormat;

fn page() -> String {
    fs::read_to_string("docs/atlas.md").unwrap()
}

fn atlas() -> Atlas {
    store::atlas::read(Path::new("atlas")).unwrap()
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|')
        .split('|')
        .map(|cell| cell.trim().replace('`', ""))
        .collect()
}

/// The kernel that stands for a series such as `6.12`, or that of a version such as `6.1.0-47`: on the plainest machine, or, of
/// `6.12, arm64` or `6.12, EPYC`, on another one.
fn newest<'a>(atlas: &'a Atlas, column: &str) -> &'a AtlasKernel {
    let (series, wanted) = column.split_once(", ").unwrap_or((column, "amd64 qemu64"));
    let is_on = |kernel: &&AtlasKernel| {
        let AtlasMachine {
            architecture,
            cpu,
            append,
        } = &kernel.machine;
        let model = cpu.split(',').next().unwrap();
        let names = match architecture.as_str() {
            "aarch64" => ["arm64".to_string(), format!("arm64 {append}")],
            _ => [
                format!("amd64 {model} {append}"),
                format!("{model} {append}"),
            ],
        };
        names.iter().any(|name| name.trim() == wanted)
    };
    let kernels: Vec<&AtlasKernel> = atlas.kernels.iter().filter(is_on).collect();
    let end = atlas::ends(&kernels)
        .into_iter()
        .find(|end| atlas::series(&end.release) == series);
    let version = || {
        kernels
            .iter()
            .find(|kernel| kernel.release.starts_with(&format!("{series}-cloud-")))
            .copied()
    };
    end.or_else(version)
        .unwrap_or_else(|| panic!("no kernel of {column}"))
}

fn count(kernel: &AtlasKernel, operation: &str) -> f64 {
    let cell = kernel.cells.iter().find(|cell| cell.operation == operation);
    cell.and_then(|cell| cell.count)
        .unwrap_or_else(|| panic!("{operation} in {}", kernel.release))
        .mode
}

pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

fn change(before: f64, after: f64) -> String {
    format!("{:+.0}%", 100.0 * (after / before - 1.0))
}

fn counts(atlas: &Atlas, header: &[String], operation: &str) -> Vec<String> {
    let series: Vec<&String> = header[1..]
        .iter()
        .filter(|name| *name != "change")
        .collect();
    let all: Vec<f64> = series
        .iter()
        .map(|series| count(newest(atlas, series), operation))
        .collect();
    let mut row = vec![operation.to_string()];
    row.extend(all.iter().map(|value| thousands(*value)));
    if header.last().is_some_and(|name| name == "change") {
        row.push(change(all[0], all[all.len() - 1]));
    }
    row
}

/// A row of a table with a row for each kernel, which a narrow screen holds, and a column for each operation.
fn in_kernel(atlas: &Atlas, header: &[String], kernel: &str) -> Vec<String> {
    let counts = header[1..]
        .iter()
        .map(|operation| thousands(count(newest(atlas, kernel), operation)));
    std::iter::once(kernel.to_string()).chain(counts).collect()
}

const ALL: &str = "all";
const MISSING: &str = "| missing |";

/// What a table of functions must say in the row of the function that changed an operation's step between two series the most, or,
/// further down, the next most; without a place, in the row of them all.
fn functions(
    atlas: &Atlas,
    header: &[String],
    operation: &str,
    place: Option<usize>,
) -> Vec<String> {
    let [before, after] = [&header[2], &header[3]].map(|series| newest(atlas, series));
    let ends = (&before.machine, &before.release, &after.release);
    let steps = atlas
        .steps
        .iter()
        .find(|steps| (&steps.machine, &steps.before, &steps.after) == ends)
        .unwrap();
    let step = steps.steps.iter().find(|step| step.operation == operation);
    let row = step.and_then(|step| {
        let Some(place) = place else {
            return Some((ALL.to_string(), [step.before, step.after]));
        };
        let function = step.functions.get(place)?;
        let own = [function.before, function.after];
        Some((function.name.clone(), own.map(|count| count as f64)))
    });
    let cells = row.map_or(
        ["missing"; 3].map(String::from),
        |(name, [before, after])| [name, thousands(before), thousands(after)],
    );
    [&[operation.to_string()], &cells[..]].concat()
}

/// The columns of a run's table in CSV, row by row.
fn columns<const N: usize>(file: &str, wanted: [&str; N]) -> Vec<[String; N]> {
    let text = fs::read_to_string(file).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let at = wanted.map(|name| names.iter().position(|known| *known == name).unwrap());
    lines.map(|row| at.map(|at| row[at].to_string())).collect()
}

/// What a test of LEBench executes in a kernel, such as `6.1 pti=on`.
fn lebench(header: &[String], test: &str) -> Vec<String> {
    let wanted = ["name", "environment", "operation", "params", "instructions"];
    let rows = columns("atlas/lebench.csv", wanted);
    let row = |kernel: &String| {
        let (version, append) = kernel.split_once(' ').unwrap_or((kernel, ""));
        let environment = format!("linux-{version} memory=2048 {append}");
        let is_it = |row: &&[String; 5]| row[0] == test && row[1] == environment.trim();
        rows.iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{test} in {environment}"))
    };
    let kernels: Vec<&[String; 5]> = header[2..header.len() - 1].iter().map(row).collect();
    let counts: Vec<f64> = kernels.iter().map(|row| row[4].parse().unwrap()).collect();
    let operation = format!("{} {}", kernels[0][2], kernels[0][3]);
    let mut cells = vec![test.to_string(), operation.trim().to_string()];
    cells.extend(counts.iter().map(|count| thousands(*count)));
    cells.push(change(counts[0], counts[2]));
    cells
}

fn times(atlas: &Atlas, header: &[String], operation: &str) -> Vec<String> {
    let rows = columns("atlas/host.csv", ["operation", "median_ns"]);
    let of: BTreeMap<String, f64> = rows
        .into_iter()
        .filter_map(|[operation, ns]| Some((operation, ns.parse().ok()?)))
        .collect();
    let instructions = count(
        newest(atlas, header[1].split(' ').next().unwrap()),
        operation,
    );
    let row = [
        thousands(instructions),
        thousands(of[operation]),
        format!("{:.2}", instructions / of[operation]),
    ];
    [&[operation.to_string()], &row[..]].concat()
}

fn filled(page: &str, atlas: &Atlas) -> (String, usize) {
    let (mut header, mut before, mut rows): (Vec<String>, Vec<String>, usize) = Default::default();
    let line = |line: &str| {
        if !line.starts_with('|') {
            (header, before) = Default::default();
            return line.to_string();
        }
        if header.is_empty() {
            header = cells(line);
        }
        if cells(line) == header || line.starts_with("|--") {
            return line.to_string();
        }
        let operation = cells(line)[0].clone();
        let place = before.iter().filter(|other| **other == operation).count();
        let is_all = cells(line)[1] == ALL;
        if !is_all {
            before.push(operation.clone());
        }
        rows += 1;
        let (row, names) = match (header[1].as_str(), header[header.len() - 1].as_str()) {
            // The first cell is a kernel.
            _ if header[0] == "kernel" => (in_kernel(atlas, &header, &operation), 0),
            ("function", _) => {
                let place = (!is_all).then_some(place);
                (functions(atlas, &header, &operation, place), 2)
            }
            ("operation", _) => (lebench(&header, &operation), 2),
            (_, "instructions/ns") => (times(atlas, &header, &operation), 1),
            _ => (counts(atlas, &header, &operation), 1),
        };
        let cell = |(at, text): (usize, &String)| {
            if at < names {
                format!(" `{text}` |")
            } else {
                format!(" {text} |")
            }
        };
        format!("|{}", row.iter().enumerate().map(cell).collect::<String>())
    };
    let lines: Vec<String> = page.lines().map(line).collect();
    (lines.join("\n") + "\n", rows)
}

/// The cells in which two pages of the same tables differ.
fn stale(page: &str, filled: &str) -> Vec<String> {
    let mut header = Vec::new();
    let mut found = Vec::new();
    for (number, (old, new)) in page.lines().zip(filled.lines()).enumerate() {
        let (old, new) = (cells(old), cells(new));
        if header.len() != old.len() {
            header.clone_from(&old);
        }
        let cells = header.iter().zip(old.iter().zip(&new));
        let different = cells.filter(|(_, (old, new))| old != new);
        found.extend(different.map(|(column, (shown, is))| {
            let line = number + 1;
            format!("line {line}, {}, {column}: {shown}, not {is}", old[0])
        }));
    }
    found
}

/// The statements of the README in atlas/, the answers of those that ask, and how many counts and functions the views have.
const ASK: &str = r#"
import json, sys
try:
    import duckdb
except ModuleNotFoundError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)
indented = "".join(line for line in open("README") if line.startswith("    "))
asked = indented.split(";")[:-1] + ["SELECT count(instructions), sum(instructions) FROM counts", "SELECT count(*) FROM functions"]
answers = [duckdb.sql(statement) for statement in asked]
json.dump([answer.fetchall() for answer in answers if answer], sys.stdout)
"#;

#[test]
fn duckdb_reads_the_atlas_as_its_readme_does() {
    let asked = Command::new("python3")
        .args(["-c", ASK])
        .current_dir(root().join("atlas"))
        .output();
    let asked = match asked {
        Err(error) => return skip(&format!("python3: {error}")),
        Ok(asked) if asked.status.code() == Some(77) => {
            return skip(&format!("duckdb: {}", stderr(&asked).trim()));
        }
        Ok(asked) => asked,
    };
    expect_status(&asked, 0);
    let answers: Value = serde_json::from_slice(&asked.stdout).unwrap();
    let [fstat, largest, counts, functions] = &list(&answers)[..] else {
        panic!("{answers}")
    };
    let atlas = atlas();
    let newest = newest(&atlas, "6.12");
    let row = json!([newest.release, count(newest, "file.fstat")]);
    assert!(list(fstat).contains(&row), "{row} in {fstat}");
    assert!(!list(largest).is_empty());
    let cells = atlas.kernels.iter().flat_map(|kernel| &kernel.cells);
    let modes: Vec<f64> = cells.filter_map(|cell| Some(cell.count?.mode)).collect();
    let sum: f64 = modes.iter().sum();
    assert_eq!(counts[0][0], modes.len());
    assert!((counts[0][1].as_f64().unwrap() / sum - 1.0).abs() < 1e-9);
    let steps = atlas.steps.iter().flat_map(|steps| &steps.steps);
    let all: usize = steps.map(|step| step.functions.len()).sum();
    assert_eq!(functions[0][0], all);
}

#[test]
fn every_figure_of_the_atlas_page_is_in_the_data_set() {
    let (filled, rows) = filled(&page(), &atlas());
    assert!(rows > 60, "{rows} rows");
    let stale = stale(&page(), &filled);
    println!("{} cells are stale:\n{}", stale.len(), stale.join("\n"));
    assert!(!page().contains(MISSING), "a row that the data lack");
    let kept = Data::read_from(Path::new("docs/atlas.md"), Some(DataFormat::Text)).raw();
    snapbox::assert_data_eq!(filled, kept);
}

/// Figures are in tables, where the test above finds them.
#[test]
fn the_text_of_the_atlas_page_has_no_figures() {
    let code = Regex::new(r"(?s)```.*?```|`[^`]*`|\(https?:[^)]*\)").unwrap();
    let page = page();
    let text = code.replace_all(&page, "");
    let figure = Regex::new(r"[0-9]{3,}|[0-9],[0-9]|[0-9] ?%").unwrap();
    let found: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('|') && figure.is_match(line))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}
