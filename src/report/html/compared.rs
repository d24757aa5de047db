//! Several files side by side: what differs in short, what makes it unfair, and every cost with its ratio.

use crate::compare::Comparison;
use crate::report::comparison::answer::answer;
use crate::report::comparison_document;
use crate::report::run::figures::other_columns;
use crate::write::html;
use crate::write::markup::Markup;

/// Files in the short answer.
const MOST_FILES: usize = 6;

/// The verdict on each file.
pub fn short(html: &mut Markup, comparison: &Comparison) {
    html.raw("<ul class=\"lead\">");
    let others = other_columns(comparison);
    for column in others.iter().take(MOST_FILES) {
        html.raw("<li><b>").text(&comparison.columns[*column].label).raw("</b>: ");
        html.text(&answer(comparison, *column)).raw("</li>");
    }
    html.raw("</ul>");
    if others.len() > MOST_FILES {
        let text = format!("{} more are in the table below.", others.len() - MOST_FILES);
        html.raw("<p>").text(&text).raw("</p>");
    }
}

pub fn write(html: &mut Markup, comparison: &Comparison) {
    html.raw("<section id=\"compared\" aria-labelledby=\"compared-h\"><h2 id=\"compared-h\">Side by side</h2>");
    html::document(html, &comparison_document(comparison));
    html.raw("</section>");
}
