//! Figures as files and in pages. Whole-program tests cover hostile names and extreme numbers (`hostile` and `extremes` in
//! `tests/files`).

use super::*;
use crate::figure::{Dot, DotRow, Dots, Group, Kernel};
use model::Unit;
use stats::Ranged;

fn costs(rows: &[(f64, Kernel)]) -> Figure {
    fn row(dot: &(f64, Kernel)) -> DotRow {
        let (value, kernel) = dot;
        let at = Ranged {
            value: *value,
            low_high: None,
        };
        DotRow {
            label: "a".into(),
            kernel: Some(*kernel),
            dots: vec![Some(Dot { at, decided: true })],
        }
    }

    let group = Group {
        name: "file".into(),
        rows: rows.iter().map(row).collect(),
    };
    Figure {
        title: String::new(),
        description: String::new(),
        chart: Chart::Dots(Dots {
            unit: Some(Unit::default()),
            series: vec!["a".into()],
            groups: vec![group],
        }),
    }
}

#[test]
fn a_file_has_its_colours_for_light_and_dark() {
    let svg = document(&costs(&[]));
    assert!(svg.as_str().contains("prefers-color-scheme:dark") && !svg.as_str().contains("var(--"));
}

#[test]
fn places_are_shares_of_the_axis() {
    let svg = inline(&costs(&[
        (10.0, Kernel::Enters),
        (1000.0, Kernel::Never),
        (1.0, Kernel::Unknown),
    ]));
    let svg = svg.as_str();
    let places: Vec<f64> = svg
        .split("visible\" x=\"")
        .skip(1)
        .filter_map(|s| s.split('%').next()?.parse().ok())
        .collect();
    let [ten, thousand, one] = places[..] else {
        panic!("{places:?}")
    };
    assert!(
        one > 0.0 && thousand < 100.0 && ((ten - one) * 3.0 - (thousand - one)).abs() < 0.1,
        "{places:?}"
    );
    assert!(
        !svg.contains("<rect")
            && svg.contains("class=\"s1\"")
            && svg.contains("class=\"s1 hollow\"")
    );
}

#[test]
fn bins_of_one_height_are_one_stroke() {
    assert_eq!(
        distributions::outline(&[0, 0, 4, 4, 16, 0]),
        "M0 16h2v-4h2v-12h1v16h1V16z"
    );
}
