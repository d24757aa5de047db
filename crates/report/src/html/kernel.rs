//! Kernel explanations as `explain` prints them, with flame graphs: on the page about result files
//! a section, without result files a page of their own.

use super::page::{Page, Part, Section, blocks};
use crate::explain::{
    KernelView, kernel_difference, kernel_document, kernel_flame, kernel_functions,
    kernel_versus_document,
};
use document::with_params;
use model::explained::{KernelExplanation, KernelVersus};
use model::prose::{counted, some};

pub enum Explained {
    Kernel(Box<KernelExplanation>),
    Versus(Box<KernelVersus>),
}

pub const CHANGES: &str = "Red boxes grew, blue ones shrank: pale from 2%, strong from 25% of the larger side; grey ones changed less. Each box is as wide as its larger side, so that what disappeared is still visible. Click to zoom.";

/// Smaller subtrees of the call tree are summed.
const SMALL: f64 = 0.001;

/// A page about explanations alone.
pub fn explained_page(explained: &[Explained]) -> Page {
    let mut kernels: Vec<String> = explained.iter().flat_map(sides).map(place).collect();
    kernels.dedup();
    Page {
        title: format!(
            "Instructions in the kernel: {}",
            some(explained.iter().map(name), 4)
        ),
        subtitle: some(&kernels, 6),
        sections: vec![section(explained)],
        made_from: counted(explained.len(), "kernel explanation"),
        numbers: "Numbers are instructions of an emulated processor, not times.",
        ..Page::default()
    }
}

/// The same as a section of another page.
pub fn section(explained: &[Explained]) -> Section {
    let parts = explained.iter().flat_map(|one| match one {
        Explained::Kernel(kernel) => of_kernel(kernel),
        Explained::Versus(versus) => of_versus(versus),
    });
    Section::new("kernel", "Into the kernel", parts.collect())
}

fn name(explained: &Explained) -> String {
    match explained {
        Explained::Kernel(kernel) => with_params(&kernel.operation, &kernel.params),
        Explained::Versus(versus) => with_params(&versus.operation, &versus.params),
    }
}

fn sides(explained: &Explained) -> Vec<&KernelExplanation> {
    match explained {
        Explained::Kernel(kernel) => vec![kernel],
        Explained::Versus(versus) => vec![&versus.before, &versus.after],
    }
}

/// `6.1.0-54-cloud-amd64 (linux-6.1)`
fn place(explanation: &KernelExplanation) -> String {
    format!("{} ({})", explanation.kernel, explanation.environment)
}

fn of_kernel(kernel: &KernelExplanation) -> Vec<Part> {
    let mut parts = blocks(kernel_document(kernel, KernelView::Tree, SMALL));
    let tree = parts.pop();
    parts.push(Part::Figure(kernel_flame(kernel)));
    parts.extend(tree);
    parts.push(Part::Folded(
        "Functions, those with the most instructions of their own first".into(),
        false,
        vec![Part::table(kernel_functions(kernel))],
    ));
    parts
}

fn of_versus(versus: &KernelVersus) -> Vec<Part> {
    let mut parts = blocks(kernel_versus_document(versus, true));
    parts.extend([Part::Figure(kernel_difference(versus)), Part::note(CHANGES)]);
    for (which, side) in [("before", &versus.before), ("after", &versus.after)] {
        let title = format!(
            "{which}, {}: flame graph, call tree and functions",
            place(side)
        );
        parts.push(Part::Folded(title, false, of_kernel(side)));
    }
    parts
}
