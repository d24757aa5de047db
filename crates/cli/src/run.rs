//! `syscost run`: from patterns to a table, by way of plan, proof and engine.

mod args;

pub use args::{EnvironmentName, RunArgs, positive};

use super::error::{bail_usage, usage, usage_error};
use super::exit::Exit;
use super::messages::Notes;
use super::progress::Progress;
use super::show::{View, write_run};
use super::words::parsed;
use super::{messages, terminal};
use anyhow::Result;
use measure::plan::{
    Choices, EnvironmentScope, Setting, Study, StudyPlan, Surroundings, TOUR, add_cold_cases,
    select, subjects,
};
use measure::runner::Environment;
use measure::session::{Job, Keep, RunOptions, Session, Sides};
use model::prose::counted;
use model::{COLD, Outcome, Run};
use report::ViewKind;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use store::StoreError;

/// Which cases have both sides: other programs than the probe do not care for it, but all work in a directory.
fn scope(sides: &Sides) -> EnvironmentScope {
    match sides {
        Sides::One => EnvironmentScope::Built,
        Sides::Directories(paths) if paths.len() == 1 => EnvironmentScope::Built,
        Sides::Commands(_, own) if own.iter().any(Environment::is_elsewhere) => {
            EnvironmentScope::Operations
        }
        Sides::Commands(..) => EnvironmentScope::Built,
        Sides::Probe(_) => EnvironmentScope::Operations,
        Sides::Directories(_) => EnvironmentScope::Everything,
    }
}

impl RunArgs {
    /// What `syscost` alone does: `syscost run` without anything.
    pub fn tour() -> Result<RunArgs> {
        parsed("run", [""; 0])
    }

    fn options(&self, study: Option<&Study>) -> RunOptions {
        // What the user says of time, either way, replaces what the study says of it.
        let of_study = study
            .filter(|_| self.time.is_none())
            .and_then(|study| study.cpu_seconds);
        let cpu_seconds = self.cpu_seconds.or(of_study);
        RunOptions {
            cpu: self.cpu.unwrap_or_default(),
            budget: study
                .and_then(|study| study.seconds)
                .map(Duration::from_secs_f64),
            whole: self.time.map(Duration::from_secs_f64),
            per_case: cpu_seconds.map(Duration::from_secs_f64),
            precision_percent: self.precision,
            seed: None,
            timeout: Duration::from_secs_f64(self.timeout),
            verify: !self.no_verify,
            counters: self.view.view == Some(ViewKind::Counters),
            latency: self.latency.is_some() || self.view.view == Some(ViewKind::Latency),
            latency_time: self.latency.flatten().map(Duration::from_secs_f64),
        }
    }

    fn study(&self) -> Result<Option<Study>> {
        let nothing = self.patterns.is_empty() && !self.all;
        self.study
            .as_deref()
            .or(nothing.then_some(TOUR))
            .map(Study::find)
            .transpose()
    }

    /// What others may have written does not run unless the user says so; the files of patterns are checked with them.
    fn check_trust(&self, study: Option<&Study>) -> Result<()> {
        study.map_or(Ok(()), |study| study.may_run(self.trust_files))?;
        self.setups
            .iter()
            .chain(&self.preludes)
            .try_for_each(|code| code.may_run(self.trust_files))
    }

    fn own_environments(&self) -> Result<Vec<Environment>> {
        let mut own: Vec<Environment> = Vec::new();
        for command in &self.commands {
            let taken: Vec<String> = own
                .iter()
                .map(|environment| environment.name.clone())
                .collect();
            own.push(
                Environment::of_command(command, &taken)
                    .map_err(|e| usage_error!("--env-command: {e:#}"))?,
            );
        }
        if let (Some(command), Some(probe)) = (&self.via, &self.other_probe) {
            let taken: Vec<String> = own
                .iter()
                .map(|environment| environment.name.clone())
                .collect();
            own.push(
                Environment::elsewhere(command, probe, &taken)
                    .map_err(|e| usage_error!("--via: {e:#}"))?,
            );
        }
        Ok(own)
    }

    fn is_to_output(&self) -> bool {
        self.out.as_deref() == Some(Path::new("-"))
    }

    /// Where the run is kept while it is made. Standard output gets it at the end.
    fn keep(&self) -> Result<Keep> {
        let file = self.out.as_deref().filter(|_| !self.is_to_output());
        check_destination("--out", file)?;
        let folder = self.out_dir.as_deref();
        folder.map_or(Ok(()), |folder| check_folder("--out-dir", folder))?;
        Ok(folder.map_or_else(|| Keep::in_file(file), Keep::in_folder))
    }

    fn sides(&self) -> Result<Sides> {
        let own = self.own_environments()?;
        if !own.is_empty() {
            return Ok(Sides::Commands(self.environments.clone(), own));
        }
        match (&self.versus_probe, &self.tmpdir[..]) {
            (Some(probe), _) => Ok(Sides::Probe(probe.clone())),
            (None, []) => Ok(Sides::One),
            (None, directories) => Ok(Sides::Directories(directories.to_vec())),
        }
    }

    fn plan(&self, session: &Session, study: Option<&Study>, sides: &Sides) -> Result<StudyPlan> {
        let settings: Vec<Setting> = self.params.iter().chain(&self.threads).cloned().collect();
        let names = sides.names();
        let environments = if names.is_empty() {
            &self.environments
        } else {
            &names
        };
        let choices = Choices {
            settings: &settings,
            environments,
            scope: scope(sides),
        };
        let mut plan = self.plan_warm(session, study, &choices)?;
        if let Some(cold) = &self.cold {
            plan.planned = add_cold_cases(&session.catalogue, plan.planned, &cold.values)?;
        }
        Ok(plan)
    }

