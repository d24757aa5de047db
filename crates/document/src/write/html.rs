//! Documents as HTML. Tables that are too wide scroll in a box of their own.

use crate::write::markup::{Markup, cut};
use crate::{Align, Block, Branch, Cell, Column, Filter, Style, Table};
use itertools::Itertools;

/// Characters; more are cut off.
const MOST: usize = 600;
const NAME: usize = 160;
/// Longer words may be broken anywhere.
const WORD: usize = 16;
/// If a table without a filter has more rows than `MANY`, those from `FIRST` on are folded into one line.
const MANY: usize = 30;
const FIRST: usize = 20;

pub struct Drawings {
    pub title: String,
    /// For each row its drawing, and the value that it is sorted by.
    pub cells: Vec<Option<(f64, Markup)>>,
}

/// Appends the markup of a block to a page.
pub fn block(html: &mut Markup, block: &Block) {
    match block {
        Block::Message(lines) | Block::Notes(lines) => notes(html, lines),
        Block::Cautions(lines) if lines.is_empty() => {}
        Block::Cautions(lines) => {
            html.element("h3", "Cautions");
            notes(html, lines);
        }
        Block::Table(one) | Block::Pages(one) => table(html, one, &[]),
        Block::Heading { title, what } => {
            html.element("h3", &cut(title, MOST));
            if !what.is_empty() {
                html.element("p", &cut(what, 2 * MOST));
            }
        }
        Block::Facts(facts) => {
            let lines: Vec<String> = facts
                .iter()
                .map(|(label, text)| format!("{label}: {text}"))
                .collect();
            notes(html, &lines);
        }
        Block::Code { title, lines, .. } => {
            if !title.is_empty() {
                html.element("h4", title);
            }
            html.element("pre", &lines.join("\n"));
        }
        Block::Tree { titles, branches } => tree(html, titles, branches),
    }
}

/// With drawings behind its columns. A table with a filter is sorted and filtered by the script.
pub fn table(html: &mut Markup, table: &Table, drawn: &[Drawings]) {
    notes(html, &table.cautions);
    if !table.rows().is_empty() {
        let shown = table.without_empty();
        match &table.filter {
            None => rows(html, &shown, drawn, None),
            Some(filter) => {
                html.raw("<div class=\"sortable\">");
                controls(html, &name(table), filter);
                rows(html, &shown, drawn, Some(filter));
                html.raw("</div>");
            }
        }
    }
    notes(html, &table.notes);
}

/// A table below a heading may have no title: its columns name it.
fn name(table: &Table) -> String {
    if table.title.is_empty() {
        table
            .columns()
            .iter()
            .map(|column| &column.title)
            .join(", ")
    } else {
        table.title.clone()
    }
}

