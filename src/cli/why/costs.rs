//! The unit costs of `why`: those of an earlier one since the machine booted, if they were measured in the same way and price this
//! profile as well; otherwise new ones, which are kept for the next.

use crate::attribute::needs::{Needs, needs};
use crate::cli::messages::Notes;
use crate::cli::run::{Measured, RunArgs, measure, threads_of};
use crate::kernel::host::facts;
use crate::kernel::taxes::is_passing;
use crate::kernel::{Sources, open, private};
use crate::model::{Host, Need, Profile, Run};
use crate::runner::state_directory;
use crate::store;
use anyhow::Result;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Operations that price a smaller share of the calls' time need not be measured for a program alone.
const LEAST_SHARE: f64 = 0.01;

/// Sizes and depths up to this factor beyond the measured ones are priced by these.
const BEYOND: u64 = 2;

/// Runs that are kept, and the most bytes of one.
const MOST_KEPT: usize = 8;
const LARGEST: u64 = 1 << 26;

/// What unit costs are for.
pub struct Wanted<'a> {
    pub profile: &'a Profile,
    /// Beside the native one.
    pub environments: Vec<String>,
    /// Seconds to measure them.
    pub time: Option<f64>,
}

impl Wanted<'_> {
    /// Errors: why they cannot be measured.
    pub fn costs(&self, fresh: bool, notes: Notes) -> Result<Run> {
        let folder = self.folder();
        if let Some(run) = folder.as_ref().filter(|_| !fresh).and_then(|folder| self.kept_in(folder, notes)) {
            return Ok(run);
        }
        let Measured { run, .. } = measure(&self.arguments()?, notes)?;
        // A tracer may have come or gone meanwhile.
        let clean = |host: &Host| !host.taxes.iter().any(is_passing);
        let after = facts(&Sources::default(), None);
        if let Some(folder) = folder.filter(|_| run.complete && clean(&run.host) && clean(&after)) {
            folder.keep(&run);
        }
        Ok(run)
    }

    /// Those of an earlier time, if they price the profile.
    pub fn kept(&self, notes: Notes) -> Option<Run> {
        self.kept_in(&self.folder()?, notes)
    }

    fn kept_in(&self, folder: &Folder, notes: Notes) -> Option<Run> {
        let needs = needs(self.profile, None);
        let run = folder.runs().find(|run| self.is_priced_by(run, &needs))?;
        notes.tell(&"unit costs: measured earlier, since the machine booted; 'why --fresh' measures them again");
        Some(run)
    }

    fn folder(&self) -> Option<Folder> {
        Folder::open(self.conditions(&needs(self.profile, None)))
    }

    fn arguments(&self) -> Result<RunArgs> {
        let mut words = vec!["run".to_string()];
        if !self.environments.is_empty() {
            words.extend(["--env".to_string(), format!("native,{}", self.environments.join(","))]);
        }
        words.extend(self.time.into_iter().flat_map(|seconds| ["--time".to_string(), seconds.to_string()]));
        Ok(RunArgs { traced: Some(self.profile.clone()), ..RunArgs::from_words(words)? })
    }

    /// Unit costs that were measured in another file system, with other threads, for another time, on other CPUs, or where
    /// something else is added to each call, are not the ones that a new run would give.
    fn conditions(&self, needs: &Needs) -> u64 {
        let host = facts(&Sources::default(), None);
        let taxes: Vec<_> = host.taxes.iter().map(|tax| (&tax.kind, &tax.detail)).collect();
        let of_host = (&host.container, &host.cpu, host.cpus_allowed, taxes);
        let mut hasher = DefaultHasher::new();
        (std::env::var_os("TMPDIR"), threads_of(needs), self.time.map(f64::to_bits), of_host).hash(&mut hasher);
        hasher.finish()
    }

    fn is_priced_by(&self, run: &Run, needs: &Needs) -> bool {
        let there: BTreeSet<&str> = run.records.iter().map(|record| record.case.environment.as_str()).collect();
        let large = |need: &&Need| need.share.is_none_or(|share| share >= LEAST_SHARE);
        self.environments.iter().all(|name| there.contains(name.as_str()))
            && needs.cases.iter().filter(large).all(|need| is_measured(run, need))
    }
}

