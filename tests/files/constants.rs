//! METHOD.md names every number that statistics, comparison and attribution decide by, with its value.

use crate::common::*;
use regex_lite::Regex;

const PLACES: [&str; 7] = [
    "crates/stats/src",
    "crates/analysis/src/summary",
    "crates/analysis/src/summary.rs",
    "crates/analysis/src/compare",
    "crates/analysis/src/compare.rs",
    "crates/analysis/src/attribute",
    "crates/measure/src/session/noise_history.rs",
];

fn files(place: &Path) -> Vec<PathBuf> {
    let Ok(directory) = fs::read_dir(place) else {
        return vec![place.to_path_buf()];
    };
    directory
        .flat_map(|entry| files(&entry.unwrap().path()))
        .filter(|path| !path.ends_with("tests.rs"))
        .collect()
}

fn constants(path: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    let numbers = Regex::new(
        r"(?m)^(?:pub(?:\(\w+\))? )?const (\w+): (?:f64|usize|u32|u64|i32|Deviation|\(f64, f64\)) =\s*([^;]*);",
    );
    let found = numbers.unwrap();
    let found = found
        .captures_iter(code)
        .map(|found| (found[1].to_string(), found[2].to_string()));
    found.filter(|(name, _)| name != "SEED").collect()
}

#[test]
fn the_readme_names_the_oldest_rust_that_is_promised() {
    let named = format!("Rust {} or newer", env!("CARGO_PKG_RUST_VERSION"));
    expect_in(fs::read_to_string("README.md").unwrap(), &named);
}

#[test]
fn every_constant_of_statistics_is_in_the_method_with_its_value() {
    let method = fs::read_to_string("METHOD.md").unwrap();
    let table = method.split("## Constants of statistics").nth(1).unwrap();
    let mut missing = Vec::new();
    for path in PLACES.iter().flat_map(|place| files(Path::new(place))) {
        // A file's rows are the one that names it and those below it that name none.
        let named = format!("| `{}` |", path.display());
        let rows = table.split(&named).nth(1).unwrap_or_default();
        let rows = rows.split("\n| `").next().unwrap();
        for (name, value) in constants(&path) {
            let plain = value.parse::<f64>().map(|number| number.to_string());
            let literal = plain
                .clone()
                .is_ok_and(|plain| rows.contains(&format!("`{name}` = {plain}")))
                || rows.contains(&format!("`{name}` = {value}"));
            let percent = plain.is_err() && rows.contains(&format!("`{name}` = "));
            if !literal && !percent {
                missing.push(format!("{}: {name} = {value}", path.display()));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "METHOD.md lacks:\n{}",
        missing.join("\n")
    );
}
