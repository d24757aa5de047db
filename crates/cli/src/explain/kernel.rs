//! `syscost explain OPERATION --env linux-6.1`: into the kernel, and against another one.

use crate::error::bail_usage;
use explain::kernel::{Recorder, versus};
use measure::guest;
use measure::runner::Environment;
use measure::session::Session;
use model::explained::KernelExplanation;
use model::{Planned, Unit};
use report::{
    Format, KernelView, SMALL_CALLS, Screen, kernel_document, kernel_flame, kernel_stacks,
    kernel_versus_document, svg, write_document, write_lines,
};

use anyhow::{Context, Result};
use std::io::Write;

/// What the flags ask of kernels.
#[derive(Clone, Debug, clap::Args)]
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

impl KernelArgs {
    pub fn any(&self) -> bool {
        self.versus.is_some() || self.all
    }
}

pub fn run(
    (environment, kernels): (&str, &KernelArgs),
    session: &Session,
    (planned, what): (&Planned, &str),
    (format, screen): (Format, Screen),
    out: &mut dyn Write,
) -> Result<()> {
    check((kernels, format), environment)?;
    let explained =
        |environment: &str| explained(session, (&planned.in_environment(environment), what));
    let explanation = explained(environment)?;
    let Some(second) = &kernels.versus else {
        return write(&explanation, kernels, (format, screen), out);
    };
    let compared = versus(explanation, explained(second)?);
    match format {
        Format::Json => Ok(store::write_to(&compared, out)?),
        format => write_document(
            &kernel_versus_document(&compared, kernels.all),
            format,
            screen,
            out,
        ),
    }
}

fn write(
    explanation: &KernelExplanation,
    kernels: &KernelArgs,
    (format, screen): (Format, Screen),
    out: &mut dyn Write,
) -> Result<()> {
    match (format, kernels.view) {
        (Format::Json, _) => Ok(store::write_to(explanation, out)?),
        (Format::Text | Format::Markdown, KernelView::Stacks) => {
            write_lines(kernel_stacks(explanation), out)
        }
        (Format::Text | Format::Markdown, KernelView::Flame) => Ok(write!(
            out,
            "{}",
            svg::document(&kernel_flame(explanation)).as_str()
        )?),
        (format, view) => {
            let least = if kernels.all { 0.0 } else { SMALL_CALLS };
            write_document(
                &kernel_document(explanation, view, least),
                format,
                screen,
                out,
            )
        }
    }
}

fn check((kernels, format): (&KernelArgs, Format), first: &str) -> Result<()> {
    let names = || std::iter::once(first).chain(kernels.versus.as_deref());
    for name in names() {
        if !Environment::find(name)?.is_guest {
            bail_usage!("--env {name}: not an emulated kernel; name one, such as linux-6.1");
        }
    }
    if kernels.versus.is_some() && kernels.view != KernelView::Tree {
        bail_usage!("--view is for one kernel; leave out --versus or --view");
    }
    if kernels.view == KernelView::Flame && format != Format::Text {
        bail_usage!("--view flame is a drawing; leave out --format");
    }
    // Before anything is compiled for them.
    names().try_for_each(|name| {
        guest::kernel(&Environment::find(name)?)
            .map(drop)
            .with_context(|| format!("--env {name}"))
    })
}

pub fn is_emulated(name: &str) -> bool {
    Environment::find(name).is_ok_and(|found| found.is_guest && found.unit == Unit::Instructions)
}

fn explained(session: &Session, (planned, what): (&Planned, &str)) -> Result<KernelExplanation> {
    let case = &planned.case;
    let snippet = case.language.is_some().then_some(case);
    let booted = Recorder::boot(session.workers(), &case.environment, snippet);
    let explained = booted.and_then(|mut guest| guest.explain(planned, what));
    explained.with_context(|| format!("{case} in {}", case.environment))
}
