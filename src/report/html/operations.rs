//! The table of all operations of a file: every figure of the text table, the distribution of the samples, and what is
//! doubtful; with controls that the script brings to life.

use super::page::Page;
use crate::compare::area;
use crate::report::figure::{Distribution, Kernel};
use crate::report::numbers::nanoseconds;
use crate::report::run::columns;
use crate::report::run::detail::Detail;
use crate::report::run::distribution::BINS_RULE;
use crate::report::run::figures::{kernel, modes_in_words, name};
use crate::report::run::instructions::NOT_TIME;
use crate::report::run::portrait::Portrait;
use crate::report::svg::spark;
use crate::report::{Align, Cell, Column, Table};
use crate::stats::TWO_MODES_RULE;
use crate::summary::Row;
use crate::write::controls;
use crate::write::html as cells;
use crate::write::markup::{Markup, cut};
use indexmap::IndexSet;

pub fn write(html: &mut Markup, page: &Page) {
    html.raw("<section id=\"operations\" aria-labelledby=\"operations-h\"><h2 id=\"operations-h\">Operations</h2>");
    let main = page.main();
    if let (Some(main), Some(_)) = (main, page.comparison) {
        html.raw("<h3>").text(main.label()).raw(", the baseline</h3>");
        main.detail.iter().for_each(|detail| super::answer::of_run(html, detail));
    }
    main.iter().for_each(|main| of_file(html, main, page.comparison.is_some()));
    let others = page.files.iter().filter(|file| main.is_none_or(|main| main.label() != file.label()));
    let (shown, left_out): (Vec<&Portrait>, Vec<&Portrait>) = others.partition(|file| file.detail.is_some());
    for file in shown {
        html.raw("<details><summary>All figures of ").text(file.label()).raw("</summary>");
        of_file(html, file, true);
        html.raw("</details>");
    }
    if !left_out.is_empty() {
        let text = format!(
            "Of {} more files this page has costs and ratios, above, but neither distributions nor the further figures: \
             make a page of any of them alone to see those.",
            left_out.len()
        );
        html.raw("<p class=\"rule\">").text(&text).raw("</p>");
    }
    html.raw("</section>");
}

fn of_file(html: &mut Markup, file: &Portrait, labelled: bool) {
    let Some(detail) = &file.detail else { return };
    let caption =
        if labelled { format!("Costs of {}, all figures", file.label()) } else { "Costs, all figures".to_string() };
    html.raw("<div class=\"sortable\">");
    let areas: IndexSet<&str> = detail.summary.rows.iter().map(|row| area(&row.case)).collect();
    controls::write(html, areas.into_iter(), KINDS);
    table(html, detail, &caption);
    html.raw("</div>");
    legend(html, detail);
    super::runs::write(html, detail);
}

/// Marks of rows, and the choice of each.
const KINDS: &[(&str, &str)] = &[
    ("never", "those that make no system call"),
    ("enters", "those that make some"),
    ("modes", "those with two modes"),
    ("noted", "those with notes"),
    ("failed", "those without a cost"),
];

fn table(html: &mut Markup, detail: &Detail, caption: &str) {
    let summary = &detail.summary;
    let rows: Vec<&Row> = summary.rows.iter().collect();
    let lines = columns::lines(summary, &rows);
    let table = Table::of(&columns::columns(summary), &lines);
    cells::open(html, caption, "ops");
    let titles = table.columns().iter().map(|column| (column.title.as_str(), column.align));
    cells::head(html, titles.chain([("samples", Align::Left), ("notes", Align::Left)]));
    for (i, (line, cells)) in lines.iter().zip(table.rows()).enumerate() {
        let distribution = detail.distributions.get(i).and_then(Option::as_ref);
        open_row(html, line.row, distribution);
        cells::row(html, cells, table.columns());
        samples(html, distribution);
        notes(html, line.row, distribution);
        html.raw("</tr>");
    }
    cells::close(html);
}

/// A row, with its area and what the controls choose by.
fn open_row(html: &mut Markup, row: Option<&Row>, distribution: Option<&Distribution>) {
    html.raw("<tr");
    if let Some(row) = row {
        let kernel = match kernel(row) {
            Kernel::Never => "never",
            Kernel::Enters => "enters",
            Kernel::Unknown => "unknown",
        };
        let modes = distribution.is_some_and(|one| one.modes.is_some());
        let marks = [(modes, "modes"), (!row.warnings.is_empty(), "noted"), (row.figure.is_err(), "failed")];
        let marks = marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark);
        html.attribute("data-k", &std::iter::once(kernel).chain(marks).collect::<Vec<_>>().join(" "));
        html.attribute("data-a", &cut(area(&row.case), 40));
    }
    html.raw(">");
}

fn samples(html: &mut Markup, distribution: Option<&Distribution>) {
    let Some(one) = distribution else {
        html.raw("<td></td>");
        return;
    };
    let range = format!("{} samples, {} to {} ns", one.samples, nanoseconds(one.low), nanoseconds(one.high));
    html.raw("<td").attribute("data-v", &cells::compact(one.modes.map_or(0.0, |m| m.high / m.low)));
    html.attribute("title", &range).raw(">").add(&spark(one, &range)).raw("</td>");
}

/// Characters of a note in the table; longer ones stand in full below it.
const NOTE: usize = 48;

/// What is doubtful about the row, and its two modes.
fn notes(html: &mut Markup, row: Option<&Row>, distribution: Option<&Distribution>) {
    let warnings = row.iter().flat_map(|row| &row.warnings).map(ToString::to_string);
    let modes = distribution.and_then(modes_in_words).map(|words| format!("two modes: {words}"));
    let failure = row.and_then(Row::failure).map(|failure| format!("failed: {}", failure.message));
    let notes: Vec<String> = failure.into_iter().chain(warnings).chain(modes).map(|note| cut(&note, NOTE)).collect();
    let value = if notes.is_empty() { f64::NAN } else { notes.len() as f64 };
    cells::cell(html, &Cell::number(notes.join("; "), value), &Column::left("").wrapping());
}

/// What the notes and the histograms mean.
fn legend(html: &mut Markup, detail: &Detail) {
    let summary = &detail.summary;
    let failures = summary.rows.iter().filter_map(|row| Some(format!("{}: {}", name(row), row.failure()?.message)));
    let all = summary.rows.iter().flat_map(|row| &row.warnings).map(ToString::to_string).chain(failures);
    let long: IndexSet<String> = all.filter(|note| note.chars().count() > NOTE).collect();
    cells::notes(html, long.iter());
    let yardsticks = summary
        .baselines
        .iter()
        .filter_map(|row| Some(format!("{} {} ns", cut(&name(row), 80), nanoseconds(row.cost()?.median.0))));
    let yardsticks: Vec<String> = yardsticks.collect();
    if !yardsticks.is_empty() {
        html.raw("<p class=\"rule\">In the same rounds: ").text(&yardsticks.join(", "));
        html.raw(
            ". “net” is the cost minus that of the empty loop; “x call” is in empty function calls (call.direct).</p>",
        );
    }
    if summary.rows.iter().any(|row| row.instructions().is_some()) {
        html.raw("<p class=\"rule\">").text(&capital(NOT_TIME)).raw(".</p>");
    }
    html.raw("<p class=\"rule\">").text(&format!("Samples: {BINS_RULE}. {}.", capital(TWO_MODES_RULE))).raw("</p>");
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
