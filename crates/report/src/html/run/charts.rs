//! The figures of the page: costs and ratios, costs over parameters, and percentiles of single calls.

use super::RunsPage;
use super::answer::added;
use crate::figure::palette::SERIES;
use crate::html::page::Part;
use crate::run::portrait::Detail;
use crate::run::{figures, latency_figure, start_up};
use model::prose::more;

/// Files whose costs over a parameter and single calls are shown.
const MOST_FILES: usize = 4;
/// Figures per file; each holds as many curves as there are marks.
const MOST_FIGURES: usize = 8;

/// Costs by area and ratios, then the cost of a system call in each environment.
pub fn parts(page: &RunsPage) -> Vec<Part> {
    let others = page.files.len().saturating_sub(1);
    let mut parts = Vec::new();
    if let (Some(main), Some(detail)) = (page.main(), page.detail()) {
        parts.extend(
            figures::units(detail).into_iter().map(|unit| {
                Part::Figure(figures::costs(main.label(), detail, page.comparison, unit))
            }),
        );
        parts.extend(left_out(others, SERIES - 1));
        parts.extend(start_up::figure(&detail.summary).map(Part::Figure));
        let ratios = page.comparison.map_or_else(
            || figures::environment_ratios(&detail.summary),
            |c| Some(figures::ratios(c)),
        );
        parts.extend(ratios.map(Part::Figure));
        match page.comparison {
            Some(_) => parts.extend(left_out(others, SERIES)),
            None => parts.push(Part::table(added(&detail.summary))),
        }
    }
    parts
}

fn left_out(files: usize, drawn: usize) -> Option<Part> {
    let left_out = files.saturating_sub(drawn);
    more(left_out, "more files are in the table and not drawn.").map(Part::note)
}

/// Costs over each parameter, figure and table.
pub fn parameters(page: &RunsPage) -> Vec<Part> {
    labelled_by_file(page, |detail| {
        detail
            .parameters
            .iter()
            .flat_map(|(table, figure)| [Part::Figure(figure.clone()), Part::table(table.clone())])
            .collect()
    })
}

/// Percentiles of single calls, figures and table.
pub fn singles(page: &RunsPage) -> Vec<Part> {
    labelled_by_file(page, |detail| {
        let Some((table, curves)) = &detail.singles else {
            return Vec::new();
        };
        let mut parts = vec![Part::table(table.clone())];
        let drawn = curves.chunks(SERIES).take(MOST_FIGURES);
        parts.extend(drawn.map(|curves| Part::Figure(latency_figure(curves))));
        let left_out = curves.len().saturating_sub(MOST_FIGURES * SERIES);
        parts.extend(more(left_out, "more are in the table but not drawn.").map(Part::note));
        parts
    })
}

/// Parts of the first files, each below the label of its file.
fn labelled_by_file(page: &RunsPage, parts_of_file: impl Fn(&Detail) -> Vec<Part>) -> Vec<Part> {
    let known: Vec<(&str, Vec<Part>)> = page
        .files
        .iter()
        .filter_map(|file| Some((file.label(), parts_of_file(file.detail.as_ref()?))))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    let left_out = known.len().saturating_sub(MOST_FILES);
    let mut parts = Vec::new();
    for (name, of_file) in known.into_iter().take(MOST_FILES) {
        if page.files.len() > 1 {
            parts.push(Part::heading(name));
        }
        parts.extend(of_file);
    }
    let text = "more files have such figures: make a page of each to see them.";
    parts.extend(more(left_out, text).map(Part::note));
    parts
}
