//! The catalogue on the real kernel: the table is sound, and every operation enters the kernel as it says it does.
//! One run of the whole catalogue serves all tests that read it.

use crate::common::*;
use measure::runner::{RunDirectory, read_catalogue};
use model::{Count, Expectation, Operation, has_larger_unit};

const AREAS: [&str; 14] = [
    "call", "id", "time", "file", "fd", "io", "dir", "mem", "process", "signal", "sync", "ipc",
    "socket", "event",
];

/// Ids that other people's scripts and the published studies rely on.
const FIXED: [&str; 8] = [
    "id.getppid",
    "id.umask",
    "call.getpid",
    "call.int80",
    "file.fstat",
    "file.lstat",
    "file.open_close",
    "time.clock_gettime",
];

/// The probe's layers below the operations: each is whole with those that it may call.
const LAYERS: [&[&str]; 4] = [
    &["ground.c"],
    &["ground.c", "support.c"],
    &["ground.c", "sampler.c"],
    &["ground.c", "support.c", "crowd.c"],
];

const WHOLE: &str = "run --all --time 5 --format json";

/// A tracer that holds the waker between giving a token and waking lets the other thread take it and wait anew; the late
/// wake then costs that thread one more wait. So these may have a little more than is declared where the machine is busy.
const LATE_WAKES: [&str; 1] = ["sync.futex_pingpong"];

static CATALOGUE: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let output = Place::new().run("list --format json");
    json(&output)["operations"].as_array().unwrap().clone()
});

static RECORDS: LazyLock<Vec<Value>> = LazyLock::new(|| records(&Place::new().run(WHOLE)));

fn records(output: &Output) -> Vec<Value> {
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{:?}: {}",
        output.status,
        stderr(output)
    );
    let document = json(output);
    assert_eq!(document["complete"], true);
    list(&document["records"]).clone()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} of {value}"))
}

fn operation(id: &str) -> &'static Value {
    CATALOGUE
        .iter()
        .find(|o| text(o, "id") == id)
        .unwrap_or_else(|| panic!("{id} is not in the catalogue"))
}

/// The counted entries of an operation; `None` where this machine lacks it or they could not be counted, loudly.
fn entries(id: &str) -> Option<BTreeMap<String, f64>> {
    let record = RECORDS.iter().find(|r| text(r, "operation") == id).unwrap();
    match record["entries"].as_object() {
        Some(entries) => Some(
            entries
                .iter()
                .map(|(name, count)| (name.clone(), count.as_f64().unwrap()))
                .collect(),
        ),
        None => {
            skip(&format!(
                "{id} has no entries here: {} {}",
                record["error"], record["warnings"]
            ));
            None
        }
    }
}

fn expect_entries(id: &str, expected: &[(&str, f64)]) {
    if let Some(counted) = entries(id) {
        let expected = expected
            .iter()
            .map(|(name, count)| (name.to_string(), *count))
            .collect();
        assert_eq!(counted, expected, "{id}");
    }
}

#[test]
fn each_layer_of_the_probe_calls_only_those_below() {
    let directory = tempfile::tempdir().unwrap();
    for layer in LAYERS {
        let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
        compiler.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/probe"));
        compiler
            .args([
                "-std=c11",
                "-Wall",
                "-Werror",
                "-fPIC",
                "-shared",
                "-Wl,-z,defs",
            ])
            .args(layer);
        let output = compiler
            .args(["-pthread", "-lrt", "-o"])
            .arg(directory.path().join("layer.so"))
            .output()
            .unwrap();
        expect_status(&output, 0);
    }
}

#[test]
fn ids_are_unique_and_areas_known() {
    let ids: BTreeSet<&str> = CATALOGUE.iter().map(|o| text(o, "id")).collect();
    assert_eq!(ids.len(), CATALOGUE.len());
    assert!(ids.len() >= 200, "{} operations", ids.len());
    let areas: BTreeSet<&str> = CATALOGUE.iter().map(|o| text(o, "area")).collect();
    assert_eq!(areas, BTreeSet::from(AREAS));
    for operation in CATALOGUE.iter() {
        let (area, name) = text(operation, "id").split_once('.').unwrap();
        assert_eq!(area, text(operation, "area"));
        assert!(
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        );
    }
}

