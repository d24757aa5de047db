//! The figures of the page: costs and ratios, costs over parameters, and percentiles of single calls.

use super::RunsPage;
use crate::figure::palette::SERIES;
use crate::html::page::Part;
use crate::run::portrait::Detail;
use crate::run::{figures, latency_figure};

/// Files whose costs over a parameter and single calls are shown.
const MOST_FILES: usize = 4;
/// Figures per file; each holds as many curves as there are marks.
const MOST_FIGURES: usize = 8;

pub fn parts(page: &RunsPage) -> Vec<Part> {
    let others = page.files.len().saturating_sub(1);
    let left_out = |drawn: usize| {
        let text = format!(
            "{} more files are in the table and not drawn.",
            others.saturating_sub(drawn)
        );
        if others > drawn {
            Some(Part::note(text))
        } else {
            None
        }
    };
    let mut parts = Vec::new();
    if let (Some(main), Some(detail)) = (page.main(), page.detail()) {
        parts.extend(
            figures::units(detail).into_iter().map(|unit| {
                Part::Figure(figures::costs(main.label(), detail, page.comparison, unit))
            }),
        );
        parts.extend(left_out(SERIES - 1));
        let ratios = page.comparison.map_or_else(
            || figures::environment_ratios(&detail.summary),
            |c| Some(figures::ratios(c)),
        );
        parts.extend(ratios.map(Part::Figure));
        if page.comparison.is_some() {
            parts.extend(left_out(SERIES));
        }
    }
    parts
}

pub fn parameters(page: &RunsPage) -> Vec<Part> {
    of_files(page, |detail| {
        detail
            .parameters
            .iter()
            .flat_map(|(table, figure)| [Part::Figure(figure.clone()), Part::table(table.clone())])
            .collect()
    })
}

pub fn singles(page: &RunsPage) -> Vec<Part> {
    of_files(page, |detail| {
        let Some((table, curves)) = &detail.singles else {
            return Vec::new();
        };
        let mut parts = vec![Part::table(table.clone())];
        let drawn = curves.chunks(SERIES).take(MOST_FIGURES);
        parts.extend(drawn.map(|curves| Part::Figure(latency_figure(curves))));
        let more = curves.len().saturating_sub(MOST_FIGURES * SERIES);
        parts.extend(
            (more > 0).then(|| Part::note(format!("{more} more are in the table but not drawn."))),
        );
        parts
    })
}

/// What the first files have of something, below their labels.
fn of_files(page: &RunsPage, of: impl Fn(&Detail) -> Vec<Part>) -> Vec<Part> {
    let known: Vec<(&str, Vec<Part>)> = page
        .files
        .iter()
        .filter_map(|file| Some((file.label(), of(file.detail.as_ref()?))))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    let more = known.len().saturating_sub(MOST_FILES);
    let mut parts: Vec<Part> = known
        .into_iter()
        .take(MOST_FILES)
        .flat_map(|(name, parts)| {
            (page.files.len() > 1)
                .then(|| Part::heading(name))
                .into_iter()
                .chain(parts)
        })
        .collect();
    parts.extend((more > 0).then(|| {
        Part::note(format!(
            "{more} more files have such figures: make a page of each to see them."
        ))
    }));
    parts
}
