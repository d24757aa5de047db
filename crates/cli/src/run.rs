//! `syscost run`: from patterns to a table, by way of plan, proof and engine.

mod args;

pub use args::{EnvironmentName, RunArgs, seconds};

use super::error::{bail_usage, usage, usage_error};
use super::exit::Exit;
use super::messages::{is_quiet, note};
use super::progress::Progress;
use super::sandboxes;
use super::show::{View, write_run};
use super::words::parsed;
use super::{messages, terminal};
use analysis::attribute::priced::Pricing;
use anyhow::Result;
use measure::plan::{
    Choices, EnvironmentScope, Setting, Study, StudyPlan, Surroundings, TOUR, add_cold_cases,
    select, subjects,
};
use measure::runner::{Environment, Interrupt, NATIVE};
use measure::session::{Job, Keep, RunOptions, Session, Sides};
use model::pattern;
use model::prose::{counted, few};
use model::{COLD, Combination, Outcome, Role, Run, StartUp};
use report::ViewKind;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use store::StoreError;
use trace::race;

/// How long the starts of environments are measured, unless the whole run has a limit.
const START_UPS: Duration = Duration::from_secs(12);

/// The cases that all sides measure. Snippets do not run with another probe or on another machine.
fn scope(sides: &Sides) -> EnvironmentScope {
    match sides {
        Sides::One => EnvironmentScope::Built,
        Sides::Directories(paths) if paths.len() == 1 => EnvironmentScope::Built,
        Sides::Commands(_, environments) if environments.iter().any(Environment::is_elsewhere) => {
            EnvironmentScope::Operations
        }
        Sides::Commands(..) => EnvironmentScope::Built,
        Sides::Probe(_) => EnvironmentScope::Operations,
        Sides::Directories(_) => EnvironmentScope::Everything,
    }
}

impl RunArgs {
    /// The options of `syscost` without arguments: the default patterns are the tour.
    pub fn tour() -> Result<RunArgs> {
        parsed("run", [""; 0])
    }

    fn options(&self, study: Option<&Study>) -> RunOptions {
        let of_study = |get: fn(&Study) -> Option<f64>| Some(Duration::from_secs_f64(get(study?)?));
        // Either of the user's time options replaces both of the study.
        let per_case = match self.time {
            Some(_) => self.cpu_seconds,
            None => self.cpu_seconds.or(of_study(|study| study.cpu_seconds)),
        };
        RunOptions {
            cpu: self.cpu.unwrap_or_default(),
            budget: of_study(|study| study.seconds),
            whole: self.time,
            per_case,
            precision_percent: self.precision,
            seed: None,
            timeout: self.timeout,
            verify: !self.no_verify,
            counters: self.view.view == Some(ViewKind::Counters),
            latency: self.latency.is_some() || self.view.view == Some(ViewKind::Latency),
            latency_time: self.latency.flatten(),
        }
    }

    fn study(&self) -> Result<Option<Study>> {
        // Without any subject, the tour is measured: it is a study like any other.
        let nothing = self.patterns.is_empty() && !self.all;
        self.study
            .as_deref()
            .or(nothing.then_some(TOUR))
            .map(Study::find)
            .transpose()
    }

    /// Refuses code that other users could have written, unless the user allows it. Files named in patterns are checked with the patterns.
    fn check_trust(&self, study: Option<&Study>) -> Result<()> {
        if let Some(study) = study {
            study.may_run(self.trust_files)?;
        }
        for code in self.setups.iter().chain(&self.preludes) {
            code.may_run(self.trust_files)?;
        }
        Ok(())
    }

    fn own_environments(&self) -> Result<Vec<Environment>> {
        let mut environments = Vec::new();
        let mut taken = Vec::new();
        // Names of environments must differ, also from those of commands before.
        let mut add = |flag: &str, made: &dyn Fn(&[String]) -> Result<Environment>| {
            let made = made(&taken).map_err(|error| usage_error!("{flag}: {error:#}"))?;
            taken.push(made.name.clone());
            environments.push(made);
            Ok::<(), anyhow::Error>(())
        };
        for command in &self.commands {
            add("--env-command", &|taken| {
                Environment::of_command(command, taken)
            })?;
        }
        if let (Some(command), Some(probe)) = (&self.via, &self.other_probe) {
            add("--via", &|taken| {
                Environment::elsewhere(command, probe, taken)
            })?;
        }
        Ok(environments)
    }

