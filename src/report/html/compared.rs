//! Several files side by side: what differs in short, what makes it unfair, and every cost with its ratio.

use super::cells;
use super::controls;
use crate::compare::{AreaMean, ComparedRow, Comparison, Mark, MetricMark, Verdict};
use crate::report::comparison::row::{self, Names, different_work, number};
use crate::report::comparison::{cautions, notes};
use crate::report::format::markup::{Markup, cut};
use crate::report::numbers::three_figures;
use crate::report::run::figures::other_columns;
use crate::report::run::instructions::NOT_TIME;
use crate::report::{Align, Cell, Column, Spec, Style, Table};
use indexmap::IndexSet;

/// Files in the short answer, and rows on either side of it.
const MOST_FILES: usize = 6;
const MOST_ROWS: usize = 3;

/// `1 result file`, `2 result files`
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The verdict on each file: how many rows are slower or faster, on the whole by how much, and which the most.
pub fn answer(html: &mut Markup, comparison: &Comparison) {
    html.raw("<ul class=\"lead\">");
    let others = other_columns(comparison);
    for column in others.iter().take(MOST_FILES) {
        html.raw("<li><b>").text(&comparison.columns[*column].label).raw("</b>: ");
        tally(html, comparison, *column);
        if let Some(machine) = notes::machine(comparison, *column) {
            html.text(" ").text(&machine).text(".");
        }
        html.raw("</li>");
    }
    html.raw("</ul>");
    if others.len() > MOST_FILES {
        let text = format!("{} more are in the table below.", others.len() - MOST_FILES);
        html.raw("<p>").text(&text).raw("</p>");
    }
}

pub fn base_label(comparison: &Comparison) -> &str {
    comparison.columns.get(comparison.baseline).map_or("", |column| &column.label)
}

fn tally(html: &mut Markup, comparison: &Comparison, column: usize) {
    let count = |holds: fn(&Verdict) -> bool| comparison.rows.iter().filter(|row| holds(&row.verdicts[column])).count();
    let [slower, faster, unchanged, inconclusive] = [
        count(|verdict| verdict.mark() == Some(Mark::Slower)),
        count(|verdict| verdict.mark() == Some(Mark::Faster)),
        count(|verdict| verdict.mark() == Some(Mark::Unchanged)),
        count(|verdict| verdict.mark() == Some(Mark::Inconclusive)),
    ];
    let counted = count(|verdict| verdict.counts().is_some());
    let marked = slower + faster + unchanged + inconclusive;
    if marked == 0 && count(|v| matches!(v, Verdict::OneFigure { .. })) > 0 {
        html.raw("these results have no samples, so that no row is called slower or faster");
    } else if marked > 0 || counted == 0 {
        html.raw("<b class=\"bad\">").text(&format!("{slower} slower")).raw("</b>, <b class=\"good\">");
        html.text(&format!("{faster} faster")).raw("</b>, ");
        html.text(&format!("{unchanged} unchanged, {inconclusive} inconclusive (95% confidence)"));
    }
    if counted > 0 {
        let more = count(|v| v.counts().is_some() && v.is_worse());
        let fewer = count(|v| v.counts().is_some() && v.is_better());
        let joined = if marked > 0 { "; " } else { "" };
        html.text(&format!("{joined}of {counted} numbers of instructions {more} are greater, {fewer} smaller"));
    }
    let other = count(|verdict| matches!(verdict, Verdict::DifferentWork(_)));
    if other > 0 {
        html.text(&format!("; {other} do other work there"));
    }
    html.text(&format!(". {}.", mean(comparison, column)));
    for (mark, word) in [(Mark::Slower, "Slower"), (Mark::Faster, "Faster")] {
        if let Some(list) = most_extreme(comparison, column, mark) {
            html.text(&format!(" {word}: {list}."));
        }
    }
}

/// `×1.004 the cost of before, as the geometric mean over 156 rows`
fn mean(comparison: &Comparison, column: usize) -> String {
    let base = base_label(comparison);
    let overall = comparison.areas.iter().find(|mean| mean.area.is_none());
    match overall.and_then(|mean| Some((mean.ratios[column]?, mean.rows))) {
        Some((ratio, rows)) => {
            format!("×{} the cost of {base}, as the geometric mean over {}", number(ratio), count(rows, "row"))
        }
        None => format!("No row can be compared with {base}"),
    }
}

