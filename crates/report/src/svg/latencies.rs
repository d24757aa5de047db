//! Histograms of durations, a row for each call, above one common axis.

use super::distributions::bins;
use super::drawing::{Drawing, NAMED, label};
use super::marks::{LINE, duration, grid};
use crate::figure::Distribution;
use crate::figure::axis::LogAxis;

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
        bins(&mut drawing.plot, &row.heights, y + ROW - CHART, CHART);
    }
    Drawing {
        height: height + LINE + 4,
        ..drawing
    }
}
