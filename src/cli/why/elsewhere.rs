//! `why --env`: what the command takes in other environments. It is raced there, and its calls are counted in each. Called by `why`.

use crate::cli::error::usage;
use crate::cli::race::RaceArgs;
use crate::trace::Target;
use anyhow::{Result, anyhow};

/// The race of a command in environments, or its instructions in emulated kernels; `None` if none are asked for.
///
/// # Errors
/// A usage error if what was traced is no command, or an environment cannot start one.
pub fn elsewhere(environments: &[String], target: &Target) -> Result<Option<RaceArgs>> {
    if environments.iter().all(|name| name == "native") {
        return Ok(None);
    }
    let Target::Command(command) = target else {
        return usage(Err(anyhow!(
            "--env starts a command in each environment: give a command in place of --pid, --all, --cgroup or --container"
        )));
    };
    let words = command.words.iter().map(|word| word.clone().into_string());
    let words = words.collect::<Result<Vec<_>, _>>();
    let words = usage(words.map_err(|word| anyhow!("--env: {} is not UTF-8", word.display())))?;
    RaceArgs::in_environments(&words, environments).map(Some)
}
