//! What filters the rows of a table: a text, an area, and a kind of row. Hidden until the script shows it.

use crate::write::markup::{Markup, cut};

/// `kinds` are the marks in `data-k` of the rows, and the texts to choose them by.
pub fn write<'a>(html: &mut Markup, areas: impl Iterator<Item = &'a str>, kinds: &[(&str, &str)]) {
    labelled(html, ("name or kernel entry", "Area"), areas, kinds);
}

/// The same with words for what a row's text and its area are.
pub fn labelled<'a>(
    html: &mut Markup,
    (text, area_label): (&str, &str),
    areas: impl Iterator<Item = &'a str>,
    kinds: &[(&str, &str)],
) {
    html.raw(
        "<div class=\"controls\" role=\"search\" hidden><label>Filter <input type=\"search\" autocomplete=\"off\"",
    );
    html.attribute("placeholder", text).raw("></label><label>").text(area_label);
    html.raw(" <select class=\"area\"><option value=\"\">all</option>");
    for area in areas {
        html.raw("<option>").text(&cut(area, 40)).raw("</option>");
    }
    html.raw("</select></label><label>Show <select class=\"kind\"><option value=\"\">all</option>");
    for (mark, text) in kinds {
        html.raw("<option").attribute("value", mark).raw(">").text(text).raw("</option>");
    }
    html.raw("</select></label><output class=\"count\" aria-live=\"polite\"></output></div>");
}
