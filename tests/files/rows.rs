//! Runs that are gathered: labels, anonymous runs, a folder that many hosts share, and the rows of all of them.

use crate::common::{Place, expect_valid, root, stderr, stdout};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const SHORT: [&str; 6] = ["run", "id.getppid", "--time", "0.1", "--no-verify", "--quiet"];

fn golden() -> Value {
    serde_json::from_str(&fs::read_to_string(root().join("tests/golden/run.json")).unwrap()).unwrap()
}

/// The golden run as another host's, with labels.
fn write(place: &Place, file: &str, host: Value, labels: Value) {
    let mut run = golden();
    run["host"]["name"] = host;
    run["labels"] = labels;
    fs::create_dir_all(place.path().join("results")).unwrap();
    fs::write(place.path().join("results").join(file), run.to_string()).unwrap();
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Files of a folder, without hidden ones.
fn names(folder: PathBuf) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn every_line_has_the_same_columns_and_keeps_the_schema() {
    let place = Place::new();
    write(&place, "a.json", json!("n1"), json!({"pool": "web"}));
    write(&place, "b.json", json!("n\"2'\n\u{1b}[31m</script>"), json!({"zone": "a\"'\n;DROP TABLE x--\u{0}"}));
    let text = place.printed(&["fleet", "rows", "results"]);
    assert!(!text.contains(['\u{1b}', '\u{0}']), "control characters are escaped");
    let rows = lines(&text);
    let columns: BTreeSet<&String> = rows[0].as_object().unwrap().keys().collect();
    assert!(columns.iter().any(|name| *name == "label_pool") && columns.iter().any(|name| *name == "label_zone"));
    for row in &rows {
        expect_valid("row-1", row);
        assert_eq!(row.as_object().unwrap().keys().collect::<BTreeSet<_>>(), columns);
    }
    let hosts: BTreeSet<&str> = rows.iter().filter_map(|row| row["host"].as_str()).collect();
    assert_eq!(hosts.len(), 2);
    let asked = golden()["records"].as_array().unwrap().iter().filter(|record| record["role"] == "asked").count();
    assert_eq!(rows.iter().filter(|row| row["role"] == "asked").count(), 2 * asked);
}

#[test]
fn labels_choose_files() {
    let place = Place::new();
    for (file, pool) in [("a.json", "web"), ("b.json", "db"), ("c.json", "web")] {
        write(&place, file, json!(file), json!({"pool": pool}));
    }
    let rows = lines(&place.printed(&["fleet", "rows", "results", "--where", "pool=db"]));
    assert!(!rows.is_empty() && rows.iter().all(|row| row["host"] == "b.json" && row["label_pool"] == "db"));
    let shown = place.printed(&["show", "results/a.json"]);
    assert!(shown.contains("labels: pool=web"), "{shown}");
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
    fs::write(at("notes.txt"), "not looked at").unwrap();
    fs::write(at(".syscost-x.tmp"), "nor this").unwrap();
    let output = place.run(&["fleet", "rows", "results", "nowhere.json"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let skipped = ["empty.json", "foreign.json", "half.json", "label.json", "nowhere.json"];
    assert_eq!(said.lines().count(), skipped.len(), "{said}");
    for name in skipped {
        let named = |line: &str| line.starts_with("syscost: skipped: ") && line.contains(name);
        assert_eq!(said.lines().filter(|line| named(line)).count(), 1, "{name}: {said}");
    }
    assert!(lines(&stdout(&output)).iter().all(|row| row["host"] == "n1"));
    assert_eq!(place.run(&["fleet", "rows", "tmp"]).status.code(), Some(2), "a directory without files");
}

fn whole_with_label(whole: &[u8], key: &str) -> String {
    let mut run: Value = serde_json::from_slice(whole).unwrap();
    run["labels"] = json!({key: "x"});
    run.to_string()
}

#[test]
fn a_run_on_standard_output_is_a_result_file_and_its_table_is_elsewhere() {
    let place = Place::new();
    let arguments = ["run", "id.getppid", "--time", "0.1", "--no-verify", "--out", "-", "--label", "pool=x y"];
    let mut command = place.command(&arguments);
    let output = command.env("SYSCOST_LABEL_ZONE", "a'\"").env("SYSCOST_LABEL_POOL", "loses").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&run["schema"], &run["complete"]), (&json!("syscost.result/1"), &json!(true)));
    assert_eq!(run["labels"], json!({"pool": "x y", "zone": "a'\""}));
    assert!(stderr(&output).contains("id.getppid") && !place.path().join("-").exists());
    let quiet = place.run(&[&SHORT[..], &["--out", "-"]].concat());
    assert_eq!((stderr(&quiet).as_str(), quiet.stdout.starts_with(b"{")), ("", true));
    let refused = place.command(&SHORT).env("SYSCOST_LABEL_A-B", "x").output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

/// Two hosts of the same name, second and seed.
#[test]
fn runs_share_a_folder_without_replacing_each_other() {
    let place = Place::new();
    let shared = place.path().join("shared");
    assert_eq!(place.run(&[&SHORT[..], &["--out-dir", "shared"]].concat()).status.code(), Some(2), "no such directory");
    fs::create_dir(&shared).unwrap();
    let start = || place.start(&[&SHORT[..], &["--out-dir", "shared", "--seed", "7", "--anonymous"]].concat());
    let jobs: Vec<_> = (0..3).map(|_| start()).collect();
    for job in jobs {
        let output = job.output();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let files = names(shared.clone());
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(files.iter().all(|name| name.starts_with("anonymous-") && name.ends_with(".json")), "{files:?}");
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 3, "nothing else is left");
    let rows = lines(&place.printed(&["fleet", "rows", "shared"]));
    let runs: BTreeSet<&str> = rows.iter().map(|row| row["run_id"].as_str().unwrap()).collect();
    assert_eq!(runs.len(), 3, "{runs:?}");
}

#[test]
fn an_anonymous_run_says_nothing_of_its_owner() {
    let place = Place::new();
    let own = ["--anonymous", "--label", "mine=/kept/as/it/is", "--out", "run.json", "--tmpdir", "tmp,tmp"];
    let output = place.run(&[&SHORT[..], &own].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(place.path().join("run.json")).unwrap();
    let run: Value = serde_json::from_str(&text).unwrap();
    for field in ["name", "user", "command_line", "kernel_version"] {
        assert_eq!(run["host"][field], Value::Null, "{field}");
    }
    assert_eq!(run["labels"]["mine"], "/kept/as/it/is");
    let named = nix::unistd::gethostname().unwrap().into_string().unwrap();
    assert!(!text.contains(&format!("\"{named}\"")) && !text.contains(place.path().to_str().unwrap()), "{text:.2000}");
    assert!(!text.contains("./tmp"), "environments are not called by their directories");
    assert!(run["host"]["kernel"].is_string() && run["host"]["cpu"].is_string());
    let shown = stdout(&output);
    assert!(shown.contains("environment 1") && !shown.contains("./tmp"), "{shown}");
}
