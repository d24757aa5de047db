//! Documents as HTML. Tables have captions, scopes, and values for sorting; what is too wide scrolls in a box of its own.

use super::controls;
use crate::document::{Align, Block, Cell, Column, Document, Style, Table};
use crate::write::markup::{Markup, cut};
use indexmap::IndexSet;

/// Characters of a cell; more are cut off, and whole in no place but the file.
const MOST: usize = 600;

/// Opens the box that a table may be wider than, and the table with its caption.
pub fn open(html: &mut Markup, caption: &str, class: &'static str) {
    html.raw("<div class=\"box\" role=\"region\" tabindex=\"0\"").attribute("aria-label", caption).raw("><table");
    html.attribute("class", class).raw("><caption>").text(caption).raw("</caption>");
}

pub fn close(html: &mut Markup) {
    html.raw("</tbody></table></div>");
}

/// The head: each title in a cell that the script makes a button of.
pub fn head<'a>(html: &mut Markup, columns: impl Iterator<Item = (&'a str, Align)>) {
    html.raw("<thead><tr>");
    for (title, align) in columns {
        html.raw("<th scope=\"col\"").raw(if align == Align::Right { " class=\"r\">" } else { ">" });
        html.text(title).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
}

/// A cell of the body as its column wants it.
pub fn cell(html: &mut Markup, cell: &Cell, column: &Column) {
    html.raw("<td");
    classes(html, cell.style, column);
    if let Some(value) = cell.value.filter(|value| value.is_finite()) {
        html.attribute("data-v", &compact(value));
    }
    // What is divided by a cost of 0 is no number.
    let text = if cell.value.is_some_and(|value| !value.is_finite()) { "?" } else { &cell.text };
    html.raw(">");
    if column.align == Align::Left {
        breakable(html, &cut(text, MOST))
    } else {
        _ = html.text(&cut(text, MOST))
    }
    html.raw("</td>");
}

/// Characters of a row's name.
const NAME: usize = 160;

/// The cell that names its row.
pub fn name(html: &mut Markup, name: &str) {
    html.raw("<th scope=\"row\">");
    breakable(html, &cut(name, NAME));
    html.raw("</th>");
}

/// Characters after which a word may be broken where it has no better place.
const WORD: usize = 16;

/// Text that may be broken behind the signs that join the words of a name, and within a word only if it is long. Numbers
/// stay whole.
fn breakable(html: &mut Markup, text: &str) {
    let (mut word, mut last) = (0, ' ');
    let ends = |c: char| {
        word = if c == ' ' { 0 } else { word + 1 };
        let ends = word == WORD || (word > 1 && last.is_alphabetic() && !c.is_alphanumeric());
        (word, last) = (if ends { 0 } else { word }, c);
        ends
    };
    for (i, part) in text.split_inclusive(ends).enumerate() {
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
    let parts: Vec<&str> =
        [if column.align == Align::Right { "r" } else { "" }, if column.wraps { "e" } else { "" }, style]
            .into_iter()
            .filter(|p| !p.is_empty())
            .collect();
    if !parts.is_empty() {
        html.attribute("class", &parts.join(" "));
    }
}

/// A number for sorting, in few digits.
pub fn compact(value: f64) -> String {
    let short = format!("{value:.4e}");
    short.parse::<f64>().map_or(short, |value| value.to_string())
}

/// The cells of a row, of which the first names it.
pub fn row(html: &mut Markup, cells: &[Cell], columns: &[Column]) {
    for (i, (content, column)) in cells.iter().zip(columns).enumerate() {
        if i == 0 { name(html, &content.text) } else { cell(html, content, column) }
    }
}

/// A whole table without anything to sort.
pub fn plain(html: &mut Markup, table: &Table, caption: &str) {
    folding(html, table, caption, |_| false);
}

/// The attribute of rows that the script folds into one line.
pub const SMALL: &str = " data-s";

/// The same with rows, by index, that are too small to be seen at once.
pub fn folding(html: &mut Markup, table: &Table, caption: &str, is_small: impl Fn(usize) -> bool) {
    open(html, caption, "plain");
    head(html, table.columns().iter().map(|column| (column.title.as_str(), column.align)));
    for (i, cells) in table.rows().iter().enumerate() {
        html.raw("<tr").raw(if is_small(i) { SMALL } else { "" }).raw(">");
        row(html, cells, table.columns());
        html.raw("</tr>");
    }
    close(html);
}

/// A whole document, as part of a page.
pub fn document(html: &mut Markup, document: &Document) {
    document.blocks.iter().for_each(|one| block(html, one));
}

/// A part of a document.
pub fn block(html: &mut Markup, block: &Block) {
    match block {
        Block::Message(lines) | Block::Notes(lines) => notes(html, lines.iter()),
        Block::Cautions(lines) if lines.is_empty() => {}
        Block::Cautions(lines) => {
            html.raw("<h3>Cautions</h3>");
            notes(html, lines.iter());
        }
        Block::Table(table) | Block::Pages(table) => any(html, table, (&[], |_, _| ())),
        Block::Heading { title, what } => {
            html.element("h3", title);
            html.element("p", what);
        }
        Block::Facts(facts) => notes(html, facts.iter().map(|(label, text)| format!("{label}: {text}"))),
        Block::Code { title, lines, .. } => {
            html.element("h4", title);
            html.element("pre", &lines.join("\n"));
        }
    }
}

/// A table whose rows can be sorted and filtered, or one of a few rows. A sortable one has further columns with these titles,
/// whose cells are written by the name of their row.
pub fn any(html: &mut Markup, table: &Table, (titles, further): (&[&str], impl Fn(&mut Markup, &str))) {
    let Some(filter) = &table.filter else { return plain(html, table, &table.title) };
    html.raw("<div class=\"sortable\">");
    let areas: IndexSet<&str> = filter.rows.iter().map(|(area, _)| area.as_str()).filter(|a| !a.is_empty()).collect();
    controls::write(html, areas.into_iter(), filter.kinds);
    open(html, &table.title, "side");
    let own = table.columns().iter().map(|column| (column.title.as_str(), column.align));
    head(html, own.chain(titles.iter().map(|title| (*title, Align::Left))));
    for ((area, kinds), cells) in filter.rows.iter().zip(table.rows()) {
        html.raw("<tr").attribute("data-k", &kinds.join(" ")).attribute("data-a", &cut(area, 40)).raw(">");
        row(html, cells, table.columns());
        further(html, cells.first().map_or("", |name| &name.text));
        html.raw("</tr>");
    }
    close(html);
    html.raw("</div>");
}

/// Lines below a table.
pub fn notes(html: &mut Markup, notes: impl Iterator<Item = impl AsRef<str>>) {
    let mut notes = notes.peekable();
    if notes.peek().is_none() {
        return;
    }
    html.raw("<ul class=\"notes\">");
    for note in notes {
        html.element("li", &cut(note.as_ref(), 2 * MOST));
    }
    html.raw("</ul>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Spec;

    #[test]
    fn numbers_for_sorting_are_short_and_exact_enough() {
        assert_eq!([compact(101.23456), compact(0.3), compact(1.5e9)], ["101.23", "0.3", "1500000000"]);
    }

    #[test]
    fn a_table_has_a_caption_and_scopes() {
        let specs = [Spec::left("a", |_| "x & y".into()), Spec::right("<b>", |v: &f64| Cell::number("1.0", *v))];
        let mut html = Markup::new();
        plain(&mut html, &Table::of(&specs, &[1.0]), "What");
        assert_eq!(
            html.as_str(),
            "<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"What\"><table class=\"plain\"><caption>What\
             </caption><thead><tr><th scope=\"col\">a</th><th scope=\"col\" class=\"r\">&lt;b&gt;</th></tr></thead><tbody>\
             <tr><th scope=\"row\">x &amp; y</th><td class=\"r\" data-v=\"1\">1.0</td></tr></tbody></table></div>"
        );
    }
}
