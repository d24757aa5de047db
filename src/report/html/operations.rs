//! The table of all operations of a file: every figure of the text table, the distribution of the samples, and what is
//! doubtful; with controls that the script brings to life.

use super::cells;
use super::page::Page;
use crate::compare::area;
use crate::report::figure::{Distribution, Kernel};
use crate::report::format::markup::{Markup, cut};
use crate::report::numbers::nanoseconds;
use crate::report::run::columns;
use crate::report::run::detail::Detail;
use crate::report::run::distribution::BINS_RULE;
use crate::report::run::figures::{kernel, modes_in_words, name};
use crate::report::run::portrait::Portrait;
use crate::report::run::warnings;
use crate::report::svg::spark;
use crate::report::{Align, Table};
use crate::stats::TWO_MODES_RULE;
use crate::summary::{Row, Summary};
use indexmap::IndexSet;
use std::borrow::Cow;

pub fn write(html: &mut Markup, page: &Page) {
    html.raw("<section id=\"operations\" aria-labelledby=\"operations-h\"><h2 id=\"operations-h\">Operations</h2>");
    let main = page.main();
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
    let caption = match labelled {
        true => format!("Costs of {}, all figures", file.label()),
        false => "Costs, all figures".to_string(),
    };
    html.raw("<div class=\"sortable\">");
    controls(html, &detail.summary);
    table(html, detail, &caption);
    html.raw("</div>");
    legend(html, detail);
}

/// What filters the rows; of no use without the script, which shows it.
pub fn controls(html: &mut Markup, summary: &Summary) {
    let areas: IndexSet<&str> = summary.rows.iter().map(|row| area(&row.case)).collect();
    open_controls(html, areas.into_iter());
    html.raw("<label>Show <select class=\"kind\"><option value=\"\">all</option>");
    html.raw("<option value=\"never\">those that make no system call</option>");
    html.raw(
        "<option value=\"enters\">those that make some</option><option value=\"modes\">those with two modes</option>",
    );
    html.raw("<option value=\"noted\">those with notes</option><option value=\"failed\">those without a cost</option>");
    html.raw("</select></label>");
    close_controls(html);
}

/// The box for a text and the choice of an area.
pub fn open_controls<'a>(html: &mut Markup, areas: impl Iterator<Item = &'a str>) {
    html.raw(
        "<div class=\"controls\" role=\"search\" hidden><label>Filter <input type=\"search\" autocomplete=\"off\" ",
    );
    html.raw("placeholder=\"name or kernel entry\"></label><label>Area <select class=\"area\"><option value=\"\">all</option>");
    for area in areas {
        html.raw("<option>").text(&cut(area, 40)).raw("</option>");
    }
    html.raw("</select></label>");
}

pub fn close_controls(html: &mut Markup) {
    html.raw("<output class=\"count\" aria-live=\"polite\"></output></div>");
}

fn table(html: &mut Markup, detail: &Detail, caption: &str) {
    let summary = &detail.summary;
    let rows: Vec<&Row> = summary.rows.iter().collect();
    let lines = columns::lines(summary, &rows);
    let table = Table::of(&columns::columns(summary), &lines);
    cells::open(html, caption, "ops");
    let titles = table.columns().iter().map(|column| (column.title.as_str(), column.align));
    cells::head(html, titles.chain([("samples", Align::Left), ("notes", Align::Left)]));
    let texts = note_texts(summary);
    for (i, (line, cells)) in lines.iter().zip(table.rows()).enumerate() {
        let distribution = detail.distributions.get(i).and_then(Option::as_ref);
        open_row(html, line.row, distribution);
        cells::row(html, cells, table.columns());
        samples(html, distribution);
        notes(html, line.row, &texts);
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

/// The histogram; two modes are said in words.
fn samples(html: &mut Markup, distribution: Option<&Distribution>) {
    let Some(one) = distribution else {
        html.raw("<td></td>");
        return;
    };
    let range = format!("{} samples, {} to {} ns", one.samples, nanoseconds(one.low), nanoseconds(one.high));
    html.raw("<td").attribute("data-v", &cells::compact(one.modes.map_or(0.0, |m| m.high / m.low)));
    html.attribute("title", &range).raw(">").add(&spark(one, &range));
    if let Some(words) = modes_in_words(one) {
        html.raw("<small class=\"warn\">two modes ").text(&words).raw("</small>");
    }
    html.raw("</td>");
}

/// The different texts of all warnings, numbered by their place.
fn note_texts(summary: &Summary) -> IndexSet<Cow<'_, str>> {
    summary.rows.iter().flat_map(|row| row.warnings.iter().map(warnings::text)).collect()
}

/// The numbers of the row's warnings, with what differs from row to row.
fn notes(html: &mut Markup, row: Option<&Row>, texts: &IndexSet<Cow<'_, str>>) {
    let warnings = row.map_or(&[][..], |row| &row.warnings);
    html.raw("<td class=\"nt\"").set("data-v", warnings.len()).raw(">");
    for (i, warning) in warnings.iter().enumerate() {
        let (text, detail) = (warnings::text(warning), warnings::detail(warning));
        let number = texts.get_index_of(&text).map_or(0, |index| index + 1);
        html.raw(if i > 0 { ", <abbr" } else { "<abbr" }).attribute("title", &cut(&text, 200)).raw(">");
        html.text(&number.to_string()).raw("</abbr>");
        if !detail.is_empty() {
            html.raw(" (").text(&cut(&detail, 40)).raw(")");
        }
    }
    html.raw("</td>");
}

/// What the numbers and the histograms mean.
fn legend(html: &mut Markup, detail: &Detail) {
    let summary = &detail.summary;
    let texts = note_texts(summary);
    if !texts.is_empty() {
        html.raw("<h3>Notes</h3><ol class=\"notes\">");
        for text in texts {
            html.element("li", &cut(&text, 1000));
        }
        html.raw("</ol>");
    }
    let yardsticks = summary.baselines.iter().filter_map(|row| {
        let figure = row.figure.as_ref().ok()?;
        Some(format!("{} {} ns", cut(&name(row), 80), nanoseconds(figure.median.0)))
    });
    let yardsticks: Vec<String> = yardsticks.collect();
    if !yardsticks.is_empty() {
        html.raw("<p class=\"rule\">In the same rounds: ").text(&yardsticks.join(", "));
        html.raw(
            ". “net” is the cost less that of the empty loop, “x call” is in empty function calls (call.direct).</p>",
        );
    }
    html.raw("<p class=\"rule\">").text(&format!("Samples: {BINS_RULE}. {}.", capital(TWO_MODES_RULE))).raw("</p>");
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
