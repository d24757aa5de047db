//! `syscost report DIR`: the page about the runs of many hosts.

use super::super::directory::{Skipped, expanded, is_directory};
use super::super::exit::Exit;
use super::super::messages::Notes;
use super::args::{Kind, ReportArgs};
use super::atlas;
use crate::cli::error::usage;
use crate::fleet::questions::{CaseName, Observation, Origin, survey};
use crate::fleet::sql;
use crate::kernel::threads::in_order;
use crate::model::pattern::Pattern;
use crate::report::html::{FleetPage, write_fleet_page};
use crate::rows::{Machine, Row, rows};
use crate::store::{self, RowLine};
use anyhow::{Result, bail};
use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether the page is that of many hosts. Errors: if that depends on what a file is, which cannot be found out.
pub fn is_asked(args: &ReportArgs) -> Result<bool> {
    let asked = args.of_fleet.fleet || !args.of_fleet.group_by.is_empty();
    args.files.iter().try_fold(asked, |asked, file| Ok(asked || is_directory(file)?))
}

/// Writes the page. Errors: if flags do not fit, a directory cannot be read, or nothing in it can.
pub fn run(args: &ReportArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    usage(check(args))?;
    let columns = columns(args);
    let only = usage(args.only.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<Pattern>>>())?;
    let mut skipped = Skipped::default();
    let files = expanded(&args.files, &["json", "jsonl", "ndjson"], &mut skipped)?;
    let listed = files.len() + skipped.count();
    let gathered = gather(&files, &only, &mut skipped);
    let exit = skipped.told();
    if gathered.observations.is_empty() {
        if args.of_fleet.group_by.is_empty()
            && let Some(atlas) = atlas::of_runs(&files, &only)
        {
            atlas::page(&atlas, args, notes, out)?;
            return Ok(exit);
        }
        bail!(
            "none of {} files has the cost of an operation on a named host: name a directory of result files, or of rows",
            listed
        );
    }
    let survey = survey(&gathered.observations, &columns);
    let page = FleetPage {
        survey: &survey,
        runs: gathered.runs.len(),
        files: (listed, skipped.count()),
        skipped: &skipped.lines(),
    };
    let mut html = Vec::new();
    write_fleet_page(&page, &mut html)?;
    args.deliver_page(&html, notes, out)?;
    Ok(exit)
}

fn columns(args: &ReportArgs) -> Vec<String> {
    match &args.of_fleet.group_by[..] {
        [] => vec!["cpu".to_string(), "kernel".to_string()],
        asked => asked.to_vec(),
    }
}

fn check(args: &ReportArgs) -> Result<()> {
    if args.format != Kind::Html || args.figure.is_some() {
        bail!("--figure and --format svg are for single files: a directory has a page, so omit them");
    }
    if !args.labels.is_empty() || args.baseline.is_some() {
        bail!("--label and --baseline are for single files: --group-by says what a directory's hosts are grouped by");
    }
    args.of_profile.check_for_runs()?;
    args.of_fleet.group_by.iter().filter(|column| *column != "host").try_for_each(|column| sql::check_column(column))
}

#[derive(Default)]
struct Gathered {
    observations: Vec<Observation>,
    runs: HashSet<String>,
}

impl Gathered {
    /// A run counts once, though it may be there as a result file and as rows.
    fn add(&mut self, run: String, observations: Vec<Observation>) {
        if self.runs.insert(run) {
            self.observations.extend(observations);
        }
    }
}

/// What one file holds. Hosts and cases are named once.
#[derive(Default)]
struct Loaded {
    /// By the run's id.
    runs: BTreeMap<String, Vec<Observation>>,
    places: HashSet<Arc<Origin>>,
    cases: HashSet<Arc<CaseName>>,
}

/// Reads all files; those that cannot be read go to `skipped`.
fn gather(files: &[PathBuf], only: &[Pattern], skipped: &mut Skipped) -> Gathered {
    let mut gathered = Gathered::default();
    let load = |index: usize| load(&files[index], only);
    let mut names = files.iter().map(|file| file.to_string_lossy());
    let Ok(()) = in_order(files.len(), load, |loaded| {
        let name = names.next().unwrap_or_default();
        match loaded {
            Ok(loaded) => loaded.runs.into_iter().for_each(|(run, observations)| gathered.add(run, observations)),
            Err(reason) => skipped.add(&name, &reason),
        }
        Ok::<(), Infallible>(())
    });
    gathered
}

/// What a file holds, or why it cannot be read.
fn load(file: &Path, only: &[Pattern]) -> Result<Loaded, String> {
    let mut loaded = Loaded::default();
    let is_lines = file.extension().is_some_and(|extension| extension != "json");
    if is_lines {
        store::read_rows(file, |line| loaded.add_line(line, only)).map_err(|error| format!("{error:#}"))?;
    } else {
        rows(store::read(file).map_err(|error| error.reason())?)
            .into_iter()
            .for_each(|row| loaded.add_line(line_of(row), only));
    }
    Ok(loaded)
}

/// What a line of `syscost fleet rows` would say of `row`.
fn line_of(row: Row) -> RowLine {
    let median_ns = row.median_ns();
    let Machine { host, cpu, kernel, hypervisor, container, libc, mitigations } = row.machine;
    let known = [
        ("cpu", cpu),
        ("kernel", kernel),
        ("hypervisor", hypervisor),
        ("container", container),
        ("libc", libc),
        ("mitigations", mitigations),
        ("tool", Some(row.tool)),
    ];
    let labels = row.labels.into_iter().map(|(key, value)| (format!("label_{key}"), value));
    let machine = known.into_iter().filter_map(|(column, value)| Some((column.to_string(), value?)));
    RowLine {
        run_id: row.run_id,
        started_unix_s: row.started_unix_s,
        host,
        operation: row.operation,
        params: row.params,
        environment: row.environment,
        language: row.language,
        status: row.status.to_string(),
        median_ns,
        columns: machine.chain(labels).collect::<BTreeMap<String, String>>(),
    }
}

impl Loaded {
    /// Adds what the SQL's WHERE takes.
    fn add_line(&mut self, line: RowLine, only: &[Pattern]) {
        let area = line.operation.split('.').next().unwrap_or_default();
        let is_wanted = only.is_empty() || only.iter().any(|p| p.matches_id(&line.operation) || p.text() == area);
        let cost = line.median_ns.filter(|ns| *ns > 0.0 && ns.is_finite() && line.status == "ok" && is_wanted);
        let (Some(ns), Some(host)) = (cost, line.host) else { return };
        let RowLine { operation, params, environment, language, columns, started_unix_s, .. } = line;
        let case = once(&mut self.cases, CaseName { operation, params, environment, language });
        let place = once(&mut self.places, Origin { host, columns });
        self.runs.entry(line.run_id).or_default().push(Observation { case, place, started_unix_s, ns });
    }
}

/// The `value` of `known`, which has it afterwards.
fn once<T: std::hash::Hash + Eq>(known: &mut HashSet<Arc<T>>, value: T) -> Arc<T> {
    if let Some(found) = known.get(&value) {
        return found.clone();
    }
    let new = Arc::new(value);
    known.insert(new.clone());
    new
}
