//! A page, whatever its subject: sections of what documents consist of, and figures. Here it becomes HTML that loads nothing
//! and is readable without its script, which only sorts, filters, zooms and changes the colours. Names come from untrusted files:
//! `Markup` escapes them, and a policy in the page forbids all scripts and styles but its own.

use crate::figure::{Figure, palette};
use crate::svg;
use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use document::write::html::{self, Drawings};
use document::write::markup::{Markup, cut};
use document::{Block, Document, Table};
use model::prose::more;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

const TITLE: usize = 400;
const PARAGRAPH: usize = 4000;
const MOST_WARNINGS: usize = 6;

#[derive(Default)]
pub struct Page {
    pub title: String,
    pub subtitle: String,
    pub warnings: Vec<String>,
    pub sections: Vec<Section>,
    pub made_from: String,
    pub numbers: &'static str,
    /// The style sheet of this kind of page, beside the one that all pages share.
    pub style: &'static str,
    pub script: &'static str,
    /// JSON, which that script reads.
    pub data: String,
}

pub struct Section {
    pub id: &'static str,
    pub name: &'static str,
    pub heading: String,
    pub parts: Vec<Part>,
}

pub enum Part {
    Lead(String),
    Block(Block),
    /// A table with drawings behind its columns.
    Drawn(Table, Vec<Drawings>),
    Figure(Figure),
    /// Whether it is open at first.
    Folded(String, bool, Vec<Part>),
    /// Markup that documents cannot contain: the heat map of an atlas, and legends.
    Markup(Markup),
}

impl Part {
    /// A heading within a section.
    pub fn heading(title: impl Into<String>) -> Part {
        Part::Block(Block::Heading {
            title: title.into(),
            what: String::new(),
        })
    }

    pub fn table(table: Table) -> Part {
        Part::Block(Block::Table(table))
    }

    /// A single note, in the style of those below tables.
    pub fn note(text: impl Into<String>) -> Part {
        Part::Block(Block::Notes(vec![text.into()]))
    }
}

/// Those of a document.
pub fn blocks(document: Document) -> Vec<Part> {
    document.blocks.into_iter().map(Part::Block).collect()
}

impl Section {
    /// A section whose heading is its name in the navigation.
    pub fn new(id: &'static str, name: &'static str, parts: Vec<Part>) -> Section {
        Section {
            id,
            name,
            heading: name.to_string(),
            parts,
        }
    }

    /// Gives a section another heading than its name in the navigation.
    pub fn headed(self, heading: impl Into<String>) -> Section {
        Section {
            heading: heading.into(),
            ..self
        }
    }
}

impl Page {
    /// Sections without parts are left out.
    pub fn html(&self) -> Vec<u8> {
        let mut html = Markup::new();
        let sections: Vec<&Section> = self
            .sections
            .iter()
            .filter(|section| !section.parts.is_empty())
            .collect();
        self.head(&mut html, &sections);
        html.raw("<main id=\"main\">");
        warnings(&mut html, &self.warnings);
        for Section {
            id, heading, parts, ..
        } in sections
        {
            html.raw("<section")
                .set("id", id)
                .set("aria-labelledby", format!("{id}-h"));
            html.raw("><h2")
                .set("id", format!("{id}-h"))
                .raw(">")
                .text(&cut(heading, PARAGRAPH))
                .raw("</h2>");
            parts.iter().for_each(|one| part(&mut html, one));
            html.raw("</section>");
        }
        html.raw("</main>");
        self.foot(&mut html);
        html.as_str().as_bytes().to_vec()
    }

