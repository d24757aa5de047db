//! The unit costs that '--costs' and '--versus' name.

use crate::error::{usage, usage_error};
use analysis::attribute::costs::{Costs, NoCosts};
use anyhow::{Result, anyhow};
use model::Run;
use std::path::Path;
use store::Stored;

/// `flag` is the option, for errors.
pub fn read(flag: &str, name: &str) -> Result<Costs> {
    let (path, environment) = split(name);
    let run = result_file(flag, path)?;
    usage(
        Costs::from_run(&run, environment)
            .map_err(|why| anyhow!("{flag} {}: {}", path.display(), no_costs(&why))),
    )
}

fn no_costs(NoCosts { wanted, present }: &NoCosts) -> String {
    let present = present.join(", ");
    match wanted {
        _ if present.is_empty() => {
            "it has no times: measure operations first, with 'syscost run --all --out FILE'"
                .to_string()
        }
        Some(wanted) => format!(
            "it has no times of the environment '{wanted}', only of {present}: name one of these after the @"
        ),
        None => format!("it has the environments {present}: choose one as FILE@ENVIRONMENT"),
    }
}

/// `FILE@ENV`, unless a file of the whole name exists.
fn split(name: &str) -> (&Path, Option<&str>) {
    match name.rsplit_once('@') {
        Some((path, environment)) if !Path::new(name).exists() => {
            (Path::new(path), Some(environment))
        }
        _ => (Path::new(name), None),
    }
}

/// A profile in its place gets an error of its own, because the two are easily swapped.
fn result_file(flag: &str, path: &Path) -> Result<Run> {
    let what = match store::read_any(path)? {
        Stored::Run(run) => return Ok(*run),
        Stored::Profile(_) => "a profile",
        Stored::Kernel(_) | Stored::Versus(_) => "a kernel explanation",
    };
    let advice = "it takes a result file from 'syscost run --out'";
    Err(usage_error!(
        "{flag} {}: is {what}, which has no unit costs: {advice}",
        path.display()
    ))
}
