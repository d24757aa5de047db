//! Histograms of durations, a row for each call, above one common axis.

use super::distributions::outline;
use super::drawing::{Drawing, NAMED, label};
use super::marks::{LINE, duration, grid};
use crate::figure::axis::LogAxis;
use crate::figure::{Distribution, TALLEST};

const ROW: u32 = 30;
const CHART: u32 = 24;

pub fn draw(rows: &[Distribution]) -> Drawing {
    let mut drawing = Drawing {
        left: NAMED,
        ..Drawing::default()
    };
    let height = LINE + ROW * rows.len().max(1) as u32;
    let axis = LogAxis::holding(rows.iter().flat_map(|row| [row.low, row.high]));
    grid(&mut drawing.plot, &axis, 0.09, (LINE, height), duration);
    for (i, row) in rows.iter().enumerate() {
        let y = LINE + ROW * i as u32;
        label(&mut drawing.labels, y + CHART - 2, &row.label, "");
        let svg = &mut drawing.plot;
        svg.raw("<svg preserveAspectRatio=\"none\"")
            .set("y", y + ROW - CHART)
            .set("height", CHART)
            .raw(" width=\"100%\"");
        svg.attribute(
            "viewBox",
            &format!("0 0 {} {TALLEST}", row.heights.len().max(1)),
        )
        .raw("><path class=\"b\"");
        svg.attribute("d", &outline(&row.heights, 1))
            .raw("/></svg>");
        svg.raw("<line class=\"g\" x2=\"100%\"")
            .set("y1", y + ROW)
            .set("y2", y + ROW)
            .raw("/>");
    }
    Drawing {
        height: height + LINE + 4,
        ..drawing
    }
}
