//! Kernel explanations among the files of `syscost report`: sections of the page about result files, or a page of their own.

use super::args::{FigureKind, ReportArgs};
use crate::error::bail_usage;
use crate::exit::Exit;
use anyhow::Result;
use report::figure::Figure;
use report::html::{Explained, explained_page};
use report::{kernel_difference, kernel_flame};
use std::io::Write;
use std::path::PathBuf;
use store::{StoreError, Stored, begins_as_explained, read_any};

/// Returns other contents as they are.
pub fn explained_in(stored: Stored) -> Result<Explained, Stored> {
    match stored {
        Stored::Kernel(kernel) => Ok(Explained::Kernel(kernel)),
        Stored::Versus(versus) => Ok(Explained::Versus(versus)),
        other => Err(other),
    }
}

pub fn split(files: &[PathBuf]) -> Result<(Vec<Explained>, Vec<PathBuf>), StoreError> {
    let (mut explained, mut others) = (Vec::new(), Vec::new());
    for file in files {
        if begins_as_explained(file) {
            explained.extend(explained_in(read_any(file)?).ok());
        } else {
            others.push(file.clone());
        }
    }
    Ok((explained, others))
}

pub fn run(explained: &[Explained], args: &ReportArgs, out: &mut dyn Write) -> Result<Exit> {
    args.check_no_runs("a kernel explanation")?;
    args.check_output("a kernel explanation")?;
    args.of_profile.check_for_runs()?;
    args.deliver(|| explained_page(explained), || flame(explained, args), out)
}

fn flame(explained: &[Explained], args: &ReportArgs) -> Result<Figure> {
    match (args.figure, explained) {
        (Some(FigureKind::Stacks), [Explained::Kernel(kernel)]) => Ok(kernel_flame(kernel)),
        (Some(FigureKind::Stacks), [Explained::Versus(versus)]) => Ok(kernel_difference(versus)),
        (Some(FigureKind::Stacks), _) => {
            bail_usage!("--figure stacks: one drawing is of one kernel; make a page of several")
        }
        _ => bail_usage!(
            "--format svg: a kernel explanation has one figure, its flame graph: add --figure stacks"
        ),
    }
}
