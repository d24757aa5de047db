//! The heat map: operations by groups of hosts, each cell the group's cost to that of all hosts.

use super::names::{Names, area, group};
use crate::fleet::questions::{HeatRow, LEAST_CHANGE, Survey};
use crate::report::comparison::row::number;
use crate::report::numbers::nanoseconds;
use crate::report::{Align, Cell, Column};
use crate::write::markup::{Markup, cut};
use crate::write::{controls, html as cells};
use indexmap::IndexSet;

/// Groups and cases that are shown; a page of more would be too large to be looked at.
const MOST_GROUPS: usize = 40;
const MOST_CASES: usize = 300;
/// Characters of a group's name.
const NAME: usize = 60;

pub fn write(html: &mut Markup, survey: &Survey, names: &Names) {
    let rows = shown(survey);
    let groups = &survey.groups[..survey.groups.len().min(MOST_GROUPS)];
    html.raw("<div class=\"sortable\">");
    let areas: IndexSet<&str> = rows.iter().map(|row| area(&row.case)).collect();
    let kinds = [("slower", "slower in a group"), ("faster", "faster in a group")];
    controls::labelled(html, ("operation", "Area"), areas.into_iter(), &kinds);
    let by = cut(&survey.columns.join(" and "), NAME);
    cells::open(
        html,
        &format!("Cost of each group of hosts with the same {by}, divided by that of all hosts"),
        "side heat",
    );
    let titles: Vec<String> =
        groups.iter().map(|one| format!("{} ({})", cut(&group(&one.values), NAME), one.hosts)).collect();
    let columns = titles.iter().map(|title| (title.as_str(), Align::Right));
    cells::head(html, [("operation", Align::Left), ("all, ns", Align::Right)].into_iter().chain(columns));
    rows.iter().for_each(|row| line(html, row, groups.len(), names));
    cells::close(html);
    html.raw("</div>");
    left_out(html, survey, rows.len());
}

/// The cases that differ most, in the order of their names.
fn shown(survey: &Survey) -> Vec<&HeatRow> {
    let farthest = |row: &HeatRow| row.ratios.iter().flatten().map(|ratio| ratio.ln().abs()).fold(0.0, f64::max);
    let mut rows: Vec<&HeatRow> = survey.cases.iter().collect();
    if rows.len() > MOST_CASES {
        rows.sort_by(|a, b| farthest(b).total_cmp(&farthest(a)));
        rows.truncate(MOST_CASES);
        rows.sort_by(|a, b| a.case.cmp(&b.case));
    }
    rows
}

fn line(html: &mut Markup, row: &HeatRow, groups: usize, names: &Names) {
    let ratios = &row.ratios[..row.ratios.len().min(groups)];
    let has = |far: fn(f64) -> bool| ratios.iter().flatten().any(|ratio| far(*ratio));
    let kinds =
        [(has(|ratio| ratio >= 1.0 + LEAST_CHANGE), "slower"), (has(|ratio| ratio <= 1.0 - LEAST_CHANGE), "faster")];
    let kinds: Vec<&str> = kinds.into_iter().filter(|(is, _)| *is).map(|(_, kind)| kind).collect();
    html.raw("<tr").attribute("data-k", &kinds.join(" ")).attribute("data-a", &cut(area(&row.case), 40)).raw(">");
    cells::name(html, &names.case(&row.case));
    cells::cell(html, &Cell::number(nanoseconds(row.median_ns), row.median_ns), &Column::right(""));
    for ratio in ratios {
        match ratio {
            Some(ratio) => {
                html.raw("<td").attribute("class", shade(*ratio)).attribute("data-v", &cells::compact(*ratio)).raw(">");
                html.text(&number(*ratio)).raw("</td>");
            }
            None => _ = html.raw("<td></td>"),
        }
    }
    html.raw("</tr>");
}

/// The class of a ratio: five steps slower and five faster.
fn shade(ratio: f64) -> &'static str {
    const DEARER: [&str; 6] = ["r", "r d1", "r d2", "r d3", "r d4", "r d5"];
    const CHEAPER: [&str; 6] = ["r", "r c1", "r c2", "r c3", "r c4", "r c5"];
    let size = if ratio < 1.0 { 1.0 / ratio } else { ratio };
    let step = [1.02, 1.05, 1.1, 1.2, 1.5].iter().filter(|least| size >= **least).count();
    if ratio < 1.0 { CHEAPER[step] } else { DEARER[step] }
}

fn left_out(html: &mut Markup, survey: &Survey, rows: usize) {
    let more = |all: usize, shown: usize, what: &str| (all > shown).then(|| format!("{} more {what}", all - shown));
    let groups = more(survey.groups.len(), MOST_GROUPS, "groups with fewer hosts");
    let cases = more(survey.cases.len(), rows, "cases that differ less");
    let left: Vec<String> = groups.into_iter().chain(cases).collect();
    html.raw("<p class=\"rule\">In brackets: hosts of the group. ");
    if !left.is_empty() {
        html.text(&format!("Not shown: {}.", left.join(", ")));
    }
    html.raw("</p>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_the_same_for_twice_and_half() {
        let shades = [1.0, 1.019, 1.02, 1.06, 1.2, 2.0, 0.5, 0.99, 0.94].map(shade);
        assert_eq!(shades, ["r", "r", "r d1", "r d2", "r d4", "r d5", "r c5", "r", "r c2"]);
    }
}
