//! `syscost show`: a result file or a profile as a table.

mod args;
mod profile;

pub use args::{Secrets, ShowArgs, StackWeight, View};

use super::answers::{self, Answer};
use super::error::usage;
use super::exit::Exit;
use super::terminal;
use crate::compare::Selection;
use crate::document::Document;
use crate::model::pattern::Pattern;
use crate::model::{Role, Run};
use crate::report::{
    Format, KernelView, RunFormat, RunView, Screen, SummaryDocument, kernel_document, kernel_versus_document,
    run_document, write_answer, write_document, write_go_benchmark,
};
use crate::store::Stored;
use crate::summary::summarize;
use anyhow::{Result, anyhow};
use std::io::Write;

/// Shows one file. Errors: if the file cannot be read, an option does not apply to it, or `out` cannot be written.
pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    args.view.check()?;
    let screen = terminal::screen();
    let bytes = crate::store::bytes(&args.file)?;
    if let Some(Answer { document, .. }) = answers::read(&args.file, &bytes)? {
        return write_alone(args, &document, screen, out);
    }
    match crate::store::from_bytes(&args.file, &bytes)? {
        Stored::Run(_) if args.by.is_some() || args.weight.is_some() || args.secrets.any() => usage(Err(anyhow!(
            "--by, --weight, --no-arguments and --anonymous are for profiles, {} is a result file: omit them",
            args.file.display()
        )))?,
        Stored::Run(run) => {
            args.view.check_for_run()?;
            write_run(&only(*run, args)?, &args.view, screen, out)?;
        }
        Stored::Profile(profile) => {
            profile::check(args)?;
            profile::write(&args.secrets.hide(*profile), args, screen, out)?;
        }
        Stored::Kernel(kernel) => {
            let width = args.view.widths(screen).0;
            return write_alone(args, &kernel_document(&kernel, (KernelView::Tree, false), width), screen, out);
        }
        Stored::Versus(versus) => return write_alone(args, &kernel_versus_document(&versus, false), screen, out),
    }
    Ok(Exit::Success)
}

/// Writes what has one view. Errors: a usage error if another one is asked for, or JSON, which the file is.
fn write_alone(args: &ShowArgs, document: &Document, screen: Screen, out: &mut dyn Write) -> Result<Exit> {
    match args.view.format {
        RunFormat::Ours(format) if format != Format::Json && args.view.view.is_none() => {
            write_document(document, format, screen, out)?;
            Ok(Exit::Success)
        }
        _ => usage(Err(anyhow!("{} has one view, as text, markdown or csv", args.file.display()))),
    }
}

/// The run without the rows that were not asked for; baselines stay, since ratios need them.
fn only(mut run: Run, args: &ShowArgs) -> Result<Run> {
    let only = usage(args.only.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<Pattern>>>())?;
    let selection = Selection { only, ..Selection::default() };
    run.retain_records(|record| record.role == Role::Baseline || selection.takes(&record.case));
    if !args.only.is_empty() && !run.records.iter().any(|record| record.role == Role::Asked) {
        let patterns = args.only.join(", ");
        return usage(Err(anyhow!("--only: no row matches {patterns}; leave it out to see all")));
    }
    Ok(run)
}

/// Writes a run in the format and the views of `view`. Errors: if `out` cannot be written.
pub fn write_run(run: &Run, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let summary = summarize(run);
    let format = match view.format {
        RunFormat::Ours(format) => format,
        RunFormat::GoBenchmark => return Ok(write_go_benchmark(run, &summary, out)?),
    };
    let (width, plot_width) = view.widths(screen);
    let kinds = &view.kinds(run);
    let document = || run_document(run, &summary, &RunView { kinds, sort: view.sort, width, plot_width });
    write_answer(&SummaryDocument::new(run, &summary), document, (format, screen), out)
}
