//! CSV is for programs: columns are those that docs/format/csv.md tells of, one number or one text a cell.

use crate::common::*;
pub fn documented() -> BTreeMap<String, String> {
    columns_of(&fs::read_to_string(file("docs/format/csv.md")).unwrap())
}

fn columns_of(page: &str) -> BTreeMap<String, String> {
    let mut types = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        for name in cells[0].split('`').skip(1).step_by(2) {
            let twice = types.insert(name.to_string(), cells[1].to_string());
            assert_eq!(twice, None, "{name}");
        }
    }
    types
}

/// A run in three environments, one of them failed, with two derived rows and a scale.
fn run_of_many_kinds() -> Value {
    let mut run = parsed(RUN);
    let records = run["records"].as_array_mut().unwrap();
    let asked: Vec<Value> = records
        .iter()
        .filter(|record| record["role"] == "asked")
        .cloned()
        .collect();
    for environment in ["static", "m32"] {
        records.extend(asked.iter().cloned().map(|mut record| {
            record["environment"] = json!(environment);
            record
        }));
    }
    let derived = |name: &str, kind: &str| json!({"name": name, "kind": kind, "of": ["id.umask", "time.clock_gettime"]});
    run["study"] = json!({
        "name": "s", "title": "T", "question": "", "answer": "", "views": [],
        "derived": [derived("d", "difference"), derived("r", "ratio")],
        "scales": [{"calls": 1000, "unit": "us", "cases": []}],
    });
    run
}

const COMMANDS: [&str; 22] = [
    "show many.json",
    "show run.json",
    "show published.json",
    "show singles.json --view latency",
    "compare run.json many.json",
    "compare published.json mac.json --study os-calls",
    "show p.json",
    "show p.json --by class",
    "show p.json --by process",
    "show p.json --by cgroup",
    "show p.json --by path",
    "show p.json --by descriptor",
    "show sections.json --by section",
    "compare p.json p.json",
    "show detailed.json --view latency",
    "show detailed.json --view slowest",
    "show detailed.json --view stacks",
    "why p.json --costs published.json --versus mac.json",
    "list",
    "doctor",
    "cache",
    "race true --versus true --runs 1 --no-counts",
];

fn place() -> Place {
    let place = Place::new();
    let files = [
        ("run.json", "tests/golden/run.json"),
        ("published.json", "published/linux-2.6.32.json"),
        ("mac.json", "published/macosx-10.7.json"),
        ("p.json", "tests/profile/traced.json"),
        ("detailed.json", "tests/profile/detailed.json"),
        ("sections.json", "tests/profile/sections.json"),
        ("singles.json", "fuzz/corpus/result/singles.json"),
    ];
    for (name, from) in files {
        fs::copy(file(from), place.path().join(name)).unwrap();
    }
    place.write("many.json", run_of_many_kinds().to_string());
    place
}

fn printed(place: &Place, arguments: impl Line) -> String {
    place.printed((arguments, "--format csv"))
}

fn lines(text: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn is_machine_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn columns_are_documented_and_numbers_are_numbers() {
    let (place, documented) = (place(), documented());
    let mut seen = BTreeSet::new();
    for arguments in COMMANDS {
        let text = printed(&place, arguments);
        seen.extend(text.lines().next().unwrap().split(',').map(str::to_string));
        for line in lines(&text) {
            for (name, cell) in &line {
                let fits = match documented.get(name).map(String::as_str) {
                    Some("text") => true,
                    Some("number") => {
                        cell.is_empty() || cell.parse::<f64>().is_ok_and(f64::is_finite)
                    }
                    Some("count") => cell.is_empty() || cell.parse::<u64>().is_ok(),
                    Some("flag") => ["true", "false"].contains(&cell.as_str()),
                    other => panic!("docs/format/csv.md: {name}: {other:?}"),
                };
                assert!(
                    is_machine_name(name) && fits,
                    "{arguments:?}: {name} is '{cell}'"
                );
            }
        }
    }
    let page = fs::read_to_string(file("docs/format/csv.md")).unwrap();
    let (printed, _) = page.split_once("\n## Lists").unwrap();
    let missing: Vec<String> = columns_of(printed)
        .into_keys()
        .filter(|name| !seen.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// However many environments there are, a record is a line, and what is derived says so.
#[test]
fn a_run_has_a_line_for_each_record() {
    let place = place();
    let lines = lines(&printed(&place, "show many.json"));
    let of = |kind: &str, environment: &str| {
        lines
            .iter()
            .filter(|line| line["kind"] == kind && line["environment"] == environment)
            .count()
    };
    let asked = run_of_many_kinds()["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["role"] == "asked")
        .count();
    assert_eq!(
        of("cost", "native") + of("cost", "static") + of("cost", "m32"),
        asked
    );
    assert_eq!([of("difference", "static"), of("ratio", "m32")], [1, 1]);
    let umask = lines
        .iter()
        .find(|line| line["name"] == "id.umask" && line["environment"] == "m32")
        .unwrap();
    let figure = |name: &str| umask[name].parse::<f64>().unwrap();
    assert!(
        figure("ci_low_ns") <= figure("median_ns") && figure("median_ns") <= figure("ci_high_ns"),
        "{umask:?}"
    );
    assert_eq!(
        (
            figure("kernel_entries"),
            umask["kernel_entries_by_call"].as_str()
        ),
        (1.0, "umask x1")
    );
    assert!(
        (figure("scaled_s") - figure("median_ns") * 1000.0 / 1e9).abs() < 1e-12,
        "{umask:?}"
    );
    let ratio = lines.iter().find(|line| line["kind"] == "ratio").unwrap();
    assert!(
        ratio["median_ns"].is_empty() && ratio["ratio"].parse::<f64>().unwrap() > 1.0,
        "{ratio:?}"
    );
}

#[test]
fn a_failed_record_has_a_reason_and_no_figures() {
    let place = place();
    let mut run = run_of_many_kinds();
    let record = run["records"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .find(|record| record["role"] == "asked")
        .unwrap();
    let record = record.as_object_mut().unwrap();
    record.remove("samples");
    record.insert(
        "error".into(),
        json!({"kind": "unsupported", "message": "=no compiler"}),
    );
    place.write("failed.json", run.to_string());
    let lines = lines(&printed(&place, "show failed.json"));
    let failed = lines.iter().find(|line| !line["error"].is_empty()).unwrap();
    assert_eq!(
        (failed["error"].as_str(), failed["median_ns"].as_str()),
        ("'=no compiler", "")
    );
}
