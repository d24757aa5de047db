//! Kernel entries that an earlier run has counted, under a key of all that they depend on. Some are counted
//! each time: those of snippets, which may read anything; of operations whose entries depend on a
//! device, on earlier work in a file system, or are not declared as a number; and of programs that
//! another program starts.

use super::Session;
use crate::proof::{self, Proof};
use crate::runner::{digest, key, state_directory};
use assets::COMPILER;
use model::{Count, EntriesStatus, Planned};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use store::lines;
use store::proofs::Counted;
use sys::Sources;
use sys::clock::since_1970;

/// Different in each shell, terminal or login, and read by no operation.
const IRRELEVANT: [&str; 9] = [
    "_",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "COLUMNS",
    "LINES",
    "TERM",
    "XDG_SESSION_ID",
    "XDG_STATE_HOME",
];
const IRRELEVANT_BEGINNINGS: [&str; 2] = ["SSH_", "SYSCOST_"];
/// This program with all that is embedded, and the files that change when a shared library is installed or
/// preloaded.
const PROGRAMS: [&str; 3] = ["/proc/self/exe", "/etc/ld.so.cache", "/etc/ld.so.preload"];

pub(super) struct EntryCache {
    directory: Option<PathBuf>,
    conditions: String,
    environments: HashMap<String, Option<String>>,
    earlier: HashMap<String, Counted>,
    new: Vec<Counted>,
}

impl Session {
    pub(super) fn entry_cache(&self) -> EntryCache {
        let directory = if self.options.verify {
            state_directory()
        } else {
            None
        };
        let earlier: Vec<Counted> = directory.as_deref().map(lines::read).unwrap_or_default();
        EntryCache {
            directory,
            conditions: self.conditions(),
            environments: HashMap::new(),
            earlier: earlier
                .into_iter()
                .map(|counted| (counted.key.clone(), counted))
                .collect(),
            new: Vec::new(),
        }
    }

    fn conditions(&self) -> String {
        let sources = Sources::default();
        let host = &self.host;
        let host_facts = (
            &host.name,
            &host.kernel,
            &host.kernel_version,
            &host.clock_source,
            &host.cpu,
            &host.container,
        );
        let process_facts = (
            &host.user,
            &host.file_system,
            &host.limits,
            host.cpus_allowed,
        );
        let boot = sources.text("proc/sys/kernel/random/boot_id");
        let seccomp = sources
            .status("Seccomp_filters")
            .or_else(|| sources.status("Seccomp"));
        // On musl, the dynamic linker is the C library.
        let musl = format!("/lib/ld-musl-{}.so.1", std::env::consts::ARCH);
        let programs: Vec<_> = PROGRAMS
            .into_iter()
            .chain([musl.as_str()])
            .map(state)
            .collect();
        format!(
            "{COMPILER} {boot:?} {host_facts:?} {process_facts:?} {seccomp:?} {programs:?} {:?}",
            variables()
        )
    }

    fn probe_of(&self, planned: &Planned) -> Option<String> {
        let name = &planned.case.environment;
        let is_from_command = self
            .sides
            .environments()
            .iter()
            .any(|place| place.name == *name);
        if is_from_command || self.sides.are_variants() {
            return None;
        }
        let environment = self.workers.environment(name).ok()?;
        let is_ours =
            !environment.is_guest && (!environment.has_starter() || environment.is_launched());
        if !is_ours {
            return None;
        }
        let program = self.workers.program(&planned.case).ok()?;
        Some(format!("{environment:?} {}", digest(&program).ok()?))
    }
}

impl EntryCache {
    fn key(&mut self, session: &Session, planned: &Planned) -> Option<String> {
        let (case, traits) = (&planned.case, planned.traits);
        let fixed = planned
            .enters
            .as_ref()?
            .0
            .iter()
            .all(|expected| !matches!(expected.count, Count::Any));
        if case.language.is_some() || traits.history || traits.machine || !fixed {
            return None;
        }
        let probe = self
            .environments
            .entry(case.environment.clone())
            .or_insert_with(|| session.probe_of(planned));
        let probe = probe.clone()?;
        let work = format!("{} {:?}", case.operation, case.effective_params());
        Some(key(&[
            self.conditions.as_bytes(),
            probe.as_bytes(),
            work.as_bytes(),
        ]))
    }

    /// The proof of an earlier run, if its entries are as declared.
    pub(super) fn find(&mut self, session: &Session, planned: &Planned) -> Option<Proof> {
        let key = self.key(session, planned)?;
        let counted = self.earlier.get(&key)?;
        proof::from_cache(&counted.entries, counted.unix_s, planned)
    }

    pub(super) fn add(&mut self, session: &Session, planned: &Planned, proof: &Proof) {
        // A failed or doubtful count is made again next time.
        let sound = proof.status == EntriesStatus::Verified && proof.warning.is_none();
        let Some(entries) = proof.entries.clone() else {
            return;
        };
        if sound && let Some(key) = self.key(session, planned) {
            self.new.push(Counted {
                key,
                entries,
                unix_s: since_1970().as_secs(),
            });
        }
    }

    pub(super) fn keep(&self) {
        if let Some(directory) = self.directory.as_deref()
            && !self.new.is_empty()
        {
            // A failure costs only time in later runs.
            let _ = lines::add(directory, &self.new);
        }
    }
}

fn state(path: &str) -> Option<(u64, u64, u64, i64, i64)> {
    let facts = fs::metadata(path).ok()?;
    Some((
        facts.dev(),
        facts.ino(),
        facts.size(),
        facts.mtime(),
        facts.mtime_nsec(),
    ))
}

fn variables() -> Vec<(OsString, OsString)> {
    fn is_relevant(name: &OsString) -> bool {
        let name = name.to_string_lossy();
        !IRRELEVANT.contains(&&*name)
            && !IRRELEVANT_BEGINNINGS
                .iter()
                .any(|beginning| name.starts_with(beginning))
    }

    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| is_relevant(name))
        .collect();
    variables.sort();
    variables
}
