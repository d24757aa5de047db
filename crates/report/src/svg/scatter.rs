//! Points by two values, each with its name beside it, on two logarithmic axes.

use super::drawing::{
    Drawing, HEIGHT, LEFT, LINE, MIDDLE, class, duration, height, heights, line, mark, percent,
    times, words,
};
use crate::figure::axis::LogAxis;
use crate::figure::{Place, Scatter};
use document::write::markup::{Markup, short};

/// Names are apart at least so far, in pixels.
const APART: f64 = 14.0;
/// The width of a letter, as a share of a plot of 500 pixels.
const LETTER: f64 = 0.014;
const MARK: f64 = 0.01;

pub fn draw(scatter: &Scatter) -> Drawing {
    let starts = scatter.places.iter().map(|place| place.start_ns);
    let ratios = scatter.places.iter().map(|place| place.ratio);
    // The right third is for the names of what starts last.
    let x = LogAxis::holding(starts);
    let y = LogAxis::holding(ratios.chain([1.0])).with_margin();
    let mut plot = Markup::new();
    heights(&mut plot, &y, 0, times);
    for tick in x.ticks(0.1) {
        let place = percent(share(&x, tick));
        line(&mut plot, "g", [&place; 2], [0, HEIGHT + 5]);
        words(&mut plot, MIDDLE, &place, HEIGHT + LINE, &duration(tick));
    }
    let y_of_title = HEIGHT + 2 * LINE;
    words(
        &mut plot,
        "text-anchor=\"middle\"",
        "50%",
        y_of_title,
        &scatter.across,
    );
    let marks = scatter
        .places
        .iter()
        .map(|place| Name::at_point(share(&x, place.start_ns), height(&y, 0, place.ratio)));
    let mut taken: Vec<Name> = marks.collect();
    for (index, place) in scatter.places.iter().enumerate() {
        let mark = taken.remove(index);
        let name = Name::beside(place, mark.left + MARK, mark.y, &taken);
        point(&mut plot, place, &name, mark.y);
        taken.insert(index, mark);
        taken.push(name);
    }
    Drawing {
        left: LEFT,
        height: HEIGHT + 2 * LINE + 4,
        plot,
        ..Drawing::default()
    }
}

fn share(axis: &LogAxis, start_ns: f64) -> f64 {
    0.04 + 0.7 * axis.share(start_ns)
}

/// The place of a name: its part of the width on a narrow page, and its height.
struct Name {
    left: f64,
    right: f64,
    y: f64,
}

impl Name {
    /// The room of the point itself.
    fn at_point(left: f64, y: f64) -> Name {
        Name {
            left: left - MARK,
            right: left + MARK,
            y,
        }
    }

    /// Places the name beside its point, or at the nearest free height above or below.
    fn beside(place: &Place, left: f64, y: f64, others: &[Name]) -> Name {
        let right = left + 0.03 + LETTER * place.name.chars().count() as f64;
        let is_free = |y: f64| {
            let inside = (0.0..=f64::from(HEIGHT)).contains(&y);
            inside
                && others.iter().all(|other| {
                    let is_apart = (other.y - y).abs() >= APART;
                    is_apart || other.right < left || right < other.left
                })
        };
        let steps =
            (0..40).map(|step| f64::from((step + 1) / 2) * if step % 2 == 0 { 1.0 } else { -1.0 });
        let heights = steps.map(|step| y + APART * step);
        let y = heights.into_iter().find(|y| is_free(*y)).unwrap_or(y);
        Name { left, right, y }
    }
}

fn point(svg: &mut Markup, place: &Place, name: &Name, y: f64) {
    svg.raw("<g>").element("title", &place.title);
    let look = if place.is_bound { " hollow" } else { "" };
    svg.raw("<svg overflow=\"visible\"")
        .set("x", percent(name.left))
        .raw(">");
    mark(svg, 0, 0.0, y, look);
    if (name.y - y).abs() > 1.0 {
        let class = format!("line {}", class(0));
        line(svg, &class, ["4", "12"], [short(y), short(name.y)]);
    }
    words(svg, "dy=\"4\"", 14, short(name.y), &place.name);
    svg.raw("</svg></g>");
}
