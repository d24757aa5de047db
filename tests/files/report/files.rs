//! What pages are made of: the run that was kept and profiles, changed.

use crate::common::*;

const HOSTILE: [&str; 8] = [
    "</script><script>globalThis.hacked = 1; alert(1)</script>",
    "<img src=x onerror=\"globalThis.hacked = 2; alert(2)\">",
    "\" onmouseover=\"alert(3)\" x=\"",
    "' onfocus='alert(4)' autofocus='",
    "<!--<svg/onload=alert(5)>",
    "\u{202e}gnp.exe\u{2066}\u{1b}[31m\u{0}\u{7}",
    "</title></style></table></svg><iframe src=javascript:alert(6)>",
    "&lt;script&gt; &#x3c;b&#x3e; ]]> `${alert(7)}`",
];

fn golden() -> Value {
    parsed(RUN)
}

fn profile() -> Value {
    parsed("tests/profile/detailed.json")
}

fn explained(name: &str) -> Value {
    parsed(&format!("tests/report/{name}.json"))
}

fn record(operation: &str) -> Value {
    let golden = golden();
    list(&golden["records"])
        .iter()
        .find(|r| r["operation"] == operation)
        .unwrap()
        .clone()
}

fn scaled(record: &Value, factor: f64) -> Value {
    let mut record = record.clone();
    for block in record["samples"]["blocks"].as_array_mut().unwrap() {
        for slot in block["slots"].as_array_mut().unwrap() {
            let times = slot
                .as_array()
                .unwrap()
                .iter()
                .map(|ns| json!((ns.as_f64().unwrap() * factor) as u64));
            *slot = Value::Array(times.collect());
        }
    }
    record
}

fn other_run(factor: f64) -> Value {
    let mut run = golden();
    run["host"]["name"] = json!("other");
    run["started_unix_s"] = json!(1_800_000_000);
    let records = run["records"].as_array_mut().unwrap();
    for record in records
        .iter_mut()
        .filter(|r| r["role"] == "asked" && !r["samples"].is_null())
    {
        *record = scaled(record, factor);
    }
    records[0]["entries"] = json!({});
    run
}

/// A run in which everything that can be named is hostile.
fn hostile_run() -> Value {
    let mut run = golden();
    let text = |i: usize| json!(HOSTILE[i % HOSTILE.len()]);
    let long = format!("<b>{}", "x".repeat(4000));
    for (i, record) in run["records"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        if record["role"] == "asked" {
            record["name"] = if i == 1 { json!(long) } else { text(i) };
            record["operation"] = text(i + 1);
            record["environment"] = text(i + 2);
            record["warnings"] = json!([text(i + 3), long]);
            record["params"] = json!({HOSTILE[i % 8]: 4});
            if record["entries"].is_object() {
                record["entries"] = json!({HOSTILE[(i + 4) % 8]: 1});
            }
            if record["error"].is_object() {
                record["error"]["message"] = text(1);
            }
        }
    }
    for (i, field) in [
        "name",
        "system",
        "kernel",
        "cpu",
        "hypervisor",
        "libc",
        "command_line",
    ]
    .iter()
    .enumerate()
    {
        run["host"][field] = text(i);
    }
    run["host"]["mitigations"] = json!(HOSTILE);
    run["host"]["taxes"] = json!([{"kind": text(0), "detail": text(1)}]);
    run["tool"] = json!({"name": text(0), "version": text(1), "compiler": text(2)});
    run["source"] = json!({"title": text(1), "note": text(6)});
    run["warnings"] = json!(HOSTILE);
    let mut study: Value =
        json!({"name": text(0), "title": text(6), "question": text(0), "answer": text(1)});
    study["views"] = json!([text(0)]);
    study["derived"] = json!([]);
    study["scales"] = json!([{"calls": 5, "unit": "s", "cases": []}]);
    run["study"] = study;
    run
}

