//! Operations counted in several kernels: between which neighbouring ones the number of instructions changed. Pure; called by
//! `cli::kernel::bisect` and, for what a step is, by `atlas`.

use crate::model::atlas::AtlasCount;
use crate::model::{Case, Counted, Outcome, Role, Run};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// The steps between kernels, and what they were looked for in.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KernelSteps {
    /// The kernels in their order: neighbours are compared.
    pub kernels: Vec<ComparedKernel>,
    /// Steps of fewer percent are left out.
    pub threshold_percent: f64,
    /// Number of operations that were counted in two kernels or more.
    pub operations: usize,
    /// The largest increase first, the largest decrease last.
    pub steps: Vec<KernelStep>,
    /// Operations without a count, kernel by kernel.
    pub not_counted: Vec<NotCounted>,
}

/// A kernel that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedKernel {
    /// The environment, as cases name it.
    pub environment: String,
    /// As `uname -r` showed it; null if that is unknown.
    pub release: Option<String>,
}

/// An operation whose instructions changed between a kernel and the next one that it was counted in.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KernelStep {
    /// As tables name it, with its parameters.
    pub operation: String,
    /// The environment before the step, and that after it.
    pub from: String,
    pub to: String,
    /// Instructions per operation, in user and kernel mode together.
    pub before: f64,
    pub after: f64,
    /// Increase in instructions per operation; negative for a decrease.
    pub difference: f64,
    /// The same in percent of `before`.
    pub percent: f64,
}

/// An operation that has no count in a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotCounted {
    pub operation: String,
    pub environment: String,
    /// One line.
    pub reason: String,
}

/// The fewest instructions that a share can be taken of.
const LEAST: f64 = 1.0;

/// Compares the counts in `runs` between neighbours of `environments`, which has those to compare in their order. An environment
/// may be in one of the runs only.
///
/// # Errors
/// Which operation was counted twice in the same environment.
pub fn kernel_steps(runs: &[Run], environments: &[String], threshold_percent: f64) -> Result<KernelSteps, String> {
    let rows = rows(runs, environments)?;
    let mut steps: Vec<KernelStep> = rows.iter().flat_map(|(case, row)| steps_of(case, row, environments)).collect();
    steps.retain(|step| step.percent.abs() >= threshold_percent);
    steps.sort_by(|a, b| b.difference.total_cmp(&a.difference));
    let counts = |row: &Row| row.iter().flatten().flatten().count();
    Ok(KernelSteps {
        kernels: environments.iter().map(|name| kernel(runs, name)).collect(),
        threshold_percent,
        operations: rows.values().filter(|row| counts(row) > 1).count(),
        steps,
        not_counted: rows.iter().flat_map(|(case, row)| missing(case, row, environments)).collect(),
    })
}

/// What is known of an operation in each environment: `None` if it was not measured there.
type Row<'a> = Vec<Option<Result<&'a Counted, String>>>;

/// By case without its environment.
fn rows<'a>(runs: &'a [Run], environments: &[String]) -> Result<IndexMap<Case, Row<'a>>, String> {
    let mut rows: IndexMap<Case, Row> = IndexMap::new();
    for record in runs.iter().flat_map(|run| &run.records).filter(|record| record.role == Role::Asked) {
        let Some(column) = environments.iter().position(|name| *name == record.case.environment) else { continue };
        let case = Case { environment: String::new(), ..record.case.clone() };
        let row = rows.entry(case).or_insert_with(|| vec![None; environments.len()]);
        let counted = match &record.outcome {
            Outcome::Counted(counted) => Ok(counted),
            Outcome::Failed(failure) => Err(failure.message.clone()),
            _ => Err("it was timed, not counted".to_string()),
        };
        if row[column].replace(counted).is_some() {
            return Err(format!("{} is there twice in {}", record.case, record.case.environment));
        }
    }
    Ok(rows)
}

fn kernel(runs: &[Run], environment: &str) -> ComparedKernel {
    let known = runs.iter().flat_map(|run| &run.environments).find(|facts| facts.name == environment);
    ComparedKernel { environment: environment.to_string(), release: known.and_then(|facts| facts.kernel.clone()) }
}

