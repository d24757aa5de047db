//! `why --env`: races the command in other environments and counts its calls in each. Called by `why`.

use super::bill;
use crate::error::{bail_usage, usage};
use crate::messages::note;
use crate::race::{Elsewhere, RaceArgs};
use anyhow::{Result, anyhow};
use measure::runner::Interrupt;
use model::Profile;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use trace::Target;
use trace::race::{Kept, Start, effect};

/// Limit of the race and the measurement of unit costs, so that everything together ends within 20 seconds.
const LONGEST: Duration = Duration::from_secs(19);

/// A race to come, and the state of the working directory before the command was traced; `None` if that is not known.
pub struct Asked {
    race: RaceArgs,
    home: PathBuf,
    before: Option<Kept>,
    since: SystemTime,
}

impl Asked {
    /// `None` if no other environments are asked for.
    ///
    /// # Errors
    /// Fails if the target is not a command, or if an environment cannot start one.
    pub fn for_command(environments: &[String], target: &Target) -> Result<Option<Asked>> {
        if environments.iter().all(|name| name == "native") {
            return Ok(None);
        }
        let Target::Command(command) = target else {
            bail_usage!(
                "--env starts a command in each environment: give a command in place of --pid, --all, --cgroup or --container"
            );
        };
        let words = command
            .words
            .iter()
            .map(|word| word.clone().into_string())
            .collect::<Result<Vec<_>, _>>();
        let words = usage(words.map_err(|word| anyhow!("--env: {} is not UTF-8", word.display())))?;
        let race = RaceArgs::in_environments(&words, environments)?;
        let home = std::env::current_dir()?;
        let before = Kept::read(&home).ok();
        let since = SystemTime::now();
        Ok(Some(Asked {
            race,
            home,
            before,
            since,
        }))
    }

    /// False if an execution changes more than its files, and may not be repeated.
    pub fn may_repeat(&self, profile: &Profile, may_repeat_all: bool) -> bool {
        let effect = if may_repeat_all {
            None
        } else {
            effect(profile, &self.home, self.since)
        };
        if let Some(effect) = &effect {
            note(&format!(
                "it {effect}, so it is not run again in other environments: --yes runs it again"
            ));
        }
        effect.is_none()
    }

    /// Whether the command changed files decides which files each execution starts with.
    pub fn traced(&mut self) -> Result<()> {
        // Signals were left to the command while it ran; from here on they interrupt the race.
        Interrupt::on_signals()?;
        let Some(Ok(changed)) = self.before.take().map(|before| before.changed(&self.home)) else {
            return Ok(());
        };
        self.race.start = if let Some(path) = changed {
            note(&format!(
                "the command changes files ({}): executions get copies of them",
                path.display()
            ));
            Start::Changes
        } else {
            note("the command changes nothing below the working directory, and runs there");
            Start::Unchanged
        };
        Ok(())
    }

    pub fn measure(&self, profile: &Profile) -> Result<Elsewhere> {
        let is_unchanged = self.race.start == Start::Unchanged;
        let before = if is_unchanged {
            Some(Kept::read(&self.home))
        } else {
            None
        };
        let begun = Instant::now();
        let mut elsewhere = self.race.measure()?;
        let left = LONGEST.saturating_sub(begun.elapsed());
        if let Some(Ok(before)) = before
            && let Ok(Some(path)) = before.changed(&self.home)
        {
            note(&format!(
                "{} changed during the race: its executions were not alike; 'race --fresh-copy' starts each with the same files",
                path.display()
            ));
        }
        if let Elsewhere::Race(race) = &mut elsewhere
            && let Err(error) = bill::add(race, profile, left)
        {
            note(&format!(
                "the additional cost of its calls was not measured: {error:#}"
            ));
        }
        Ok(elsewhere)
    }
}
