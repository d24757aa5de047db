//! Kernel explanations among the files of `syscost report`: sections of the page about result files, or a page of their own.

use super::args::{FigureKind, ReportArgs};
use crate::cli::error::usage;
use crate::cli::exit::Exit;
use crate::cli::messages::Notes;
use crate::report::figure::Figure;
use crate::report::html::{Explained, write_explained_page};
use crate::report::{kernel_difference, kernel_flame};
use crate::store::{StoreError, Stored, begins_as_explained, read_any};
use anyhow::{Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The explanation that a file was found to hold.
pub fn of(stored: Stored) -> Result<Explained, Stored> {
    match stored {
        Stored::Kernel(kernel) => Ok(Explained::Kernel(kernel)),
        Stored::Versus(versus) => Ok(Explained::Versus(versus)),
        other => Err(other),
    }
}

/// The files with their explanations read, and the others. Errors: the first explanation that cannot be read.
pub fn split(files: &[PathBuf]) -> Result<(Vec<Explained>, Vec<PathBuf>), StoreError> {
    let (explained, others): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(|file| begins_as_explained(file));
    let mut read = Vec::new();
    for file in explained {
        read.extend(of(read_any(file)?).ok());
    }
    Ok((read, others.into_iter().cloned().collect()))
}

/// Makes the page, or the flame graph, of explanations alone. Errors: if options do not apply, or the output cannot be
/// written.
pub fn run(explained: &[Explained], args: &ReportArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    usage(check(args))?;
    args.deliver(|html| write_explained_page(explained, html), || flame(explained, args), (notes, out))
}

fn check(args: &ReportArgs) -> Result<()> {
    if !args.labels.is_empty() || args.baseline.is_some() || !args.only.is_empty() {
        bail!("--label, --baseline and --only are for result files, this is a kernel explanation: omit them");
    }
    if args.out.as_deref() != Some(Path::new("-")) && args.files.contains(&args.destination()) {
        bail!("--out {} would replace a kernel explanation: choose another name", args.destination().display());
    }
    args.of_profile.check_for_runs()
}

fn flame(explained: &[Explained], args: &ReportArgs) -> Result<Figure> {
    match (args.figure, explained) {
        (Some(FigureKind::Stacks), [Explained::Kernel(kernel)]) => Ok(kernel_flame(kernel)),
        (Some(FigureKind::Stacks), [Explained::Versus(versus)]) => Ok(kernel_difference(versus)),
        (Some(FigureKind::Stacks), _) => bail!("--figure stacks: one drawing is of one kernel; make a page of several"),
        _ => bail!("--format svg: a kernel explanation has one figure, its flame graph: add --figure stacks"),
    }
}
