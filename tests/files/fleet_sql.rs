//! `syscost fleet sql`: engines that keep rows run the statements as they are, with the same answers as each other and as the
//! page's own statistics. Rows are those of bench/fleet, with planted changes.

use crate::common::{Place, root, skip, stderr};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use syscost::fleet::questions::{self, CaseName, Observation, outliers, since, spread, upgrades};
use syscost::store::{RowLine, read_rows};

/// Runs bench/fleet with the program under test.
fn bench(arguments: &[&str]) -> Output {
    let program = root().join("bench/fleet");
    Command::new(program).args(arguments).env("SYSCOST", env!("CARGO_BIN_EXE_syscost")).output().unwrap()
}

/// 60 hosts x 10 runs x 12 cases, as Parquet and as JSON; says why there are none.
fn rows(place: &Place) -> Result<String, String> {
    let folder = place.path().join("rows").to_string_lossy().into_owned();
    let made = bench(&["make", &folder, "--hosts", "60", "--runs", "10", "--cases", "12", "--lines"]);
    match made.status.success() {
        true => Ok(folder),
        false => Err(stderr(&made).lines().last().unwrap_or("python3 failed").to_string()),
    }
}

fn observations(folder: &str) -> Vec<Observation> {
    let mut all = Vec::new();
    let observed = |row: RowLine| {
        let RowLine { operation, params, environment, language, .. } = row;
        let place = questions::Origin { host: row.host.unwrap(), columns: row.columns };
        Observation {
            case: Arc::new(CaseName { operation, params, environment, language }),
            place: Arc::new(place),
            started_unix_s: row.started_unix_s,
            ns: row.median_ns.unwrap(),
        }
    };
    read_rows(&Path::new(folder).join("part-0000.jsonl"), |row| all.push(observed(row))).unwrap();
    all
}

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(ToString::to_string).collect()
}

/// What the page's statistics say, as the SQL lays it out.
fn own_answers(all: &[Observation]) -> Value {
    let key = |case: &CaseName, group: &[String]| {
        let case = [&case.operation, &case.params, &case.environment, &case.language].map(|text| json!(text));
        case.into_iter().chain(group.iter().map(|text| json!(text))).collect::<Vec<Value>>()
    };
    let row = |key: Vec<Value>, more: Vec<Value>| Value::Array([key, more].concat());
    let (alike, cpu) = (names(&["cpu", "kernel"]), names(&["cpu"]));
    let outliers = outliers(all, &alike).into_iter().map(|one| {
        let counts = (one.hosts, one.runs, one.flagged_cases);
        let more =
            json!([one.host, one.host_ns, one.group_ns, one.ratio, one.deviations, counts.0, counts.1, counts.2]);
        row(key(&one.case, &one.group), more.as_array().unwrap().clone())
    });
    let upgrades = upgrades(all, &cpu).into_iter().map(|one| {
        let more = json!([one.kernel_from, one.kernel_to, one.ratio, one.deviations, one.hosts, one.since_unix_s]);
        row(key(&one.case, &one.group), more.as_array().unwrap().clone())
    });
    let since = since(all, &cpu).into_iter().map(|one| {
        let more = json!([one.since_unix_s, one.ratio, one.deviations, one.days]);
        row(key(&one.case, &one.group), more.as_array().unwrap().clone())
    });
    let spread = spread(all, &alike).into_iter().map(|one| {
        let scatter = (one.between_hosts, one.within_hosts, one.least_ratio, one.largest_ratio);
        let more = json!([one.median_ns, scatter.0, scatter.1, scatter.2, scatter.3, one.hosts, one.runs]);
        row(key(&one.case, &one.group), more.as_array().unwrap().clone())
    });
    json!({
        "outliers": outliers.collect::<Vec<Value>>(),
        "upgrades": upgrades.collect::<Vec<Value>>(),
        "since": since.collect::<Vec<Value>>(),
        "spread": spread.collect::<Vec<Value>>(),
    })
}

/// Whether both are the same but for the last digits of numbers.
fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b)),
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-7 * a.abs().max(b.abs())
        }
        _ => a == b,
    }
}

/// What bench/fleet planted is among the answers, and no change of anything else.
fn check_planted(answers: &Value) {
    let of = |question: &str| answers[question].as_array().unwrap().clone();
    let slow = of("outliers").iter().filter(|row| row[6] == "node-0007").count();
    assert!(slow >= 8, "the slow host: {slow} of 24 in {}", answers["outliers"]);
    for (question, at) in [("upgrades", 7), ("since", 6)] {
        let rows = of(question);
        let what: Vec<(&Value, &Value)> = rows.iter().map(|row| (&row[0], &row[4])).collect();
        assert_eq!(what, [(&json!("file.fstat"), &json!("Intel Xeon 8481C"))], "{question}");
        assert!((rows[0][at].as_f64().unwrap() - 1.2).abs() < 0.04, "{question}: {}", rows[0]);
    }
    assert_eq!(of("spread").len(), 12 * 4 * 2);
}

#[test]
fn engines_and_our_own_statistics_give_the_same_answers() {
    let place = Place::new();
    let folder = match rows(&place) {
        Ok(folder) => folder,
        Err(reason) => return skip("rows for engines", &reason),
    };
    let own = own_answers(&observations(&folder));
    check_planted(&own);
    let spark = std::env::var_os("SYSCOST_SPARK").map(|_| "spark");
    let parquet = ["duckdb", "clickhouse", "datafusion"].into_iter().chain(spark).map(|engine| (engine, None));
    let lines = ["duckdb", "clickhouse"].into_iter().chain(spark).map(|engine| (engine, Some("--lines")));
    for (engine, lines) in parquet.chain(lines) {
        let asked = bench(&["ask", engine, &folder].into_iter().chain(lines).collect::<Vec<_>>());
        if stderr(&asked).starts_with("no Python module") {
            skip(&format!("the SQL of fleets on {engine}"), stderr(&asked).trim());
            continue;
        }
        assert!(asked.status.success(), "{engine}: {}", stderr(&asked));
        let answers: Value = serde_json::from_slice(&asked.stdout).unwrap();
        for question in ["outliers", "upgrades", "since", "spread"] {
            let (theirs, ours) = (&answers[question], &own[question]);
            assert!(agree(theirs, ours), "{engine} {lines:?} {question}:\n{theirs}\nours:\n{ours}");
        }
    }
}

#[test]
fn what_cannot_be_named_in_sql_is_refused_in_one_line() {
    let place = Place::new();
    for (arguments, words) in [
        (["--from", "a\n.parquet"], "--from"),
        (["--from", "rows; DROP TABLE rows"], "--from"),
        (["--from=a.jsonl", "--engine=datafusion"], ".json: rename"),
        (["--group-by", "cpu\"; --"], "--group-by"),
        (["--group-by", "host"], "choose from cpu, kernel"),
    ] {
        let output = place.run(&[&["fleet", "sql", "outliers"][..], &arguments[..]].concat());
        let said = stderr(&output);
        assert_eq!((output.status.code(), said.lines().count(), output.stdout.len()), (Some(2), 1, 0), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