fn steps_of(case: &Case, row: &Row, environments: &[String]) -> Vec<KernelStep> {
    let mut counted: Vec<(&String, &Counted)> = Vec::new();
    for (environment, found) in environments.iter().zip(row) {
        if let Some(Ok(found)) = found {
            counted.push((environment, found));
        }
    }
    let step = |pair: &[(&String, &Counted)]| {
        let [(from, before), (to, after)] = [pair[0], pair[1]];
        differ(before, after).then_some(())?;
        let (before, after) = (before.per_operation()?, after.per_operation()?);
        let (difference, percent) = (after - before, (after - before) / before.max(LEAST) * 100.0);
        let operation = case.to_string();
        Some(KernelStep { operation, from: from.clone(), to: to.clone(), before, after, difference, percent })
    };
    counted.windows(2).filter_map(step).collect()
}

/// What two boots leave unseen of a count that differs between boots, as a share: METHOD.md, "Counts over several boots".
const UNSEEN: f64 = 0.01;

/// Whether two kernels' counts are a step: beyond both ranges, and by more than what boots leave unseen unless all agreed.
pub fn is_step(before: &AtlasCount, after: &AtlasCount) -> bool {
    let apart = (after.least - before.most).max(before.least - after.most);
    let exact = [before, after].iter().all(|count| count.least == count.most);
    apart > 0.0 && (exact || apart > unseen(before, after))
}

/// The same where one of them is of one boot.
pub fn is_beyond_one_boot(before: &AtlasCount, after: &AtlasCount) -> bool {
    (after.mode - before.mode).abs() > unseen(before, after)
}

fn unseen(before: &AtlasCount, after: &AtlasCount) -> f64 {
    UNSEEN * before.mode.min(after.mode)
}

/// Whether every repeat of one is above every repeat of the other.
fn differ(a: &Counted, b: &Counted) -> bool {
    let ranges = |counted: &Counted| {
        let ((least, most), mode) = (counted.range()?, counted.per_operation()?);
        Some(AtlasCount { mode, least, most })
    };
    ranges(a).zip(ranges(b)).is_some_and(|(a, b)| is_step(&a, &b))
}

fn missing(case: &Case, row: &Row, environments: &[String]) -> Vec<NotCounted> {
    let missing = |(column, found): (usize, &Option<Result<&Counted, String>>)| {
        let reason = found.as_ref()?.as_ref().err()?.clone();
        Some(NotCounted { operation: case.to_string(), environment: environments[column].clone(), reason })
    };
    row.iter().enumerate().filter_map(missing).collect()
}

/// Whether a count is nearer to a good kernel's than to a bad one's; `None` if these two cannot be distinguished.
pub fn is_good(count: f64, good: f64, bad: f64) -> Option<bool> {
    let apart = (good - bad).abs() > TOO_NEAR * good.abs().max(bad.abs());
    apart.then_some((count - good).abs() < (count - bad).abs())
}

