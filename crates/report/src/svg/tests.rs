//! Every figure as a file is well-formed, with a title and a description, whatever its names and numbers.

use super::*;
use crate::figure::*;
use model::Unit;
use stats::Ranged;

const HOSTILE: &str = "</title><script>alert(1)</script>\u{202e}\u{1b}\"'&";

const NUMBERS: [f64; 6] = [0.3, 5e9, 0.0, -1.0, f64::NAN, f64::INFINITY];

fn ranged(value: f64, low: f64, high: f64) -> Ranged {
    let low_high = Some((low, high));
    Ranged { value, low_high }
}

/// Charts of all types without data, and with hostile names and numbers.
fn figures() -> Vec<Figure> {
    fn part(share: f64) -> Share {
        Share {
            kind: ShareKind::Blocked,
            label: label(),
            words: label(),
            share,
        }
    }

    fn frame(depth: usize, left: f64, share: f64) -> Frame {
        Frame {
            name: label(),
            words: label(),
            change: [None, Some(2), Some(-1)][depth % 3],
            kind: FrameKind::Call,
            depth,
            left,
            share,
        }
    }

    fn label() -> String {
        HOSTILE.to_string()
    }

    let points: Vec<(f64, f64)> = NUMBERS.map(|number| (number, number)).to_vec();
    let curve = Curve {
        label: label(),
        all: points.clone(),
        rest: points,
    };
    let frames = vec![
        frame(0, 0.0, 1.0),
        frame(1, 0.0, 0.5),
        frame(1, 0.5, 0.001),
        frame(999, 0.0, 1.0),
    ];
    let charts = [
        dots(Some(Unit::default())),
        dots(None),
        Chart::Distributions(distributions()),
        lines(),
        Chart::Percentiles(vec![curve; 7]),
        Chart::Shares(vec![part(0.25), part(0.75)]),
        Chart::Latencies(distributions()),
        Chart::Flame(frames),
        Chart::Dots(Dots::default()),
        Chart::Distributions(vec![]),
        Chart::Lines(Lines::default()),
        Chart::Percentiles(vec![]),
        Chart::Shares(vec![]),
        Chart::Latencies(vec![]),
        Chart::Flame(vec![]),
    ];
    charts.into_iter().map(figure).collect()
}

fn figure(chart: Chart) -> Figure {
    Figure {
        title: HOSTILE.into(),
        description: HOSTILE.into(),
        chart,
    }
}

fn dots(unit: Option<Unit>) -> Chart {
    let row = |value: f64| {
        let ends = [(0.5 * value, 2.0 * value), (value, f64::NAN)];
        let dot = |(low, high)| Dot {
            at: ranged(value, low, high),
            decided: false,
        };
        DotRow {
            label: HOSTILE.into(),
            kernel: unit.map(|_| Kernel::Never),
            dots: ends
                .map(|ends| Some(dot(ends)))
                .into_iter()
                .chain([None])
                .collect(),
        }
    };
    Chart::Dots(Dots {
        unit,
        series: vec![HOSTILE.into(); 9],
        groups: vec![Group {
            name: HOSTILE.into(),
            rows: NUMBERS.map(row).to_vec(),
        }],
    })
}

fn distributions() -> Vec<Distribution> {
    vec![Distribution {
        label: HOSTILE.into(),
        low: 1.0,
        high: f64::NAN,
        heights: vec![0, 16, 3, 3, 255],
        samples: 3,
    }]
}

fn lines() -> Chart {
    let line = Line {
        label: HOSTILE.into(),
        points: NUMBERS
            .map(|ns| PlotPoint {
                value: ns.max(0.0),
                ns: ranged(ns, ns, ns),
            })
            .to_vec(),
        fitted: Some((1.0, f64::NAN)),
    };
    Chart::Lines(Lines {
        parameter: HOSTILE.into(),
        series: vec![line; 7],
    })
}

/// Checks that every element is closed, in order; enough XML for what is written here.
fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, rest) = part
            .split_once('>')
            .unwrap_or_else(|| panic!("'<{part}' has no end"));
        assert!(!rest.contains('>'), "a bare > in {rest}");
        assert!(tag.matches('"').count() % 2 == 0, "quotes of <{tag}>");
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        assert!(
            [
                "?xml", "svg", "div", "title", "desc", "style", "rect", "text", "g", "line", "path"
            ]
            .contains(&name),
            "<{tag}>"
        );
        match (tag.starts_with('/'), tag.ends_with(['/', '?'])) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, false) => open.push(name),
            (false, true) => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_figure_is_well_formed_whatever_is_in_it() {
    for figure in figures() {
        for svg in [document(&figure), inline(&figure, "f1")] {
            let svg = svg.as_str();
            assert_well_formed(svg);
            assert!(
                !svg.contains("=\"NaN") && !svg.contains("=\"inf") && !svg.contains('\u{202e}'),
                "{svg}"
            );
            assert!(svg.contains("<title") && svg.contains("<desc"));
        }
    }
}

#[test]
fn a_file_has_its_colours_for_light_and_dark() {
    let svg = document(&figures()[0]);
    assert!(svg.as_str().contains("prefers-color-scheme:dark") && !svg.as_str().contains("var(--"));
}

#[test]
fn places_are_shares_of_the_axis() {
    fn row(ns: f64, kernel: Kernel) -> DotRow {
        DotRow {
            label: "a".into(),
            kernel: Some(kernel),
            dots: vec![Some(Dot {
                at: ranged(ns, ns, ns),
                decided: true,
            })],
        }
    }

    let rows = vec![
        row(10.0, Kernel::Enters),
        row(1000.0, Kernel::Never),
        row(1.0, Kernel::Unknown),
    ];
    let chart = Chart::Dots(Dots {
        unit: Some(Unit::default()),
        series: vec!["a".into()],
        groups: vec![Group {
            name: "file".into(),
            rows,
        }],
    });
    let svg = inline(&figure(chart), "f");
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