fn sizes_run() -> Value {
    let mut run = golden();
    let base = record("id.umask");
    let mut records: Vec<Value> = list(&run["records"])
        .iter()
        .filter(|r| r["role"] != "asked")
        .cloned()
        .collect();
    for (operation, fixed, each) in [("io.pread", 1.0, 0.001), ("io.read_file", 5.0, 0.0001)] {
        for size in [1u64, 64, 1024, 4096, 65536] {
            let mut record = scaled(&base, fixed + each * size as f64);
            record["operation"] = json!(operation);
            record["params"] = json!({"size": size});
            record["entries"] = json!({"read": 1});
            records.push(record);
        }
    }
    run["records"] = json!(records);
    run
}

/// `run` as large as real ones are: long names, high costs, warnings, and an environment of its own for some.
fn large(mut run: Value) -> Value {
    let names = [
        "time.clock_monotonic_coarse_raw",
        "dir.opendir_readdir_closedir",
        "process.vfork_exec_static",
    ];
    let records = list(&run["records"]).clone();
    let asked = records
        .iter()
        .filter(|record| record["role"] == "asked" && !record["samples"].is_null());
    let more = (0..60).zip(asked.cycle()).map(|(i, record)| {
        let mut record = scaled(record, f64::from(1 + i));
        record["operation"] = json!(format!("{}{i}", names[i as usize % 3]));
        record["params"] = json!({"entries": 5000});
        record["warnings"] = json!(if i % 7 == 0 {
            vec!["the file system may answer from a cache"]
        } else {
            vec![]
        });
        record
    });
    let more: Vec<Value> = more.collect();
    run["records"].as_array_mut().unwrap().extend(more);
    run["host"]["taxes"] =
        json!([{"kind": "seccomp", "detail": "a filter runs at every system call"}]);
    run
}

/// The golden run with each of its records in a second environment too, where costs are higher.
fn environments_run() -> Value {
    let mut run = golden();
    let records = run["records"].as_array_mut().unwrap();
    let mut filtered: Vec<Value> = records
        .iter()
        .map(|record| scaled_where_measured(record, 1.5))
        .collect();
    filtered
        .iter_mut()
        .for_each(|record| record["environment"] = json!("filter"));
    records.extend(filtered);
    run
}

fn scaled_where_measured(record: &Value, factor: f64) -> Value {
    if record["samples"].is_null() {
        record.clone()
    } else {
        scaled(record, factor)
    }
}

fn changed_profile() -> Value {
    let mut changed = profile();
    let stacks = changed["stacks"].as_array_mut().unwrap();
    let mut new = stacks[0].clone();
    new["frames"] = json!(["main", "brand_new_function"]);
    new["calls"] = json!(5000);
    stacks[1]["calls"] = json!(1);
    stacks.push(new);
    changed
}

fn hostile_profile() -> Value {
    let mut profile = profile();
    let name = "</title><script>globalThis.hacked=1</script><img src=x onerror=hacked=1>";
    profile["command"] = json!([name]);
    profile["warnings"] = json!([name]);
    profile["processes"][0]["name"] = json!(name);
    profile["calls"][0]["process"] = json!(name);
    profile["calls"][0]["call"] = json!(name);
    profile["objects"][0]["name"] = json!(name);
    profile["stacks"][0]["frames"] = json!([name]);
    profile["slowest"][0]["frames"] = json!([name]);
    profile
}

fn three_runs() -> Value {
    let mut run = golden();
    let records = run["records"].as_array_mut().unwrap();
    records.retain(|record| !record["samples"].is_null());
    let repeat = |factor: f64| {
        let results: Vec<Value> = records
            .iter()
            .map(|record| json!({"samples": scaled(record, factor)["samples"]}))
            .collect();
        json!({"started_unix_s": 1_800_000_000, "seed": 1, "elapsed_s": 1.0, "host": golden()["host"], "warnings": [],
            "results": results})
    };
    let repeats = [repeat(1.0), repeat(1.8)];
    run["repeats"] = json!(repeats);
    run["labels"] = json!({"pool": "web"});
    run
}

