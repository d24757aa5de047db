//! Cold cases beside the warm ones, for `--cold`.

use super::Choices;
use super::select::add_baselines;
use crate::model::{COLD, Case, Operation, Planned, Role};
use anyhow::{Result, bail};

/// Adds to each case that was asked for one per size, in bytes, whose calls are timed one by one after as much memory was
/// displaced. The empty loops to subtract from them follow.
///
/// # Errors
/// If there are snippets, whose loop is their language's, or more cases than the user allows.
pub fn add_cold_cases(
    catalogue: &[Operation],
    planned: Vec<Planned>,
    sizes: &[u64],
    choices: &Choices,
) -> Result<Vec<Planned>> {
    if let Some(snippet) = planned.iter().find(|p| p.case.language.is_some()) {
        bail!("--cold: the loop of a snippet is its language's and cannot displace caches; leave out {}", snippet.case);
    }
    let asked = planned.iter().filter(|p| p.role == Role::Asked).count() as u128;
    choices.check(std::iter::once(asked * (1 + sizes.len() as u128)))?;
    let mut all: Vec<Planned> = planned.into_iter().flat_map(|p| with_cold(p, sizes)).collect();
    add_baselines(catalogue, &mut all);
    Ok(all)
}

fn with_cold(planned: Planned, sizes: &[u64]) -> Vec<Planned> {
    let sizes = if planned.role == Role::Asked { sizes } else { &[] };
    let cold = |bytes: &u64| {
        let mut params = planned.case.params.clone();
        params.insert(COLD.to_string(), *bytes);
        Planned { case: Case { params, ..planned.case.clone() }, ..planned.clone() }
    };
    let cold: Vec<Planned> = sizes.iter().map(cold).collect();
    std::iter::once(planned).chain(cold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BASELINES, Subject, select};

    fn catalogue() -> Vec<Operation> {
        let operation = |id: &&str| Operation { id: id.to_string(), ..Operation::default() };
        BASELINES.iter().chain(&["file.lstat"]).map(operation).collect()
    }

    fn planned_with_cold(subject: &Subject, choices: &Choices) -> Result<Vec<Planned>> {
        let all = catalogue();
        add_cold_cases(&all, select(&all, std::slice::from_ref(subject), choices)?, &[0, 1 << 20], choices)
    }

    #[test]
    fn each_case_is_followed_by_its_cold_ones_and_each_size_has_its_empty_loop() {
        let all = catalogue();
        let planned = planned_with_cold(&Subject::Operation(&all[4]), &Choices::default()).unwrap();
        let named = |role| planned.iter().filter(|p| p.role == role).map(|p| p.case.to_string()).collect::<Vec<_>>();
        assert_eq!(named(Role::Asked), ["file.lstat", "file.lstat cold=0", "file.lstat cold=1M"]);
        let baselines = named(Role::Baseline);
        assert_eq!(baselines[..4], BASELINES);
        assert_eq!(baselines[4..], ["call.empty_loop cold=0", "call.empty_loop cold=1M"]);
    }

    #[test]
    fn snippets_and_too_many_cases_are_refused() {
        let snippet = Subject::Snippet(Case::snippet("perl", "time()"));
        let message = planned_with_cold(&snippet, &Choices::default()).unwrap_err().to_string();
        assert!(message.ends_with("leave out perl:time()"), "{message}");
        let all = catalogue();
        let few = Choices { most_cases: 2, ..Choices::default() };
        let message = planned_with_cold(&Subject::Operation(&all[4]), &few).unwrap_err().to_string();
        assert!(message.starts_with("these are 3 cases"), "{message}");
    }
}
