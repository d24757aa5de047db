//! Flame graphs: a box for each frame, as wide as its share, those that it calls below it. Drawn here because the crate for it,
//! inferno, has a licence (CDDL) that this project's licences do not go with.

use super::drawing::{Drawing, percent};
use crate::report::figure::{Flame, FrameKind};
use crate::write::markup::cut;

const ROW: u32 = 18;
/// Characters in a frame as wide as the figure.
const WIDEST: f64 = 130.0;
/// Rows that are drawn; the deepest frames of very deep stacks are left out.
const MOST_ROWS: usize = 120;

pub fn draw(flame: &Flame) -> Drawing {
    let mut drawing = Drawing::default();
    let svg = &mut drawing.plot;
    let mut rows = 0;
    for frame in flame.frames.iter().filter(|frame| frame.depth < MOST_ROWS) {
        rows = rows.max(frame.depth as u32 + 1);
        let class = match frame.kind {
            FrameKind::Process => "f0",
            FrameKind::Function => "f1",
            FrameKind::Call => "f2",
        };
        svg.raw("<svg").set("x", percent(frame.left)).set("y", frame.depth as u32 * ROW);
        svg.set("width", percent(frame.share)).set("height", ROW).raw("><title>").text(&frame.words).raw("</title>");
        svg.raw("<rect width=\"100%\"").set("height", ROW).set("class", class).raw("/>");
        let room = (frame.share * WIDEST) as usize;
        if room > 2 {
            svg.raw("<text x=\"4\" y=\"13\">").text(&cut(&frame.name, room - 1)).raw("</text>");
        }
        svg.raw("</svg>");
    }
    Drawing { height: rows.max(1) * ROW + 2, ..drawing }
}
