//! Cold cases beside the warm ones, for `--cold`.

use super::select::{add_baselines, check_count};
use anyhow::{Result, bail};
use model::{COLD, Case, Operation, Planned, Role};

/// Adds to each case that was asked for one per size, in bytes, whose calls are timed one by one
/// after as much memory was displaced, and the empty loops to subtract.
pub fn add_cold_cases(
    catalogue: &[Operation],
    planned: Vec<Planned>,
    sizes: &[u64],
) -> Result<Vec<Planned>> {
    if let Some(snippet) = planned.iter().find(|p| p.case.language.is_some()) {
        bail!(
            "--cold: a snippet's loop belongs to its language and cannot evict caches; leave out {}",
            snippet.case
        );
    }
    let asked = planned.iter().filter(|p| p.role == Role::Asked).count() as u128;
    check_count(std::iter::once(asked * (1 + sizes.len() as u128)))?;
    let mut all: Vec<Planned> = planned
        .into_iter()
        .flat_map(|p| with_cold(p, sizes))
        .collect();
    add_baselines(catalogue, &mut all);
    Ok(all)
}

fn with_cold(planned: Planned, sizes: &[u64]) -> Vec<Planned> {
    let sizes = if planned.role == Role::Asked {
        sizes
    } else {
        &[]
    };
    let cold = |bytes: &u64| {
        let mut params = planned.case.params.clone();
        params.insert(COLD.to_string(), *bytes);
        Planned {
            case: Case {
                params,
                ..planned.case.clone()
            },
            ..planned.clone()
        }
    };
    let cold: Vec<Planned> = sizes.iter().map(cold).collect();
    std::iter::once(planned).chain(cold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BASELINES, Choices, Subject, select};

    fn catalogue() -> Vec<Operation> {
        let operation = |id: &&str| Operation {
            id: id.to_string(),
            ..Operation::default()
        };
        BASELINES
            .iter()
            .chain(&["file.lstat"])
            .map(operation)
            .collect()
    }

    fn planned_with_cold(subject: &Subject) -> Result<Vec<Planned>> {
        let all = catalogue();
        add_cold_cases(
            &all,
            select(&all, std::slice::from_ref(subject), &Choices::default())?,
            &[0, 1 << 20],
        )
    }

    #[test]
    fn each_case_is_followed_by_its_cold_ones_and_each_size_has_its_empty_loop() {
        let all = catalogue();
        let planned = planned_with_cold(&Subject::Operation(&all[4])).unwrap();
        let named = |role| {
            planned
                .iter()
                .filter(|p| p.role == role)
                .map(|p| p.case.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            named(Role::Asked),
            ["file.lstat", "file.lstat cold=0", "file.lstat cold=1M"]
        );
        let baselines = named(Role::Baseline);
        assert_eq!(baselines[..4], BASELINES);
        assert_eq!(
            baselines[4..],
            ["call.empty_loop cold=0", "call.empty_loop cold=1M"]
        );
    }

    #[test]
    fn snippets_are_refused() {
        let snippet = Subject::Snippet(Case::snippet("perl", "time()"));
        let message = planned_with_cold(&snippet).unwrap_err().to_string();
        assert!(message.ends_with("leave out perl:time()"), "{message}");
    }
}