    /// Environments that only build the probe in another way have none.
    fn start_ups(
        &self,
        study: Option<&Study>,
        progress: &Progress,
    ) -> Result<BTreeMap<String, StartUp>> {
        let of_study = study.is_some_and(|study| study.start_up);
        if !(self.start_up || of_study) {
            return Ok(BTreeMap::new());
        }
        if !of_study && self.environments.is_empty() && self.commands.is_empty() {
            bail_usage!("--start-up: name environments with --env or --env-command");
        }
        let names = match study {
            Some(study) if self.environments.is_empty() => &study.environments,
            _ => &self.environments,
        };
        let environments: Vec<Environment> = names
            .iter()
            .filter(|name| *name != NATIVE)
            .filter_map(|name| Environment::find(name).ok())
            .chain(self.own_environments()?)
            .filter(|environment| self.has_start_up(environment))
            .collect();
        if environments.is_empty() {
            return Ok(BTreeMap::new());
        }
        let time = self.time.map_or(START_UPS, |whole| whole / 3);
        let interrupt = Interrupt::on_signals()?;
        race::start_ups(&environments, time, &interrupt, progress, &note::<str>)
    }

    /// Prints a note for an environment without a start, unless a study chose it.
    fn has_start_up(&self, environment: &Environment) -> bool {
        let starts = environment
            .check_starts_commands()
            .and_then(|()| environment.check_needs());
        if let (Err(error), true) = (&starts, self.start_up) {
            note(&format!("--start-up: {error:#}"));
        }
        starts.is_ok()
    }

    fn is_to_output(&self) -> bool {
        self.out.as_deref() == Some(Path::new("-"))
    }

    fn keep(&self) -> Result<Keep> {
        let file = if self.is_to_output() {
            None
        } else {
            self.out.as_deref()
        };
        check_destination("--out", file)?;
        let Some(folder) = &self.out_dir else {
            return Ok(Keep::in_file(file));
        };
        check_folder("--out-dir", folder)?;
        Ok(Keep::in_folder(folder))
    }

