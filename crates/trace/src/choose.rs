//! Chooses a tracer: the requested one, else the first of the list that is available.

use super::tracer::{TraceOptions, Tracer, TracerKind};
use anyhow::{Result, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use nix::errno::Errno;
use nix::unistd::geteuid;
use std::io;

const KINDS: &[TracerKind] = &[super::bpf::KIND, super::ptrace::KIND];

impl ValueEnum for TracerKind {
    fn value_variants<'a>() -> &'a [TracerKind] {
        KINDS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.what))
    }
}

/// Opens the tracer, and returns it with a line for the user that names it and why others were refused.
///
/// # Errors
/// No tracer is available: the reason of each, and the next step.
pub fn choose(options: &TraceOptions) -> Result<(Box<dyn Tracer>, String)> {
    let mut refused = Vec::new();
    for kind in options
        .tracer
        .map_or_else(|| KINDS.to_vec(), |kind| vec![kind])
    {
        match (kind.open)(options) {
            Ok(tracer) => {
                let because = if refused.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", reasons(&refused))
                };
                let line = format!("tracer: {}{because}", tracer.introduction());
                return Ok((tracer, line));
            }
            Err(error) => refused.push((kind.name, error)),
        }
    }
    // Missing memory looks like a missing right: the kernel charges maps and rings to the locked-memory limit or the control group.
    let next = if refused.iter().any(|(_, error)| lacks_memory(error)) {
        "allow more memory (ulimit -v, or the control group's memory.max)"
    } else {
        missing_right(options)
    };
    bail!("no tracer is available: {}; {next}", reasons(&refused))
}

type Refused = (&'static str, anyhow::Error);

fn reasons(refused: &[Refused]) -> String {
    let reasons: Vec<String> = refused
        .iter()
        .map(|(name, error)| format!("{name}: {error:#}"))
        .collect();
    reasons.join("; ")
}

fn missing_right(options: &TraceOptions) -> &'static str {
    match options.tracer {
        _ if geteuid().is_root() => {
            "allow it, or run outside of the container or sandbox ('syscost doctor' shows what is refused)"
        }
        _ if options.for_processes_only().is_err() => "run it as root",
        Some(_) => "leave out --tracer for one that needs no rights, or run it as root",
        None => {
            "run it as root, or where ptrace is permitted ('syscost doctor' shows what is refused and why)"
        }
    }
}

fn lacks_memory(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let named = cause.downcast_ref::<Errno>().copied();
        let numbered = cause.downcast_ref::<io::Error>();
        let number = numbered.and_then(io::Error::raw_os_error);
        [named, number.map(Errno::from_raw)].contains(&Some(Errno::ENOMEM))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn rights_are_not_advised_where_memory_is_missing() {
        for (errno, expected) in [(Errno::ENOMEM, true), (Errno::EPERM, false)] {
            let named = Err::<(), _>(errno).context("BPF map 'events' cannot be mapped");
            let numbered = Err::<(), _>(io::Error::from(errno)).context("cannot open");
            for error in [named, numbered].map(Result::unwrap_err) {
                assert_eq!(lacks_memory(&error), expected, "{error:#}");
            }
        }
    }
}
