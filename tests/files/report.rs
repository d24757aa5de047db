//! `syscost report`: pages and figures from result files alone, and what a real browser makes of them. Files are made from
//! tests/golden/run.json, a real run.

mod explanations;
mod pages;

use crate::common::{Place, expect_status, file, is_left_to_heavy, skip, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

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

fn parsed(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file(name)).unwrap()).unwrap()
}

fn golden() -> Value {
    parsed("tests/golden/run.json")
}

/// The asked record called `operation` of the golden run.
fn record(operation: &str) -> Value {
    let golden = golden();
    golden["records"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["operation"] == operation)
        .unwrap()
        .clone()
}

fn save(place: &Place, name: &str, run: &Value) -> String {
    place.write(name, run.to_string());
    name.to_string()
}

/// All samples of `record` times `factor`.
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

/// The golden run with other costs, on another host.
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

/// A run over five sizes, of two operations that cross.
fn sizes_run() -> Value {
    let mut run = golden();
    let base = record("id.umask");
    let mut records: Vec<Value> = run["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["role"] != "asked")
        .cloned()
        .collect();
    for (operation, fixed, each) in [("io.read", 1.0, 0.001), ("io.map", 5.0, 0.0001)] {
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
    let records = run["records"].as_array().unwrap().clone();
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

fn page(place: &Place, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["report"]
        .iter()
        .chain(arguments)
        .chain(&["-o", "-"])
        .copied()
        .collect();
    let output = place.run(&all);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

#[test]
fn a_page_has_its_parts_in_order_and_asks_for_nothing() {
    let place = Place::new();
    let (one, two) = (
        save(&place, "one.json", &golden()),
        save(&place, "two.json", &other_run(1.5)),
    );
    let sizes = save(&place, "sizes.json", &sizes_run());
    let sections = |html: &str| -> Vec<String> {
        html.split("<section id=\"")
            .skip(1)
            .map(|part| part.split('"').next().unwrap().to_string())
            .collect()
    };
    let single = page(&place, &[&one]);
    assert_eq!(
        sections(&single),
        ["answer", "operations", "charts", "host"]
    );
    assert_eq!(
        sections(&page(&place, &[&one, &two])),
        ["answer", "compared", "operations", "charts", "host"]
    );
    assert_eq!(
        sections(&page(&place, &[&sizes])),
        ["answer", "operations", "charts", "parameters", "host"]
    );
    for word in [
        "http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttp",
    ] {
        assert!(!single.contains(word), "{word}");
    }
    assert!(single.contains("default-src &#39;none&#39;"));
    assert!(single.contains("operations with a cost, 1 make no system call at all."));
}

#[test]
fn answers_name_what_they_rest_on() {
    let place = Place::new();
    let (one, two) = (
        save(&place, "one.json", &golden()),
        save(&place, "two.json", &other_run(1.5)),
    );
    let html = page(
        &place,
        &[&one, &two, "--label", "before", "--label", "after"],
    )
    .replace("<wbr>", "");
    for text in [
        ">none</td>",
        " faster, 0 unchanged, ",
        " inconclusive (95% confidence)",
        ">other work</td>",
        "call.getpid: ",
        "data-k=\"never",
        "EINVAL: parameter entries",
        "<p class=\"lead\">after: ",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

/// Costs may fall while the rows rise relative to the machine: one sentence has both.
#[test]
fn the_mean_of_a_comparison_says_what_the_machine_did() {
    let place = Place::new();
    let mut faster = golden();
    for record in faster["records"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .filter(|record| !record["samples"].is_null())
    {
        *record = scaled(record, 0.8);
    }
    let (one, two) = (
        save(&place, "one.json", &golden()),
        save(&place, "two.json", &faster),
    );
    let html = page(
        &place,
        &[&one, &two, "--label", "before", "--label", "after"],
    );
    let said = html
        .split("the cost of before")
        .nth(1)
        .unwrap_or_else(|| panic!("{html}"));
    assert!(
        said.starts_with(
            ", not counting the machine as a whole, which was 20.0% faster (geometric mean over "
        ),
        "{said:.120}"
    );
}

#[test]
fn cautions_stand_before_the_ratios_and_name_a_column_that_is_there() {
    let place = Place::new();
    let mut moved = other_run(1.0);
    let records = moved["records"].as_array_mut().unwrap();
    let getppid = records
        .iter_mut()
        .find(|r| r["operation"] == "id.getppid")
        .unwrap();
    *getppid = scaled(getppid, 2.0);
    let (one, two) = (
        save(&place, "one.json", &golden()),
        save(&place, "two.json", &moved),
    );
    let html = page(&place, &[&one, &two]);
    let (caution, table) = (
        html.find("the reference call id.getppid itself costs"),
        html.find("class=\"side"),
    );
    assert!(
        caution.is_some() && caution < table,
        "{caution:?} {table:?}"
    );
    assert!(html.contains("&#39;/getppid&#39;, also a column") && html.contains(">/getppid</th>"));
}

/// Checks that each text stands on the page, after the one before it.
fn after(html: &str, texts: &[&str]) {
    let places: Vec<_> = texts
        .iter()
        .map(|text| html.find(text).unwrap_or_else(|| panic!("{text}")))
        .collect();
    assert!(places.is_sorted(), "{texts:?}: {places:?}");
}

#[test]
fn a_comparison_leads_with_its_verdict_and_warnings_stand_before_all_results() {
    let place = Place::new();
    let (one, two) = (
        save(&place, "one.json", &large(golden())),
        save(&place, "two.json", &large(other_run(1.5))),
    );
    let compared = page(
        &place,
        &[&one, &two, "--label", "before", "--label", "after"],
    );
    let tax = "slows every system call: seccomp: a filter runs at every system call";
    let verdict = "<p class=\"lead\">after: ";
    after(
        &compared,
        &[
            &format!("{tax} (before, after)"),
            "Slower or faster than before?",
            verdict,
            "class=\"side",
        ],
    );
    assert!(!compared.contains("What does a system call cost here?"));
    let single = page(&place, &[&one]);
    after(
        &single,
        &[
            tax,
            "What does a system call cost here?",
            "getppid, a system call that does almost nothing",
        ],
    );
    assert!(
        single.contains("the file system may answer from a cache") && !single.contains("<abbr"),
        "notes in words"
    );
}

#[test]
fn articles_are_compared_without_claims() {
    let place = Place::new();
    let published = &file("published/perlio-2006.json");
    let html = page(
        &place,
        &[published, published, "--label", "a", "--label", "b"],
    );
    assert!(html.contains("these results have no samples, so no row is called slower or faster"));
    assert!(html.contains(">one figure</td>"));
    for word in ["slower", "faster", "unchanged", "inconclusive"] {
        assert!(!html.contains(&format!(">{word}</td>")), "{word}");
    }
}

#[test]
fn costs_over_a_parameter_have_model_and_crossover() {
    let place = Place::new();
    let sizes = save(&place, "sizes.json", &sizes_run());
    let html = page(&place, &[&sizes]);
    assert!(
        html.contains("io.map overtakes io.read at size 4"),
        "crossover"
    );
    assert!(
        html.contains("per unit of size")
            && html.contains("class=\"x\"")
            && html.contains("class=\"fit s1\"")
    );
}

#[test]
fn a_line_through_three_values_is_warned_about() {
    let place = Place::new();
    let mut run = sizes_run();
    run["records"]
        .as_array_mut()
        .unwrap()
        .retain(|r| !matches!(r["params"]["size"].as_u64(), Some(64 | 4096)));
    let html = page(&place, &[&save(&place, "three.json", &run)]);
    assert!(
        html.contains("warning: io.read: with 3 values the residual of a line says little"),
        "{html}"
    );
    let five = page(&place, &[&save(&place, "five.json", &sizes_run())]);
    assert!(!five.contains("the residual of a line"), "{five}");
}

/// Fails unless `figure` of these files is a drawing in a file of that name.
fn expect_figure(place: &Place, files: &[&str], figure: &str) {
    let output =
        place.run(&[&["report"], files, &["--format", "svg", "--figure", figure]].concat());
    assert_eq!(
        stdout(&output),
        format!("wrote {figure}.svg\n"),
        "{}",
        stderr(&output)
    );
    let svg = place.read(format!("{figure}.svg"));
    assert!(
        svg.starts_with("<?xml") && svg.ends_with("</svg>\n") && svg.contains("<title id=\"t\">"),
        "{figure}"
    );
}

#[test]
fn figures_are_files_of_their_own() {
    let place = Place::new();
    let (one, two) = (
        save(&place, "one.json", &golden()),
        save(&place, "two.json", &other_run(1.5)),
    );
    let sizes = save(&place, "sizes.json", &sizes_run());
    let (one, two, sizes) = (one.as_str(), two.as_str(), sizes.as_str());
    for (figure, files) in [
        ("bars", vec![one]),
        ("distribution", vec![one]),
        ("fit", vec![sizes]),
        ("ratios", vec![one, two]),
    ] {
        expect_figure(&place, &files, figure);
    }
    let only = page(&place, &[one, "--only", "io", "--format", "svg"]);
    assert!(only.contains("io.fgets") && !only.contains("id.umask"));
}

#[test]
fn the_page_is_written_whole_under_its_name() {
    let place = Place::new();
    let one = save(&place, "one.json", &golden());
    let output = place.run(&["report", &one]);
    assert_eq!(stdout(&output), "wrote report.html\n");
    assert!(place.read("report.html").ends_with("</html>\n"));
    let names: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 3, "tmp, one.json and report.html: {names:?}");
}

/// Exit status and one line on standard error.
fn refused(place: &Place, arguments: &[&str], status: i32, words: &str) {
    let output = place.run(&[&["report"], arguments].concat());
    let message = stderr(&output);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {message}"
    );
    assert!(
        message.starts_with("syscost: ") && message.contains(words),
        "{arguments:?}: {message}"
    );
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let place = Place::new();
    let one = save(&place, "one.json", &golden());
    place.write("cut.json", &golden().to_string()[..900]);
    std::os::unix::fs::symlink("one.json", place.path().join("link.json")).unwrap();
    let mut negative = golden();
    negative["records"][0]["samples"]["blocks"][0]["slots"][0][0] = json!(-5);
    let negative = save(&place, "negative.json", &negative);
    place.refuses(
        "report",
        &[
            ("missing.json", 1, "missing.json: there is no such file"),
            ("cut.json", 1, "cut.json: the file is incomplete"),
            (&negative, 1, "negative.json: "),
            (
                &format!("{} -o one.json", one),
                2,
                "--out one.json would replace a result file",
            ),
            (
                &format!("{} -o link.json", one),
                2,
                "would replace a result file",
            ),
            (
                &format!("{} -o no/such/place.html", one),
                1,
                "no/such/place.html: ",
            ),
            (&format!("{} --figure bars", one), 2, "add --format svg"),
            (
                &format!("{} --format svg --figure ratios", one),
                2,
                "two files or more",
            ),
            (
                &format!("{} --format svg --figure fit", one),
                2,
                "no parameter with three values",
            ),
            (&format!("{} --only nothing.*", one), 2, "--only: no row of"),
            (
                &format!("{} {} --baseline third", one, one),
                2,
                "--baseline: 'third' is not one of the files",
            ),
            (
                &format!("{} --label a --label b", one),
                2,
                "2 labels for 1 files",
            ),
        ],
    );
    assert_eq!(
        serde_json::from_str::<Value>(&place.read("one.json")).unwrap(),
        golden()
    );
}

#[test]
fn odd_files_make_a_page_with_marked_rows() {
    let place = Place::new();
    let mut run = golden();
    let records = run["records"].as_array_mut().unwrap();
    let many: Vec<u64> = (0..1_000_000u64).map(|i| 10_000 + i % 977).collect();
    records[0]["samples"]["blocks"] = json!([{"launch": 0, "slots": [many]}]);
    records[1]["samples"]["blocks"] = json!([]);
    for block in records[2]["samples"]["blocks"].as_array_mut().unwrap() {
        block["slots"] = json!([[0, 0]]);
    }
    records[3]["samples"]["blocks"] = json!([{"launch": 0, "slots": [[u64::MAX, 1, 0]]}]);
    let odd = save(&place, "odd.json", &run);
    let html = page(&place, &[&odd]);
    assert!(
        html.contains("1000000 samples")
            && html.contains("data-k=\"enters failed\"")
            && !html.contains("=\"NaN")
            && !html.contains(">NaN")
    );
    run["records"] = json!([]);
    let empty = save(&place, "empty.json", &run);
    place.refuses("report", &[(&empty, 2, "has no operations")]);
}

#[test]
fn terminals_get_bars_and_histograms() {
    let place = Place::new();
    let golden = save(&place, "golden.json", &golden());
    let shown = |file: &str, view: &str| {
        let output = place
            .command(&["show", file, "--view", view])
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        expect_status(&output, 0);
        stdout(&output)
    };
    let bars = shown(&golden, "bars");
    assert!(
        bars.contains("time\n  time.clock_gettime") && bars.contains("░░░") && bars.contains("███"),
        "{bars}"
    );
    assert!(
        bars.lines().all(|line| line.chars().count() <= 80),
        "{bars}"
    );
    let distribution = shown(&golden, "distribution");
    assert!(
        distribution.contains("id.umask") && distribution.contains('█'),
        "{distribution}"
    );
}

#[test]
fn a_page_of_fifty_files_says_what_it_leaves_out() {
    let place = Place::new();
    let names = (0..50).map(|number| {
        let mut run = golden();
        run["host"]["name"] = json!(format!("machine-{number:02}"));
        save(&place, &format!("{number}.json"), &run)
    });
    let names: Vec<String> = names.collect();
    let html = page(
        &place,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    assert!(html.len() < 1 << 20, "{} bytes", html.len());
    assert!(html.contains("machine-49"));
    assert!(html.contains("For 49 more files this page has only costs and ratios"));
}

/// What the browser tests need: node, a browser, and the folder of playwright-core.
fn browser() -> Result<(PathBuf, PathBuf), String> {
    let in_path = |name: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    };
    in_path("node").ok_or("no node: see .ci/browser")?;
    let chromium = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .find_map(|name| in_path(name));
    let chromium = chromium.ok_or("no chromium: see .ci/browser")?;
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let folder = variable("SYSCOST_PLAYWRIGHT").or_else(|| Some(cache?.join("syscost/browser")));
    let folder = folder.filter(|folder| folder.join("node_modules/playwright-core").is_dir());
    Ok((
        chromium,
        folder.ok_or("no playwright-core: see .ci/browser")?,
    ))
}

/// Opens the page of `files` in a browser and runs the checks of tests/report/browser.mjs.
fn browse(kind: &str, runs: &[Value]) {
    browse_with(kind, runs, &[]);
}

/// The same with further arguments.
fn browse_with(kind: &str, runs: &[Value], further: &[&str]) {
    let place = Place::new();
    let names: Vec<String> = runs
        .iter()
        .enumerate()
        .map(|(i, run)| save(&place, &format!("{i}.json"), run))
        .collect();
    let arguments: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .chain(further.iter().copied())
        .collect();
    browse_page(kind, &place, &page(&place, &arguments));
}

/// The same with a page.
fn browse_page(kind: &str, place: &Place, html: &str) {
    if !["one", "profile", "hostile"].contains(&kind) && is_left_to_heavy(kind) {
        return;
    }
    let (chromium, playwright) = match browser() {
        Ok(found) => found,
        Err(missing) => return skip(&missing),
    };
    place.write("page.html", html);
    // SYSCOST_SHOTS keeps the screenshots, to be looked at.
    let shots = std::env::var_os("SYSCOST_SHOTS").map_or(place.path(), PathBuf::from);
    let script = file("tests/report/browser.mjs");
    let mut command = Command::new("node");
    command
        .arg(script)
        .arg(place.path().join("page.html"))
        .arg(shots)
        .arg(kind);
    command
        .env("SYSCOST_PLAYWRIGHT", playwright)
        .env("SYSCOST_CHROMIUM", chromium)
        .env("TMPDIR", place.tmp());
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{kind}: {}\n{}",
        stdout(&output),
        stderr(&output)
    );
    let checks = if kind.ends_with("-brief") {
        "10 checks"
    } else {
        "22 checks"
    };
    assert!(
        stdout(&output).trim_end().ends_with(checks),
        "{}",
        stdout(&output)
    );
}

#[test]
fn one_file_in_a_browser() {
    browse("one", &[large(golden())]);
}

#[test]
fn two_files_in_a_browser() {
    browse("two", &[large(golden()), large(other_run(1.5))]);
}

#[test]
fn parameters_in_a_browser() {
    browse("sizes", &[sizes_run()]);
}

#[test]
fn the_atlas_in_a_browser() {
    let place = Place::new();
    let html = page(&place, &[&file("atlas")]);
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    browse_page("atlas-brief", &place, &html);
}

/// A profile with everything that a tracer may collect; the figures are made up.
fn profile() -> Value {
    parsed("tests/profile/detailed.json")
}

#[test]
fn a_profile_has_a_page_and_figures() {
    let place = Place::new();
    let name = save(&place, "profile.json", &profile());
    let html = page(&place, &[&name]);
    after(
        &html,
        &[
            "Where did the time go?",
            "waiting for disk: fdatasync",
            ">System calls</h2>",
            "the slowest calls",
        ],
    );
    after(
        &html,
        &[
            "Calls by path",
            "Calls by descriptor",
            "Who makes the calls, by calls",
            "The machine",
        ],
    );
    assert!(html.contains("hunter2"));
    let hidden = page(&place, &[&name, "--no-arguments"]);
    assert!(!hidden.contains("hunter2") && hidden.contains("fdatasync"));
    for figure in ["time", "latency", "stacks"] {
        expect_figure(&place, &[&name], figure);
    }
}

#[test]
fn what_a_profile_has_no_figure_of_is_said_in_one_line() {
    let place = Place::new();
    let mut bare = profile();
    for field in ["stacks", "durations"] {
        bare[field] = json!(if field == "stacks" {
            json!([])
        } else {
            json!({})
        });
    }
    bare["usage"] = json!({});
    let (bare, run) = (
        save(&place, "bare.json", &bare),
        save(&place, "run.json", &golden()),
    );
    let svg = |figure: &'static str| ["--format", "svg", "--figure", figure];
    let cases = [
        (
            [&[bare.as_str()][..], &svg("stacks")].concat(),
            "the profile has no stacks of this weight",
        ),
        (
            [&[bare.as_str()][..], &svg("latency")].concat(),
            "the profile has no latencies",
        ),
        (
            [&[bare.as_str()][..], &svg("time")].concat(),
            "the profile does not say where wall time went",
        ),
        (
            [&[bare.as_str()][..], &svg("bars")].concat(),
            "a profile has no such figure",
        ),
        (
            vec![&bare, "--format", "svg"],
            "needs one figure of the profile",
        ),
        (
            vec![&bare, "--only", "io"],
            "--only are for result files, this is a profile",
        ),
        (
            vec![&run, "--no-arguments"],
            "are for one profile of 'syscost trace -o'",
        ),
        (
            [&[run.as_str()][..], &svg("stacks")].concat(),
            "--figure time and stacks are for profiles",
        ),
    ];
    for (arguments, words) in cases {
        refused(&place, &arguments, 2, words);
    }
}

/// The same with names that would be markup.
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

#[test]
fn a_profile_in_a_browser() {
    browse("profile", &[profile()]);
    browse("profile-hostile", &[hostile_profile()]);
}

#[test]
fn hostile_names_in_a_browser() {
    browse("hostile", &[hostile_run()]);
    browse("hostile-two", &[hostile_run(), golden()]);
}
