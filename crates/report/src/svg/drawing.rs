//! The parts of a drawing and their size, without the frame.

use document::write::markup::{Markup, cut, short};

/// Width in pixels of a figure in a file, and of the space after the end of its plot.
pub const WIDTH: u32 = 860;

pub const BEYOND: u32 = 70;

/// Where plots with names on their left begin, in pixels.
pub const NAMED: u32 = 250;

/// Maximum width of a label in columns; a character that is not ASCII may take two.
const LABEL: usize = 32;

/// The parts of a drawing, all of the same height.
#[derive(Default)]
pub struct Drawing {
    /// Legends: from the left edge, over everything.
    pub legend: Markup,
    /// Names of rows, cut off where the plot begins.
    pub labels: Markup,
    /// The part that the axis spans; positions are shares of its width.
    pub plot: Markup,
    /// Pixels before the plot.
    pub left: u32,
    pub height: u32,
}

/// A share of the plot's width as a percentage.
pub fn percent(share: f64) -> String {
    format!("{}%", short(share * 100.0))
}

/// A label in the margin; one that is too long is cut off, with the full text in a tooltip.
pub fn label(svg: &mut Markup, y: u32, text: &str, class: &'static str) {
    let mut columns = 0;
    let fits = |c: &char| {
        columns += if c.is_ascii() && !c.is_control() {
            1
        } else {
            2
        };
        columns <= LABEL
    };
    let most = text.chars().take_while(fits).count();
    svg.raw("<text")
        .attribute("class", class)
        .set("y", y)
        .raw(">")
        .text(&cut(text, most))
        .raw("</text>");
}