#[test]
fn every_operation_is_described() {
    for operation in CATALOGUE.iter() {
        let what = text(operation, "what");
        assert!(
            !what.trim().is_empty() && !what.contains(['\n', '\t']),
            "{operation}"
        );
        assert!(!text(operation, "systems").is_empty(), "{operation}");
        for parameter in list(&operation["params"]) {
            let (name, what) = (text(parameter, "name"), text(parameter, "what"));
            assert!(!name.is_empty() && !what.is_empty(), "{operation}");
            let larger = what.starts_with("KiB") || what.starts_with("MiB");
            assert_eq!(
                has_larger_unit(name),
                larger,
                "{operation}: 4096 is written without K if it is no bytes"
            );
        }
    }
}

#[test]
fn ids_that_others_rely_on_exist() {
    for id in FIXED {
        assert_eq!(text(operation(id), "id"), id);
    }
}

/// What the probe leaves of its file of 64 sizes after as many iterations.
fn file_after(id: &str, size: &str, iterations: u64) -> Vec<u8> {
    let run = RunDirectory::create().unwrap();
    let place = tempfile::tempdir().unwrap();
    let mut probe = Command::new(run.probe());
    let mut child = probe
        .current_dir(&place)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(format!("op {id} size={size}\n{iterations} 1\n").as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success(), "{id}");
    fs::read(place.path().join("file")).unwrap()
}

/// select() names numbers up to 1023: those of pipes' writing ends are above.
#[test]
fn select_waits_for_a_thousand_descriptors() {
    let ids = "event.select_none event.poll_none event.epoll_wait_one";
    let run = format!("run {ids} --param fds=1000 --time 0.1 --quiet");
    expect_in(
        Place::new().printed(run),
        ["event.select_none", "event.epoll_wait_one"],
    );
}

/// Variants of one answer are compared with each other: none may have its bytes in a nearer cache than the others.
#[test]
fn operations_that_read_or_write_a_file_go_through_it_alike() {
    for id in ["io.read_file", "io.pread", "io.mmap_read"] {
        assert_eq!(file_after(id, "2", 64).len(), 128, "{id}");
    }
    for id in ["io.write_file", "io.pwrite"] {
        assert_eq!(file_after(id, "2", 64), [b'x'; 128], "{id}");
    }
    let turns = file_after("io.pwrite", "9M", 7);
    assert_eq!(turns.len(), 7 * (9 << 20));
    assert!(turns.iter().all(|byte| *byte == b'x'));
    for operation in CATALOGUE
        .iter()
        .filter(|o| text(o, "area") == "io" && (o["family"] == "read" || o["family"] == "write"))
    {
        let what = text(operation, "what");
        assert!(
            !what.contains(" of a file") || what.contains("the next `size` bytes"),
            "{operation}"
        );
    }
}

#[test]
fn what_changes_names_or_blocks_or_waits_for_the_journal_depends_on_history() {
    let catalogue = read_catalogue(&RunDirectory::create().unwrap().probe()).unwrap();
    let named = |o: &&Operation| o.traits.history;
    let ids: BTreeSet<&str> = catalogue
        .iter()
        .filter(named)
        .map(|o| o.id.as_str())
        .collect();
    let changes = |o: &&Operation| {
        let calls = o.enters.0.iter().flat_map(|expected| &expected.names);
        let known = [
            "unlink",
            "rmdir",
            "rename",
            "ftruncate",
            "fsync",
            "fdatasync",
        ];
        // The calls of these do not tell that they create a file, or let one grow.
        ["file.create", "io.write_append"].contains(&o.id.as_str())
            || calls.into_iter().any(|name| known.contains(&name.as_str()))
    };
    assert_eq!(
        ids,
        catalogue
            .iter()
            .filter(changes)
            .map(|o| o.id.as_str())
            .collect()
    );
    assert!(
        ids.contains("file.creat_unlink") && ids.contains("io.fsync"),
        "{ids:?}"
    );
}

#[test]
fn every_operation_is_measured_or_says_why_not() {
    assert_eq!(RECORDS.len(), CATALOGUE.len());
    check_outcomes(&RECORDS);
}

