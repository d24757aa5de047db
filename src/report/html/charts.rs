//! The figures of the page, each in a box that it may be wider than; the tables above are their words.

use super::page::Page;
use crate::model::Unit;
use crate::report::figure::palette::SERIES;
use crate::report::figure::{Distribution, Figure};
use crate::report::run::figures;
use crate::report::run::portrait::Portrait;
use crate::report::svg;
use crate::write::html as cells;
use crate::write::markup::Markup;

/// Distributions that are drawn large.
const MOST_LARGE: usize = 24;
/// Files whose costs over a parameter are drawn.
const MOST_FILES: usize = 4;

/// Whether any file shown has costs over a parameter.
pub fn has_parameters(page: &Page) -> bool {
    page.files.iter().filter_map(|file| file.detail.as_ref()).any(|detail| !detail.parameters.is_empty())
}

pub fn write(html: &mut Markup, page: &Page) {
    html.raw("<section id=\"charts\" aria-labelledby=\"charts-h\"><h2 id=\"charts-h\">Charts</h2>");
    let detail = page.main().and_then(|main| Some((main.label(), main.detail.as_ref()?)));
    if let Some((label, detail)) = detail {
        for unit in figures::units(detail) {
            let id = if unit == Unit::Instructions { "counts" } else { "bars" };
            figure(html, &figures::bars(label, detail, page.comparison, unit), id);
        }
    }
    more_than_drawn(html, page, SERIES - 1);
    let between = detail
        .filter(|_| page.comparison.is_none())
        .and_then(|(_, detail)| figures::environment_ratios(&detail.summary));
    between.iter().for_each(|drawn| figure(html, drawn, "environments"));
    if let Some(comparison) = page.comparison {
        figure(html, &figures::ratios(comparison), "ratios");
        more_than_drawn(html, page, SERIES);
    }
    modes(html, page);
    html.raw("</section>");
    if has_parameters(page) {
        parameters(html, page);
    }
}

fn more_than_drawn(html: &mut Markup, page: &Page, drawn: usize) {
    let others = page.files.len().saturating_sub(1);
    if others > drawn {
        let text = format!("{} more files are in the table and not drawn.", others - drawn);
        html.raw("<p class=\"rule\">").text(&text).raw("</p>");
    }
}

pub fn figure(html: &mut Markup, figure: &Figure, id: &str) {
    html.raw("<figure><figcaption>")
        .text(&figure.title)
        .raw("</figcaption><div class=\"box\" tabindex=\"0\" role=\"region\"");
    html.attribute("aria-label", &figure.title).raw(">").add(&svg::inline(figure, id)).raw("</div></figure>");
}

/// Cases with two modes, large enough to see them.
fn modes(html: &mut Markup, page: &Page) {
    let of_file = |file: &Portrait| -> Vec<Distribution> {
        let all = file.detail.iter().flat_map(|detail| detail.distributions.iter().flatten());
        let label = |one: &Distribution| match page.files.len() {
            1 => one.label.clone(),
            _ => format!("{}: {}", file.label(), one.label),
        };
        all.filter(|one| one.modes.is_some()).map(|one| Distribution { label: label(one), ..one.clone() }).collect()
    };
    let mut found: Vec<Distribution> = page.files.iter().flat_map(of_file).collect();
    let more = found.len().saturating_sub(MOST_LARGE);
    found.truncate(MOST_LARGE);
    if !found.is_empty() {
        figure(html, &figures::distributions("Cases with two modes", found), "modes");
    }
    if more > 0 {
        html.raw("<p class=\"rule\">").text(&format!("{more} more are marked in the tables.")).raw("</p>");
    }
}

fn parameters(html: &mut Markup, page: &Page) {
    html.raw(
        "<section id=\"parameters\" aria-labelledby=\"parameters-h\"><h2 id=\"parameters-h\">Cost over parameters</h2>",
    );
    let files = page.files.iter().filter(|file| file.detail.as_ref().is_some_and(|d| !d.parameters.is_empty()));
    let files: Vec<&Portrait> = files.collect();
    for (i, file) in files.iter().take(MOST_FILES).enumerate() {
        if page.files.len() > 1 {
            html.raw("<h3>").text(file.label()).raw("</h3>");
        }
        for (j, one) in file.detail.iter().flat_map(|detail| &detail.parameters).enumerate() {
            figure(html, &one.figure, &format!("p{i}-{j}"));
            cells::plain(html, &one.table, &format!("{}, as numbers", one.figure.title));
            cells::notes(html, one.table.notes.iter());
        }
    }
    if files.len() > MOST_FILES {
        let text = format!("{} more files have such costs: make a page of each.", files.len() - MOST_FILES);
        html.raw("<p class=\"rule\">").text(&text).raw("</p>");
    }
    html.raw("</section>");
}
