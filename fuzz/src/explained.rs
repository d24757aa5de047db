//! Kernel explanations and other answers in JSON, and everything that shows one.

use super::runs::refused;
use cli::answers::{self, Answer};
use report::html::{self, Explained};
use report::{self, Format, KernelView, Screen};
use std::path::Path;
use store::{self, Stored};

pub fn explained(bytes: &[u8]) {
    match answers::read(Path::new("fuzzed.json"), bytes) {
        Ok(Some(answer)) => return answered(&answer),
        Ok(None) => {}
        Err(error) => return refused(&format!("{error:#}")),
    }
    match store::from_bytes(Path::new("fuzzed.json"), bytes) {
        Ok(Stored::Kernel(kernel)) => shown(Explained::Kernel(kernel)),
        Ok(Stored::Versus(versus)) => shown(Explained::Versus(versus)),
        Ok(_) => {}
        Err(error) => refused(&error.to_string()),
    }
}

fn answered(answer: &Answer) {
    let screen = Screen {
        ascii: true,
        width: Some(60),
        colour: false,
        plots: true,
    };
    for format in [Format::Text, Format::Markdown, Format::Csv] {
        let _ = report::write_document(&answer.document, format, screen, &mut std::io::sink());
    }
    html::document_page(answer.title, answer.document.clone()).html();
}

pub fn shown(explained: Explained) {
    let out = &mut std::io::sink();
    let mut file = Vec::new();
    let mut write = |document| {
        let _ = report::write_document(
            &document,
            Format::Text,
            Screen {
                ascii: true,
                width: Some(60),
                colour: false,
                plots: true,
            },
            out,
        );
    };
    match &explained {
        Explained::Kernel(kernel) => {
            let views = [KernelView::Tree, KernelView::Functions];
            views
                .into_iter()
                .for_each(|view| write(report::kernel_document(kernel, view, 0.0)));
            let _ = report::write_lines(report::kernel_stacks(kernel), &mut std::io::sink());
            report::svg::document(&report::kernel_flame(kernel));
            store::write_to(kernel.as_ref(), &mut file).expect("what was read can be written");
        }
        Explained::Versus(versus) => {
            write(report::kernel_versus_document(versus, false));
            store::write_to(versus.as_ref(), &mut file).expect("what was read can be written");
        }
    }
    assert!(
        store::from_bytes(Path::new("again.json"), &file).is_ok(),
        "what was written cannot be read"
    );
    html::explained_page(&[explained]).html();
}
