//! `syscost report DIR`: the page about the runs of many hosts.

use super::super::exit::Exit;
use super::super::messages::{self, Notes};
use super::super::result_files;
use super::args::{Kind, ReportArgs, deliver, destination};
use crate::cli::error::usage;
use crate::fleet::questions::{CaseName, Observation, Place, survey};
use crate::fleet::sql;
use crate::plan::Pattern;
use crate::report::html::{FleetPage, write_fleet_page};
use crate::rows::{Machine, Row, rows};
use crate::store::{self, RowLine};
use anyhow::{Result, bail};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether the page is that of many hosts.
pub fn is_asked(args: &ReportArgs) -> bool {
    args.of_fleet.fleet || !args.of_fleet.group_by.is_empty() || args.files.iter().any(|file| file.is_dir())
}

/// Writes the page.
///
/// # Errors
/// If flags do not fit, a directory cannot be read, or nothing in it can.
pub fn run(args: &ReportArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    usage(check(args))?;
    let columns = columns(args);
    let only = usage(args.only.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<Pattern>>>())?;
    let files = usage(result_files::expanded_to(&args.files, &["json", "jsonl", "ndjson"]))?;
    let gathered = gather(&files, &only)?;
    if gathered.observations.is_empty() {
        bail!(
            "none of {} files has the cost of an operation on a named host: name a directory of result files, or of rows",
            files.len()
        );
    }
    let survey = survey(&gathered.observations, &columns);
    let page = FleetPage { survey: &survey, runs: gathered.runs.len(), files: files.len(), skipped: &gathered.skipped };
    let mut html = Vec::new();
    write_fleet_page(&page, &mut html)?;
    deliver(&destination(args), &html, notes, out)?;
    Ok(if gathered.skipped.is_empty() { Exit::Success } else { Exit::SomeFailed })
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

/// What was read.
#[derive(Default)]
struct Gathered {
    observations: Vec<Observation>,
    runs: HashSet<String>,
    /// Why a file was not read, each a line.
    skipped: Vec<String>,
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
    places: HashSet<Arc<Place>>,
    cases: HashSet<Arc<CaseName>>,
}

/// Reads all files; names those that cannot be read.
fn gather(files: &[PathBuf], only: &[Pattern]) -> Result<Gathered> {
    let mut gathered = Gathered::default();
    let load = |index: usize| load(&files[index], only);
    result_files::in_order(files.len(), load, |loaded| {
        match loaded {
            Ok(loaded) => loaded.runs.into_iter().for_each(|(run, observations)| gathered.add(run, observations)),
            Err(error) => {
                let line = format!("{error:#}");
                messages::tell(&format_args!("skipped: {line}"));
                gathered.skipped.push(line);
            }
        }
        Ok(())
    })?;
    Ok(gathered)
}

fn load(file: &Path, only: &[Pattern]) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    let is_lines = file.extension().is_some_and(|extension| extension != "json");
    if is_lines {
        store::read_rows(file, |line| loaded.add_line(line, only))?;
    } else {
        rows(store::read(file)?).into_iter().for_each(|row| loaded.add_line(line_of(row), only));
    }
    Ok(loaded)
}

/// What a line of `syscost rows` would say of `row`.
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
        let place = once(&mut self.places, Place { host, columns });
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
