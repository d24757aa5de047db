//! The parts of a drawing and their size: marks that distinguish series by shape as well as by
//! colour, axes with their ticks, legends and labels.

use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use document::write::markup::{Markup, cut, short};
use std::fmt::Display;

/// Pixels of a figure in a file, and after the end of its plot.
pub const WIDTH: u32 = 860;

pub const BEYOND: u32 = 70;

/// Pixels of a plot with two axes, and before it.
pub const HEIGHT: u32 = 300;
pub const LEFT: u32 = 64;

/// Where plots with names on their left begin, in pixels.
pub const NAMED: u32 = 250;

const LABEL: usize = 32;

#[derive(Default)]
pub struct Drawing {
    /// Drawn from the left edge, above everything else.
    pub legend: Markup,
    /// Names of rows, cut off at the left edge of the plot.
    pub labels: Markup,
    /// Positions are shares of its width.
    pub plot: Markup,
    /// Columns of the longest of them.
    pub longest: usize,
    /// Pixels before the plot.
    pub left: u32,
    pub height: u32,
}

/// A share as an SVG length, so that plots stretch with the page.
pub fn percent(share: f64) -> String {
    format!("{}%", short(share * 100.0))
}

/// A name on the left, cut to the room before the plot.
pub fn label(drawing: &mut Drawing, y: u32, text: &str, class: &'static str) {
    let mut columns = 0;
    let most = text
        .chars()
        .take_while(|c| {
            columns += if c.is_ascii() && !c.is_control() {
                1
            } else {
                2
            };
            columns <= LABEL
        })
        .count();
    drawing.longest = drawing.longest.max(columns);
    drawing
        .labels
        .raw("<text")
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

/// Lines across the plot at the ticks of an axis on its left, at whose end is `top`.
pub fn heights(svg: &mut Markup, axis: &LogAxis, top: u32, word: fn(f64) -> String) {
    for tick in axis.ticks(0.09) {
        let y = short(height(axis, top, tick));
        line(svg, "g", ["0", "100%"], [&y; 2]);
        let attributes = "class=\"m\" text-anchor=\"end\" dy=\"4\"";
        words(svg, attributes, -8, &y, &word(tick));
    }
}

/// The place of a value on such an axis.
pub fn height(axis: &LogAxis, top: u32, value: f64) -> f64 {
    f64::from(top) + f64::from(HEIGHT) * (1.0 - axis.share(value))
}

/// Text at a place, with attributes that must be known at compile time.
pub fn words(
    svg: &mut Markup,
    attributes: &'static str,
    x: impl Display,
    y: impl Display,
    text: &str,
) {
    svg.raw("<text ").raw(attributes).set("x", x).set("y", y);
    svg.raw(">").text(text).raw("</text>");
}

/// Pixels of a line of a legend, and of the numbers of an axis.
pub const LINE: u32 = 18;

/// Circle, square, triangle, diamond, cross.
const SHAPES: [&str; SERIES] = [
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.5-3.5h7v7h-7z",
    "M-4.2 3.4h8.4L0-4.2z",
    "M0-5L5 0L0 5L-5 0z",
    "M-4.5-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3z",
];

/// For narrow screens.
const LEGEND: usize = 48;

const CLASSES: [&str; SERIES] = ["s1", "s2", "s3", "s4", "s5"];

/// The class of a series, which determines its colour.
pub fn class(series: usize) -> &'static str {
    CLASSES[series % SERIES]
}

/// `look` is appended to its class.
pub fn mark(svg: &mut Markup, series: usize, share: f64, y: f64, look: &str) {
    svg.raw("<svg overflow=\"visible\"")
        .set("x", percent(share))
        .set("y", short(y))
        .raw("><path");
    svg.set("class", format!("{}{look}", class(series)))
        .set("d", SHAPES[series % SERIES])
        .raw("/></svg>");
}

/// Returns its height in pixels.
pub fn legend(svg: &mut Markup, names: &[String]) -> u32 {
    for (i, name) in names.iter().take(SERIES).enumerate() {
        let y = LINE * i as u32;
        svg.raw("<svg overflow=\"visible\" x=\"6\">");
        mark(svg, i, 0.0, f64::from(y + 8), "");
        svg.raw("</svg>");
        words(svg, "", 18, y + 12, &cut(name, LEGEND));
    }
    let left_out = names.len().saturating_sub(SERIES);
    if left_out > 0 {
        let text = format!("not drawn: {left_out} more");
        words(svg, "class=\"m\"", 0, LINE * SERIES as u32 + 12, &text);
    }
    legend_height(names)
}

fn legend_height(names: &[String]) -> u32 {
    LINE * names.len().min(SERIES + 1) as u32
}

/// Below the legend of `names`; returns its height in pixels.
pub fn note(svg: &mut Markup, names: &[String], text: &str) -> u32 {
    let y = legend_height(names) + 13;
    words(svg, "class=\"m\"", 0, y, text);
    LINE
}

/// The numbers of an axis stand below a higher plot as well.
pub const TALL: u32 = 400;

/// Lines at the ticks, with their values at the heights `numbers`.
pub fn grid(
    svg: &mut Markup,
    axis: &LogAxis,
    gap: f64,
    ends: [u32; 2],
    numbers: &[u32],
    word: fn(f64) -> String,
) {
    for (i, tick) in axis.ticks(gap).into_iter().enumerate() {
        let x = percent(axis.share(tick));
        line(svg, "g", [&x; 2], ends);
        for y in numbers {
            words(svg, PLACES[i % 4], &x, y, &word(tick));
        }
    }
}

/// Narrow pages hide every second number, and beside names three of four.
const PLACES: [&str; 4] = [
    MIDDLE,
    "class=\"m alt\" text-anchor=\"middle\"",
    "class=\"m far\" text-anchor=\"middle\"",
    "class=\"m alt\" text-anchor=\"middle\"",
];

/// `10 ns`, `1 µs`
pub fn duration(ns: f64) -> String {
    let (size, unit) = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")]
        .iter()
        .find(|(size, _)| ns >= *size * 0.999_999)
        .copied()
        .unwrap_or((1.0, "ns"));
    format!("{} {unit}", number(ns / size))
}

/// Without trailing zeros.
pub fn number(value: f64) -> String {
    let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// `×1.25`
pub fn times(ratio: f64) -> String {
    format!("×{}", number(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_written_in_few_digits() {
        let words: Vec<String> = [0.1, 1.0, 20.0, 1e3, 5e5, 1e6, 2e9]
            .into_iter()
            .map(duration)
            .collect();
        assert_eq!(
            words,
            ["0.1 ns", "1 ns", "20 ns", "1 µs", "500 µs", "1 ms", "2 s"]
        );
        assert_eq!(
            [times(1.0), times(1.25), times(0.05), times(100.0)],
            ["×1", "×1.25", "×0.05", "×100"]
        );
    }
}
