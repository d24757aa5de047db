//! `syscost show`: a result file or a profile as a table.

mod args;
mod profile;

pub use args::{Secrets, ShowArgs, StackWeight, View};

use super::error::usage;
use super::exit::Exit;
use super::{messages, terminal};
use crate::compare::Selection;
use crate::fit::{Family, families};
use crate::model::pattern::Pattern;
use crate::model::{Role, Run};
use crate::report::{
    Format, RunFormat, Screen, SummaryDocument, ViewKind, first_run_note, left_out, pages, parameter_table, plot,
    summary_table, summary_tables, write_bars, write_cmpthese, write_counters, write_distributions, write_export,
    write_json, write_latency, write_lines, write_table,
};
use crate::store::Stored;
use crate::summary::{Summary, summarize};
use anyhow::{Result, anyhow};
use std::io::Write;

/// Shows one file.
///
/// # Errors
/// If the file cannot be read, an option does not apply to it, or `out` cannot be written.
pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    args.view.check()?;
    let screen = terminal::screen();
    match crate::store::read_any(&args.file)? {
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
        Stored::Kernel(_) | Stored::Versus(_) => usage(Err(anyhow!(
            "{} is a kernel explanation: make a page of it with 'syscost report'",
            args.file.display()
        )))?,
    }
    Ok(Exit::Success)
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

/// Writes a run in the format of `view`. If a parameter has three values or more, a table by that parameter follows; not in
/// CSV, which programs read as one table.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_run(run: &Run, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let summary = summarize(run);
    for (i, kind) in view.kinds(run).into_iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        match kind {
            ViewKind::Table => write_tables(run, &summary, view, screen, out)?,
            ViewKind::Bars => write_bars(run, screen, out)?,
            ViewKind::Distribution => write_distributions(run, out)?,
            ViewKind::Counters => write_counters(&summary, &run.host, screen, out)?,
            ViewKind::Latency => write_singles(run, &summary, view, screen, out)?,
            ViewKind::Timethese | ViewKind::Cmpthese => write_cmpthese(run, &summary, kind, out)?,
            // Not reached: `check_for_run`.
            ViewKind::Slowest | ViewKind::Paths | ViewKind::Descriptors | ViewKind::Stacks => {}
        }
    }
    let for_people = matches!(view.format, RunFormat::Ours(Format::Text | Format::Markdown));
    let of_samples = view.kinds(run).iter().any(|kind| *kind != ViewKind::Table)
        || families(run).iter().any(Family::is_worth_a_table);
    let note = first_run_note(&summary).filter(|_| for_people && of_samples);
    note.map_or(Ok(()), |note| write_lines([String::new(), note], out))
}

/// The view of single calls; as JSON the document of the run, which has them.
fn write_singles(run: &Run, summary: &Summary, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match view.format {
        RunFormat::Ours(format) if format != Format::Json => write_latency(summary, format, screen, view.no_plot, out),
        _ => write_json(&SummaryDocument::new(run, summary), out),
    }
}

fn write_tables(run: &Run, summary: &Summary, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let table = || summary_table(summary, &run.host, view.sort);
    match view.format {
        RunFormat::Export(format) => {
            left_out(summary, format).iter().for_each(|line| messages::tell(line));
            write_export(run, summary, format, out)
        }
        RunFormat::Ours(Format::Json) => write_json(&SummaryDocument::new(run, summary), out),
        RunFormat::Ours(Format::Csv) => write_table(&table(), Format::Csv, screen, out),
        RunFormat::Ours(format) => {
            let width = screen.width.filter(|_| format == Format::Text);
            for (i, part) in summary_tables(summary, &run.host, view.sort, width).iter().enumerate() {
                (i > 0).then(|| writeln!(out)).transpose()?;
                write_table(part, format, screen, out)?;
            }
            let families = families(run);
            let mut tables = families.iter().filter(|f| f.is_worth_a_table());
            tables.try_for_each(|f| write_family(f, format, view.no_plot, screen, out))
        }
    }
}

fn write_family(family: &Family, format: Format, no_plot: bool, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let width = screen.width.filter(|_| format == Format::Text);
    for page in pages(&parameter_table(family), width) {
        writeln!(out)?;
        write_table(&page, format, screen, out)?;
    }
    let lines = width.filter(|_| !no_plot).map(|width| plot(family, width)).unwrap_or_default();
    if !lines.is_empty() {
        writeln!(out)?;
    }
    write_lines(lines.iter().map(|line| line.trim_end()), out)
}
