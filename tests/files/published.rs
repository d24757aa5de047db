//! Every number of the published studies, as its article prints it, out of `published/*.json`.

use crate::common::{Place, expect_file, expect_status, expect_valid, stdout};
use model::{EntriesStatus, Outcome, Record, Run};
use serde_json::Value;
use std::path::{Path, PathBuf};

const FILES: [&str; 6] = [
    "linux-2.6.32.json",
    "locking-2007.json",
    "macosx-10.7.json",
    "perl-5.10.1-i686.json",
    "perlio-2006.json",
    "solaris-oi151.json",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("published")
}

fn file(name: &str) -> PathBuf {
    folder().join(name)
}

fn shown(name: &str, arguments: &[&str]) -> String {
    let path = file(name);
    let output = Place::new().run(&[&["show", path.to_str().unwrap()], arguments].concat());
    expect_status(&output, 0);
    stdout(&output)
}

fn show(name: &str, view: &str) -> String {
    shown(name, &["--view", view])
}

/// The matrix in a text: its heading and the `cases` lines below.
fn matrix(text: &str, cases: usize) -> Vec<String> {
    let heading = |line: &&str| {
        line.trim_start().starts_with("Rate ") || line.trim_start().starts_with("s/iter ")
    };
    text.lines()
        .skip_while(|line| !heading(line))
        .take(cases + 1)
        .map(str::to_string)
        .collect()
}

#[test]
fn published_files_are_as_the_store_writes_them() {
    let mut there: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    there.sort();
    assert_eq!(there, FILES);
    for name in FILES {
        let mut written = Vec::new();
        store::write_to(&store::read(&file(name)).unwrap(), &mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        expect_file(file(name), &text);
        expect_valid("result-1", &text);
    }
}

/// Every number of the article: rates, counts, user and system seconds, and the 30 percents.
const PERL_5_10_1: &str = "\
Benchmark: running ArrayRef, eval, for/1, open, stat, time for at least 1 CPU seconds...
  ArrayRef:  1 wallclock secs ( 1.18 usr +  0.00 sys =  1.18 CPU) @ 3332339.00/s (n=3932160)
      eval:  1 wallclock secs ( 1.05 usr +  0.00 sys =  1.05 CPU) @ 182044.00/s (n=191146)
     for/1:  1 wallclock secs ( 1.06 usr +  0.00 sys =  1.06 CPU) @ 2885232.00/s (n=3058346)
      open:  1 wallclock secs ( 0.62 usr +  0.39 sys =  1.01 CPU) @ 202770.00/s (n=204798)
      stat:  1 wallclock secs ( 0.85 usr +  0.30 sys =  1.15 CPU) @ 498643.00/s (n=573439)
      time:  1 wallclock secs ( 0.62 usr +  0.49 sys =  1.11 CPU) @ 5834683.00/s (n=6476498)
              Rate     eval     open     stat    for/1 ArrayRef     time
eval      182044/s       --     -10%     -63%     -94%     -95%     -97%
open      202770/s      11%       --     -59%     -93%     -94%     -97%
stat      498643/s     174%     146%       --     -83%     -85%     -91%
for/1    2885232/s    1485%    1323%     479%       --     -13%     -51%
ArrayRef 3332339/s    1731%    1543%     568%      15%       --     -43%
time     5834683/s    3105%    2777%    1070%     102%      75%       --
note: published figures have no samples, so no pair is tested or marked
source: System calls against ordinary Perl operations (Perl 5.10.1, i686-linux, CentOS 5)
";

#[test]
fn system_calls_against_perl_operations_as_published() {
    assert_eq!(show("perl-5.10.1-i686.json", "cmpthese"), PERL_5_10_1);
    let lines = show("perl-5.10.1-i686.json", "timethese");
    assert_eq!(lines.lines().count(), 9);
    assert!(!lines.contains('%'), "{lines}");
}

/// Rates as printed, by KiB: raw, perlio, mmap, no layer; of the last size seconds per iteration.
const PERLIO: [(&str, &[&str]); 9] = [
    ("1", &["213/s", "10088/s", "4492/s", "12488/s"]),
    ("4", &["55.7/s", "6375/s", "3722/s", "7305/s"]),
    ("16", &["13.5/s", "2469/s", "1849/s", "2649/s"]),
    ("64", &["3.53/s", "767/s", "693/s", "810/s"]),
    ("256", &["0.937/s", "187/s", "198/s", "194/s"]),
    ("1024", &["46.8/s", "52.8/s", "49.2/s"]),
    ("4096", &["12.4/s", "13.0/s", "12.9/s"]),
    ("16384", &["2.96/s", "3.14/s", "3.11/s"]),
    ("65536", &["1.35", "1.25", "1.24"]),
];

#[test]
fn read_strategies_as_published() {
    let text = show("perlio-2006.json", "cmpthese");
    let blocks: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(blocks.len(), PERLIO.len());
    for (block, (kib, rates)) in blocks.iter().zip(PERLIO) {
        assert!(
            block.starts_with(&format!(
                "kib={kib}:\nBenchmark: running mmap, none, perlio"
            )),
            "{block}"
        );
        assert!(
            block.contains(" for at least 3 CPU seconds...\n"),
            "{block}"
        );
        let rows = matrix(block, rates.len());
        let names = &["raw", "perlio", "mmap", "none"][4 - rates.len()..];
        for (name, rate) in names.iter().zip(rates) {
            let row = rows
                .iter()
                .find(|row| row.starts_with(name))
                .unwrap_or_else(|| panic!("{name} in {block}"));
            assert_eq!(
                row.split_whitespace().nth(1),
                Some(*rate),
                "{name}, {kib} KiB"
            );
        }
    }
}

#[test]
fn lock_and_unlock_as_published() {
    let text = show("locking-2007.json", "cmpthese");
    assert!(
        text.starts_with("Benchmark: timing 1000000000 iterations of asm getpid, "),
        "{text}"
    );
    for line in [
        "  function:  9 wallclock secs (    ? usr +     ? sys =  9.00 CPU) @ 111111111.11/s (n=1000000000)",
        "      kill: 900 wallclock secs (    ? usr +     ? sys = 900.00 CPU) @ 1111111.11/s (n=1000000000)",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    let run = store::read(&file("locking-2007.json")).unwrap();
    let seconds = |r: &Record| {
        if let Outcome::Published(f) = &r.outcome {
            f.time.0
        } else {
            0.0
        }
    };
    assert_eq!(
        run.records.iter().map(seconds).collect::<Vec<_>>(),
        [9.0, 10.0, 17.0, 17.0, 660.0, 660.0, 900.0]
    );
}

/// Study 3: a call, and the seconds that the article prints for Mac OS X, Linux and Solaris; none where it prints none.
type Line = (&'static str, [Option<&'static str>; 3]);

const SYSTEMS: [&str; 3] = [
    "macosx-10.7.json",
    "linux-2.6.32.json",
    "solaris-oi151.json",
];

const MANY: u64 = 0x4000000;
const FEW: u64 = 0x10000;

const ONE_CALL: [Line; 7] = [
    ("fstat", [Some("31.12"), Some("8.36"), Some("62.13")]),
    ("lstat", [Some("51.18"), Some("27.41"), Some("165.26")]),
    ("time", [Some("13.30"), Some("243.82"), Some("26.39")]),
    (
        "gettimeofday",
        [Some("2.86"), Some("250.78"), Some("32.94")],
    ),
    ("umask", [Some("11.61"), Some("3.61"), Some("23.70")]),
    ("getpid", [None, None, Some("21.78")]),
    (
        "lstat - fstat",
        [Some("20.06"), Some("19.05"), Some("103.13")],
    ),
];

const PROCESSES: [Line; 2] = [
    ("fork+wait", [Some("27.36"), Some("9.35"), Some("24.32")]),
    ("vfork+wait", [Some("0.52"), Some("6.03"), Some("5.68")]),
];

const SCALED_UP: [Line; 2] = [
    (
        "execve",
        [Some("160962.56"), Some("22548.48"), Some("40355.84")],
    ),
    (
        "fork+execve+wait",
        [Some("199577.60"), Some("31805.44"), None],
    ),
];

/// What `show` says of a record or a derived row of that name, in the document for programs.
fn row<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    let rows = ["records", "derived"]
        .into_iter()
        .flat_map(|list| document[list].as_array().unwrap());
    rows.into_iter().find(|row| row["name"] == name)
}

