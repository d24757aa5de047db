//! Chooses a tracer: the requested one, else the first of the list that is available.

use super::tracer::{More, TraceOptions, Tracer, TracerKind};
use anyhow::{Result, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use nix::unistd::geteuid;

const KINDS: &[TracerKind] = &[super::bpf::KIND, super::ptrace::KIND];

impl ValueEnum for TracerKind {
    fn value_variants<'a>() -> &'a [TracerKind] {
        KINDS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.what))
    }
}

pub fn choose(options: &TraceOptions) -> Result<(Box<dyn Tracer>, String)> {
    if options.more.paths_if_possible {
        let more = More {
            paths: true,
            ..options.more
        };
        if let Ok(found) = first(&TraceOptions {
            more,
            ..options.clone()
        }) {
            return Ok(found);
        }
    }
    first(options)
}

fn first(options: &TraceOptions) -> Result<(Box<dyn Tracer>, String)> {
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
                    format!(" ({})", refused.join("; "))
                };
                let line = format!("tracer: {}{because}", tracer.introduction());
                return Ok((tracer, line));
            }
            Err(error) => refused.push(format!("{}: {error:#}", kind.name)),
        }
    }
    let next = match options.tracer {
        _ if geteuid().is_root() => {
            "allow it, or run outside of the container or sandbox ('syscost doctor' shows what is refused)"
        }
        _ if options.for_processes_only().is_err() => "run it as root",
        Some(_) => "leave out --tracer for one that needs no rights, or run it as root",
        None => {
            "run it as root, or where ptrace is permitted ('syscost doctor' shows what is refused and why)"
        }
    };
    bail!("no tracer is available: {}; {next}", refused.join("; "))
}
