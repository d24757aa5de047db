//! `syscost explain OPERATION --env linux-6.1`: into the kernel, and against another one.

use super::ExplainArgs;
use crate::error::bail_usage;
use crate::terminal::screen;
use explain::kernel::{Recorder, versus};
use measure::guest;
use measure::runner::Environment;
use measure::session::Session;
use model::explained::KernelExplanation;
use model::{Planned, Unit};
use report::{
    Format, KernelView, SMALL_CALLS, kernel_document, kernel_flame, kernel_stacks,
    kernel_versus_document, svg, write_document, write_lines,
};

use anyhow::{Context, Result};
use std::io::Write;

/// The options about kernels.
#[derive(clap::Args)]
pub struct KernelArgs {
    /// Compare with another kernel, or the same with boot parameters ('linux-6.1 audit=1'), function by function.
    #[arg(long, value_name = "NAME", requires = "place")]
    pub versus: Option<String>,
    /// Which part to write, with --env.
    #[arg(long, value_enum, default_value_t, requires = "place")]
    pub view: KernelView,
    /// List everything, however small, with --env.
    #[arg(long, requires = "place")]
    pub all: bool,
}

/// Explains one operation in one emulated kernel, or in two if `--versus` is given.
pub fn run(
    args: &ExplainArgs,
    environment: &str,
    session: &Session,
    planned: &Planned,
    what: &str,
    out: &mut dyn Write,
) -> Result<()> {
    check(args, environment)?;
    let explained =
        |environment: &str| explained(session, &planned.in_environment(environment), what);
    let explanation = explained(environment)?;
    let Some(second) = &args.kernels.versus else {
        return write(&explanation, args, out);
    };
    let compared = versus(explanation, explained(second)?);
    if args.format == Format::Json {
        return Ok(store::write_to(&compared, out)?);
    }
    let document = kernel_versus_document(&compared, args.kernels.all);
    write_document(&document, args.format, screen(), out)
}

fn write(explanation: &KernelExplanation, args: &ExplainArgs, out: &mut dyn Write) -> Result<()> {
    match (args.format, args.kernels.view) {
        (Format::Json, _) => Ok(store::write_to(explanation, out)?),
        (Format::Text | Format::Markdown, KernelView::Stacks) => {
            write_lines(kernel_stacks(explanation), out)
        }
        (Format::Text | Format::Markdown, KernelView::Flame) => {
            let drawing = svg::document(&kernel_flame(explanation));
            Ok(out.write_all(drawing.as_str().as_bytes())?)
        }
        (format, view) => {
            let least = if args.kernels.all { 0.0 } else { SMALL_CALLS };
            let document = kernel_document(explanation, view, least);
            write_document(&document, format, screen(), out)
        }
    }
}

fn check(
    ExplainArgs {
        kernels, format, ..
    }: &ExplainArgs,
    first: &str,
) -> Result<()> {
    let names = || std::iter::once(first).chain(kernels.versus.as_deref());
    for name in names() {
        if !Environment::find(name)?.is_guest {
            bail_usage!("--env {name}: not an emulated kernel; name one, such as linux-6.1");
        }
    }
    if kernels.versus.is_some() && kernels.view != KernelView::Tree {
        bail_usage!("--view is for one kernel; leave out --versus or --view");
    }
    if kernels.view == KernelView::Flame && *format != Format::Text {
        bail_usage!("--view flame is a drawing; leave out --format");
    }
    names().try_for_each(check_image)
}

/// There may be no image of the kernel, which would be found out only when everything is compiled for it.
pub fn check_image(name: &str) -> Result<()> {
    guest::kernel(&Environment::find(name)?)
        .map(drop)
        .with_context(|| format!("--env {name}"))
}

/// Whether the environment counts instructions in an emulated machine.
pub fn is_emulated(name: &str) -> bool {
    Environment::find(name)
        .is_ok_and(|environment| environment.is_guest && environment.unit == Unit::Instructions)
}

fn explained(session: &Session, planned: &Planned, what: &str) -> Result<KernelExplanation> {
    let case = &planned.case;
    let snippet = case.language.is_some().then_some(case);
    let booted = Recorder::boot(&session.workers, &case.environment, snippet);
    booted
        .and_then(|mut guest| guest.explain(planned, what))
        .with_context(|| format!("{case} in {}", case.environment))
}
