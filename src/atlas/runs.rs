//! An atlas of runs in emulated kernels, as `syscost run --env linux-6.1,linux-6.12 --out FILE` makes them. Pure.

use super::neighbours::{Step, neighbours, steps};
use super::{Atlas, sorted};
use crate::model::atlas::{AtlasCell, AtlasCount, AtlasKernel, AtlasMachine, AtlasStep, AtlasSteps};
use crate::model::{EnvironmentFacts, Outcome, Role, Run, Unit};
use std::collections::BTreeMap;

/// The kernels that `runs` counted instructions in. Several runs of one kernel are its boots.
pub fn of_runs(runs: &[Run]) -> Atlas {
    let mut kernels: BTreeMap<(String, AtlasMachine), AtlasKernel> = BTreeMap::new();
    for (run, facts) in runs.iter().flat_map(|run| run.environments.iter().map(move |facts| (run, facts))) {
        let Some(release) = facts.kernel.clone().filter(|_| facts.unit == Unit::Instructions) else { continue };
        let machine = machine(facts);
        let known = kernels.entry((release.clone(), machine.clone())).or_insert_with(|| AtlasKernel {
            release,
            machine,
            emulator: facts.emulator.clone().unwrap_or_default(),
            probe: format!("{} {}", run.tool.name, run.tool.version),
            ..AtlasKernel::default()
        });
        known.boots += 1;
        cells(run, &facts.name).for_each(|cell| add(&mut known.cells, cell));
    }
    let kernels: Vec<AtlasKernel> = kernels.into_values().filter(|kernel| !kernel.cells.is_empty()).collect();
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

fn cells<'a>(run: &'a Run, environment: &'a str) -> impl Iterator<Item = AtlasCell> + 'a {
    let asked = run.records.iter().filter(move |record| {
        record.case.environment == environment && record.role == Role::Asked && record.case.language.is_none()
    });
    asked.map(|record| {
        let operation = record.case.alone().to_string();
        let found = match &record.outcome {
            Outcome::Counted(counted) => counted.per_operation().ok_or("nothing was counted".to_string()),
            Outcome::Failed(failure) => Err(failure.message.clone()),
            _ => Err("no instructions were counted".to_string()),
        };
        match found {
            Ok(mode) => {
                AtlasCell { operation, count: Some(AtlasCount { mode, least: mode, most: mode }), reason: None }
            }
            Err(reason) => AtlasCell { operation, count: None, reason: Some(reason) },
        }
    })
}

/// A cell that is there already gets the wider range.
fn add(cells: &mut Vec<AtlasCell>, cell: AtlasCell) {
    let Some(known) = cells.iter_mut().find(|known| known.operation == cell.operation) else { return cells.push(cell) };
    match (&mut known.count, cell.count) {
        (Some(known), Some(count)) => {
            (known.least, known.most) = (known.least.min(count.least), known.most.max(count.most));
        }
        (None, Some(_)) => *known = cell,
        _ => {}
    }
}

fn changes(before: &AtlasKernel, after: &AtlasKernel) -> AtlasSteps {
    let told = |step: Step| AtlasStep {
        operation: step.operation,
        before: step.before,
        after: step.after,
        functions: Vec::new(),
        reason: Some("'syscost kernel atlas build' and 'syscost explain' tell the functions".to_string()),
    };
    let steps = steps(before, after).into_iter().map(told).collect();
    let releases = [before, after].map(|kernel| kernel.release.clone());
    let [before, after_release] = releases;
    AtlasSteps { machine: after.machine.clone(), before, after: after_release, steps, ..AtlasSteps::default() }
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
            (String::new(), 2, count(2731.0, 2729.0, 2731.0)),
            ("audit=1".to_string(), 1, count(9.0, 9.0, 9.0)),
            (String::new(), 1, count(1115.0, 1115.0, 1115.0)),
        ];
        assert_eq!(atlas.kernels.iter().map(told).collect::<Vec<_>>(), expected);
        let first = &atlas.kernels[0];
        assert_eq!((&*first.machine.architecture, &*first.machine.cpu), ("x86_64", "qemu64"));
        assert_eq!((first.cells.len(), first.cells[1].reason.as_deref()), (2, Some("ENOSYS")));
        let steps: Vec<(f64, f64)> =
            atlas.steps.iter().flat_map(|pair| &pair.steps).map(|step| (step.before, step.after)).collect();
        assert_eq!(steps, [(2731.0, 1115.0)]);
    }
}
