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
