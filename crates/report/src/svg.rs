//! Figures as SVG: inside a page, with the page's stylesheet and width, or as a separate file.
//!
//! Positions along an axis are percentages of a nested `<svg class="plot">`, so that figures in a page can be as wide
//! as the screen while text keeps its size. Rejected: plotting crates, which draw for a fixed width, bring fonts, and
//! escape names by their own rules. Our figures need only rows, dots and lines.

mod distributions;
mod dots;
mod drawing;
mod flame;
mod lines;
mod scatter;
mod shares;

pub use distributions::{key, overlay, spark};
pub use shares::time_bar;

use super::figure::{Chart, Figure, palette};
use document::write::markup::Markup;
use drawing::{BEYOND, Drawing, NAMED, WIDTH};

/// Higher flame graphs are printed smaller.
const SHEET: u32 = 640;

pub const STYLESHEET: &str = include_str!("svg/figure.css");

fn draw(figure: &Figure) -> Drawing {
    match &figure.chart {
        Chart::Dots(dots) => dots::draw(dots),
        Chart::Distributions(all) => distributions::draw(all),
        Chart::Lines(lines) => lines::draw(lines),
        Chart::Scatter(scatter) => scatter::draw(scatter),
        Chart::Shares(shares) => shares::draw(shares),
        Chart::Latencies(rows) => distributions::draw_latencies(rows),
        Chart::Flame(flame) => flame::draw(flame),
    }
}

/// Two drawings side by side, because a stylesheet can size these, but not elements nested in one.
pub fn inline(figure: &Figure) -> Markup {
    let drawings = match &figure.chart {
        Chart::Dots(dots) => dots::strips(dots),
        _ => vec![draw(figure)],
    };
    let mut svg = Markup::new();
    svg.raw("<div role=\"img\"")
        .set(
            "aria-label",
            format!("{}. {}", figure.title, figure.description),
        )
        .raw(">");
    let class = frame_class(&figure.chart, &drawings);
    for drawing in drawings {
        svg.raw("<div")
            .set("class", class)
            .raw("><svg class=\"names\"")
            .set("height", drawing.height)
            .raw(">");
        sides(&mut svg, &drawing);
        svg.raw("</svg><svg class=\"plot\"")
            .set("height", drawing.height)
            .raw(">")
            .add(&drawing.plot)
            .raw("</svg></div>");
    }
    svg.raw("</div>");
    svg
}

/// By what stands on the left of the plot: names, the values of an axis, or nothing.
fn frame_class(chart: &Chart, drawings: &[Drawing]) -> &'static str {
    let longest = drawings.iter().map(|drawing| drawing.longest).max();
    match (chart, drawings[0].left) {
        (Chart::Flame(_), _) if drawings[0].height > SHEET => "fig full flame deep",
        (Chart::Flame(_), _) => "fig full flame",
        (_, NAMED) => match longest.unwrap_or(0) {
            0..=12 => "fig brief",
            13..=20 => "fig middle",
            _ => "fig",
        },
        (_, 0) => "fig full",
        _ => "fig wide",
    }
}

fn sides(svg: &mut Markup, drawing: &Drawing) {
    if !drawing.labels.is_empty() {
        svg.raw("<svg width=\"100%\"")
            .set("height", drawing.height)
            .raw(">")
            .add(&drawing.labels)
            .raw("</svg>");
    }
    svg.add(&drawing.legend);
}

/// Has a background, light or dark by the reader's colour scheme.
pub fn document(figure: &Figure) -> Markup {
    let drawing = draw(figure);
    let (full, top) = (drawing.height + 56, 44);
    let mut svg = Markup::new();
    svg.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fig\" role=\"img\"");
    svg.set("width", WIDTH)
        .set("height", full)
        .set("viewBox", format!("0 0 {WIDTH} {full}"));
    svg.raw(" aria-labelledby=\"t d\"><title id=\"t\">")
        .text(&figure.title);
    svg.raw("</title><desc id=\"d\">")
        .text(&figure.description)
        .raw("</desc><style>");
    svg.text(&stylesheet())
        .raw("</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>");
    svg.raw("<text class=\"h\" x=\"12\" y=\"26\" font-size=\"15\">")
        .text(&figure.title)
        .raw("</text>");
    svg.raw("<svg x=\"12\" overflow=\"visible\"")
        .set("y", top)
        .set("width", drawing.left.saturating_sub(8));
    svg.set("height", drawing.height).raw(">");
    sides(&mut svg, &drawing);
    svg.raw("</svg><svg overflow=\"visible\"")
        .set("x", 12 + drawing.left)
        .set("y", top);
    svg.set("width", WIDTH - 24 - drawing.left - BEYOND)
        .set("height", drawing.height)
        .raw(">")
        .add(&drawing.plot);
    svg.raw("</svg></svg>\n");
    svg
}

/// Quotes are the only characters in it that XML escapes, which does not change the rules.
fn stylesheet() -> String {
    let rules = format!("{STYLESHEET}.paper{{fill:var(--paper)}}");
    let (light, dark) = (
        palette::resolved(&rules, false),
        palette::resolved(&rules, true),
    );
    format!("{light}@media (prefers-color-scheme:dark){{{dark}}}")
}

#[cfg(test)]
mod tests;