fn rows(html: &mut Markup, table: &Table, drawn: &[Drawings], filter: Option<&Filter>) {
    html.raw("<div class=\"box\" role=\"group\" tabindex=\"0\"")
        .set("aria-label", name(table))
        .raw("><table");
    let narrows = table.columns().iter().any(|column| column.expendable > 0);
    let kind = if filter.is_some() { "side" } else { "plain" };
    html.set(
        "class",
        [kind, if narrows { " narrows" } else { "" }].concat(),
    );
    html.raw("><caption>")
        .text(&table.title)
        .raw("</caption><thead><tr>");
    for column in table.columns() {
        html.raw("<th scope=\"col\"");
        classes(
            html,
            Style::Plain,
            &Column {
                wraps: false,
                ..column.clone()
            },
        );
        html.raw(">").text(&column.title).raw("</th>");
    }
    for one in drawn {
        html.raw("<th scope=\"col\">").text(&one.title).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
    let folds = filter.is_none() && table.rows().len() > MANY;
    for (i, cells) in table.rows().iter().enumerate() {
        html.raw("<tr");
        if let Some((area, kinds)) = filter.and_then(|filter| filter.rows.get(i)) {
            html.set("data-k", kinds.join(" "))
                .set("data-a", cut(area, 40));
        }
        html.raw(if folds && i >= FIRST { " data-s>" } else { ">" });
        row(html, cells, table.columns());
        drawn
            .iter()
            .for_each(|one| drawing(html, one.cells.get(i).and_then(Option::as_ref)));
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
}

/// Hidden until the script, which knows texts and areas from the rows, adds their controls.
fn controls(html: &mut Markup, title: &str, filter: &Filter) {
    html.raw("<div class=\"controls\" role=\"group\"")
        .set("aria-label", format!("Filter: {title}"))
        .raw(" hidden><label>Show <select class=\"kind\"><option value=\"\">all</option>");
    for (mark, text) in filter.kinds {
        html.raw("<option")
            .set("value", mark)
            .raw(">")
            .text(text)
            .raw("</option>");
    }
    html.raw("</select></label></div>");
}

fn row(html: &mut Markup, cells: &[Cell], columns: &[Column]) {
    for (i, (content, column)) in cells.iter().zip(columns).enumerate() {
        if i > 0 || content.text.is_empty() {
            cell(html, content, column);
            continue;
        }
        html.raw("<th scope=\"row\">");
        breakable(html, &cut(&content.text, NAME));
        html.raw("</th>");
    }
}

fn cell(html: &mut Markup, cell: &Cell, column: &Column) {
    html.raw("<td");
    classes(html, cell.style, column);
    if let Some(value) = cell.value.filter(|value| value.is_finite()) {
        html.set("data-v", compact(value));
    }
    // A ratio to a cost of 0 is not a number.
    let text = if cell.value.is_some_and(|value| !value.is_finite()) {
        "?"
    } else {
        &cell.text
    };
    html.raw(">");
    if column.align == Align::Left {
        breakable(html, &cut(text, MOST))
    } else {
        _ = html.text(&cut(text, MOST))
    }
    html.raw("</td>");
}

fn drawing(html: &mut Markup, drawn: Option<&(f64, Markup)>) {
    let Some((value, svg)) = drawn else {
        html.raw("<td></td>");
        return;
    };
    html.raw("<td class=\"w\"");
    if value.is_finite() {
        html.set("data-v", compact(*value));
    }
    html.raw(">").add(svg).raw("</td>");
}

/// May break behind the signs that join the words of a name, and within a word only if it is long.
fn breakable(html: &mut Markup, text: &str) {
    let (mut word, mut last) = (0, ' ');
    for (i, part) in text
        .split_inclusive(|c: char| {
            word = if c == ' ' { 0 } else { word + 1 };
            let ends = word == WORD || (word > 1 && last.is_alphabetic() && !c.is_alphanumeric());
            (word, last) = (if ends { 0 } else { word }, c);
            ends
        })
        .enumerate()
    {
        html.raw(if i > 0 { "<wbr>" } else { "" }).text(part);
    }
}

fn classes(html: &mut Markup, style: Style, column: &Column) {
    let style = match style {
        Style::Plain => "",
        Style::Heading => "strong",
        Style::Good => "good",
        Style::Warning => "warn",
        Style::Bad => "bad",
        Style::Faint => "faint",
    };
    let names = [
        (column.align == Align::Right, "r"),
        (column.wraps, "e"),
        (column.expendable > 0, "x"),
        (true, style),
    ]
    .into_iter()
    .filter(|(holds, name)| *holds && !name.is_empty())
    .map(|(_, n)| n)
    .join(" ");
    if !names.is_empty() {
        html.set("class", names);
    }
}

fn compact(value: f64) -> String {
    let short = format!("{value:.4e}");
    short
        .parse::<f64>()
        .map_or(short, |value| value.to_string())
}

fn tree(html: &mut Markup, titles: &[&str], branches: &[Branch]) {
    html.raw(
        "<div class=\"tree\"><p class=\"r faint\"><span>open a name to see what is below it</span>",
    );
    titles.iter().for_each(|title| _ = html.element("b", title));
    html.raw("</p>");
    level(html, branches);
    html.raw("</div>");
}

fn level(html: &mut Markup, branches: &[Branch]) {
    html.raw("<ul>");
    for branch in branches {
        html.raw("<li>");
        if branch.below.is_empty() {
            leaf(html, branch);
        } else {
            open(html, branch.is_large);
            leaf(html, branch);
            html.raw("</summary>");
            level(html, &branch.below);
            html.raw("</details>");
        }
        html.raw("</li>");
    }
    html.raw("</ul>");
}

/// The beginning of a part that can be folded, up to its summary.
pub fn open(html: &mut Markup, is_open: bool) {
    html.raw("<details")
        .raw(if is_open { " open" } else { "" })
        .raw("><summary>");
}

fn leaf(html: &mut Markup, branch: &Branch) {
    html.raw("<span class=\"r\"><span>")
        .text(&cut(&branch.name, NAME))
        .text(&branch.times)
        .raw("</span>");
    branch
        .numbers
        .iter()
        .for_each(|number| _ = html.element("b", number));
    html.raw("</span>");
}

/// Appends notes as a list; nothing if there are none.
pub fn notes(html: &mut Markup, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    html.raw("<ul class=\"notes\">");
    for note in notes {
        html.element("li", &cut(note, 2 * MOST));
    }
    html.raw("</ul>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Columns;

    #[test]
    fn numbers_for_sorting_are_short_and_exact_enough() {
        assert_eq!(
            [compact(101.23456), compact(0.3), compact(1.5e9)],
            ["101.23", "0.3", "1500000000"]
        );
    }

    #[test]
    fn a_table_has_a_caption_and_scopes_and_no_empty_column() {
        let columns = Columns::new(&[1.0])
            .left("a", |_| "x & y")
            .left("empty", |_| "")
            .right("<b>", |v| Cell::number("1.0", *v))
            .expendable(1);
        let mut html = Markup::new();
        table(&mut html, &columns.table().titled("What"), &[]);
        assert_eq!(
            html.as_str(),
            "<div class=\"box\" role=\"group\" tabindex=\"0\" aria-label=\"What\"><table class=\"plain narrows\"><caption>\
             What</caption><thead><tr><th scope=\"col\">a</th><th scope=\"col\" class=\"r x\">&lt;b&gt;</th></tr></thead>\
             <tbody><tr><th scope=\"row\">x &amp; y</th><td class=\"r x\" data-v=\"1\">1.0</td></tr></tbody></table></div>"
        );
    }

    #[test]
    fn large_branches_are_open() {
        let leaf = Branch {
            name: "leaf<".into(),
            numbers: vec!["1".into()],
            ..Branch::default()
        };
        let root = Branch {
            name: "root".into(),
            is_large: true,
            below: vec![leaf],
            ..Branch::default()
        };
        let mut html = Markup::new();
        tree(&mut html, &["total"], &[root]);
        assert!(
            html.as_str().contains(
                "<li><details open><summary><span class=\"r\"><span>root</span></span></summary><ul><li><span class=\"r\">\
                 <span>leaf&lt;</span><b>1</b></span></li></ul></details></li>"
            ),
            "{}",
            html.as_str()
        );
    }
}
