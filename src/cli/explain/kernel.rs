//! `syscost explain OPERATION --env linux-6.1`: into the kernel, and against another one.

use super::{ExplainArgs, choices};
use crate::cli::error::usage;
use crate::explain::kernel::{KernelExplanation, KernelVersus, Recorder, Wanted, versus};
use crate::model::{Operation, Planned};
use crate::plan::{self, Subject};
use crate::report::{Document, Format, KernelView, Screen, write_json, write_kernel, write_kernel_versus};
use crate::runner::Environment;
use crate::session::Session;
use anyhow::{Context, Result, bail};
use std::io::Write;

/// Explains `operation` in the guest `environment`, or compares two guests.
///
/// # Errors
/// Why there is no such guest, the operation's failure in it, or that `out` cannot be written.
pub fn run(
    args: &ExplainArgs,
    environment: &str,
    session: &Session,
    catalogue: &[Operation],
    operation: &Operation,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    let first = named(environment, args.append.as_deref());
    let second = other(args, environment);
    usage(check(args, &first, second.as_deref()))?;
    let planned = usage(plan::select(catalogue, &[Subject::Operation(operation)], &choices(args)))?;
    let explained = |environment: &str| explained(session, operation, &planned[0], environment);
    let explanation = explained(&first)?;
    let Some(second) = second else {
        return match args.format {
            Format::Json => write_json(&explanation, out),
            format => write_kernel(&explanation, (args.view, args.all), (format, screen), out),
        };
    };
    let compared = versus(&explanation, &explained(&second)?);
    match args.format {
        Format::Json => write_json(&compared, out),
        format => write_kernel_versus(&compared, args.all, (format, screen), out),
    }
}

/// An environment's name holds its boot parameters.
fn named(environment: &str, append: Option<&str>) -> String {
    format!("{environment} {}", append.unwrap_or_default()).trim().to_string()
}

/// What to compare with.
fn other(args: &ExplainArgs, environment: &str) -> Option<String> {
    if args.versus.is_none() && args.versus_append.is_none() {
        return None;
    }
    let base = args.versus.as_deref().unwrap_or(environment);
    Some(named(&named(base, args.append.as_deref()), args.versus_append.as_deref()))
}

fn check(args: &ExplainArgs, first: &str, second: Option<&str>) -> Result<()> {
    for name in std::iter::once(first).chain(second) {
        if !Environment::find(name)?.is_guest {
            bail!(
                "--env {name}: not a kernel to look into; name an emulated one, such as linux-6.1. \
                 'syscost kernel fetch $(uname -r)' gets that of this machine"
            );
        }
    }
    if second.is_some() && args.view != KernelView::Tree {
        bail!("--view is for one kernel; leave out --versus or --view");
    }
    if args.view == KernelView::Flame && args.format != Format::Text {
        bail!("--view flame is a drawing; leave out --format");
    }
    Ok(())
}

fn explained(
    session: &Session,
    operation: &Operation,
    planned: &Planned,
    environment: &str,
) -> Result<KernelExplanation> {
    let wanted = Wanted { planned, what: &operation.what, limit: operation.limit };
    let explained = Recorder::boot(session.workers(), environment).and_then(|mut guest| guest.explain(&wanted));
    explained.with_context(|| format!("{} in {environment}", operation.id))
}

impl Document for KernelExplanation {
    const SCHEMA: &'static str = "syscost.explain-kernel/1";
}

impl Document for KernelVersus {
    const SCHEMA: &'static str = "syscost.explain-kernel-versus/1";
}
