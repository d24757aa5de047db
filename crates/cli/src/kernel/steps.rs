//! Explains the steps between two kernels: which functions changed the most.

use super::atlas::session;
use super::parallel::in_parallel;
use analysis::atlas::is_explained;
use anyhow::{Result, ensure};
use explain::kernel::{Recorder, versus};
use measure::runner::{Interrupt, Workers};
use model::atlas::{AtlasFunction, AtlasStep, UNCHANGED};
use model::explained::KernelExplanation;
use model::{Failure, Planned};
use sys::affinity::on_one_cpu;

#[derive(Clone, Copy)]
pub struct Effort {
    /// The largest first.
    pub steps: usize,
    pub functions: usize,
    /// Emulated machines that run at once.
    pub jobs: usize,
}

/// The steps between two environments with the functions responsible, or why there are none.
///
/// # Errors
/// Fails on an interrupt or if a session cannot be opened. A failure of one operation becomes that step's reason.
pub fn explained(
    interrupt: &Interrupt,
    environments: [&str; 2],
    steps: Vec<AtlasStep>,
    planned: &[Planned],
    effort: Effort,
) -> Result<Vec<AtlasStep>> {
    let chosen: Vec<&Planned> = steps
        .iter()
        .filter(|step| is_explained(step))
        .filter_map(|step| {
            let mut planned = planned.iter();
            planned.find(|planned| planned.case.to_string() == step.operation)
        })
        .take(effort.steps)
        .collect();
    let sides = in_parallel(effort.jobs, environments.into_iter(), |environment| {
        on_one_cpu(|| side(interrupt, environment, &chosen))
    });
    ensure!(!interrupt.is_set(), Failure::interrupted());
    let [before, after] = <[Result<Side>; 2]>::try_from(sides)
        .unwrap_or_else(|_| unreachable!("one result for each environment"));
    let (before, after) = (before?, after?);
    let functions_of = |step: &AtlasStep| {
        let at = chosen
            .iter()
            .position(|planned| planned.case.to_string() == step.operation)?;
        Some(functions([&before[at], &after[at]], effort.functions))
    };
    Ok(steps
        .into_iter()
        .map(|step| explained_step(functions_of(&step), step, effort.steps))
        .collect())
}

fn explained_step(
    explanation: Option<Result<Vec<AtlasFunction>, String>>,
    step: AtlasStep,
    most: usize,
) -> AtlasStep {
    let (functions, reason) = match explanation {
        Some(Ok(functions)) if functions.is_empty() => (functions, Some(UNCHANGED.into())),
        Some(Ok(functions)) => (functions, None),
        Some(Err(reason)) => (Vec::new(), Some(reason)),
        None => {
            let reason = if is_explained(&step) {
                format!("only the {most} largest steps are explained")
            } else {
                "less than 1% and 5 instructions".to_string()
            };
            (Vec::new(), Some(reason))
        }
    };
    AtlasStep {
        functions,
        reason,
        ..step
    }
}

type Explained = Result<KernelExplanation, String>;
type Side = Vec<Explained>;

fn side(interrupt: &Interrupt, environment: &str, chosen: &[&Planned]) -> Result<Side> {
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let session = session(interrupt)?;
    let workers = &session.workers;
    let mut guest = None;
    Ok(chosen
        .iter()
        .map(|planned| {
            recorded(workers, environment, &mut guest, planned).map_err(|failure| failure.message)
        })
        .collect())
}

/// A guest that has died is booted again.
fn recorded<'a>(
    workers: &'a Workers,
    environment: &str,
    guest: &mut Option<Recorder<'a>>,
    planned: &Planned,
) -> Result<KernelExplanation, Failure> {
    workers.interrupt.check()?;
    let mut alive = match guest.take().filter(Recorder::is_alive) {
        Some(alive) => alive,
        None => Recorder::boot(workers, environment, None)?,
    };
    let explained = alive.explain(&planned.in_environment(environment), "");
    *guest = Some(alive);
    explained
}

fn functions([before, after]: [&Explained; 2], most: usize) -> Result<Vec<AtlasFunction>, String> {
    let changes = versus(before.clone()?, after.clone()?).functions;
    Ok(changes
        .into_iter()
        .take(most)
        .map(|change| AtlasFunction {
            name: change.name,
            group: change.group,
            before: change.before,
            after: change.after,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_explained_says_why() {
        fn reason(
            functions: Option<Result<Vec<AtlasFunction>, String>>,
            after: f64,
        ) -> Option<String> {
            explained_step(functions, step(after), 6).reason
        }

        fn step(after: f64) -> AtlasStep {
            AtlasStep {
                before: 1000.0,
                after,
                ..AtlasStep::default()
            }
        }

        assert_eq!(
            reason(None, 1004.0).as_deref(),
            Some("less than 1% and 5 instructions")
        );
        assert_eq!(
            reason(None, 1100.0).as_deref(),
            Some("only the 6 largest steps are explained")
        );
        assert_eq!(
            reason(Some(Err("ENOSYS".into())), 1100.0).as_deref(),
            Some("ENOSYS")
        );
        assert!(explained_step(Some(Ok(Vec::new())), step(1100.0), 6).is_unchanged());
    }
}