/// Counts this near to each other, as a share, may be the same: what two runs of one kernel differ by.
const TOO_NEAR: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EnvironmentFacts, Failure, FailureKind, Record};

    fn case(operation: &str, environment: &str) -> Case {
        Case { environment: environment.into(), ..Case::native(operation) }
    }

    fn counted(operation: &str, environment: &str, each: &[u64]) -> Record {
        let batches = each.iter().map(|count| (500, 500 + 100 * count)).collect();
        let outcome = Outcome::Counted(Counted { fewer: 100, more: 200, batches });
        Record::new(case(operation, environment), outcome)
    }

    fn failed(operation: &str, environment: &str) -> Record {
        let failure = Failure::new(FailureKind::Unsupported, "ENOSYS");
        Record::new(case(operation, environment), Outcome::Failed(failure))
    }

    fn run(records: Vec<Record>) -> Run {
        Run { records, ..Run::default() }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn short(steps: &KernelSteps) -> Vec<(&str, &str, &str, f64)> {
        steps.steps.iter().map(|s| (s.operation.as_str(), s.from.as_str(), s.to.as_str(), s.difference)).collect()
    }

    #[test]
    fn steps_are_between_neighbours_with_the_largest_increase_first() {
        let run = run(vec![
            counted("file.fstat", "a", &[2700]),
            counted("file.fstat", "b", &[1100]),
            counted("file.fstat", "c", &[1120]),
            counted("id.getppid", "a", &[240, 241]),
            counted("id.getppid", "b", &[330, 331]),
            counted("id.getppid", "c", &[400]),
        ]);
        let steps = kernel_steps(&[run], &names(&["a", "b", "c"]), 5.0).unwrap();
        let expected =
            [("id.getppid", "a", "b", 90.0), ("id.getppid", "b", "c", 69.0), ("file.fstat", "a", "b", -1600.0)];
        assert_eq!(short(&steps), expected);
        assert_eq!((steps.operations, steps.steps[2].percent.round()), (2, -59.0));
    }

    #[test]
    fn a_kernel_without_a_count_is_passed_over_and_named() {
        let run =
            run(vec![counted("x.y", "a", &[100]), failed("x.y", "b"), counted("x.y", "c", &[200]), failed("x.z", "a")]);
        let steps = kernel_steps(&[run], &names(&["a", "b", "c"]), 5.0).unwrap();
        assert_eq!(short(&steps), [("x.y", "a", "c", 100.0)]);
        let missing: Vec<(&str, &str)> =
            steps.not_counted.iter().map(|m| (m.operation.as_str(), m.environment.as_str())).collect();
        assert_eq!(missing, [("x.y", "b"), ("x.z", "a")]);
        assert_eq!(steps.operations, 1);
    }

    #[test]
    fn counts_whose_repeats_overlap_are_no_step() {
        let run = run(vec![counted("x.y", "a", &[100, 100, 150]), counted("x.y", "b", &[140, 160, 160])]);
        assert_eq!(kernel_steps(&[run], &names(&["a", "b"]), 5.0).unwrap().steps, []);
    }

    #[test]
    fn a_step_is_beyond_both_ranges() {
        let of = |mode, least, most| AtlasCount { mode, least, most };
        assert!(is_step(&of(2731.0, 2728.0, 2731.0), &of(1115.0, 1115.0, 1115.0)));
        assert!(is_step(&of(1.0, 1.0, 1.0), &of(2.0, 2.0, 2.0)));
        assert!(!is_step(&of(10114.0, 10114.0, 11075.0), &of(11075.0, 10900.0, 11075.0)));
        assert!(!is_step(&of(1.0, 1.0, 2.0), &of(3.0, 2.0, 3.0)), "they touch");
        assert!(is_step(&of(2071.0, 2071.0, 2071.0), &of(2052.0, 2052.0, 2052.0)), "exact in all boots");
        assert!(
            !is_step(&of(10822.0, 10822.0, 10865.0), &of(10946.0, 10946.0, 11116.0)),
            "another boot may be between"
        );
    }

    #[test]
    fn several_runs_are_joined_in_the_order_asked_for() {
        let facts = EnvironmentFacts { name: "a".into(), kernel: Some("5.10.0".into()), ..EnvironmentFacts::default() };
        let first = Run { environments: vec![facts], ..run(vec![counted("x.y", "a", &[100])]) };
        let second = run(vec![counted("x.y", "b", &[300])]);
        let steps = kernel_steps(&[first.clone(), second], &names(&["b", "a"]), 5.0).unwrap();
        assert_eq!(short(&steps), [("x.y", "b", "a", -200.0)]);
        assert_eq!(steps.kernels[1].release.as_deref(), Some("5.10.0"));
        let twice = kernel_steps(&[first.clone(), first], &names(&["a"]), 5.0).unwrap_err();
        assert_eq!(twice, "x.y is there twice in a");
    }

    #[test]
    fn a_verdict_is_what_is_nearer() {
        assert_eq!(is_good(1115.0, 1115.0, 2731.0), Some(true));
        assert_eq!(is_good(2500.0, 1115.0, 2731.0), Some(false));
        assert_eq!(is_good(5000.0, 1115.0, 2731.0), Some(false));
        assert_eq!(is_good(1000.0, 2731.0, 1115.0), Some(false));
        assert_eq!(is_good(1000.0, 1115.0, 1116.0), None);
        assert_eq!(is_good(0.0, 0.0, 0.0), None);
    }
}
