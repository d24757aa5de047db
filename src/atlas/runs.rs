//! An atlas of runs in emulated kernels, as `syscost run --env linux-6.1,linux-6.12 --out FILE` makes them. Pure.

use super::neighbours::{Step, neighbours, steps};
use super::{Atlas, sorted};
use crate::model::atlas::{AtlasCell, AtlasCount, AtlasKernel, AtlasMachine, AtlasStep, AtlasSteps};
use crate::model::{EnvironmentFacts, Outcome, Role, Run, Unit};
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// What runs counted of each operation in one kernel, in their order: a number of instructions or a reason.
type Found = IndexMap<String, Vec<Result<f64, String>>>;

/// The kernels that `runs` counted instructions in. Several runs of one kernel are its boots.
pub fn of_runs(runs: &[Run]) -> Atlas {
    let mut kernels: BTreeMap<(String, AtlasMachine), (AtlasKernel, Found)> = BTreeMap::new();
    for (run, facts) in runs.iter().flat_map(|run| run.environments.iter().map(move |facts| (run, facts))) {
        let Some(release) = facts.kernel.clone().filter(|_| facts.unit == Unit::Instructions) else { continue };
        let machine = machine(facts);
        let (kernel, found) = kernels.entry((release.clone(), machine.clone())).or_default();
        kernel.boots += 1;
        (kernel.release, kernel.machine) = (release, machine);
        kernel.emulator = facts.emulator.clone().unwrap_or_default();
        kernel.probe = format!("{} {}", run.tool.name, run.tool.version);
        for (operation, each) in counts(run, &facts.name) {
            found.entry(operation).or_default().push(each);
        }
    }
    let kernels = kernels.into_values().filter(|(_, found)| !found.is_empty());
    let kernels: Vec<AtlasKernel> =
        kernels.map(|(kernel, found)| AtlasKernel { cells: found.into_iter().map(cell).collect(), ..kernel }).collect();
    let steps = neighbours(&kernels).into_iter().map(|(before, after)| changes(before, after)).collect();
    sorted(Atlas { kernels, steps })
}

/// What the environment's command and name say of the emulated machine.
fn machine(facts: &EnvironmentFacts) -> AtlasMachine {
    let after = |word: &str| facts.started_with.iter().skip_while(|other| *other != word).nth(1).cloned();
    let emulator = facts.started_with.first().and_then(|path| path.rsplit_once("qemu-system-"));
    let append = facts.name.split_whitespace().skip(1).filter(|word| !word.starts_with("cpu="));
    AtlasMachine {
        architecture: emulator.map_or("", |(_, architecture)| architecture).to_string(),
        cpu: after("-cpu").unwrap_or_default(),
        append: append.collect::<Vec<_>>().join(" "),
    }
}

fn counts<'a>(run: &'a Run, environment: &'a str) -> impl Iterator<Item = (String, Result<f64, String>)> + 'a {
    let asked = run.records.iter().filter(move |record| {
        record.case.environment == environment && record.role == Role::Asked && record.case.language.is_none()
    });
    asked.map(|record| {
        let each = match &record.outcome {
            Outcome::Counted(counted) => counted.per_operation().ok_or("nothing was counted".to_string()),
            Outcome::Failed(failure) => Err(failure.message.clone()),
            _ => Err("no instructions were counted".to_string()),
        };
        (record.case.alone().to_string(), each)
    })
}

/// As in an atlas that was built, an operation that failed once has its reason.
fn cell((operation, found): (String, Vec<Result<f64, String>>)) -> AtlasCell {
    match found.into_iter().collect::<Result<Vec<f64>, String>>() {
        Ok(each) => AtlasCell { operation, count: AtlasCount::of(&each), reason: None },
        Err(reason) => AtlasCell { operation, count: None, reason: Some(reason) },
    }
}

fn changes(before: &AtlasKernel, after: &AtlasKernel) -> AtlasSteps {
    let told = |step: Step| AtlasStep {
        operation: step.operation,
        before: step.before,
        after: step.after,
        reason: Some(
            "'syscost explain' shows the functions, 'syscost kernel atlas build' finds them for all steps".to_string(),
        ),
        ..AtlasStep::default()
    };
    AtlasSteps {
        machine: after.machine.clone(),
        before: before.release.clone(),
        after: after.release.clone(),
        steps: steps(before, after).into_iter().map(told).collect(),
        ..AtlasSteps::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{emulated, instructions, record, run};
    use crate::model::{Failure, FailureKind};

    fn counted(environment: &str, kernel: &str, fstat: u64) -> Run {
        let words = ["/usr/bin/qemu-system-x86_64", "-cpu", "qemu64", "-m", "256"].map(str::to_string).to_vec();
        let failed = Outcome::Failed(Failure::new(FailureKind::Unsupported, "ENOSYS"));
        let mut refused = instructions("file.openat2", environment, &[1]);
        refused.outcome = failed;
        Run {
            environments: vec![EnvironmentFacts { started_with: words, ..emulated(environment, kernel) }],
            ..run(vec![instructions("file.fstat", environment, &[fstat]), refused, record("id.getppid", 75)])
        }
    }

    #[test]
    fn runs_of_a_kernel_are_its_boots() {
        let runs = [
            counted("linux-6.12", "6.12.1-cloud-amd64", 1115),
            counted("linux-6.1 audit=1", "6.1.0-9-cloud-amd64", 9),
            counted("linux-6.1", "6.1.0-9-cloud-amd64", 2731),
            counted("linux-6.1", "6.1.0-9-cloud-amd64", 2729),
            run(vec![record("id.getppid", 75)]),
        ];
        let atlas = of_runs(&runs);
        let told = |kernel: &AtlasKernel| (kernel.machine.append.clone(), kernel.boots, kernel.cells[0].count.unwrap());
        let count = |mode, least, most| AtlasCount { mode, least, most };
        let expected = [
            (String::new(), 2, count(2729.0, 2729.0, 2731.0)),
            ("audit=1".to_string(), 1, count(9.0, 9.0, 9.0)),
            (String::new(), 1, count(1115.0, 1115.0, 1115.0)),
        ];
        assert_eq!(atlas.kernels.iter().map(told).collect::<Vec<_>>(), expected);
        let first = &atlas.kernels[0];
        assert_eq!((&*first.machine.architecture, &*first.machine.cpu), ("x86_64", "qemu64"));
        assert_eq!((first.cells.len(), first.cells[1].reason.as_deref()), (2, Some("ENOSYS")));
        let steps: Vec<(f64, f64)> =
            atlas.steps.iter().flat_map(|pair| &pair.steps).map(|step| (step.before, step.after)).collect();
        assert_eq!(steps, [(2729.0, 1115.0)]);
    }
}
