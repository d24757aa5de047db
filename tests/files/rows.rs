//! Runs that are gathered: labels, a folder that many hosts share, and the rows of all of them.

use super::csv::documented;
use crate::common::*;

const SHORT: &str = "run id.getppid --time 0.1 --no-verify --quiet";

fn golden() -> Value {
    serde_json::from_str(&fs::read_to_string(root().join("tests/golden/run.json")).unwrap())
        .unwrap()
}

fn write(place: &Place, file: &str, host: Value, labels: Value) {
    let mut run = golden();
    run["host"]["name"] = host;
    run["labels"] = labels;
    fs::create_dir_all(place.path().join("results")).unwrap();
    fs::write(place.path().join("results").join(file), run.to_string()).unwrap();
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn names(folder: PathBuf) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn every_line_has_the_same_fields_and_they_are_described() {
    let place = Place::new();
    write(&place, "a.json", json!("n1"), json!({"pool": "web"}));
    write(
        &place,
        "b.json",
        json!("n\"2'\n\u{1b}[31m</script>"),
        json!({"zone": "a\"'\n;DROP TABLE x--\u{0}"}),
    );
    let text = place.printed(place.rows_of("results"));
    assert!(
        !text.contains(['\u{1b}', '\u{0}']),
        "control characters are escaped"
    );
    let rows = lines(&text);
    let fields =
        |row: &Value| -> Vec<String> { row.as_object().unwrap().keys().cloned().collect() };
    let described = documented();
    for row in &rows {
        assert_eq!(fields(row), fields(&rows[0]));
    }
    let (labels, others): (Vec<_>, Vec<_>) = fields(&rows[0])
        .into_iter()
        .partition(|name| name.starts_with("label_"));
    assert_eq!(labels, ["label_node", "label_pool", "label_zone"]);
    let unknown = others.iter().find(|name| !described.contains_key(*name));
    assert_eq!(unknown, None);
    let hosts: BTreeSet<&str> = rows.iter().filter_map(|row| row["host"].as_str()).collect();
    assert_eq!(hosts.len(), 2);
    let asked = golden()["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|record| record["role"] == "asked")
        .count();
    assert_eq!(
        rows.iter().filter(|row| row["kind"] == "cost").count(),
        2 * asked
    );
}

#[test]
fn a_row_is_a_line_of_csv() {
    let place = Place::new();
    write(&place, "a.json", json!("n1"), json!({}));
    let rows = lines(&place.printed("show results/a.json --format rows"));
    let text = place.printed("show results/a.json --format csv");
    let records: Vec<BTreeMap<String, String>> = csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        for (name, cell) in record {
            match &row[name] {
                Value::Null => assert_eq!(cell, "", "{name}"),
                Value::String(text) => assert_eq!(cell, text, "{name}"),
                number => assert_eq!(cell.parse().ok(), number.as_f64(), "{name}"),
            }
        }
    }
    let input = fs::File::open(place.path().join("results/a.json")).unwrap();
    let of_input = place
        .command("show - --format rows")
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(lines(&stdout(&of_input)).len(), rows.len());
}

#[test]
fn labels_choose_files() {
    let place = Place::new();
    for (file, pool) in [("a.json", "web"), ("b.json", "db"), ("c.json", "web")] {
        write(&place, file, json!(file), json!({"pool": pool}));
    }
    let files = ["results/a.json", "results/b.json", "results/c.json"];
    let rows = lines(&place.printed(("show --format rows --only id", &files)));
    let pools: BTreeSet<(&str, &str)> = rows
        .iter()
        .map(|row| {
            (
                row["file"].as_str().unwrap(),
                row["label_pool"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        pools,
        [(files[0], "web"), (files[1], "db"), (files[2], "web")].into()
    );
    assert!(
        rows.iter()
            .all(|row| row["operation"].as_str().unwrap().starts_with("id.")),
        "{rows:?}"
    );
    let shown = place.printed(format!("show {}", files[0]));
    expect_in(&shown, "labels: pool=web");
}

#[test]
fn what_is_no_result_file_is_named_and_skipped() {
    let place = Place::new();
    write(&place, "good.json", json!("n1"), json!({}));
    let whole = fs::read(place.path().join("results/good.json")).unwrap();
    let at = |name: &str| place.path().join("results").join(name);
    fs::write(at("half.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(at("foreign.json"), "{\"a\": 1}").unwrap();
    fs::write(at("empty.json"), "").unwrap();
    fs::write(at("label.json"), whole_with_label(&whole, "Bad Key")).unwrap();
    let output = place.run(format!("{} nowhere.json", place.rows_of("results")));
    let said = stderr(&output);
    expect_status(&output, 3);
    let skipped = [
        "empty.json",
        "foreign.json",
        "half.json",
        "label.json",
        "nowhere.json",
    ];
    assert_eq!(said.lines().count(), skipped.len(), "{said}");
    for name in skipped {
        let named = |line: &str| line.starts_with("syscost: skipped: ") && line.contains(name);
        assert_eq!(
            said.lines().filter(|line| named(line)).count(),
            1,
            "{name}: {said}"
        );
    }
    assert!(
        lines(&stdout(&output))
            .iter()
            .all(|row| row["host"] == "n1")
    );
}

fn whole_with_label(whole: &[u8], key: &str) -> String {
    let mut run: Value = serde_json::from_slice(whole).unwrap();
    run["labels"] = json!({key: "x"});
    run.to_string()
}

#[test]
fn a_run_on_standard_output_is_a_result_file_and_its_table_is_elsewhere() {
    let place = Place::new();
    let arguments = "run id.getppid --time 0.1 --no-verify --out - --label 'pool=x y'";
    let output = place.run(arguments);
    expect_status(&output, 0);
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&run["schema"], &run["complete"]),
        (&json!("syscost.result/1"), &json!(true))
    );
    assert_eq!(run["labels"], json!({"pool": "x y"}));
    assert!(stderr(&output).contains("id.getppid") && !place.path().join("-").exists());
    let quiet = place.run((SHORT, "--out -"));
    assert_eq!(
        (stderr(&quiet).as_str(), quiet.stdout.starts_with(b"{")),
        ("", true)
    );
}

/// Three runs of the same host, perhaps of the same second; the directory is made.
#[test]
fn runs_share_a_folder_without_replacing_each_other() {
    let place = Place::new();
    let shared = place.path().join("made/shared");
    place.write("file", "");
    let refused = place.run((SHORT, "--out-dir file/shared"));
    expect_status(&refused, 2);
    let start = || place.start((SHORT, "--out-dir made/shared"));
    let jobs: Vec<_> = (0..3).map(|_| start()).collect();
    for job in jobs {
        let output = job.output();
        expect_status(&output, 0);
    }
    let files = names(shared.clone());
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(
        files.iter().all(|name| name.ends_with(".json")),
        "{files:?}"
    );
    assert_eq!(
        fs::read_dir(&shared).unwrap().count(),
        3,
        "nothing else is left"
    );
    let rows = lines(&place.printed(place.rows_of("made/shared")));
    let runs: BTreeSet<&str> = rows
        .iter()
        .map(|row| row["file"].as_str().unwrap())
        .collect();
    assert_eq!(runs.len(), 3, "{runs:?}");
}
