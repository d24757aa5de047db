//! Figures as SVG: inside a page, where stylesheet and width are the page's, or as a file of its own.
//!
//! Places along an axis are percentages of a nested `<svg class="plot">`, so that a page can make figures as wide as its
//! screen while text keeps its size. Our own writer: figures here are rows, dots and lines, and a plotting crate draws
//! for one width, brings fonts, and escapes names by its own rules.

mod distributions;
mod lines;
mod marks;
mod ratios;
mod rows;

pub use distributions::spark;

use super::figure::{Chart, Figure};
use super::markup::Markup;
use super::palette;

/// The rules that both pages and single files have.
pub const STYLESHEET: &str = include_str!("svg/figure.css");

/// Pixels of a figure on its own.
const WIDTH: u32 = 860;
/// Where the plot begins, and how wide it is.
const PLOT_X: u32 = 220;
const PLOT_WIDTH: u32 = 550;
/// Characters of a label that have room before the plot.
const LABEL: usize = 34;

/// What is drawn and how high it is.
struct Drawing {
    body: Markup,
    height: u32,
}

fn draw(figure: &Figure) -> Drawing {
    match &figure.chart {
        Chart::Bars(bars) => rows::draw(bars),
        Chart::Ratios(ratios) => ratios::draw(ratios),
        Chart::Distributions(all) => distributions::draw(all),
        Chart::Lines(lines) => lines::draw(lines),
    }
}

/// The figure for a page. `id` must be the only one of its kind in the page.
pub fn inline(figure: &Figure, id: &str) -> Markup {
    let Drawing { body, height } = draw(figure);
    let mut svg = Markup::new();
    svg.raw("<svg class=\"fig\" role=\"img\" width=\"100%\"").set("height", height);
    svg.attribute("aria-labelledby", &format!("{id}-t {id}-d")).raw(">");
    svg.raw("<title").attribute("id", &format!("{id}-t")).raw(">").text(&figure.title).raw("</title>");
    svg.raw("<desc").attribute("id", &format!("{id}-d")).raw(">").text(&figure.description).raw("</desc>");
    svg.add(&body).raw("</svg>");
    svg
}

/// The figure as a file, on a ground of its own, light or dark as the reader's screen is.
pub fn document(figure: &Figure) -> Markup {
    let Drawing { body, height } = draw(figure);
    let (full, top) = (height + 56, 44);
    let mut svg = Markup::new();
    svg.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fig\" role=\"img\"");
    svg.set("width", WIDTH).set("height", full).attribute("viewBox", &format!("0 0 {WIDTH} {full}"));
    svg.raw(" aria-labelledby=\"t d\"><title id=\"t\">").text(&figure.title);
    svg.raw("</title><desc id=\"d\">").text(&figure.description).raw("</desc><style>");
    svg.text(&stylesheet()).raw("</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>");
    svg.raw("<text class=\"h\" x=\"12\" y=\"26\" font-size=\"15\">").text(&figure.title).raw("</text>");
    svg.raw("<svg x=\"12\"").set("y", top).set("width", WIDTH - 24).set("height", height).raw(">");
    svg.add(&body).raw("</svg></svg>\n");
    svg
}

/// The rules of figures with the colours in them. They hold no character that XML would have escaped but quotes, which
/// stay quotes when they are.
fn stylesheet() -> String {
    let rules = format!("{STYLESHEET}.paper{{fill:var(--paper)}}");
    let (light, dark) = (palette::resolved(&rules, false), palette::resolved(&rules, true));
    format!("{light}@media (prefers-color-scheme:dark){{{dark}}}")
}

/// A share of the plot's width.
fn percent(share: f64) -> String {
    format!("{}%", super::markup::short(share * 100.0))
}

/// Opens the nested drawing that the axis spans.
fn open_plot(svg: &mut Markup, y: u32, height: u32) {
    svg.raw("<svg class=\"plot\" overflow=\"visible\"").set("x", PLOT_X).set("width", PLOT_WIDTH);
    svg.set("y", y).set("height", height).raw(">");
}

/// Opens the nested drawing that cuts off labels where the plot begins.
fn open_labels(svg: &mut Markup, height: u32) {
    svg.raw("<svg class=\"labels\" x=\"0\" y=\"0\"").set("width", PLOT_X - 8).set("height", height).raw(">");
}

/// A label in the margin; what is too long for it is cut, and whole in a tooltip.
fn label(svg: &mut Markup, y: u32, text: &str, class: &'static str) {
    svg.raw("<text")
        .attribute("class", class)
        .set("y", y)
        .raw(">")
        .text(&super::markup::cut(text, LABEL))
        .raw("</text>");
}

#[cfg(test)]
mod tests;
