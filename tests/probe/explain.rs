//! `syscost explain` against the real kernel: what it says of operations whose answer is known, and that it has an answer
//! for every operation there is. What this machine lacks is skipped, loudly.

use crate::common::*;
fn explain(args: impl Line) -> Output {
    Place::new()
        .command(("explain", args))
        .env("COLUMNS", "80")
        .output()
        .unwrap()
}

fn document(args: impl Line) -> Result<Value, String> {
    let output = explain((args, "--format json --time 0.05"));
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        false => Err(stderr(&output)),
    }
}

fn explained(operation: &str) -> Option<Value> {
    let document = document([operation]);
    let reason = match &document {
        Err(reason) => reason.clone(),
        Ok(document) if document["code"].is_null() => document["notes"].to_string(),
        Ok(document) if document["entries"].is_null() => document["entries_unverified"].to_string(),
        Ok(_) => return document.ok(),
    };
    let lacking = [
        "ENOSYS",
        "refused",
        "architecture",
        "system does not have it",
    ];
    assert!(
        lacking.iter().any(|word| reason.contains(word)),
        "{operation}: {reason}"
    );
    skip(&format!("{operation}: {}", reason.trim()));
    None
}

fn gates(document: &Value) -> Vec<(&str, &str)> {
    let gates = list(&document["verdict"]["gates"]);
    gates
        .iter()
        .map(|g| (g["gate"].as_str().unwrap(), g["function"].as_str().unwrap()))
        .collect()
}

