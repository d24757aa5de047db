//! Flame graphs: a box for each frame, as wide as its share, those that it calls below it. Drawn here because the crate for it,
//! inferno, has a licence (CDDL) that this project's licences do not go with.

use super::drawing::{Drawing, words};
use crate::figure::{Frame, FrameKind};
use document::write::markup::cut;

const ROW: u32 = 18;
/// Characters in a frame as wide as the figure.
const WIDEST: f64 = 130.0;
/// Deeper frames are left out.
const MOST_ROWS: usize = 120;

/// The script zooms, which needs more digits than a screen has pixels.
fn exact(share: f64) -> String {
    format!("{:.4}%", 100.0 * share)
}

fn class(frame: &Frame) -> &'static str {
    match (frame.change, frame.kind) {
        (Some(..=-2), _) => "change less2",
        (Some(-1), _) => "change less1",
        (Some(0), _) => "change f0",
        (Some(1), _) => "change more1",
        (Some(2..), _) => "change more2",
        (None, FrameKind::Process) => "f0",
        (None, FrameKind::Function | FrameKind::NoSymbol) => "f1",
        (None, FrameKind::Call) => "f2",
    }
}

/// Boxes row by row, the outermost frames at the top.
pub fn draw(frames: &[Frame]) -> Drawing {
    let mut drawing = Drawing::default();
    let svg = &mut drawing.plot;
    let mut rows = 0;
    for frame in frames.iter().filter(|frame| frame.depth < MOST_ROWS) {
        rows = rows.max(frame.depth as u32 + 1);
        svg.raw("<svg")
            .set("x", exact(frame.left))
            .set("y", frame.depth as u32 * ROW);
        svg.set("width", exact(frame.share))
            .set("height", ROW)
            .set("data-n", &frame.name)
            .raw(">")
            .element("title", &frame.words);
        svg.raw("<rect width=\"100%\"")
            .set("height", ROW)
            .set("class", class(frame))
            .raw("/>");
        let room = (frame.share * WIDEST) as usize;
        if room > 2 {
            words(svg, "", 4, 13, &cut(&frame.name, room - 1));
        }
        svg.raw("</svg>");
    }
    Drawing {
        height: rows.max(1) * ROW + 2,
        ..drawing
    }
}
