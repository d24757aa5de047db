//! The frame of the page: policy, stylesheet, title, navigation, and the script at its end.

use super::page::Page;
use crate::prose::{counted, some};
use crate::report::conditions;
use crate::report::run::columns;
use crate::report::{figure::palette, svg};
use crate::write::markup::{Markup, cut};
use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use sha2::{Digest, Sha256};

/// ID and name of the section with kernel explanations.
pub const KERNEL: (&str, &str) = ("kernel", "Into the kernel");

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Rules and a script that only one kind of page has.
#[derive(Clone, Copy, Default)]
pub struct Own {
    pub style: &'static str,
    pub script: &'static str,
}

/// From the first byte to the end of the header.
pub fn open(html: &mut Markup, page: &Page) {
    frame(html, &title(page), &subtitle(page), &sections(page));
}

/// The same for any page: its title, what stands below, and its sections by ID and name.
pub fn frame(html: &mut Markup, title: &str, subtitle: &str, sections: &[(&'static str, &'static str)]) {
    frame_with(html, title, subtitle, sections, Own::default());
}

/// The same for a page with rules and a script of its own.
pub fn frame_with(html: &mut Markup, title: &str, subtitle: &str, sections: &[(&'static str, &'static str)], own: Own) {
    let style = stylesheet() + own.style;
    html.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.raw("<meta http-equiv=\"Content-Security-Policy\"").attribute("content", &policy(&style, own.script)).raw(">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\"><meta name=\"generator\"");
    html.attribute("content", &format!("syscost {}", env!("CARGO_PKG_VERSION"))).raw(">");
    html.raw("<link rel=\"icon\" href=\"data:,\">").element("title", title).raw("<style>");
    // Made of this program's own text, which `a_stylesheet_may_stand_in_the_page` holds to be free of markup.
    html.unescaped_style(&style).raw("</style></head><body>");
    html.raw("<a class=\"skip\" href=\"#main\">Skip to the content</a><header><div><h1>").text(title);
    html.raw("</h1><p class=\"sub\">").text(subtitle).raw("</p></div>");
    html.raw("<button id=\"theme\" type=\"button\" hidden>Colours: as the system</button></header>");
    html.raw("<nav aria-label=\"Sections\">");
    for (id, name) in sections {
        html.raw("<a").attribute("href", &format!("#{id}")).raw(">").text(name).raw("</a>");
    }
    html.raw("</nav>");
}

fn sections(page: &Page) -> Vec<(&'static str, &'static str)> {
    let all = [
        (true, ("answer", "Answer")),
        (page.comparison.is_some(), ("compared", "Side by side")),
        (true, ("operations", "Operations")),
        (true, ("charts", "Charts")),
        (super::latency::is_known(page), ("latency", "Single calls")),
        (super::charts::has_parameters(page), ("parameters", "Parameters")),
        (!page.explained.is_empty(), KERNEL),
        (true, ("host", "Machine")),
    ];
    all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, section)| section).collect()
}

/// The study's title, or what there is to say without one.
fn title(page: &Page) -> String {
    let study = page.main().and_then(|main| main.detail.as_ref()?.summary.study.as_ref());
    match (study.filter(|study| !study.title.is_empty()), page.files.len()) {
        (Some(study), _) => cut(&study.title, 200),
        (None, 1) => format!("What system calls cost{}", places(page)),
        (None, count) => format!("What system calls cost: {count} runs side by side"),
    }
}

/// ` in native, seccomp` if the run has several environments.
fn places(page: &Page) -> String {
    let detail = page.main().and_then(|main| main.detail.as_ref());
    let names: Vec<&str> = detail.iter().flat_map(|detail| columns::environments(&detail.summary)).collect();
    if names.len() > 1 { format!(" in {}", cut(&some(&names, 4), 200)) } else { String::new() }
}

fn subtitle(page: &Page) -> String {
    let labels: Vec<&str> = page.files.iter().map(|file| file.label()).collect();
    match (page.comparison, page.main()) {
        (None, Some(main)) => {
            let info = &main.column.info;
            let runs = (info.runs > 1).then(|| counted(info.runs, "run"));
            let is_counted = main.detail.as_ref().is_some_and(|detail| detail.summary.is_counted());
            let machine = super::host::one_line(info, is_counted);
            let parts = [conditions::labels(&info.labels), runs, Some(machine)];
            cut(&parts.into_iter().flatten().collect::<Vec<_>>().join("; "), 400)
        }
        _ => some(&labels, 6),
    }
}

/// The page's rules, those of figures, and the colours of both themes; on paper it is always light.
fn stylesheet() -> String {
    let (light, dark) = (palette::variables(false), palette::variables(true));
    format!(
        ":root{{color-scheme:light;{light}}}@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light])\
         {{color-scheme:dark;{dark}}}}}@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n{}{STYLE}",
        svg::STYLESHEET
    )
}

/// Nothing is loaded, and only this style and this script take effect.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text.as_bytes())));
    let scripts: Vec<String> = [SCRIPT, script].into_iter().filter(|text| !text.is_empty()).map(hash).collect();
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(style),
        scripts.join(" ")
    )
}

/// From the footer to the last byte.
pub fn close(html: &mut Markup, page: &Page) {
    let files = counted(page.files.len(), "result file");
    footer(
        html,
        &files,
        "Costs are medians over batches at the run's usual speed, with where the next run's will be 95 times in 100; ratios \
         have intervals of 95% confidence.",
    );
}

/// The same for any page: what it was made from, and what its numbers are.
pub fn footer(html: &mut Markup, made_from: &str, numbers: &str) {
    footer_with(html, made_from, numbers, Own::default());
}

/// The same for a page with a script of its own.
pub fn footer_with(html: &mut Markup, made_from: &str, numbers: &str, own: Own) {
    let text = format!("Made by syscost {} from {made_from}. {numbers}", env!("CARGO_PKG_VERSION"));
    html.raw("<footer><p>").text(&text);
    html.raw(" This page loads nothing and sends nothing.</p></footer><script>").raw(SCRIPT);
    if !own.script.is_empty() {
        html.raw("</script><script>").raw(own.script);
    }
    html.raw("</script></body></html>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stylesheet_may_stand_in_the_page() {
        assert!(!stylesheet().contains(['<', '&']) && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    }
}
