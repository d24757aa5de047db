//! Hostile files, made of sound ones: every text in them is replaced, those that later versions add as well.

use crate::common::*;
/// How a hostile text begins, where its beginning is what harms.
const BEGINNINGS: [&str; 12] = [
    "=HYPERLINK(\"http://x\")",
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "# h ",
    "- l ",
    "> q ",
    "1. n ",
    "```\n",
    "\u{200b}=1",
];

/// What harms wherever it stands: colours, titles, links and the clipboard of a terminal, its cursor; marks of direction;
/// what has no width; markup of each format.
const ALL: &str = "\u{1b}[31mred\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}]8;;http://x\u{1b}\\l\u{1b}]52;c;QQ==\u{7}\u{9b}31m\r\u{8}\u{8}\
    \u{7f}\u{85}\n# h\n- l\n\u{202a}\u{202e}gnp\u{2066}\u{2069}\u{200e}\u{200f}\u{61c} \u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\
    \u{ad}\u{2028}\u{2029}\u{e0001}\u{e0041} ![x](http://x.y) [a](javascript:1) <http://x.y> http://x.y www.x.com me@x.com @a \
    <script>alert(1)</script><img src=x onerror=alert(1)></title></style><!-- ]]> <b>bold</b> &lt;&nbsp; a|b `c` **d** \
    __e__ ~~f~~ \"q\" 'r' \\ \\\" {g=\"h\"} é 日本 \u{0}";

/// A hostile argument; without NUL, which no argument can hold.
pub const SHORT: &str = "x\u{1b}[31m\u{202e}\r\n\u{200b}<b>=1";

/// A program of that name, which does nothing.
pub const PROGRAM: &str = "./x\u{1b}[31m\u{202e}\r\n\u{200b}";

/// Characters of a long text, and of a long name: files with longer ones are refused.
pub const LONG: usize = 1_000_000;
pub const LONG_NAME: usize = 4000;

pub const SOUND: [&str; 9] = [
    "run.json",
    "moved.json",
    "sizes.json",
    "environments.json",
    "counted.json",
    "long.json",
    "costs.json",
    "profile.json",
    "calls.json",
];

/// Fields whose texts are words of ours: other ones are refused.
pub const WORDS: [&str; 7] = [
    "schema",
    "role",
    "entries_status",
    "kind",
    "views",
    "unit",
    "descriptor",
];

/// Maps whose keys are names.
const NAMED: [&str; 4] = ["params", "defaults", "entries", "errors"];

fn text(number: usize) -> String {
    format!("{}{number}{ALL}", BEGINNINGS[number % BEGINNINGS.len()])
}

