//! Perl's view of a run: the published figures as they were printed, what the data cannot tell apart, and what must hold
//! of every matrix.

#[path = "cmpthese/data.rs"]
mod data;
#[path = "cmpthese/perl.rs"]
mod perl;

use data::{failed, matrix, measured, published, record, run, shown};
use proptest::prelude::*;
use std::path::PathBuf;
use std::process::{Command, Output};
use syscost::model::*;
use syscost::report::ViewKind;
use syscost::store;

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "published", name].iter().collect()
}

fn syscost(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_syscost")).args(args).output().unwrap()
}

fn show(name: &str, view: &str) -> String {
    let output = syscost(&["show", file(name).to_str().unwrap(), "--view", view]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn published_files_are_as_the_store_writes_them() {
    for name in ["perl-5.10.1-i686.json", "perlio-2006.json", "locking-2007.json"] {
        let text = std::fs::read_to_string(file(name)).unwrap();
        let mut written = Vec::new();
        store::write_to(&store::read(&file(name)).unwrap(), &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text, "{name}");
        jsonschema::validate(&store::schema(), &serde_json::from_str(&text).unwrap()).unwrap();
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
note: published figures have no samples: nothing about them can be tested, and nothing is marked
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
        assert!(block.starts_with(&format!("kib={kib}:\nBenchmark: running mmap, none, perlio")), "{block}");
        assert!(block.contains(" for at least 3 CPU seconds...\n"), "{block}");
        let rows = matrix(block, rates.len());
        let names = &["raw", "perlio", "mmap", "none"][4 - rates.len()..];
        for (name, rate) in names.iter().zip(rates) {
            let row = rows.iter().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name} in {block}"));
            assert_eq!(row.split_whitespace().nth(1), Some(*rate), "{name}, {kib} KiB");
        }
    }
}

#[test]
fn lock_and_unlock_as_published() {
    let text = show("locking-2007.json", "cmpthese");
    assert!(text.starts_with("Benchmark: timing 1000000000 iterations of asm getpid, "), "{text}");
    for line in [
        "  function:  9 wallclock secs (    ? usr +     ? sys =  9.00 CPU) @ 111111111.11/s (n=1000000000)",
        "      kill: 900 wallclock secs (    ? usr +     ? sys = 900.00 CPU) @ 1111111.11/s (n=1000000000)",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    let run = store::read(&file("locking-2007.json")).unwrap();
    let seconds = |r: &Record| if let Outcome::Published(f) = &r.outcome { f.time.0 } else { 0.0 };
    assert_eq!(run.records.iter().map(seconds).collect::<Vec<_>>(), [9.0, 10.0, 17.0, 17.0, 660.0, 660.0, 900.0]);
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_is_read() {
    for (args, word) in [(["--format", "csv"], "--format"), (["--sort", "cost"], "--sort")] {
        let output = syscost(&[&["show", "nothing.json", "--view", "cmpthese"], &args[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(word));
    }
    let output = syscost(&["run", "call.direct", "--cpu-seconds", "1", "--time", "1"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn measured_cases_that_the_data_cannot_tell_apart_are_marked() {
    let noise = |step: u64| (0..24).map(|i| 100_000 + 1000 * (i * step % 12)).collect::<Vec<u64>>();
    let (a, b) = (noise(7), noise(5));
    let twice: Vec<u64> = a.iter().map(|ns| 2 * ns).collect();
    let run = run(3.0, vec![measured("a", &a), measured("b", &b), measured("twice", &twice), failed("none")]);
    let text = shown(&run, ViewKind::Cmpthese);
    let expected = [
        "           Rate twice     a     b",
        "twice 4739336/s    --  -50%  -50%",
        "a     9478673/s  100%    --   ~0%",
        "b     9478673/s  100%   ~0%    --",
    ];
    assert_eq!(matrix(&text, 3), expected);
    assert!(text.contains("      none: not measured: stat: ENOSYS\n"), "{text}");
    assert!(text.contains("         a:  0 wallclock secs (    ? usr +     ? sys =  0.00 CPU) @ "), "{text}");
    assert!(
        text.contains("\n~: the data cannot tell these apart: the 95% interval of the ratio holds 1 (Holm, 3 pairs)"),
        "{text}"
    );
}

#[test]
fn few_blocks_for_many_pairs_are_said_to_be_few() {
    let blocks: Vec<u64> = (0..12).map(|i| 1000 + i).collect();
    let case = |i: u64| measured(&format!("c{i}"), &blocks.iter().map(|ns| ns * (i + 1)).collect::<Vec<_>>());
    let text = shown(&run(1.0, (0..16).map(case).collect()), ViewKind::Cmpthese);
    assert!(text.contains("note: 12 time blocks are too few to tell 120 pairs apart: "), "{text}");
    let text = shown(&run(1.0, (0..8).map(case).collect()), ViewKind::Cmpthese);
    assert!(!text.contains('~'), "{text}");
}

fn any_figure() -> impl Strategy<Value = Outcome> {
    let time = prop_oneof![Just(0.0), Just(1e300), Just(f64::MAX), 1e-3..1e12f64];
    let count = proptest::option::of(prop_oneof![Just(1), Just(u64::MAX), 1..1_000_000u64]);
    (time, count, proptest::option::of(0.0..=1.0)).prop_map(|(ns, count, user_share)| {
        Outcome::Published(Figure { time: Nanos(ns), as_printed: String::new(), count, user_share })
    })
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let batch = prop_oneof![Just(0), Just(u64::MAX), 1..1_000_000u64];
    let blocks = proptest::collection::vec(proptest::collection::vec(batch, 0..3), 0..14);
    let measured = (blocks, prop_oneof![Just(u64::MAX), 1..10_000u64]).prop_map(|(blocks, iterations)| {
        let blocks = blocks.into_iter().map(|slot| Block { launch: 0, slots: vec![slot] }).collect();
        Outcome::Measured(Measurement { iterations, blocks, ..Measurement::default() })
    });
    prop_oneof![any_figure(), measured, Just(failed("x").outcome)]
}

/// The percents of a matrix; `None` on the diagonal.
fn percents(rows: &[String]) -> Vec<Vec<Option<f64>>> {
    let percent = |cell: &str| cell.trim_start_matches('~').trim_end_matches('%').parse().ok();
    rows.iter().skip(1).map(|row| row.split_whitespace().skip(2).map(percent).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_matrix_is_square_and_antisymmetric(outcomes in proptest::collection::vec(any_outcome(), 0..7)) {
        let records = outcomes.into_iter().enumerate().map(|(i, o)| record(&format!("c{i}"), o)).collect();
        let text = shown(&run(1.0, records), ViewKind::Cmpthese);
        let cases = text.lines().filter(|line| line.contains(" wallclock secs (")).count();
        let rows = matrix(&text, cases);
        prop_assert_eq!(rows.len(), if cases == 0 { 0 } else { cases + 1 }, "{}", text);
        prop_assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{}", text);
        let percents = percents(&rows);
        for (i, row) in percents.iter().enumerate() {
            prop_assert_eq!(row.len(), cases, "{}", text);
            for (j, cell) in row.iter().enumerate() {
                prop_assert_eq!(cell.is_none(), i == j, "{}", text);
                let (here, there) = (cell.unwrap_or(0.0), percents[j][i].unwrap_or(0.0));
                prop_assert!(here * there <= 0.0 && (i <= j || here >= 0.0), "{}", text);
            }
        }
    }
}

#[test]
fn one_row_and_no_row() {
    let one = shown(&run(1.0, vec![published("only", 0.0, 0.0, 5)]), ViewKind::Cmpthese);
    assert_eq!(matrix(&one, 1), ["                   Rate only", "only 5000000000000000/s   --"]);
    assert!(one.contains("      only:  0 wallclock secs ( 0.00 usr +  0.00 sys =  0.00 CPU)\n"), "{one}");
    assert_eq!(shown(&run(1.0, vec![]), ViewKind::Cmpthese).lines().count(), 1);
}