    fn sides(&self) -> Result<Sides> {
        let environments = self.own_environments()?;
        if !environments.is_empty() {
            // Commands of the user are columns beside the environments that are asked for by name.
            return Ok(Sides::Commands(self.environments.clone(), environments));
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
            // After the plan, because a cold case is a copy of a warm one.
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
}

/// The exit status includes failed cases and the gate.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> Result<Exit> {
    args.view.check_for_run()?;
    let (run, exit, stored) = measure(args)?;
    if args.is_to_output() {
        // Standard output is the result file, so the table goes to standard error.
        store::write_to(&run, out)?;
        out.flush()?;
        table_beside(&run, &args.view)?;
        return judged(args, &run, exit);
    }
    write_run(&run, &args.view, terminal::screen(), out)?;
    // Reported after the table: a full disk must not lose the table as well.
    out.flush()?;
    stored?;
    judged(args, &run, exit)
}

/// A run that failed or was interrupted is not judged.
fn judged(args: &RunArgs, run: &Run, exit: Exit) -> Result<Exit> {
    match exit {
        Exit::Success => args.gate.judge(run),
        _ => Ok(exit),
    }
}

fn table_beside(run: &Run, view: &View) -> Result<()> {
    if !is_quiet() {
        let mut table = Vec::new();
        write_run(run, view, terminal::error_screen(), &mut table)?;
        messages::show(&table);
    }
    Ok(())
}

/// Operations with values of parameters in environments, in the same rounds and within `time`; nothing is printed or kept.
pub fn in_environments(pricing: &Pricing, names: &[&str], time: Duration) -> Result<Run> {
    // Through the options of the command line, so that a run for `why` is planned like any other.
    let names = format!("--env={}", names.join(","));
    let time = format!("--time={:.3}", time.as_secs_f64());
    let settings: Vec<String> = pricing
        .settings
        .iter()
        .map(|setting| format!("--param={setting}"))
        .collect();
    let settings = settings.iter().map(String::as_str);
    let words: Vec<&str> = [names.as_str(), &time]
        .into_iter()
        .chain(settings)
        .chain(pricing.operations.iter().copied())
        .collect();
    let args: RunArgs = parsed("run", words)?;
    let session = Session::open(args.options(None), Sides::One)?;
    let plan = args.plan(&session, None, &Sides::One)?;
    let job = Job {
        planned: plan.planned,
        ..Job::default()
    };
    let progress = Progress::new();
    let (run, _) = session
        .prepare(job)?
        .measure(&progress, &Keep::in_file(None));
    progress.done();
    Ok(run)
}

fn measure(args: &RunArgs) -> Result<(Run, Exit, Result<(), StoreError>)> {
    let progress = Progress::new();
    if args.cold.is_some() && args.params.iter().any(|setting| setting.name == COLD) {
        bail_usage!("--cold and --param {COLD} are the same parameter: omit one");
    }
    let keep = args.keep()?;
    let labels = args
        .labels
        .iter()
        .map(|label| (label.key.clone(), label.value.clone()))
        .collect();
    let mut study = usage(args.study())?;
    if let Some(study) = &mut study {
        sandboxes::expand(&mut study.environments, &[NATIVE]);
    }
    usage(args.check_trust(study.as_ref()))?;
    let sides = usage(args.sides())?;
    let begun = Instant::now();
    let start_ups = args.start_ups(study.as_ref(), &progress)?;
    let mut options = args.options(study.as_ref());
    if !start_ups.is_empty() {
        let left = |whole: Duration| whole.saturating_sub(begun.elapsed());
        options.whole = options.whole.map(left);
    }
    let mut session = usage(Session::open(options, sides.clone()))?;
    let plan = usage(args.plan(&session, study.as_ref(), &sides))?;
    check_gate(args, study.as_ref(), &plan)?;
    note_choices(args, &session);
    let names_snippets = study.is_none();
    let job = Job {
        planned: plan.planned.clone(),
        fixtures: plan.fixtures.clone(),
        study: study.map(|study| study.view),
        labels,
        named_environments: args.environments.clone(),
        names_snippets,
        runs: args.runs,
        start_ups,
    };
    session.builds_first(&job).iter().for_each(note);
    usage(session.check(&job))?.iter().for_each(note);
    let mut ready = session.prepare(job)?;
    ready.shortfall().iter().for_each(note);
    let (run, stored) = ready.measure(&progress, &keep);
    progress.done();
    note_known_entries(&run);
    if let Some(path) = keep.chosen() {
        note(&format_args!("the run is in {}", path.display()));
    }
    let exit = exit(&run, &plan);
    Ok((run, exit, stored))
}

fn check_gate(args: &RunArgs, study: Option<&Study>, plan: &StudyPlan) -> Result<()> {
    let has_ratio = match study {
        Some(study) => study
            .view
            .derived
            .iter()
            .any(|derived| derived.combination == Combination::Ratio),
        None => {
            let mut asked = plan
                .planned
                .iter()
                .filter(|planned| planned.role == Role::Asked);
            asked.clone().count() > 1 && asked.any(|planned| planned.case.name.is_some())
        }
    };
    if args.gate.gate().is_some() && !has_ratio {
        bail_usage!(
            "--fail-over, --fail-on-entries: the run has no ratio to judge: name two snippets ('BASE=c:...' 'HEAD=c:...'), or keep two runs (--out) and 'syscost compare' them"
        );
    }
    Ok(())
}

/// Notes on patterns and environments that may not select what the user meant.
fn note_choices(args: &RunArgs, session: &Session) {
    for word in &args.patterns {
        let also = pattern::also_begin(&session.catalogue, word);
        let also = few(also.iter().map(|operation| &operation.id));
        if !also.is_empty() {
            note(&format!(
                "'{word}' also matches {also} (syscost list {word})"
            ));
        }
    }
    for name in &args.environments {
        let idle = Environment::find(name)
            .ok()
            .and_then(|found| found.idle_mitigations());
        idle.iter()
            .for_each(|text| note(&format!("{name}: {text}")));
    }
}

fn note_known_entries(run: &Run) {
    let known = run
        .records
        .iter()
        .filter(|record| record.entries_counted_unix_s.is_some())
        .count();
    if known > 0 {
        let cases = counted(known, "case");
        note(&format!(
            "kernel entries of {cases} were counted by earlier runs since the machine booted"
        ));
    }
}

/// A case whose kernel entries differ from those that its study declares has failed as a test.
fn exit(run: &Run, plan: &StudyPlan) -> Exit {
    if !run.complete {
        return Exit::Interrupted;
    }
    // Includes all repeats: a case that fails only in a later run has failed too.
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
    if let Err(error) = std::fs::create_dir_all(folder) {
        bail_usage!(
            "{flag} {}: cannot create the directory ({})",
            folder.display(),
            error.kind()
        );
    }
    check_file_in(flag, folder, folder)
}

fn check_file_in(flag: &str, shown: &Path, folder: &Path) -> Result<()> {
    tempfile::tempfile_in(folder).map(drop).map_err(|error| {
        usage_error!(
            "{flag} {}: cannot create a file there ({})",
            shown.display(),
            error.kind()
        )
    })
}

/// A long run must not end with a file that cannot be written.
pub(super) fn check_destination(flag: &str, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let folder = Path::new(".").join(path.parent().unwrap_or(Path::new("")));
    if path.is_dir() || !folder.is_dir() {
        bail_usage!(
            "{flag} {}: not a file in an existing directory",
            path.display()
        );
    }
    // A device or a pipe is written straight into; a file takes the old one's place only when it is whole.
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    check_file_in(flag, path, &folder)
}
