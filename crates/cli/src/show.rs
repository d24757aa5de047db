//! `syscost show`: a result file or a profile as a table, or any number of result files as rows for data engines.

mod args;
mod profile;
mod rows;

pub use args::{Only, ShowArgs, View};

use super::answers::{self, Answer};
use super::error::usage_error;
use super::exit::Exit;
use super::terminal;
use analysis::summary::summarize;
use anyhow::Result;
use document::Document;
use model::{Role, Run};
use report::{
    Format, KernelView, RunFormat, RunView, SMALL_CALLS, Screen, SummaryDocument, kernel_document,
    kernel_versus_document, run_document, write_answer, write_document, write_go_benchmark,
    write_rows,
};
use std::io::Write;
use std::path::Path;
use store::Stored;

pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    args.view.check()?;
    if let RunFormat::Rows = args.view.format {
        return rows::run(args, out);
    }
    let [file] = &args.files[..] else {
        return profile::together(args, terminal::screen(), out);
    };
    let screen = terminal::screen();
    let bytes = store::bytes(file)?;
    let alone = |document: &Document, out| write_alone(file, &args.view, document, screen, out);
    if let Some(Answer { document, .. }) = answers::read(file, &bytes)? {
        return alone(&document, out);
    }
    match store::from_bytes(file, &bytes)? {
        Stored::Run(_) if args.is_of_profile() => Err(usage_error!(
            "--by, --weight and --no-arguments are for profiles, and {} is a result file: omit them",
            file.display()
        ))?,
        Stored::Run(run) => {
            args.view.check_for_run()?;
            write_run(&only(*run, &args.only)?, &args.view, screen, out)?;
        }
        Stored::Profile(profile) => {
            profile::check(args, file)?;
            let profile = if args.no_arguments {
                profile.without_arguments()
            } else {
                *profile
            };
            profile::write(&profile, args, screen, out)?;
        }
        Stored::Kernel(kernel) => {
            return alone(
                &kernel_document(&kernel, KernelView::Tree, SMALL_CALLS),
                out,
            );
        }
        Stored::Versus(versus) => return alone(&kernel_versus_document(&versus, false), out),
    }
    Ok(Exit::Success)
}

/// Errors: another view is asked for, or JSON, which the file is.
fn write_alone(
    file: &Path,
    view: &View,
    document: &Document,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<Exit> {
    match view.format {
        RunFormat::Ours(format) if format != Format::Json && view.view.is_none() => {
            write_document(document, format, screen, out)?;
            Ok(Exit::Success)
        }
        _ => Err(usage_error!(
            "{} has one view, as text, markdown or csv",
            file.display()
        )),
    }
}

/// Baselines stay, since ratios need them.
fn only(mut run: Run, only: &Only) -> Result<Run> {
    let selection = only.selection();
    run.retain_records(|record| record.role == Role::Baseline || selection.takes(&record.case));
    let is_found = run.asked().next().is_some();
    only.check(is_found, "row")?;
    Ok(run)
}

pub fn write_run(run: &Run, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let summary = summarize(run);
    let format = match view.format {
        RunFormat::Ours(format) => format,
        RunFormat::Rows => {
            return write_rows(run, None, &run.labels.keys().cloned().collect(), out);
        }
        RunFormat::GoBenchmark => return Ok(write_go_benchmark(run, &summary, out)?),
    };
    let (width, plot_width) = view.widths(screen);
    let kinds = &view.kinds(run);
    write_answer(
        &SummaryDocument::new(run, &summary),
        || {
            run_document(
                run,
                &summary,
                &RunView {
                    kinds,
                    sort: view.sort,
                    width,
                    plot_width,
                },
            )
        },
        format,
        screen,
        out,
    )
}
