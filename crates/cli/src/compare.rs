//! `syscost compare`: result files side by side.

mod args;
mod gate;
mod profiles;
mod sides;

pub use args::CompareArgs;
pub use gate::percent;

use super::error::{bail_usage, usage, usage_error};
use super::exit::Exit;
use super::messages::Notes;
use super::{result_files, terminal};
use analysis::compare::{
    Column, Comparison, MARGIN, Options, Selection, StudyCases, Verdict, compare, within,
};
use measure::plan::Study;
use model::Combination;
use model::pattern::Pattern;
use report::{comparison_document, findings, write_answer};

use anyhow::Result;
use std::io::Write;

pub fn run(args: &CompareArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let selection = usage(selection(args))?;
    if profiles::are_meant(&args.files) {
        args.check_for_profiles()?;
        return profiles::run(args, notes, out);
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
        (args.format, terminal::screen()),
        out,
    )?;
    out.flush()?;
    args.gate.conclude(&findings(&comparison), notes)
}

/// Files or sides beside each other; a single file within itself, if its study derives ratios.
fn compared(args: &CompareArgs, selection: Selection) -> Result<Comparison> {
    let margin = args.threshold.unwrap_or(MARGIN);
    if let ([file], [], [], None) = (
        &args.files[..],
        &args.versus[..],
        &args.labels[..],
        &args.baseline,
    ) {
        let column = result_files::column(selection.study.as_ref(), store::read(file)?);
        if column
            .derived
            .iter()
            .any(|row| row.combination == Combination::Ratio)
        {
            return Ok(within(
                &column,
                &Options {
                    baseline: 0,
                    margin,
                    selection,
                    order: args.sort,
                },
            ));
        }
    }
    let (columns, baseline) = columns(args, &selection)?;
    Ok(compare(
        &columns,
        &Options {
            baseline,
            margin,
            selection,
            order: args.sort,
        },
    ))
}

fn columns(args: &CompareArgs, selection: &Selection) -> Result<(Vec<Column>, usize)> {
    let condense = |_, run| result_files::column(selection.study.as_ref(), run);
    let baseline = args.baseline.as_deref();
    if !args.versus.is_empty() {
        let sides = [&args.files[..], &args.versus];
        let files = sides.concat();
        result_files::check_labels(&files, &[])?;
        let read = result_files::read_all(&files, condense)
            .into_iter()
            .collect::<Result<_, store::StoreError>>()?;
        return sides::together(sides, &args.labels, baseline, read, Column::group);
    }
    result_files::check(&args.files, &args.labels)?;
    let columns = result_files::read(&args.files, &args.labels, condense, |column| {
        &mut column.info
    })?;
    let labels = columns.iter().map(|column| column.info.label.as_str());
    let baseline = result_files::baseline(baseline, &args.files, labels)?;
    Ok((columns, baseline))
}

fn selection(args: &CompareArgs) -> Result<Selection> {
    let study = args.study.as_deref().map(Study::find).transpose()?;
    let patterns =
        |texts: &mut dyn Iterator<Item = &str>| texts.map(Pattern::new).collect::<Result<Vec<_>>>();
    let study = match &study {
        None => None,
        Some(study) => Some(StudyCases {
            view: study.view.clone(),
            cases: study.named_cases(),
            patterns: patterns(&mut study.patterns())?,
        }),
    };
    Ok(Selection {
        study,
        only: patterns(&mut args.only.iter().map(String::as_str))?,
    })
}

/// Nothing to show is a mistake in the question: patterns that match nothing, files that have nothing in common.
fn check_rows(comparison: &Comparison, args: &CompareArgs) -> Result<()> {
    let common = comparison
        .rows
        .iter()
        .any(|row| row.cells.iter().flatten().count() > 1);
    let verdicts = || comparison.rows.iter().flat_map(|row| &row.verdicts);
    let says = |verdict: &Verdict| {
        verdict.ratio().is_some() || matches!(verdict, Verdict::DifferentWork(_))
    };
    if verdicts().any(|verdict| *verdict == Verdict::OtherUnit) && !verdicts().any(says) {
        bail_usage!(
            "the same cases are times in one file and instruction counts in another: measure both in the same environment"
        );
    }
    let result = match (common, comparison.rows.is_empty()) {
        (true, _) => return Ok(()),
        (false, true) if !args.only.is_empty() => Err(usage_error!(
            "--only: no row matches {}; leave it out to see all",
            args.only.join(", ")
        )),
        (false, true) if args.study.is_some() => Err(usage_error!(
            "--study: no file has a case of the study; leave it out to see all rows"
        )),
        _ => Err(usage_error!(
            "the files have no row in common: compare runs of the same operations, parameters and environments, or use --study for published figures ('syscost show FILE' lists a file's rows)"
        )),
    };
    usage(result)
}
