//! A few values in their order, with the band that they are expected in, for a cell of a table.

use super::drawing::percent;
use crate::write::markup::{Markup, short};

/// Pixels of the drawing, and above and below its values.
const HEIGHT: f64 = 28.0;
const MARGIN: f64 = 4.0;

/// Values in their order; those outside `band` are marked. `title` describes them.
pub fn trend(values: &[Option<f64>], band: Option<(f64, f64)>, title: &str) -> Markup {
    let ends = band.iter().flat_map(|(low, high)| [*low, *high]);
    let all = || values.iter().flatten().copied().chain(ends.clone()).filter(|value| value.is_finite());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let share = |value: f64| if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
    let y = |value: f64| MARGIN + (HEIGHT - 2.0 * MARGIN) * (1.0 - share(value));
    let mut svg = Markup::new();
    svg.raw("<svg class=\"trend cell\" role=\"img\"").attribute("aria-label", title).set("height", HEIGHT);
    svg.raw("><title>").text(title).raw("</title>");
    if let Some((low, high)) = band {
        svg.raw("<rect class=\"band\" width=\"100%\"").set("y", short(y(high))).set("height", short(y(low) - y(high)));
        svg.raw("/>");
    }
    let place = |i: usize| percent((i as f64 + 0.5) / values.len().max(1) as f64);
    let points: Vec<(usize, f64)> = values.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?))).collect();
    for pair in points.windows(2) {
        svg.raw("<line class=\"s1\"").set("x1", place(pair[0].0)).set("x2", place(pair[1].0));
        svg.set("y1", short(y(pair[0].1))).set("y2", short(y(pair[1].1))).raw("/>");
    }
    for (i, value) in points {
        let outside = band.is_some_and(|(low, high)| value < low || value > high);
        svg.raw("<circle r=\"2.5\"").set("class", if outside { "s2" } else { "s1" }).set("cx", place(i));
        svg.set("cy", short(y(value))).raw("/>");
    }
    svg.raw("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_the_band_are_marked() {
        let svg = trend(&[Some(100.0), None, Some(130.0)], Some((95.0, 105.0)), "100, ?, 130");
        assert_eq!((svg.as_str().matches("<circle").count(), svg.as_str().matches("class=\"s2\"").count()), (2, 1));
        let odd = trend(&[Some(f64::NAN), Some(1.0)], None, "");
        assert!(!odd.as_str().contains("inf") && trend(&[], None, "").as_str().ends_with("</svg>"));
    }
}
