//! Perl's view of a run: pairs that the data do not distinguish, and properties of every matrix. Published figures in this
//! view are in tests/published.rs.

mod data;
mod perl;

use crate::common::*;
use data::{failed, matrix, measured, published, run, shown};

#[test]
fn what_does_not_go_together_is_refused_before_anything_is_read() {
    for (args, word) in [
        (["--format", "csv"], "--format"),
        (["--sort", "cost"], "--sort"),
    ] {
        let output = Place::new().run(("show nothing.json --view cmpthese", &args));
        expect_status(&output, 2);
        assert!(String::from_utf8_lossy(&output.stderr).contains(word));
    }
    let output = Place::new().run("run call.direct --cpu-seconds 1 --time 1");
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
    let text = shown(&run);
    let expected = [
        "           Rate twice     a     b",
        "twice 4739336/s    --  -50%  -50%",
        "a     9478673/s  100%    --   ~0%",
        "b     9478673/s  100%   ~0%    --",
    ];
    assert_eq!(matrix(&text, 3), expected);
    expect_in(&text, "none: not measured: stat: ENOSYS\n");
    expect_in(
        &text,
        "\n~: not distinguishable: the 95% interval of the ratio includes 1 (Holm, 3 pairs)",
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
    let text = shown(&run(1.0, (0..4).map(|i| case(i, 2)).collect()));
    expect_in(
        &text,
        "note: too few launches to distinguish 6 of the pairs: ",
    );
    let text = shown(&run(1.0, (0..16).map(|i| case(i, 3)).collect()));
    assert!(!text.contains('~'), "{text}");
}

#[test]
fn names_of_any_length_are_aligned() {
    // A width in a format may be 65,535 at most; what is shown of a name is shorter.
    let long = "n".repeat(70_000);
    let text = shown(&run(
        1.0,
        vec![published(&long, 1.0, 0.0, 5), published("b", 1.0, 0.0, 5)],
    ));
    let is_row = |line: &&str| line.starts_with(&long[..100]) || line.starts_with("b ");
    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].chars().count(), rows[1].chars().count());
}

#[test]
fn one_row_and_no_row() {
    let one = shown(&run(1.0, vec![published("only", 0.0, 0.0, 5)]));
    assert_eq!(
        matrix(&one, 1),
        [
            "                   Rate only",
            "only 1000000000000000/s   --"
        ]
    );
    assert_eq!(shown(&run(1.0, vec![])).lines().count(), 0);
}