#[test]
fn entries_are_those_that_are_declared() {
    check_declared(&RECORDS);
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn an_ordinary_user_measures_the_catalogue_too() {
    if !geteuid().is_root() {
        return skip("the tests do not run as root, so every other test is this one");
    }
    let place = Place::new();
    let records = records(&place.command_as_nobody(WHOLE).output().unwrap());
    assert_eq!(records.len(), CATALOGUE.len());
    check_outcomes(&records);
    check_declared(&records);
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

/// A median, or the reason that the system does not offer the operation, with the errno that said so. On a machine that
/// is busy with something else an operation may fail to get the CPU at all: that is said and counted.
fn check_outcomes(records: &[Value]) {
    for record in records {
        let id = text(record, "operation");
        let message = record["error"]["message"].as_str().unwrap_or_default();
        if message.contains("every batch waited for a CPU")
            || message.starts_with("every batch was preempted")
        {
            skip(&format!("{id}: {message}"));
            continue;
        }
        match record["error"].is_null() {
            true => assert!(
                record["median_ns"]
                    .as_f64()
                    .is_some_and(|median| median > 0.0),
                "{record:#}"
            ),
            false => {
                assert_eq!(record["error"]["kind"], "unsupported", "{record:#}");
                assert!(names_errno(message), "{record:#}");
            }
        }
    }
}

fn names_errno(message: &str) -> bool {
    let upper = |word: &str| {
        word.chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    message
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|w| w.len() > 2 && w.starts_with('E') && upper(w))
}

/// No record says that its entries differ from the declared ones, and each count is the declared one where that is
/// fixed. Where ptrace is refused nothing can be held against the declarations.
fn check_declared(records: &[Value]) {
    let counted = records.iter().filter(|r| !r["entries"].is_null());
    let uncounted = records
        .iter()
        .filter(|r| r["entries"].is_null() && r["error"].is_null())
        .count();
    if uncounted > 0 {
        skip(&format!(
            "{uncounted} operations: their entries could not be counted on this machine"
        ));
    }
    for record in counted {
        assert_eq!(text(record, "entries_status"), "verified");
        if LATE_WAKES.contains(&text(record, "operation")) {
            let futex = record["entries"]["futex"].as_f64().unwrap();
            assert!((4.0..5.0).contains(&futex), "{record:#}");
            continue;
        }
        let warnings = list(&record["warnings"])
            .iter()
            .filter_map(|warning| warning["text"].as_str());
        let wrong: Vec<&str> = warnings
            .filter(|w| w.starts_with("kernel entries are"))
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", text(record, "operation"));
        check_counts(record);
    }
}

fn check_counts(record: &Value) {
    let declared: Expectation = text(operation(text(record, "operation")), "enters")
        .parse()
        .unwrap();
    let fractions: Vec<f64> = declared.0.iter().filter_map(|e| fixed(&e.count)).collect();
    if declared.0.iter().any(|e| e.count == Count::Any) {
        return;
    }
    for (name, count) in record["entries"].as_object().unwrap() {
        let count = count.as_f64().unwrap();
        let known = count.fract() == 0.0
            || fractions
                .iter()
                .any(|fraction| (fraction - count).abs() < 1e-6);
        assert!(
            known,
            "{}: {name} x{count}, but {declared} is declared",
            text(record, "operation")
        );
    }
}

fn fixed(count: &Count) -> Option<f64> {
    match count {
        Count::Exactly(count) => Some(*count),
        Count::Parameter(_) | Count::Any => None,
    }
}

#[test]
fn the_clock_is_read_without_entering_the_kernel() {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(path).unwrap_or_default();
    if !["tsc", "kvm-clock", "arch_sys_counter"].contains(&source.trim()) {
        return skip(&format!(
            "the vDSO does not serve the clock source '{}'",
            source.trim()
        ));
    }
    expect_entries("time.clock_gettime", &[]);
}

#[test]
fn both_sides_of_a_fork_are_counted() {
    let counted = needs!(entries("process.fork_wait"));
    let count = |names: &[&str]| {
        names
            .iter()
            .filter_map(|name| counted.get(*name))
            .sum::<f64>()
    };
    assert_eq!(count(&["clone", "fork", "clone3"]), 1.0, "{counted:?}");
    assert_eq!(count(&["wait4", "waitid"]), 1.0, "{counted:?}");
    assert_eq!(
        count(&["exit_group", "exit"]),
        1.0,
        "the child's end: {counted:?}"
    );
}