    fn plan_warm(
        &self,
        session: &Session,
        study: Option<&Study>,
        choices: &Choices,
    ) -> Result<StudyPlan> {
        if let Some(study) = study {
            return study.plan(&session.catalogue, choices);
        }
        let surroundings = Surroundings {
            preludes: &self.preludes,
            setups: &self.setups,
            trust_files: self.trust_files,
        };
        let subjects = subjects(&session.catalogue, &self.patterns, &surroundings)?;
        let planned = select(&session.catalogue, &subjects, choices)?;
        Ok(StudyPlan::without_study(planned))
    }

    fn check_cold(&self) -> Result<()> {
        if self.cold.is_some() && self.params.iter().any(|setting| setting.name == COLD) {
            Err(usage_error!(
                "--cold and --param {COLD} are the same parameter: omit one"
            ))
        } else {
            Ok(())
        }
    }
}

pub fn run(args: &RunArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    args.view.check_for_run()?;
    let Measured { run, plan, stored } = measure(args, notes)?;
    if args.is_to_output() {
        store::write_to(&run, out)?;
        out.flush()?;
        table_beside(&run, &args.view, notes)?;
        return Ok(exit(&run, &plan));
    }
    write_run(&run, &args.view, terminal::screen(), out)?;
    // Only now: a full disk is no reason to lose the table as well.
    out.flush()?;
    stored?;
    Ok(exit(&run, &plan))
}

/// The table on standard error, since standard output has the result file.
fn table_beside(run: &Run, view: &View, notes: Notes) -> Result<()> {
    if notes.quiet {
        return Ok(());
    }
    let mut table = Vec::new();
    write_run(run, view, terminal::error_screen(), &mut table)?;
    messages::show(&table);
    Ok(())
}

pub(super) struct Measured {
    pub run: Run,
    pub plan: StudyPlan,
    pub stored: Result<(), StoreError>,
}

pub(super) fn measure(args: &RunArgs, notes: Notes) -> Result<Measured> {
    let progress = Progress::new(notes.quiet);
    args.check_cold()?;
    let keep = args.keep()?;
    let labels = args
        .labels
        .iter()
        .map(|label| (label.key.clone(), label.value.clone()))
        .collect();
    let study = usage(args.study())?;
    usage(args.check_trust(study.as_ref()))?;
    let sides = usage(args.sides())?;
    let session = usage(Session::open_sides(
        args.options(study.as_ref()),
        sides.clone(),
    ))?;
    let plan = usage(args.plan(&session, study.as_ref(), &sides))?;
    let names_snippets = study.is_none();
    let job = Job {
        planned: plan.planned.clone(),
        fixtures: plan.fixtures.clone(),
        study: study.map(|study| study.view),
        labels,
        named_environments: args.environments.clone(),
        names_snippets,
        runs: args.runs,
    };
    session
        .builds_first(&job)
        .iter()
        .for_each(|line| notes.tell(line));
    usage(session.check(&job))?;
    let mut ready = session.prepare(job)?;
    ready.shortfall().iter().for_each(|line| notes.tell(line));
    let (run, stored) = ready.measure(&progress, &keep);
    progress.done();
    known_entries(&run, notes);
    keep.chosen()
        .iter()
        .for_each(|path| notes.tell(&format_args!("the run is in {}", path.display())));
    Ok(Measured { run, plan, stored })
}

fn known_entries(run: &Run, notes: Notes) {
    let known = run
        .records
        .iter()
        .filter(|record| record.entries_counted_unix_s.is_some())
        .count();
    if known > 0 {
        let cases = counted(known, "case");
        notes.tell(&format!(
            "kernel entries of {cases} were counted by earlier runs since the machine booted"
        ));
    }
}

/// A case that enters the kernel otherwise than its study says has failed as a test.
fn exit(run: &Run, plan: &StudyPlan) -> Exit {
    if !run.complete {
        return Exit::Interrupted;
    }
    let failed = run
        .runs()
        .flat_map(|run| &run.records)
        .any(|record| matches!(record.outcome, Outcome::Failed(_)));
    if failed || !plan.is_met(run) {
        Exit::SomeFailed
    } else {
        Exit::Success
    }
}

fn check_folder(flag: &str, folder: &Path) -> Result<()> {
    let wrong = |what: String| Err(usage_error!("{flag} {}: {what}", folder.display()));
    if let Err(error) = std::fs::create_dir_all(folder) {
        return wrong(format!("cannot create the directory ({})", error.kind()));
    }
    tempfile::tempfile_in(folder)
        .map(drop)
        .or_else(|e| wrong(format!("cannot create a file there ({})", e.kind())))
}

/// A long run must not end with a file that cannot be written.
pub(super) fn check_destination(flag: &str, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if path.is_dir() || !parent.is_dir() {
        bail_usage!(
            "{flag} {}: not a file in an existing directory",
            path.display()
        );
    }
    // A device or a pipe is written straight into; a file takes the old one's place only when it is whole.
    let replaced = !path.exists() || path.is_file();
    match tempfile::tempfile_in(parent) {
        Err(e) if replaced => Err(usage_error!(
            "{flag} {}: cannot create a file there ({})",
            path.display(),
            e.kind()
        )),
        _ => Ok(()),
    }
}