/// Every text below `value` replaced by another one, but for those of fields in `keep`.
fn spoil(value: &mut Value, keep: &[&str], count: &mut usize) {
    match value {
        Value::String(own) => {
            *count += 1;
            *own = text(*count);
        }
        Value::Array(all) => all.iter_mut().for_each(|one| spoil(one, keep, count)),
        Value::Object(fields) => {
            let spoilt = |(name, mut field): (String, Value)| {
                if NAMED.contains(&name.as_str())
                    && !keep.contains(&name.as_str())
                    && let Value::Object(map) = &mut field
                {
                    let renamed = std::mem::take(map)
                        .into_iter()
                        .map(|(key, value)| (format!("{key}{ALL}"), value));
                    map.extend(renamed);
                } else if !keep.contains(&name.as_str()) {
                    spoil(&mut field, keep, count);
                }
                (name, field)
            };
            *fields = std::mem::take(fields).into_iter().map(spoilt).collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn spoilt(mut value: Value, keep: &[&str], first: usize) -> Value {
    spoil(&mut value, &[&WORDS[..], keep].concat(), &mut first.clone());
    value
}

/// A run with all that a run may have, as it is before it is spoilt.
pub fn run() -> Value {
    let mut run = parsed(RUN);
    for field in run["host"]
        .as_object_mut()
        .unwrap()
        .iter_mut()
        .filter(|(_, value)| value.is_null())
    {
        // Those that are no texts are refused.
        if ["container", "governor", "autogroup_reason"].contains(&field.0.as_str()) {
            *field.1 = json!("x");
        }
    }
    run["host"]["taxes"] = json!([{"kind": "seccomp", "detail": "x"}]);
    run["source"] = json!({"title": "x", "note": "x"});
    run["warnings"] = json!(["x", "y"]);
    run["study"] = json!({"name": "x", "title": "x", "question": "x", "answer": "x", "views": ["table", "cmpthese"],
        "derived": [{"name": "x", "kind": "difference", "of": ["a", "b"]}],
        "scales": [{"calls": 5, "unit": "s", "cases": []}]});
    let records = run["records"].as_array_mut().unwrap();
    for record in records
        .iter_mut()
        .filter(|record| record["role"] == "asked")
    {
        record["warnings"] = json!(["x", "y"]);
        record["params"] = json!({"a": 4});
        record["name"] = json!("x");
    }
    records[1]["language"] = json!("perl");
    let calls = json!([[3392, 90], [6144, 1]]);
    let times = json!({"timer_ns": 17.3, "tick_ns": 0.4, "spent_ns": 9, "all": calls, "preempted": calls,
        "interrupted": null, "waits": 0, "unseen": 0});
    records[0]["latency"] = json!({"times": times});
    records[1]["latency"] = json!({"error": "x"});
    records[2]["entries_status"] = json!("unverified");
    records[2]["entries_reason"] = json!("x");
    let counted = json!({"fewer": 4, "more": 104, "batches": [[700, 33700], [700, 33800]]});
    records[3]["environment"] = json!("linux-6.1");
    records[3]
        .as_object_mut()
        .unwrap()
        .retain(|name, _| name != "samples" && name != "error");
    records[3]["counted"] = counted;
    let again = |record: &Value| match &record["samples"] {
        Value::Null if !record["counted"].is_null() => {
            json!({"warnings": ["x"], "counted": record["counted"]})
        }
        Value::Null => json!({"warnings": ["x"], "error": {"kind": "failed", "message": "x"}}),
        samples => json!({"warnings": ["x"], "samples": samples}),
    };
    let results: Vec<Value> = records.iter().map(again).collect();
    run["environments"] = json!([{"name": "linux-6.1", "unit": "instructions", "started_with": ["x", "y"],
        "kernel": "x", "emulator": "x", "notes": ["x"]}]);
    let host = run["host"].clone();
    run["repeats"] = json!([{"started_unix_s": 1, "seed": 2, "elapsed_s": 3.0, "host": host, "warnings": ["x"], "results": results}]);
    run
}

fn slower(run: &Value, factor: f64) -> Value {
    let mut run = run.clone();
    let asked: Vec<bool> = list(&run["records"])
        .iter()
        .map(|r| r["role"] == "asked")
        .collect();
    let repeats = run["repeats"].as_array().map_or(0, Vec::len);
    let lists = (0..repeats)
        .map(|i| format!("/repeats/{i}/results"))
        .chain(["/records".to_string()]);
    for list in lists {
        let results = run
            .pointer_mut(&list)
            .and_then(Value::as_array_mut)
            .unwrap()
            .iter_mut();
        for record in results
            .zip(&asked)
            .filter_map(|(record, asked)| asked.then_some(record))
        {
            let blocks = record
                .pointer_mut("/samples/blocks")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten();
            for slot in blocks.flat_map(|block| block["slots"].as_array_mut().unwrap()) {
                let times = slot
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|ns| json!((ns.as_f64().unwrap() * factor) as u64));
                *slot = Value::Array(times.collect());
            }
        }
    }
    run
}

fn repeated(run: &Value, count: u64, vary: impl Fn(&mut Value, u64)) -> Value {
    let mut run = run.clone();
    let record = run["records"][0].clone();
    let varied = (0..count).map(|i| {
        let mut record = record.clone();
        vary(&mut record, i);
        record
    });
    run["records"] = Value::Array(varied.collect());
    run["repeats"] = json!([]);
    run
}

fn sizes(run: &Value) -> Value {
    let mut sizes = repeated(run, 10, |record, i| {
        let size = [1u64, 64, 1024, 4096, 65536][i as usize / 2];
        record["params"] = json!({text(7): size});
        record["name"] = json!(text(i as usize % 2));
        let each = if i % 2 == 0 { 0.01 } else { 0.0001 };
        let times = if i % 2 == 0 { 1.0 } else { 20.0 } + each * size as f64;
        *record = slower(&json!({"records": [record.clone()]}), times)["records"][0].clone();
    });
    sizes["study"] = Value::Null;
    sizes
}

fn counted(run: &Value) -> Value {
    let mut run = repeated(run, 5, |record, i| {
        record["name"] = json!(text(10 + i as usize / 2));
        record["environment"] = json!(text(i as usize % 2));
        let record = record.as_object_mut().unwrap();
        record.remove("samples");
        match i {
            4 => record.insert(
                "error".into(),
                json!({"kind": "failed", "message": text(9)}),
            ),
            _ => record.insert(
                "counted".into(),
                json!({"fewer": 100, "more": 200, "batches": [[500, 600 * (i + 2)]]}),
            ),
        };
    });
    let facts = |i: usize| json!({"name": text(i), "unit": "instructions", "kernel": text(20 + i)});
    run["environments"] = json!([facts(0), facts(1)]);
    run
}

fn long(run: &Value) -> Value {
    let long = "x".repeat(LONG);
    let mut run = repeated(run, 3, |record, i| {
        record["name"] = json!(format!("{}{i}", "x".repeat(LONG_NAME)));
        record["warnings"] = json!([long]);
    });
    run["warnings"] = json!([long]);
    run["study"]["title"] = json!(long);
    run
}

/// Twelve runs of which the second half is slower, a file that is none, and one whose name is hostile.
fn write_history(place: &Place, run: &Value) {
    let directory = place.path().join("history");
    fs::create_dir(&directory).unwrap();
    for i in 0..12u64 {
        let mut one = slower(run, if i < 6 { 1.0 } else { 2.0 } + 0.001 * (i % 3) as f64);
        // What has a source is an article, and has no place in a history.
        one["source"] = Value::Null;
        one["started_unix_s"] = json!(1_800_000_000 + 86_400 * i);
        one["host"]["kernel"] = json!(text(i as usize / 6));
        let name = format!("{i}\u{1b}[31m\u{202e}\n.json");
        fs::write(directory.join(name), one.to_string()).unwrap();
    }
    fs::write(directory.join("none\u{1b}[31m\r.json"), "{}").unwrap();
}

pub const STUDIES: [&str; 8] = [
    "title.toml",
    "key.toml",
    "value.toml",
    "language.toml",
    "fixture.toml",
    "syntax.toml",
    "long.toml",
    "no\u{1b}[31m\u{202e}study.toml",
];

fn write_studies(place: &Place) {
    let quoted = |text: &str| {
        serde_json::to_string(text)
            .unwrap()
            .replace('\u{7f}', "\\u007f")
    };
    let (hostile, case) = (quoted(&text(0)), "[[case]]\nname = \"a\"\n");
    let texts = [
        format!("title = {hostile}\n"),
        format!("title = \"t\"\n{hostile} = 5\n"),
        format!("title = \"t\"\npatterns = [\"id\"]\nviews = [{hostile}]\n"),
        format!("title = \"t\"\n{case}language = {hostile}\nbody = {hostile}\n"),
        format!(
            "title = \"t\"\npatterns = [\"id\"]\n[[fixture]]\nfile = {hostile}\nsize = {hostile}\n"
        ),
        format!("title = \"t\"\n{}", text(1)),
        format!(
            "title = \"t\"\npatterns = [\"id\"]\nviews = [\"{}\"]\n",
            "x".repeat(LONG)
        ),
    ];
    STUDIES
        .iter()
        .zip(texts)
        .for_each(|(name, text)| place.write(name, text));
    let sound = format!(
        "title = {hostile}\nquestion = {hostile}\nanswer = {hostile}\npatterns = [\"*\"]\n[[case]]\nname = {hostile}\n\
         operation = \"id.umask\"\n"
    );
    place.write("study.toml", sound);
}

fn write_strace(place: &Place) {
    let write = |name: &str, text: &str| place.write(name, text);
    let spoilt_after = |path: &str, line: usize| {
        let own = fs::read_to_string(file(path)).unwrap();
        let lines = own.lines().enumerate();
        lines
            .map(|(i, text)| {
                if i == line {
                    format!("{text}{ALL}\n")
                } else {
                    format!("{text}\n")
                }
            })
            .collect::<String>()
    };
    write(
        "strace-log.txt",
        &spoilt_after("tests/profile/strace-log-6.1.txt", 5),
    );
    write(
        "strace-table.txt",
        &spoilt_after("tests/profile/strace-table-6.1.txt", 4),
    );
    write("any.txt", &text(3));
    write("long.txt", &"x".repeat(LONG));
    write(
        "strace-name.txt",
        &format!("1 1.0 {ALL}() = 0 <0.1>\n1 1.1 read(3{ALL}"),
    );
}

fn write_profiles(place: &Place) {
    let write = |name: &str, value: &Value| place.write(name, value.to_string());
    let mut profile = parsed("tests/profile/traced.json");
    profile["source"] = json!({"title": "x", "note": "x"});
    profile["warnings"] = json!(["x", "y"]);
    profile["stacks"] = json!([{"process": "x", "call": "y", "frames": ["x", "y"], "calls": 2, "on_cpu_ns": 5, "blocked_ns": 1}]);
    write("profile.json", &spoilt(profile.clone(), &[], 1));
    write("calls.json", &spoilt(profile, &["name"], 1));
}

pub fn write(place: &Place) {
    let write = |name: &str, value: &Value| place.write(name, value.to_string());
    let spoilt_run = spoilt(run(), &[], 0);
    write("run.json", &spoilt_run);
    let mut moved = slower(&spoilt_run, 2.0);
    moved["host"]["name"] = json!(text(40));
    moved["host"]["kernel"] = json!(text(41));
    moved["records"][0]["entries"] = json!({text(42): 3});
    write("moved.json", &moved);
    write("sizes.json", &sizes(&spoilt_run));
    write(
        "environments.json",
        &repeated(&spoilt_run, 3, |record, i| {
            record["environment"] = json!(text(i as usize))
        }),
    );
    write("counted.json", &counted(&spoilt_run));
    write("long.json", &long(&spoilt_run));
    write(
        "costs.json",
        &spoilt(
            run(),
            &[
                "operation",
                "name",
                "language",
                "environment",
                "params",
                "entries",
            ],
            5,
        ),
    );
    write_history(place, &spoilt_run);
    write_studies(place);
    write_strace(place);
    write_profiles(place);
    copy_program("/bin/true", &place.path().join(PROGRAM));
}
