//! `syscost compare`: result files side by side.

mod args;
mod gate;
mod profiles;
mod sides;

pub use args::CompareArgs;
pub use gate::{GateArgs, percent};

use super::error::{bail_usage, usage};
use super::exit::Exit;
use super::{result_files, terminal};
use analysis::compare::{
    Column, Comparison, MARGIN, Options, Selection, StudyCases, Verdict, compare, within,
};
use measure::plan::Study;
use model::pattern::Pattern;
use model::{Combination, Run};
use report::{comparison_document, findings, write_answer};

use anyhow::Result;
use std::io::Write;

/// The exit status is that of the gate.
pub fn run(args: &CompareArgs, out: &mut dyn Write) -> Result<Exit> {
    let selection = usage(selection(args))?;
    if profiles::are_meant(&args.files) {
        args.check_for_profiles()?;
        return profiles::run(args, out);
    }
    let mut comparison = compared(args, selection)?;
    check_rows(&comparison, args)?;
    if let Some(gate) = args.gate.gate() {
        comparison.gate(&gate);
    }
    if args.threshold.is_some() {
        comparison.keep_differing();
    }
    write_answer(
        &comparison,
        || comparison_document(&comparison),
        args.format,
        terminal::screen(),
        out,
    )?;
    out.flush()?;
    args.gate.conclude(&findings(&comparison))
}

/// A single file is compared within itself.
fn compared(args: &CompareArgs, selection: Selection) -> Result<Comparison> {
    let options = Options {
        baseline: 0,
        margin: args.threshold.unwrap_or(MARGIN),
        selection,
        order: args.sort,
    };
    let column = |mut run: Run| {
        if let Some(study) = &options.selection.study {
            study.apply(&mut run);
        }
        Column::new("", &run)
    };
    if let [file] = &args.files[..]
        && args.versus.is_empty()
        && args.labels.is_empty()
        && args.baseline.is_none()
    {
        let column = column(store::read(file)?);
        if column
            .derived
            .iter()
            .any(|row| row.combination == Combination::Ratio)
        {
            return Ok(within(&column, &options));
        }
    }
    let (columns, baseline) = sides::columns(
        args,
        |files| result_files::read(files, |_, run| column(run)),
        Column::group,
    )?;
    let options = Options {
        baseline,
        ..options
    };
    Ok(compare(&columns, &options))
}

fn selection(args: &CompareArgs) -> Result<Selection> {
    let mut selection = args.only.selection();
    if let Some(name) = &args.study {
        let study = Study::find(name)?;
        selection.study = Some(StudyCases {
            cases: study.named_cases(),
            patterns: study.patterns().map(Pattern::new).collect::<Result<_>>()?,
            view: study.view,
        });
    }
    Ok(selection)
}

/// Patterns that match nothing, files that have nothing in common.
fn check_rows(comparison: &Comparison, args: &CompareArgs) -> Result<()> {
    let rows = &comparison.rows;
    let has = |is: fn(&Verdict) -> bool| rows.iter().flat_map(|row| &row.verdicts).any(is);
    if has(|verdict| *verdict == Verdict::OtherUnit)
        && !has(|verdict| verdict.ratio().is_some() || matches!(verdict, Verdict::DifferentWork(_)))
    {
        bail_usage!(
            "the same cases are times in one file and instruction counts in another: measure both in the same environment"
        );
    }
    if rows
        .iter()
        .any(|row| row.cells.iter().flatten().count() > 1)
    {
        return Ok(());
    }
    if rows.is_empty() {
        args.only.check(false, "row")?;
        if args.study.is_some() {
            bail_usage!("--study: no file has a case of the study; leave it out to see all rows");
        }
    }
    bail_usage!(
        "the files have no row in common: compare runs of the same operations, parameters and environments, or use --study for published figures ('syscost show FILE' lists a file's rows)"
    )
}