/// The seconds for `calls` calls, with the two digits behind the point that the article prints.
fn seconds(document: &Value, name: &str, calls: u64) -> Option<String> {
    let row = row(document, name)?;
    let ns = row["median_ns"].as_f64().or(row["value"].as_f64())?;
    let scales = document["study"]["scales"].as_array().unwrap();
    let own = |scale: &&Value| {
        scale["cases"]
            .as_array()
            .unwrap()
            .iter()
            .any(|case| case == name)
    };
    let of_all = || {
        scales
            .iter()
            .find(|scale| scale["cases"].as_array().unwrap().is_empty())
    };
    let scale = row
        .get("scale")
        .or_else(|| scales.iter().find(own))
        .or_else(of_all)
        .unwrap();
    assert_eq!(
        (scale["calls"].as_u64(), scale["unit"].as_str()),
        (Some(calls), Some("s")),
        "{name}"
    );
    Some(format!("{:.2}", ns * calls as f64 / 1e9))
}

fn document(name: &str) -> Value {
    serde_json::from_str(&shown(name, &["--format", "json"])).unwrap()
}

#[test]
fn one_call_at_a_time_as_published() {
    for (i, system) in SYSTEMS.iter().enumerate() {
        let document = document(system);
        for (lines, calls) in [(&ONE_CALL[..], MANY), (&PROCESSES, FEW), (&SCALED_UP, MANY)] {
            for (name, printed) in lines {
                assert_eq!(
                    seconds(&document, name, calls).as_deref(),
                    printed[i],
                    "{system}: {name}"
                );
            }
        }
        let share = row(&document, "vfork / fork").unwrap()["value"]
            .as_f64()
            .unwrap();
        assert_eq!(
            format!("{:.1}", share * 100.0),
            ["1.9", "64.5", "23.4"][i],
            "{system}"
        );
    }
}

fn records(name: &str) -> Vec<Record> {
    let run: Run = store::read(&file(name)).unwrap();
    run.records
}

#[test]
fn entries_are_known_where_the_author_counted_them() {
    let unverified = |name: &str| {
        let of_calls = records(name)
            .into_iter()
            .filter(|r| !r.case.label().contains("+") && r.case.label() != "execve");
        let unknown = of_calls.filter(|r| r.entries_status != EntriesStatus::Verified);
        unknown
            .map(|r| r.case.label().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        SYSTEMS.map(unverified),
        [vec!["gettimeofday", "getpid"], vec!["getpid"], vec![]]
    );
    let umask = records("linux-2.6.32.json")
        .into_iter()
        .find(|r| r.case.label() == "umask")
        .unwrap();
    assert_eq!(umask.entries.unwrap().to_string(), "umask x1");
}
