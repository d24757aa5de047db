//! A figure's marks and their size, before the frame is put around them.

use crate::report::format::markup::{Markup, cut, short};

/// Pixels of a figure on its own, and of what stands beyond the end of its plot.
pub const WIDTH: u32 = 860;

pub const BEYOND: u32 = 70;

/// Where plots with names before them begin.
pub const NAMED: u32 = 250;

/// Columns of a label that have room before the plot; a character that is not ASCII may take two.
const LABEL: usize = 32;

/// What is drawn, in parts that stand side by side, all of one height.
#[derive(Default)]
pub struct Drawing {
    /// Legends: from the left edge, over everything.
    pub legend: Markup,
    /// Names of rows, cut off where the plot begins.
    pub labels: Markup,
    /// What the axis spans; places are shares of its width.
    pub plot: Markup,
    /// Pixels before the plot.
    pub left: u32,
    pub height: u32,
}

/// A share of the plot's width.
pub fn percent(share: f64) -> String {
    format!("{}%", short(share * 100.0))
}

/// A label in the margin; what is too long for it is cut, and whole in a tooltip.
pub fn label(svg: &mut Markup, y: u32, text: &str, class: &'static str) {
    let mut columns = 0;
    let fits = |c: &char| {
        columns += if c.is_ascii() && !c.is_control() { 1 } else { 2 };
        columns <= LABEL
    };
    let most = text.chars().take_while(fits).count();
    svg.raw("<text").attribute("class", class).set("y", y).raw(">").text(&cut(text, most)).raw("</text>");
}