/// Whether `run` has the operation, at values around those of `need`.
fn is_measured(run: &Run, need: &Need) -> bool {
    let mut own = run.records.iter().filter(|record| record.case.operation == need.operation).peekable();
    if own.peek().is_none() {
        return false;
    }
    let params: Vec<_> = own.map(|record| record.case.effective_params()).collect();
    need.params.iter().all(|(name, value)| {
        let values = || params.iter().filter_map(|params| params.get(name).copied());
        let (Some(least), Some(most)) = (values().min(), values().max()) else { return false };
        least / BEYOND <= *value && *value <= most.saturating_mul(BEYOND)
    })
}

/// Where runs are kept. A file is named by what it depends on and by when it was made: `BOOT-VERSION-CONDITIONS-SECONDS.json`.
struct Folder {
    path: PathBuf,
    boot: String,
    conditions: u64,
}

impl Folder {
    /// `None` where there is no private directory; then nothing is kept.
    fn open(conditions: u64) -> Option<Folder> {
        let boot = Sources::default().text("proc/sys/kernel/random/boot_id")?;
        let path = state_directory()?.join("unit-costs");
        private::make(&path).ok()?;
        Some(Folder { path, boot, conditions })
    }

    /// Of this boot and version, the latest first.
    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.all().filter(|path| has_prefix(path, &self.version())).collect();
        files.sort_by_cached_key(|path| Reverse(seconds(path)));
        files
    }

    fn all(&self) -> impl Iterator<Item = PathBuf> {
        fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path())
    }

    fn version(&self) -> String {
        format!("{}-{}-", self.boot, env!("CARGO_PKG_VERSION"))
    }

    fn prefix(&self) -> String {
        format!("{}{:016x}-", self.version(), self.conditions)
    }

    /// Measured under the same conditions.
    fn runs(&self) -> impl Iterator<Item = Run> {
        let prefix = self.prefix();
        self.files()
            .into_iter()
            .filter(move |path| has_prefix(path, &prefix))
            .filter_map(|path| store::run_from_bytes(&path, &open::bytes(&path, LARGEST).ok()?).ok())
    }

    /// Without its file, the next 'why' takes longer.
    fn keep(&self, run: &Run) {
        let name = format!("{}{}.json", self.prefix(), run.started_unix_s);
        // Whatever lies there is replaced and not opened.
        let _ = store::write_again(run, &self.path.join(name));
        let kept: Vec<PathBuf> = self.files().into_iter().take(MOST_KEPT).collect();
        self.all().filter(|path| !kept.contains(path)).for_each(|path| drop(fs::remove_file(path)));
    }
}

fn has_prefix(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

/// When the run of a file began.
fn seconds(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.rsplit('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{self, record, run};
    use std::collections::BTreeMap;

    fn need(operation: &str, size: u64) -> Need {
        fixtures::need(operation, Some(size), Some(0.5))
    }

    #[test]
    fn a_pipe_among_those_that_are_kept_is_not_opened() {
        let top = tempfile::tempdir().unwrap();
        let folder = Folder { path: top.path().to_path_buf(), boot: "boot".into(), conditions: 1 };
        let run = run(vec![record("id.getppid", 100)]);
        let named = |seconds: u64| top.path().join(format!("{}{seconds}.json", folder.prefix()));
        for seconds in [run.started_unix_s, run.started_unix_s + 1] {
            crate::kernel::process::make_fifo(&named(seconds)).unwrap();
        }
        assert_eq!(folder.runs().count(), 0);
        folder.keep(&run);
        assert_eq!(folder.runs().count(), 1);
    }

    #[test]
    fn a_run_prices_values_around_the_measured_ones() {
        let at = |size| {
            let mut own = record("io.read_file", 100);
            own.case.params = BTreeMap::from([("size".to_string(), size)]);
            own
        };
        let run = run(vec![at(64), at(4096)]);
        assert!(is_measured(&run, &need("io.read_file", 1024)));
        assert!(is_measured(&run, &need("io.read_file", 8192)));
        assert!(!is_measured(&run, &need("io.read_file", 8193)));
        assert!(!is_measured(&run, &need("io.read_file", 31)));
        assert!(!is_measured(&run, &need("io.write_file", 64)));
    }
}
