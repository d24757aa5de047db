//! Every figure as a file is well-formed, with a title and a description, whatever its names and numbers.

use super::*;
use crate::figure::*;
use model::Unit;
use stats::Ranged;
use stats::TwoModes;

const HOSTILE: &str = "</title><script>alert(1)</script>\u{202e}\u{1b}\"'&";

const NUMBERS: [f64; 6] = [0.3, 5e9, 0.0, -1.0, f64::NAN, f64::INFINITY];

/// Charts of all types without data, and with hostile names and numbers.
fn figures() -> Vec<Figure> {
    let empty = [
        Chart::Bars(Bars::default()),
        Chart::Ratios(Ratios::default()),
        Chart::Distributions(vec![]),
        Chart::Lines(Lines::default()),
        Chart::Percentiles(Percentiles::default()),
        Chart::Shares(Shares::default()),
        Chart::Latencies(vec![]),
        Chart::Flame(Flame::default()),
    ];
    let charts = [
        bars(),
        ratios(),
        distribution(),
        lines(),
        percentiles(),
        shares(),
        latencies(),
        flame(),
    ]
    .into_iter()
    .chain(empty);
    charts
        .map(|chart| Figure {
            title: HOSTILE.into(),
            description: HOSTILE.into(),
            chart,
        })
        .collect()
}

fn bars() -> Chart {
    let bar = |ns: f64| Bar {
        label: HOSTILE.into(),
        first: Some(Ranged {
            value: ns,
            low_high: Some((ns * 0.5, ns * 2.0)),
        }),
        kernel: Kernel::Never,
        others: vec![
            Some(Ranged {
                value: ns,
                low_high: Some((ns, f64::NAN)),
            }),
            None,
        ],
    };
    let groups = vec![Group {
        name: HOSTILE.into(),
        rows: NUMBERS.map(bar).to_vec(),
    }];
    Chart::Bars(Bars {
        unit: Unit::default(),
        series: vec![HOSTILE.into(); 3],
        groups,
    })
}

fn ratios() -> Chart {
    let row = |ratio| RatioRow {
        label: HOSTILE.into(),
        dots: vec![Some(Dot {
            ratio: Ranged {
                value: ratio,
                low_high: Some((ratio, 1.0)),
            },
            decided: false,
        })],
    };
    let groups = vec![Group {
        name: HOSTILE.into(),
        rows: NUMBERS.map(row).to_vec(),
    }];
    Chart::Ratios(Ratios {
        series: vec![HOSTILE.into(); 9],
        groups,
    })
}

fn distribution() -> Chart {
    let modes = Some(TwoModes {
        low: 1.0,
        high: 2.0,
        share_high: 0.5,
    });
    let heights = vec![0, 16, 3, 3, 255];
    let label = HOSTILE.into();
    Chart::Distributions(vec![Distribution {
        label,
        low: 1.0,
        high: f64::NAN,
        heights,
        samples: 3,
        modes,
    }])
}

fn lines() -> Chart {
    let place = |ns: f64| PlotPoint {
        value: ns.max(0.0),
        ns,
        low_high: Some((ns, ns)),
    };
    let line = Line {
        label: HOSTILE.into(),
        points: NUMBERS.map(place).to_vec(),
        model: Some((1.0, f64::NAN)),
    };
    Chart::Lines(Lines {
        parameter: HOSTILE.into(),
        series: vec![line; 7],
        crossovers: vec![1e300, f64::NAN],
    })
}

fn percentiles() -> Chart {
    let points: Vec<(f64, f64)> = NUMBERS.map(|number| (number, number)).to_vec();
    let curve = Curve {
        label: HOSTILE.into(),
        all: points.clone(),
        rest: points,
    };
    Chart::Percentiles(Percentiles {
        curves: vec![curve; 7],
    })
}

fn shares() -> Chart {
    let part = |share| Share {
        kind: ShareKind::Blocked,
        label: HOSTILE.into(),
        words: HOSTILE.into(),
        share,
    };
    Chart::Shares(Shares {
        parts: vec![part(0.25), part(0.75)],
    })
}

fn latencies() -> Chart {
    let Chart::Distributions(rows) = distribution() else {
        unreachable!()
    };
    Chart::Latencies(rows)
}

fn flame() -> Chart {
    let frame = |depth: usize, left, share| Frame {
        name: HOSTILE.into(),
        words: HOSTILE.into(),
        change: [None, Some(2), Some(-1)][depth % 3],
        kind: FrameKind::Call,
        depth,
        left,
        share,
    };
    Chart::Flame(Flame {
        frames: vec![
            frame(0, 0.0, 1.0),
            frame(1, 0.0, 0.5),
            frame(1, 0.5, 0.001),
            frame(999, 0.0, 1.0),
        ],
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
    let first = |value| {
        Some(Ranged {
            value,
            low_high: None,
        })
    };
    let bar = |ns, kernel| Bar {
        label: "a".into(),
        first: first(ns),
        kernel,
        others: vec![],
    };
    let rows = vec![
        bar(10.0, Kernel::Enters),
        bar(1000.0, Kernel::Never),
        bar(1.0, Kernel::Unknown),
    ];
    let bars = Bars {
        unit: Unit::default(),
        series: vec!["a".into()],
        groups: vec![Group {
            name: "file".into(),
            rows,
        }],
    };
    let chart = Chart::Bars(bars);
    let svg = inline(
        &Figure {
            title: "t".into(),
            description: "d".into(),
            chart,
        },
        "f",
    );
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
