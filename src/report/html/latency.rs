//! Percentiles of single calls: of each file that has some, its table, and its curves a few at a time.

use super::charts::figure;
use super::page::Page;
use crate::report::figure::palette::SERIES;
use crate::report::run::detail::Singles;
use crate::report::run::latency_figure;
use crate::report::run::portrait::Portrait;
use crate::write::html as cells;
use crate::write::markup::Markup;

/// Figures of a file; each holds as many curves as there are marks.
const MOST_FIGURES: usize = 8;
/// Files that are shown.
const MOST_FILES: usize = 4;

fn known<'a>(page: &'a Page) -> impl Iterator<Item = (&'a Portrait, &'a Singles)> {
    page.files.iter().filter_map(|file| Some((file, file.detail.as_ref()?.singles.as_ref()?)))
}

/// Whether any file shown has single calls.
pub fn is_known(page: &Page) -> bool {
    known(page).next().is_some()
}

pub fn write(html: &mut Markup, page: &Page) {
    if !is_known(page) {
        return;
    }
    html.raw("<section id=\"latency\" aria-labelledby=\"latency-h\"><h2 id=\"latency-h\">Single calls</h2>");
    for (i, (file, singles)) in known(page).take(MOST_FILES).enumerate() {
        if page.files.len() > 1 {
            html.raw("<h3>").text(file.label()).raw("</h3>");
        }
        of_file(html, singles, i);
    }
    let more = known(page).count().saturating_sub(MOST_FILES);
    if more > 0 {
        let text = format!("{more} more files have single calls: make a page of each.");
        html.raw("<p class=\"rule\">").text(&text).raw("</p>");
    }
    html.raw("</section>");
}

fn of_file(html: &mut Markup, singles: &Singles, file: usize) {
    cells::plain(html, &singles.table, "Percentiles of single calls, in nanoseconds");
    cells::notes(html, singles.table.notes.iter());
    for (j, curves) in singles.curves.chunks(SERIES).take(MOST_FIGURES).enumerate() {
        figure(html, &latency_figure(curves), &format!("latency{file}-{j}"));
    }
    let more = singles.curves.len().saturating_sub(MOST_FIGURES * SERIES);
    if more > 0 {
        html.raw("<p class=\"rule\">").text(&format!("{more} more are in the table and not drawn.")).raw("</p>");
    }
}
