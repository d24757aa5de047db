//! `syscost trace --budget`: a command that makes more calls than it may, fails.

use crate::error::usage_error;
use analysis::compare::{Budget, ProfileColumn};
use anyhow::Result;
use model::Profile;
use report::exceeded_line;

/// A budget of a misspelt call would never be exceeded.
pub fn check(budgets: &[Budget]) -> Result<()> {
    for budget in budgets {
        let name = budget.call.split('(').next().unwrap_or_default();
        if budget.is_of_one_call() && !model::syscall_names::is_known(name) {
            return Err(usage_error!(
                "--budget {budget}: there is no system call {name}; 'total' and 'errors' are also allowed"
            ));
        }
    }
    Ok(())
}

pub fn exceeded(budgets: &[Budget], profile: &Profile) -> Vec<String> {
    let column = ProfileColumn::new("", profile);
    budgets
        .iter()
        .filter_map(|budget| budget.exceeded(&column))
        .map(|found| exceeded_line(&found))
        .collect()
}