#[test]
fn getpid_is_a_system_call_in_libc() {
    let document = needs!(explained("call.getpid"));
    assert_eq!(document["schema"], "syscost.explain/1");
    assert_eq!(document["verdict"]["answer"], "kernel");
    assert_eq!(gates(&document), [("syscall", "getpid")]);
    expect_valid("explain-1", &document);
    assert_eq!(document["entries"], json!({"getpid": 1}));
    assert!(document["returned"]["getpid"].as_i64().unwrap() > 1);
    assert_eq!(document["verdict"]["remarks"], json!([]));
    let resolved = document["code"]["resolved"][0].as_str().unwrap();
    expect_start(resolved, "getpid -> PLT of probe -> getpid in /");
    assert!(document["cost"]["ns"].as_f64().unwrap() > 0.0);
    assert!(document["code"]["caller_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn clock_gettime_is_answered_by_the_vdso() {
    let document = needs!(explained("time.clock_gettime"));
    if document["entries"] != json!({}) {
        return skip("the vDSO cannot read this machine's clock source");
    }
    assert_eq!(document["verdict"]["answer"], "vdso");
    assert!(
        document["code"]["resolved"][0]
            .as_str()
            .unwrap()
            .contains("__vdso_clock_gettime in [vdso]")
    );
}

#[test]
fn each_way_is_named() {
    let (none, getpid) = (json!({}), json!({"getpid": 1}));
    let int80 = json!({"getpid(i386)": 1});
    type Way<'a> = (&'a str, &'a str, &'a Value, &'a [(&'a str, &'a str)]);
    let ways: [Way; 4] = [
        ("call.cached_pid", "program", &none, &[]),
        ("mem.fault_anonymous", "page_faults", &none, &[]),
        ("call.int80", "kernel", &int80, &[("int 0x80", "run_int80")]),
        (
            "call.inline_getpid",
            "kernel",
            &getpid,
            &[("syscall", "run_inline_getpid")],
        ),
    ];
    for (operation, answer, entries, expected) in ways {
        let Some(document) = explained(operation) else {
            continue;
        };
        assert_eq!(
            (&document["verdict"]["answer"], &document["entries"]),
            (&answer.into(), entries),
            "{document:#}"
        );
        assert_eq!(gates(&document), expected, "{operation}");
    }
    // The probe's own reply is a write too, and a longer one.
    if let Some(document) = explained("ipc.pipe") {
        assert_eq!(document["returned"], json!({"read": 1, "write": 1}));
    }
    match fs::read_to_string("/proc/self/maps")
        .unwrap()
        .contains("[vsyscall]")
    {
        false => skip("no [vsyscall] on this machine"),
        true => {
            let document = needs!(explained("call.vsyscall_time"));
            assert_eq!(document["verdict"]["answer"], "legacy_gate");
            assert_eq!(document["entries"], json!({}));
        }
    }
}

#[test]
fn environments_differ_in_how_they_enter() {
    let output = explain("id.umask call.getpid --env native,m32 --time 0.05");
    if !output.status.success() {
        return skip(&stderr(&output));
    }
    let text = stdout(&output);
    let gates = text.matches("; enters the kernel").count();
    assert_eq!(gates, 4, "{text}");
    expect_in(&text, ["in native", "in m32"]);
}

#[test]
fn an_explanation_that_was_kept_is_shown() {
    let document = needs!(explained("call.getpid"));
    let place = Place::new();
    place.write("getpid.json", document.to_string());
    let shown = place.printed("show getpid.json");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains(document["verdict"]["text"].as_str().unwrap()),
        "{shown}"
    );
    place.printed("report getpid.json -o page.html");
    let page = place.read("page.html");
    expect_in(&page, ["Verdict: ", "call.getpid"]);
}

#[test]
fn output_for_people_fits_80_columns() {
    let _ = needs!(explained("call.getpid"));
    for args in ["call.getpid", "id.umask --env native"] {
        let text = stdout(&explain((args, "--time 0.05")));
        expect_in(&text, args.split(' ').next().unwrap());
        expect_width(&text, 80);
    }
    let markdown = explain("call.getpid --format markdown --time 0.05");
    expect_in(stdout(&markdown), "```nasm");
}

#[test]
fn questions_that_cannot_be_answered_are_explained() {
    Place::new().refuses(
        "explain",
        &[
            ("call.getpidd", 2, "did you mean call.getpid"),
            ("call", 2, "explain takes one"),
            ("call.getpid --format csv", 2, "--format csv"),
            ("call.getpid id.umask --format json", 2, "--format json"),
            ("file.lstat --param depth=1,2", 2, "one value"),
            ("call.getpid --time 0", 2, "not a positive number"),
        ],
    );
}

#[test]
fn an_ordinary_user_can_explain() {
    if !geteuid().is_root() {
        return skip("not root: every other test runs as an ordinary user already");
    }
    let place = Place::new();
    let output = place
        .command_as_nobody("explain call.getpid --time 0.05")
        .output()
        .unwrap();
    let text = stdout(&output);
    expect_status(&output, 0);
    assert!(
        text.contains("`syscall` in getpid") || text.contains("no disassembly"),
        "{text}"
    );
}

/// Every operation either is explained or fails with a reason, in bounded time, and the machine is left clean.
#[test]
fn every_operation_has_an_answer() {
    let list = Place::new().printed("list --format csv");
    let ids: Vec<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    assert!(ids.len() > 50, "{list}");
    let mut areas: Vec<&str> = ids.clone();
    areas.dedup_by_key(|id| id.split('.').next());
    let ids = one_of_each_kind(&ids, &areas);
    // Most of it is waiting for processes to start and to end: two at a time.
    std::thread::scope(|scope| {
        ids.chunks(ids.len().div_ceil(2)).for_each(|some| {
            scope.spawn(move || assert_answered(some));
        });
    });
}

fn assert_answered(ids: &[&str]) {
    for id in ids {
        let explanation = match document([*id]) {
            Ok(explanation) => explanation,
            Err(reason) => {
                assert!(reason.contains(": "), "{id}: {reason}");
                continue;
            }
        };
        let text = explanation["verdict"]["text"].as_str().unwrap();
        assert!(
            !text.is_empty() && !text.contains("unmapped"),
            "{explanation:#}"
        );
        let resolved = explanation["code"]["resolved"]
            .as_array()
            .is_some_and(|lines| !lines.is_empty());
        assert!(
            resolved || explanation["notes"][0].is_string(),
            "{explanation:#}"
        );
        assert!(
            !explanation["verdict"]["remarks"]
                .to_string()
                .contains("disagree"),
            "{explanation:#}"
        );
    }
}