fn hostile_explanation() -> Value {
    let name = "</title><script>globalThis.hacked=1</script><img src=x onerror=hacked=1>";
    let mut hostile = explained("getppid");
    for place in [
        "/operation",
        "/environment",
        "/kernel",
        "/what",
        "/functions/0/name",
        "/tree/children/0/name",
    ] {
        *hostile.pointer_mut(place).unwrap() = json!(name);
    }
    hostile["notes"] = json!([name]);
    hostile
}

fn every_cost(factor: f64) -> Value {
    let mut run = golden();
    for record in run["records"].as_array_mut().unwrap() {
        *record = scaled_where_measured(record, factor);
    }
    run
}

/// Files that make sense, and some that do not.
pub fn place() -> Place {
    let place = Place::new();
    let save = |name: &str, value: Value| place.write(format!("{name}.json"), value.to_string());
    save("one", golden());
    save("two", other_run(1.5));
    save("faster", every_cost(0.8));
    let mut moved = other_run(1.0);
    let records = moved["records"].as_array_mut().unwrap();
    let getppid = records
        .iter_mut()
        .find(|r| r["operation"] == "id.getppid")
        .unwrap();
    *getppid = scaled(getppid, 2.0);
    save("moved", moved);
    save("large", large(golden()));
    save("large-two", large(other_run(1.5)));
    save("sizes", sizes_run());
    let mut three = sizes_run();
    let records = three["records"].as_array_mut().unwrap();
    records.retain(|r| !matches!(r["params"]["size"].as_u64(), Some(64 | 4096)));
    save("three", three);
    save("environments", environments_run());
    save("runs", three_runs());
    save("hostile", hostile_run());
    save("profile", profile());
    save("changed", changed_profile());
    save("hostile-profile", hostile_profile());
    let mut bare = profile();
    for (field, value) in [
        ("stacks", json!([])),
        ("durations", json!({})),
        ("usage", json!({})),
    ] {
        bare[field] = value;
    }
    save("bare", bare);
    let mut negative = golden();
    negative["records"][0]["samples"]["blocks"][0]["slots"][0][0] = json!(-5);
    save("negative", negative);
    place.write("cut.json", &golden().to_string()[..900]);
    symlink("one.json", place.path().join("link.json")).unwrap();
    let mut odd = golden();
    let records = odd["records"].as_array_mut().unwrap();
    let many: Vec<u64> = (0..1_000_000u64).map(|i| 10_000 + i % 977).collect();
    records[0]["samples"]["blocks"] = json!([{"launch": 0, "slots": [many]}]);
    records[1]["samples"]["blocks"] = json!([]);
    records[1]["samples"]["preempted_ns"] = json!([3000, 4000]);
    for block in records[2]["samples"]["blocks"].as_array_mut().unwrap() {
        block["slots"] = json!([[0, 0]]);
    }
    records[3]["samples"]["blocks"] = json!([{"launch": 0, "slots": [[u64::MAX, 1, 0]]}]);
    save("odd", odd);
    let mut empty = golden();
    empty["records"] = json!([]);
    save("empty", empty);
    save_explanations(&place);
    place
}

/// As the program writes them: what a file is stands first.
fn save_explanations(place: &Place) {
    let mut torn = explained("getppid");
    torn["tree"]["total"] = json!(7);
    let mut newer = explained("getppid");
    newer["schema"] = json!("syscost.explain-kernel/9");
    for (name, mut value) in [
        ("fstat", explained("fstat-versus")),
        ("getppid", explained("getppid")),
        ("hostile-getppid", hostile_explanation()),
        ("torn", torn),
        ("newer", newer),
    ] {
        let schema = value.as_object_mut().unwrap().remove("schema").unwrap();
        let text = format!("{{\"schema\":{schema},{}", &value.to_string()[1..]);
        place.write(format!("{name}.json"), text);
    }
}