    fn head(&self, html: &mut Markup, sections: &[&Section]) {
        let style = stylesheet() + self.style;
        let title = cut(&self.title, TITLE);
        html.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        let policy = policy(&style, self.script);
        html.raw("<meta http-equiv=\"Content-Security-Policy\"")
            .set("content", &policy)
            .raw(">");
        html.raw("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
        html.raw("<meta name=\"color-scheme\" content=\"light dark\"><meta name=\"generator\"");
        html.set("content", format!("syscost {}", env!("CARGO_PKG_VERSION")))
            .raw(">");
        html.raw("<link rel=\"icon\" href=\"data:,\">")
            .element("title", &title)
            .raw("<style>");
        // Made of this program's own text, which `stylesheets_and_scripts_may_stand_in_the_page` holds to be free of markup.
        html.unescaped_style(&style).raw("</style></head><body>");
        html.raw("<a class=\"skip\" href=\"#main\">Skip to the content</a><header><div><h1>")
            .text(&title);
        html.raw("</h1><p class=\"sub\">")
            .text(&cut(&self.subtitle, TITLE))
            .raw("</p></div>");
        html.raw(
            "<button id=\"theme\" type=\"button\" hidden>Colours: as the system</button></header>",
        );
        html.raw("<nav aria-label=\"Sections\">");
        for section in sections {
            html.raw("<a")
                .set("href", format!("#{}", section.id))
                .raw(">")
                .text(section.name)
                .raw("</a>");
        }
        html.raw("</nav>");
    }

    fn foot(&self, html: &mut Markup) {
        if !self.data.is_empty() {
            html.raw("<script type=\"application/json\" id=\"data\">")
                .json(&self.data)
                .raw("</script>");
        }
        let text = format!(
            "Made by syscost {} from {}. {}",
            env!("CARGO_PKG_VERSION"),
            self.made_from,
            self.numbers
        );
        html.raw("<footer><p>").text(&text);
        html.raw(" This page loads nothing and sends nothing.</p></footer><script>")
            .raw(SCRIPT)
            .raw(self.script);
        html.raw("</script></body></html>\n");
    }
}

fn warnings(html: &mut Markup, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    html.raw("<aside aria-label=\"Warnings\"><b class=\"warn\">Before you read the results</b>");
    let (first, others) = lines.split_at(lines.len().min(MOST_WARNINGS));
    html::notes(html, first);
    if let Some(summary) = more(others.len(), "more warnings") {
        let notes = vec![Part::Block(Block::Notes(others.to_vec()))];
        part(html, &Part::Folded(summary, false, notes));
    }
    html.raw("</aside>");
}

fn part(html: &mut Markup, part_of: &Part) {
    match part_of {
        Part::Lead(text) => {
            _ = html
                .raw("<p class=\"lead\">")
                .text(&cut(text, PARAGRAPH))
                .raw("</p>")
        }
        Part::Block(block) => html::block(html, block),
        Part::Drawn(table, drawn) => html::table(html, table, drawn),
        Part::Figure(figure) => {
            html.raw("<figure><figcaption>").text(&figure.title);
            html.raw("</figcaption>").add(&svg::inline(figure));
            html.raw("</figure>");
        }
        Part::Folded(summary, open, parts) => {
            html::open(html, *open);
            html.text(&cut(summary, TITLE)).raw("</summary>");
            parts.iter().for_each(|one| part(html, one));
            html.raw("</details>");
        }
        Part::Markup(markup) => _ = html.add(markup),
    }
}

/// On paper it is always light.
fn stylesheet() -> String {
    let (light, dark) = (palette::variables(false), palette::variables(true));
    format!(
        ":root{{color-scheme:light;{light}}}@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light])\
         {{color-scheme:dark;{dark}}}}}@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n{}{STYLE}",
        svg::STYLESHEET
    )
}

/// Nothing is loaded, and only this style and these scripts take effect.
fn policy(style: &str, script: &str) -> String {
    fn hash(text: &str) -> String {
        format!(
            "'sha256-{}'",
            BASE64.encode(Sha256::digest(text.as_bytes()))
        )
    }

    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(style),
        hash(&[SCRIPT, script].concat())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::atlas;

    #[test]
    fn stylesheets_and_scripts_may_stand_in_the_page() {
        let styles = [stylesheet(), atlas::STYLE.to_string()];
        assert!(styles.iter().all(|style| !style.contains(['<', '&'])));
        for script in [SCRIPT, atlas::SCRIPT] {
            assert!(!script.contains("</") && !script.contains("<!--"));
        }
    }
}
