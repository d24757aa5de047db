//! Perl's view of a run: what the data cannot tell apart, and what must hold of every matrix. Published figures in this
//! view are in tests/published.rs.

mod data;
mod perl;

use crate::common::{Place, expect_status};
use data::{failed, matrix, measured, published, record, run, shown};
use model::*;
use proptest::prelude::*;
use report::ViewKind;

#[test]
fn what_does_not_go_together_is_refused_before_anything_is_read() {
    for (args, word) in [
        (["--format", "csv"], "--format"),
        (["--sort", "cost"], "--sort"),
    ] {
        let output = Place::new()
            .run(&[&["show", "nothing.json", "--view", "cmpthese"], &args[..]].concat());
        expect_status(&output, 2);
        assert!(String::from_utf8_lossy(&output.stderr).contains(word));
    }
    let output = Place::new().run(&["run", "call.direct", "--cpu-seconds", "1", "--time", "1"]);
    expect_status(&output, 2);
}

#[test]
fn measured_cases_that_the_data_cannot_tell_apart_are_marked() {
    let noise = |step: u64| {
        (0..24)
            .map(|i| 100_000 + 1000 * (i * step % 12))
            .collect::<Vec<u64>>()
    };
    let (a, b) = (noise(7), noise(5));
    let twice: Vec<u64> = a.iter().map(|ns| 2 * ns).collect();
    let run = run(
        3.0,
        vec![
            measured("a", &a),
            measured("b", &b),
            measured("twice", &twice),
            failed("none"),
        ],
    );
    let text = shown(&run, ViewKind::Cmpthese);
    let expected = [
        "           Rate twice     a     b",
        "twice 4739336/s    --  -50%  -50%",
        "a     9478673/s  100%    --   ~0%",
        "b     9478673/s  100%   ~0%    --",
    ];
    assert_eq!(matrix(&text, 3), expected);
    assert!(
        text.contains("      none: not measured: stat: ENOSYS\n"),
        "{text}"
    );
    assert!(
        text.contains("         a:  0 wallclock secs (    ? usr +     ? sys =  0.00 CPU) @ "),
        "{text}"
    );
    assert!(
        text.contains("\n~: the data cannot tell these apart: the 95% interval of the ratio holds 1 (Holm, 3 pairs)"),
        "{text}"
    );
}

#[test]
fn few_launches_are_reported() {
    let case = |i: u64, launches: u64| {
        measured(
            &format!("c{i}"),
            &(0..launches)
                .map(|launch| (1000 + launch) * (i + 1))
                .collect::<Vec<_>>(),
        )
    };
    let text = shown(
        &run(1.0, (0..4).map(|i| case(i, 2)).collect()),
        ViewKind::Cmpthese,
    );
    assert!(
        text.contains("note: too few launches to tell 6 of the pairs apart: "),
        "{text}"
    );
    let text = shown(
        &run(1.0, (0..16).map(|i| case(i, 3)).collect()),
        ViewKind::Cmpthese,
    );
    assert!(!text.contains('~'), "{text}");
}

fn any_figure() -> impl Strategy<Value = Outcome> {
    let time = prop_oneof![Just(0.0), Just(1e300), Just(f64::MAX), 1e-3..1e12f64];
    let count = proptest::option::of(prop_oneof![Just(1), Just(u64::MAX), 1..1_000_000u64]);
    (time, count, proptest::option::of(0.0..=1.0)).prop_map(|(ns, count, user_share)| {
        Outcome::Published(Figure {
            time: Nanos(ns),
            count,
            user_share,
            ..Figure::default()
        })
    })
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let batch = prop_oneof![Just(0), Just(u64::MAX), 1..1_000_000u64];
    let blocks = proptest::collection::vec(proptest::collection::vec(batch, 0..3), 0..14);
    let measured =
        (blocks, prop_oneof![Just(u64::MAX), 1..10_000u64]).prop_map(|(blocks, iterations)| {
            let blocks = blocks
                .into_iter()
                .map(|slot| Block {
                    launch: 0,
                    slots: vec![slot],
                })
                .collect();
            Outcome::Measured(Measurement {
                iterations,
                blocks,
                ..Measurement::default()
            })
        });
    prop_oneof![any_figure(), measured, Just(failed("x").outcome)]
}

/// The percents of a matrix; `None` on the diagonal.
fn percents(rows: &[String]) -> Vec<Vec<Option<f64>>> {
    let percent = |cell: &str| {
        cell.trim_start_matches('~')
            .trim_end_matches('%')
            .parse()
            .ok()
    };
    rows.iter()
        .skip(1)
        .map(|row| row.split_whitespace().skip(2).map(percent).collect())
        .collect()
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
fn names_of_any_length_are_aligned() {
    // A width in a format may be 65,535 at most; what is shown of a name is shorter.
    let long = "n".repeat(70_000);
    let text = shown(
        &run(
            1.0,
            vec![published(&long, 1.0, 0.0, 5), published("b", 1.0, 0.0, 5)],
        ),
        ViewKind::Cmpthese,
    );
    let is_row = |line: &&str| {
        !line.contains("wallclock") && (line.starts_with(&long[..100]) || line.starts_with("b "))
    };
    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].chars().count(), rows[1].chars().count());
}

#[test]
fn one_row_and_no_row() {
    let one = shown(
        &run(1.0, vec![published("only", 0.0, 0.0, 5)]),
        ViewKind::Cmpthese,
    );
    assert_eq!(
        matrix(&one, 1),
        [
            "                   Rate only",
            "only 5000000000000000/s   --"
        ]
    );
    assert!(
        one.contains("      only:  0 wallclock secs ( 0.00 usr +  0.00 sys =  0.00 CPU)\n"),
        "{one}"
    );
    assert_eq!(
        shown(&run(1.0, vec![]), ViewKind::Cmpthese).lines().count(),
        1
    );
}
