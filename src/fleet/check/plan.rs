//! What a run was to measure, and in what two such plans differ.

use crate::model::{Role, Run};
use crate::prose::some;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// The most names of cases in a sentence.
const MOST_NAMES: usize = 3;

/// The cases and settings of a run; those that the host decides, such as the CPU, are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Plan {
    study: Option<String>,
    cases: BTreeSet<String>,
    /// Written as the result file has them, since they are only compared.
    budget_s: String,
    precision_percent: String,
    runs: usize,
}

impl Plan {
    /// The plan of `run`.
    pub fn from_run(run: &Run) -> Plan {
        let asked = run.records.iter().filter(|record| record.role == Role::Asked);
        Plan {
            study: run.study.as_ref().map(|study| study.name.clone()),
            cases: asked.map(|record| format!("{} ({})", record.case, record.case.environment)).collect(),
            budget_s: run.budget_s.to_string(),
            precision_percent: run.precision_percent.to_string(),
            runs: 1 + run.repeats.len(),
        }
    }
}

/// In what `own` differs from the plan of `most`, a sentence each.
pub fn plan_differences(own: &Plan, most: &Plan) -> Vec<String> {
    let study = |plan: &Plan| plan.study.as_ref().map_or("no study".to_string(), |name| format!("study {name}"));
    let values = |what: &str, [own, most]: [String; 2]| (own != most).then(|| format!("{what}{own}, others {most}"));
    let settings = [
        values("", [study(own), study(most)]),
        values("budget in seconds: ", [own.budget_s.clone(), most.budget_s.clone()]),
        values("precision in percent: ", [own.precision_percent.clone(), most.precision_percent.clone()]),
        values("runs: ", [own.runs.to_string(), most.runs.to_string()]),
        names("lacks", &most.cases, &own.cases),
        names("has besides", &own.cases, &most.cases),
    ];
    settings.into_iter().flatten().collect()
}

/// The cases of `more` that are not in `fewer`.
fn names(verb: &str, more: &BTreeSet<String>, fewer: &BTreeSet<String>) -> Option<String> {
    let names: Vec<&String> = more.difference(fewer).collect();
    (!names.is_empty()).then(|| format!("{verb} {}", some(&names, MOST_NAMES)))
}

/// The one that there are most of; of equally many, the first in the order of the nodes' names.
pub fn most_frequent<'a, T: Eq + Hash + Clone + 'a>(all: impl Iterator<Item = &'a T>) -> Option<T> {
    let mut counts: HashMap<&T, (usize, usize)> = HashMap::new();
    for (index, one) in all.enumerate() {
        counts.entry(one).or_insert((0, usize::MAX - index)).0 += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(one, _)| one.clone())
}
