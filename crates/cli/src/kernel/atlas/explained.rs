//! Explains the steps between two kernels: which functions changed the most.

use analysis::atlas::{Step, environment_of, is_explained};
use explain::kernel::{Recorder, versus};
use measure::runner::Workers;
use measure::session::Session;
use model::atlas::{ATLAS_STEPS, AtlasFunction, AtlasKernel, AtlasStep, AtlasSteps, UNCHANGED};
use model::explained::KernelExplanation;
use model::{Failure, Planned};

/// Steps of a pair that are explained: each takes some 10 seconds, in both kernels together.
const MOST: usize = 6;
const FUNCTIONS: usize = 5;

pub fn explained(
    session: &Session,
    [before, after]: [&AtlasKernel; 2],
    steps: Vec<Step>,
    planned: &[Planned],
) -> Result<AtlasSteps, Failure> {
    let chosen: Vec<&Planned> = chosen(&steps)
        .filter_map(|step| planned_for(planned, step))
        .collect();
    let sides = [before, after]
        .map(|kernel| environment_of(&kernel.release, &kernel.machine))
        .map(|environment| side(session.workers(), &environment, &chosen));
    session.workers().interrupt.check()?;
    let found = |step: &Step| {
        let at = chosen
            .iter()
            .position(|planned| planned.case.to_string() == step.operation)?;
        Some(functions([&sides[0][at], &sides[1][at]]))
    };
    let steps = steps
        .into_iter()
        .map(|step| explained_step(found(&step), step))
        .collect();
    let (machine, schema) = (after.machine.clone(), ATLAS_STEPS.to_string());
    Ok(AtlasSteps {
        schema,
        machine,
        before: before.release.clone(),
        after: after.release.clone(),
        steps,
    })
}

fn chosen(steps: &[Step]) -> impl Iterator<Item = &Step> {
    steps.iter().filter(|step| is_explained(step)).take(MOST)
}

fn planned_for<'a>(planned: &'a [Planned], step: &Step) -> Option<&'a Planned> {
    planned
        .iter()
        .find(|planned| planned.case.to_string() == step.operation)
}

fn explained_step(found: Option<Result<Vec<AtlasFunction>, String>>, step: Step) -> AtlasStep {
    let (functions, reason) = match found {
        Some(Ok(functions)) if functions.is_empty() => (functions, Some(UNCHANGED.into())),
        Some(Ok(functions)) => (functions, None),
        Some(Err(reason)) => (Vec::new(), Some(reason)),
        None => {
            let reason = if is_explained(&step) {
                format!("only the {MOST} largest steps are explained")
            } else {
                "less than 1% and 5 instructions".to_string()
            };
            (Vec::new(), Some(reason))
        }
    };
    AtlasStep {
        operation: step.operation,
        before: step.before,
        after: step.after,
        functions,
        reason,
    }
}

type Explained = Result<KernelExplanation, String>;

/// A guest that has died is booted again.
fn side(workers: &Workers, environment: &str, chosen: &[&Planned]) -> Vec<Explained> {
    let mut guest = None;
    let mut explain = |planned: &&Planned| {
        workers.interrupt.check()?;
        let mut alive = match guest.take().filter(Recorder::is_alive) {
            Some(alive) => alive,
            None => Recorder::boot(workers, environment, None)?,
        };
        let explained = alive.explain(&planned.in_environment(environment), "");
        guest = Some(alive);
        explained
    };
    chosen
        .iter()
        .map(|planned| explain(planned).map_err(|failure| failure.message))
        .collect()
}

fn functions([before, after]: [&Explained; 2]) -> Result<Vec<AtlasFunction>, String> {
    let changes = versus(before.clone()?, after.clone()?).functions;
    Ok(changes
        .into_iter()
        .take(FUNCTIONS)
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
        let step = |after: f64| Step {
            operation: "x".into(),
            before: 1000.0,
            after,
        };
        let reason = |found, after| explained_step(found, step(after)).reason;
        assert_eq!(
            reason(None, 1004.0).as_deref(),
            Some("less than 1% and 5 instructions")
        );
        assert_eq!(
            reason(None, 1100.0),
            Some(format!("only the {MOST} largest steps are explained"))
        );
        assert_eq!(
            reason(Some(Err("ENOSYS".into())), 1100.0).as_deref(),
            Some("ENOSYS")
        );
        assert!(explained_step(Some(Ok(Vec::new())), step(1100.0)).is_unchanged());
        let many: Vec<Step> = (0..100)
            .map(|more| step(1003.0 + f64::from(more)))
            .collect();
        assert_eq!(
            (chosen(&many).count(), chosen(&many[..2]).count()),
            (MOST, 0)
        );
    }
}
