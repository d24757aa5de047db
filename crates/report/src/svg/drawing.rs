//! The parts of a drawing and their size, without the frame.

use document::write::markup::{Markup, cut, short};
use std::fmt::Display;

/// Pixels of a figure in a file, and after the end of its plot.
pub const WIDTH: u32 = 860;

pub const BEYOND: u32 = 70;

/// Where plots with names on their left begin, in pixels.
pub const NAMED: u32 = 250;

/// In columns.
const LABEL: usize = 32;

#[derive(Default)]
pub struct Drawing {
    /// From the left edge, over everything.
    pub legend: Markup,
    /// Names of rows, cut off where the plot begins.
    pub labels: Markup,
    /// Positions are shares of its width.
    pub plot: Markup,
    /// Pixels before the plot.
    pub left: u32,
    pub height: u32,
}

pub fn percent(share: f64) -> String {
    format!("{}%", short(share * 100.0))
}

/// Cut off where it is too long.
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
        .set("class", class)
        .set("y", y)
        .raw(">")
        .text(&cut(text, most))
        .raw("</text>");
}

pub fn line(
    svg: &mut Markup,
    class: &str,
    [x1, x2]: [impl Display; 2],
    [y1, y2]: [impl Display; 2],
) {
    svg.raw("<line")
        .set("class", class)
        .set("x1", x1)
        .set("x2", x2);
    svg.set("y1", y1).set("y2", y2).raw("/>");
}

/// How a number or name of an axis stands at its place.
pub const MIDDLE: &str = "class=\"m\" text-anchor=\"middle\"";
pub const END: &str = "class=\"m\" text-anchor=\"end\"";

/// Text at a place, with attributes that must be known at compile time.
pub fn words(
    svg: &mut Markup,
    attributes: &'static str,
    (x, y): (impl Display, impl Display),
    text: &str,
) {
    svg.raw("<text ").raw(attributes).set("x", x).set("y", y);
    svg.raw(">").text(text).raw("</text>");
}
