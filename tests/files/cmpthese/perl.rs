//! Against Perl itself: what its Benchmark prints of the same figures. Loudly skipped where there is no Perl.
//!
//! Result objects are made as the NOTES of Benchmark's documentation describe them: real, user, system, two times of
//! children, iterations.

use super::data::{published, run, shown};
use crate::common::*;
use std::fmt::Write;

type Row = (String, u64, u64, u64);

fn perl(script: &str) -> Option<String> {
    let output = Command::new("perl")
        .args(["-MBenchmark=:all", "-e", script])
        .output();
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            expect_in(&error, "Can't locate Benchmark");
            missing(&error)
        }
        Err(error) => missing(&error.to_string()),
    }
}

fn missing(reason: &str) -> Option<String> {
    skip(reason.trim());
    None
}

/// Numbers that look random and are the same in every run of the test.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Tables of 1 to 12 cases whose rates lie up to eleven powers of ten apart; every second one of slow cases. No two rates
/// of a table are equal: Perl's order of those is a hash's.
fn tables() -> Vec<Vec<Row>> {
    let mut numbers = Numbers(1);
    (0..72)
        .map(|i| {
            distinct(
                (0..1 + i % 12)
                    .map(|row| any_row(&mut numbers, row, i))
                    .collect(),
            )
        })
        .collect()
}

fn any_row(numbers: &mut Numbers, row: u64, table: u64) -> Row {
    let name = "n".repeat(1 + numbers.below(14) as usize) + &row.to_string();
    let magnitude = 10u64.pow(numbers.below(1 + table % 9) as u32);
    // An odd number: no quotient lies in the middle between two decimals.
    let count = 1 + 2 * numbers.below(5 * magnitude);
    let scale = if table.is_multiple_of(2) { 1 } else { 1000 };
    // Together an odd number: never half a second, which the two may round to either side.
    (
        name,
        2 * scale * numbers.below(150),
        1 + 2 * numbers.below(50),
        count,
    )
}

fn distinct(table: Vec<Row>) -> Vec<Row> {
    let mut kept: Vec<Row> = Vec::new();
    for row in table {
        if kept
            .iter()
            .all(|other| row.3 * (other.1 + other.2) != other.3 * (row.1 + row.2))
        {
            kept.push(row);
        }
    }
    kept
}

fn script(tables: &[Vec<Row>]) -> String {
    let mut script = String::from("$| = 1; sub o { bless [@_], 'Benchmark' }\n");
    for table in tables {
        script += "%h = (";
        for (name, user, system, n) in table {
            write!(
                script,
                "'{name}', o(0, {user}/100, {system}/100, 0, 0, {n}), "
            )
            .unwrap();
        }
        script += "); cmpthese(\\%h); print qq(==\\n);\n";
    }
    script
}

fn ours(table: &[Row]) -> String {
    let records = table.iter().map(|(name, user, system, n)| {
        let seconds = |hundredths: &u64| *hundredths as f64 / 100.0;
        published(name, seconds(user), seconds(system), *n)
    });
    let text = shown(&run(1.0, records.collect()));
    let lines = text.lines().filter(|line| !line.starts_with("note: "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn figures_are_formatted_as_perl_formats_them() {
    let tables = tables();
    let printed = needs!(perl(&script(&tables)));
    let theirs: Vec<&str> = printed.split("==\n").collect();
    assert_eq!(theirs.len(), tables.len() + 1);
    assert!(
        ["s/iter", "Rate", "e-0", "100%"]
            .iter()
            .all(|kind| printed.contains(kind)),
        "every kind of number"
    );
    for (table, theirs) in tables.iter().zip(theirs) {
        assert_eq!(ours(table), theirs, "of {table:?}");
    }
}
