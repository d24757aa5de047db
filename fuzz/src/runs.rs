//! Result files, and everything that shows a run.

use analysis::attribute::costs::Costs;
use analysis::compare::{Column, Options, compare};
use analysis::summary::summarize;
use model::Run;
use report::Portrait;
use report::{self, Format, RunView, Screen, Sort, ViewKind, html};
use std::path::Path;
use store::{self, Stored};

pub fn result(bytes: &[u8]) {
    match store::from_bytes(Path::new("fuzzed.json"), bytes) {
        Ok(Stored::Run(run)) => {
            written_is_read(&run);
            shown(&run);
            compared(&run);
        }
        Ok(Stored::Profile(profile)) => super::profiles::shown(&profile),
        Ok(Stored::Kernel(explained)) => {
            super::explained::shown(html::Explained::Kernel(explained))
        }
        Ok(Stored::Versus(versus)) => super::explained::shown(html::Explained::Versus(versus)),
        Err(error) => refused(&error.to_string()),
    }
}

pub fn one_line(message: &str) {
    assert!(
        !message.contains('\n'),
        "a message of several lines: {message:?}"
    );
}

/// What is said of a file that cannot be read: one short line that names it.
pub fn refused(message: &str) {
    assert!(
        !message.chars().any(char::is_control) && message.len() < 1500,
        "no short line: {message:?}"
    );
    assert!(
        message.starts_with("fuzzed.json: "),
        "the file is not named: {message:?}"
    );
}

/// What can be read can be written, and is read again.
fn written_is_read(run: &Run) {
    let mut file = Vec::new();
    if store::write_to(run, &mut file).is_ok() {
        assert!(
            store::from_bytes(Path::new("again.json"), &file).is_ok(),
            "what was written cannot be read"
        );
    }
}

fn shown(run: &Run) {
    let out = &mut std::io::sink();
    let summary = summarize(run);
    let kinds = [
        ViewKind::Table,
        ViewKind::Counters,
        ViewKind::Latency,
        ViewKind::Cmpthese,
    ];
    for (width, format) in [
        (Some(80), Format::Text),
        (None, Format::Markdown),
        (None, Format::Csv),
    ] {
        let view = RunView {
            kinds: &kinds,
            sort: Sort::Name,
            width,
            plot_width: width,
        };
        let document = report::run_document(run, &summary, &view);
        let _ = report::write_document(
            &document,
            format,
            Screen {
                ascii: true,
                width,
                colour: width.is_some(),
                plots: true,
            },
            out,
        );
    }
    let _ = report::write_json(&report::SummaryDocument::new(run, &summary), out);
    let _ = report::write_go_benchmark(run, &summary, out);
}

fn compared(run: &Run) {
    let out = &mut std::io::sink();
    let columns = vec![Column::new("a", run), Column::new("b", run)];
    let comparison = compare(&columns, &Options::default());
    let document = report::comparison_document(&comparison);
    let _ = report::write_document(
        &document,
        Format::Text,
        Screen {
            ascii: true,
            width: Some(100),
            colour: false,
            plots: true,
        },
        out,
    );
    let _ = report::write_document(&document, Format::Csv, Screen::PLAIN, out);
    let _ = report::write_json(&comparison, out);
    let files = [Portrait::new("a", run, true), Portrait::new("b", run, true)];
    html::runs_page(&html::RunsPage {
        files: &files,
        comparison: Some(&comparison),
        explained: &[],
    })
    .html();
    if let Ok(costs) = Costs::from_run(run, None) {
        let profile = super::profiles::example();
        let versus = std::slice::from_ref(&costs);
        analysis::attribute::attribute(&profile, Some(&costs), versus);
    }
}
