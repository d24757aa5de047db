//! One bar whose segments are parts of a whole, with a legend of all parts.

use super::drawing::{Drawing, LINE, percent, words};
use crate::figure::{Share, ShareKind};
use document::write::markup::Markup;

const BAR: u32 = 40;
/// Narrower segments have no number in them.
const NARROWEST: f64 = 0.06;

/// The bar, and a legend with one line per part.
pub fn draw(parts: &[Share]) -> Drawing {
    let mut drawing = Drawing::default();
    let mut left = 0.0;
    let shades = shades(parts);
    for (part, shade) in parts.iter().zip(&shades) {
        segment(&mut drawing, part, shade, left);
        left += part.share;
    }
    for (i, (part, shade)) in parts.iter().zip(&shades).enumerate() {
        let y = BAR + 12 + LINE * i as u32;
        let svg = &mut drawing.plot;
        svg.raw("<rect width=\"11\" height=\"11\"")
            .set("class", format!("{}{shade}", class(part.kind)))
            .set("y", y)
            .raw("/>");
        words(
            svg,
            "",
            18,
            y + 10,
            &format!("{}: {}", part.words, part.label),
        );
    }
    Drawing {
        height: BAR + 16 + LINE * parts.len() as u32,
        ..drawing
    }
}

/// Neighbours of one kind have its colour in three shades.
fn shades(parts: &[Share]) -> Vec<&'static str> {
    (0..parts.len())
        .map(|i| {
            let before = parts[..i].iter();
            let same = before.filter(|part| part.kind == parts[i].kind).count();
            ["", " light", " pale"][same % 3]
        })
        .collect()
}

fn segment(drawing: &mut Drawing, part: &Share, shade: &str, left: f64) {
    let svg = &mut drawing.plot;
    svg.raw("<g>")
        .element("title", &format!("{}: {}", part.label, part.words))
        .raw("<rect");
    svg.set("class", format!("{}{shade}", class(part.kind)))
        .set("x", percent(left))
        .set("width", percent(part.share))
        .set("height", BAR);
    svg.raw("/>");
    if part.share >= NARROWEST {
        let middle = percent(left + part.share / 2.0);
        let share = format!("{:.0}%", 100.0 * part.share);
        let look = if shade.is_empty() {
            "class=\"on\" text-anchor=\"middle\""
        } else {
            "class=\"h\" text-anchor=\"middle\""
        };
        words(svg, look, middle, BAR / 2 + 4, &share);
    }
    svg.raw("</g>");
}

/// A small bar for a table cell: shares in calls, waiting for a CPU, and blocked.
pub fn time_bar(shares: [f64; 3], title: &str) -> Markup {
    let kinds = [ShareKind::Calls, ShareKind::Waiting, ShareKind::Blocked];
    let mut svg = Markup::new();
    svg.raw("<svg class=\"sp cell\" role=\"img\">")
        .element("title", title);
    let mut left = 0.0;
    for (kind, share) in kinds.into_iter().zip(shares) {
        svg.raw("<rect height=\"100%\"")
            .set("class", class(kind))
            .set("x", percent(left))
            .set("width", percent(share));
        svg.raw("/>");
        left += share;
    }
    svg.raw("</svg>");
    svg
}

fn class(kind: ShareKind) -> &'static str {
    match kind {
        ShareKind::User => "p s1",
        ShareKind::Calls => "p s2",
        ShareKind::Kernel => "p s5",
        ShareKind::Waiting => "p s4",
        ShareKind::Blocked => "p s3",
        ShareKind::Unknown => "p none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_kind_differ() {
        let kinds = [
            ShareKind::User,
            ShareKind::Kernel,
            ShareKind::Kernel,
            ShareKind::Kernel,
        ];
        let parts = kinds.map(|kind| Share {
            kind,
            label: String::new(),
            words: String::new(),
            share: 0.25,
        });
        assert_eq!(shades(&parts), ["", "", " light", " pale"]);
    }
}