/// `file.stat ×1.200, file.lstat ×1.100`: the rows with this mark whose ratios are farthest from 1.
fn most_extreme(comparison: &Comparison, column: usize, mark: Mark) -> Option<String> {
    let marked = comparison.rows.iter().filter(|row| row.verdicts[column].mark() == Some(mark));
    let mut rows: Vec<(f64, &ComparedRow)> = marked.filter_map(|r| Some((r.verdicts[column].ratio()?, r))).collect();
    rows.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
    let names = Names::of(comparison);
    let shown = rows.iter().take(MOST_ROWS).map(|(r, row)| format!("{} ×{}", cut(&names.row(row), 40), number(*r)));
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

pub fn write(html: &mut Markup, comparison: &Comparison) {
    html.raw("<section id=\"compared\" aria-labelledby=\"compared-h\"><h2 id=\"compared-h\">Side by side</h2>");
    if !comparison.cautions.is_empty() {
        html.raw("<h3>Before you compare</h3>");
        let cautions: Vec<String> = comparison.cautions.iter().map(|one| cautions::line(comparison, one)).collect();
        cells::notes(html, cautions.iter());
    }
    table(html, comparison);
    explain(html, comparison);
    if comparison.areas.len() > 1 {
        areas(html, comparison);
    }
    html.raw("</section>");
}

fn table(html: &mut Markup, comparison: &Comparison) {
    html.raw("<div class=\"sortable\">");
    let areas: IndexSet<&str> = comparison.rows.iter().map(|row| row.area.as_str()).collect();
    let choices = [("slower", "slower"), ("faster", "faster"), ("other", "other work")];
    controls::write(html, areas.into_iter(), &choices);
    cells::open(html, &caption(comparison), "side");
    let columns = comparison.columns.iter().enumerate().flat_map(|(i, column)| {
        let second = (i != comparison.baseline).then_some(("ratio", Align::Left));
        std::iter::once((column.label.as_str(), Align::Right)).chain(second)
    });
    cells::head(html, std::iter::once(("operation", Align::Left)).chain(columns));
    let (names, right) = (Names::of(comparison), Column::right(""));
    for row in &comparison.rows {
        html.raw("<tr").attribute("data-k", &kinds(row)).attribute("data-a", &cut(&row.area, 40)).raw(">");
        cells::name(html, &names.row(row));
        for column in 0..comparison.columns.len() {
            let scale = row::scale(comparison, row);
            let cost = row::cost(row, column, scale);
            let in_instructions = row.is_in_instructions() && cost.value.is_some();
            let unit = if in_instructions { " instr" } else { "" };
            cells::cell(html, &Cell { text: format!("{}{unit}", cost.text), ..cost }, &right);
            if column != comparison.baseline {
                verdict(html, &row.verdicts[column]);
            }
        }
        html.raw("</tr>");
    }
    derived(html, comparison);
    cells::close(html);
    html.raw("</div>");
}

fn caption(comparison: &Comparison) -> String {
    let unit = match comparison.rows.iter().any(|row| row.is_counted()) {
        true => "ns/op, or in instructions (instr),",
        false => "ns/op",
    };
    format!("Costs in {unit} and ratios to {}", base_label(comparison))
}

/// What the controls choose by.
fn kinds(row: &ComparedRow) -> String {
    let has = |kind: fn(&Verdict) -> bool| row.verdicts.iter().any(kind);
    let kinds = [
        (has(Verdict::is_worse), "slower"),
        (has(Verdict::is_better), "faster"),
        (has(|v| matches!(v, Verdict::DifferentWork(_))), "other"),
    ];
    kinds.iter().filter(|(holds, _)| *holds).map(|(_, kind)| *kind).collect::<Vec<_>>().join(" ")
}

/// Ratio, sign and interval: the sign says in a shape what colour says too.
fn verdict(html: &mut Markup, verdict: &Verdict) {
    let Some(ratio) = verdict.ratio() else {
        let words = match verdict {
            Verdict::DifferentWork(_) => "<td class=\"warn\">≠ other work</td>",
            Verdict::OtherUnit => "<td class=\"warn\">≠ other unit</td>",
            _ => "<td></td>",
        };
        html.raw(words);
        return;
    };
    let unchanged = verdict.counts().is_some_and(|counts| counts.mark == MetricMark::Unchanged);
    let (sign, class) = match verdict.mark() {
        _ if verdict.is_worse() => ("▲ ", "bad"),
        _ if verdict.is_better() => ("▼ ", "good"),
        Some(Mark::Inconclusive) => ("~ ", "faint"),
        Some(_) => ("= ", "faint"),
        None if unchanged => ("= ", "faint"),
        None if verdict.counts().is_some() => ("~ ", "faint"),
        None => ("", "faint"),
    };
    html.raw("<td").attribute("class", class).attribute("data-v", &cells::compact(ratio)).raw(">").raw(sign);
    html.text(&number(ratio));
    let interval = row::interval(verdict).text;
    if !interval.is_empty() {
        html.raw("<small> ").text(&interval).raw("</small>");
    }
    html.raw("</td>");
}

fn derived(html: &mut Markup, comparison: &Comparison) {
    let names = Names::of(comparison);
    for row in &comparison.derived {
        html.raw("<tr>");
        cells::name(html, &names.derived(row));
        for column in 0..comparison.columns.len() {
            cells::cell(html, &row::derived(row, column), &Column::right(""));
            if column != comparison.baseline {
                html.raw("<td></td>");
            }
        }
        html.raw("</tr>");
    }
}

/// The signs, and how work differs where it does.
fn explain(html: &mut Markup, comparison: &Comparison) {
    html.raw("<p class=\"rule\">▲ slower, ▼ faster, = unchanged within ");
    html.text(&three_figures(comparison.margin * 100.0)).raw(
        "%, ~ inconclusive, no sign where there are no samples or where \
         the cost depends on what the file system did before. ",
    );
    html.raw("All signs of a file together have 95% confidence; so has each interval beside its ratio.</p>");
    if comparison.rows.iter().flat_map(|row| &row.verdicts).any(|verdict| verdict.counts().is_some()) {
        html.raw("<p class=\"rule\">").text(NOT_TIME).raw(". Their signs are certain.</p>");
    }
    let names = Names::of(comparison);
    let mut differing: IndexSet<String> = IndexSet::new();
    for row in &comparison.rows {
        for (column, verdict) in row.verdicts.iter().enumerate() {
            if let Verdict::DifferentWork(how) = verdict {
                let words = different_work(comparison, column, how);
                differing.insert(format!("{}: {words}", cut(&names.row(row), 80)));
            }
        }
    }
    if !differing.is_empty() {
        html.raw("<details open><summary>Not the same operation (")
            .text(&differing.len().to_string())
            .raw(")</summary>");
        let most: Vec<String> = differing.iter().take(200).cloned().collect();
        cells::notes(html, most.iter());
        html.raw("</details>");
    }
}

/// Geometric means by area.
fn areas(html: &mut Markup, comparison: &Comparison) {
    let mut specs = vec![
        Spec::left("area", |mean: &&AreaMean| Cell::from(mean.area.as_deref().unwrap_or("all"))),
        Spec::right("rows", |mean: &&AreaMean| Cell::styled(mean.rows.to_string(), Style::Faint)),
    ];
    specs.extend(other_columns(comparison).into_iter().map(|column| {
        let ratio = |ratio| Cell::number(format!("×{}", number(ratio)), ratio);
        Spec::right(&comparison.columns[column].label, move |mean: &&AreaMean| {
            mean.ratios[column].map_or(Cell::default(), ratio)
        })
    }));
    let rows: Vec<&AreaMean> = comparison.areas.iter().collect();
    html.raw("<h3>By area</h3>");
    let caption = format!("Geometric mean of the ratios to {}", base_label(comparison));
    cells::plain(html, &Table::of(&specs, &rows), &caption);
}
