//! Kernel explanations: on the page about result files a section, without result files a page of their own. Pure.

mod tree;

use super::charts::figure;
use super::head;
use super::page::Explained;
use super::profile::{CHANGES, SMALL, plain, section, top};
use crate::model::explained::{KernelExplanation, KernelVersus};
use crate::prose::{counted, some};
use crate::report::explain::{
    COUNTS, heading, instructions, kernel_difference, kernel_flame, kernel_functions, kernel_groups, versus_functions,
    versus_groups,
};
use crate::write::html as cells;
use crate::write::markup::{Markup, cut};
use std::io::{self, Write};

/// Characters of a heading, and of a paragraph.
const HEADING: usize = 200;
const PARAGRAPH: usize = 1000;

/// Writes a page about explanations alone.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_explained_page(explained: &[Explained], out: &mut dyn Write) -> io::Result<()> {
    let mut html = Markup::new();
    let names: Vec<String> = explained.iter().map(name).collect();
    let title = format!("What the kernel executes: {}", cut(&some(&names, 4), HEADING));
    head::frame(&mut html, &title, &kernels(explained), &[head::KERNEL]);
    html.raw("<main id=\"main\">");
    write(&mut html, explained);
    html.raw("</main>");
    let files = counted(explained.len(), "kernel explanation");
    head::footer(&mut html, &files, "Numbers are instructions of an emulated processor, not times.");
    out.write_all(html.as_str().as_bytes())
}

/// The section with all of them.
pub fn write(html: &mut Markup, explained: &[Explained]) {
    if explained.is_empty() {
        return;
    }
    section(html, head::KERNEL, |html| {
        html.raw("<p class=\"rule\">One iteration each; all numbers are ").text(COUNTS).raw(".</p>");
        for (i, one) in explained.iter().enumerate() {
            match one {
                Explained::Kernel(kernel) => of_kernel(html, kernel, i),
                Explained::Versus(versus) => of_versus(html, versus, i),
            }
        }
    });
}

/// The operation with its parameters.
fn name(explained: &Explained) -> String {
    match explained {
        Explained::Kernel(kernel) => heading(&kernel.operation, &kernel.params),
        Explained::Versus(versus) => heading(&versus.operation, &versus.params),
    }
}

fn kernels(explained: &[Explained]) -> String {
    let mut all: Vec<String> = Vec::new();
    for one in explained {
        let sides = match one {
            Explained::Kernel(kernel) => vec![kernel.as_ref()],
            Explained::Versus(versus) => vec![&versus.before, &versus.after],
        };
        all.extend(sides.iter().map(|side| place(side)));
    }
    all.dedup();
    cut(&some(&all, 6), HEADING)
}

/// `6.1.0-54-cloud-amd64 (linux-6.1)`
fn place(of: &KernelExplanation) -> String {
    format!("{} ({})", of.kernel, of.environment)
}

fn of_kernel(html: &mut Markup, kernel: &KernelExplanation, number: usize) {
    let count = instructions(kernel.instructions, kernel.counted);
    title(html, &format!("{}: {count} instructions", heading(&kernel.operation, &kernel.params)), &kernel.what);
    html.raw("<p>In ").text(&cut(&place(kernel), PARAGRAPH)).raw(".</p>");
    cells::notes(html, kernel.notes.iter());
    plain(html, &kernel_groups(kernel), "What the instructions are spent on");
    parts(html, kernel, &format!("k{number}"));
}

fn of_versus(html: &mut Markup, versus: &KernelVersus, number: usize) {
    let sides = [("before", &versus.before), ("after", &versus.after)];
    let counts = sides
        .map(|(_, side)| format!("{} instructions in {}", instructions(side.instructions, side.counted), place(side)));
    title(html, &heading(&versus.operation, &versus.params), &versus.what);
    html.raw("<p class=\"lead\">").text(&cut(&counts.join("; "), PARAGRAPH)).raw(".</p>");
    for (_, side) in sides {
        let told = side.notes.iter().map(|note| format!("{}: {note}", side.environment)).collect::<Vec<_>>();
        cells::notes(html, told.iter());
    }
    plain(html, &versus_groups(versus), "What the instructions are spent on, before and after");
    changed(html, versus);
    figure(html, &kernel_difference(versus), &format!("k{number}-difference"));
    html.raw("<p class=\"rule\">").raw(CHANGES).raw("</p>");
    for (which, side) in sides {
        html.raw("<details><summary>").text(&format!("{which}, {}", cut(&place(side), HEADING)));
        html.raw(": flame graph, call tree and functions</summary>");
        parts(html, side, &format!("k{number}-{which}"));
        html.raw("</details>");
    }
}

/// Rows of functions that are seen at once.
const MOST_CHANGES: usize = 20;

/// The functions that changed most, and all of them below.
fn changed(html: &mut Markup, versus: &KernelVersus) {
    let all = versus_functions(versus, true);
    let mut few = all.clone();
    few.truncate(MOST_CHANGES);
    plain(html, &few, "Functions whose own instructions changed, the largest change first");
    let count = all.rows().len();
    if count > MOST_CHANGES {
        html.raw("<details><summary>").text(&format!("All {count} functions that changed")).raw("</summary>");
        top(html, all, "All functions whose own instructions changed", |_| false);
        html.raw("</details>");
    }
}

fn title(html: &mut Markup, heading: &str, what: &str) {
    html.raw("<h3>").text(&cut(heading, HEADING)).raw("</h3>");
    if !what.is_empty() {
        html.raw("<p>").text(&cut(what, PARAGRAPH)).raw(".</p>");
    }
}

/// The flame graph, the call tree and the functions.
fn parts(html: &mut Markup, kernel: &KernelExplanation, id: &str) {
    figure(html, &kernel_flame(kernel), &format!("{id}-flame"));
    html.raw("<p class=\"rule\">Below each function those that it calls, in the order of their first call. ");
    html.raw("Point at a box to read its name and instructions.</p>");
    tree::write(html, &kernel.tree);
    html.raw("<details><summary>Functions, by their own instructions</summary>");
    let least = SMALL * kernel.instructions as f64;
    let is_small = |i: usize| kernel.functions.get(i).is_some_and(|function| (function.own as f64) < least);
    let caption = "Functions, those with the most instructions of their own first";
    top(html, kernel_functions(kernel), caption, is_small);
    html.raw("</details>");
}
