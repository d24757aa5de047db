//! `syscost list --envs`: the environments, and whether each can be used here.

use crate::progress::Progress;
use crate::terminal::screen;
use anyhow::Result;
use measure::runner::Environment;
use measure::session::{IMAGES, Readiness, RunOptions, Session, Sides, Stage, Watch, readiness};
use model::prose::few;
use model::{JsonDocument, Unit, grouped, word};
use report::{Cell, Columns, Format, Style, Table, write_answer};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;

/// What `syscost list --envs` prints.
#[derive(Serialize, JsonSchema)]
pub struct EnvironmentList {
    /// One for each environment.
    environments: Vec<Listed>,
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    /// What `--env` takes.
    name: String,
    /// In a few words.
    title: String,
    /// In a sentence.
    what: String,
    /// The unit of its figures.
    unit: Unit,
    /// The command that programs are started with, a word each; empty if they are started directly.
    started_with: Vec<String>,
    /// Whether it can be used here.
    status: Readiness,
    /// The missing package, why it was refused, or which kernel images exist; null if it is ready.
    reason: Option<String>,
    /// Why its kernel entries are not counted; null if they are.
    unverified: Option<String>,
    /// Limits of its figures, a sentence each.
    misleads: Vec<String>,
}

impl JsonDocument for EnvironmentList {
    const SCHEMA: &'static str = "syscost.environments/1";
}

/// Takes seconds.
pub fn run(format: Format, out: &mut dyn Write) -> Result<()> {
    let list = EnvironmentList {
        environments: all()?,
    };
    write_answer(&list, || table(&list.environments), format, screen(), out)
}

fn all() -> Result<Vec<Listed>> {
    let session = Session::open(RunOptions::default(), Sides::One)?;
    let progress = Progress::new();
    progress.stage(Stage::Starting);
    let names = Environment::names();
    let mut listed = Vec::new();
    for (i, name) in names.iter().enumerate() {
        progress.advance(i as f64 / names.len() as f64, name);
        let environment = Environment::find(name)?;
        let (status, reason) = readiness(&session.workers, &environment);
        let started_with = if environment.has_starter() {
            environment.run
        } else {
            Vec::new()
        };
        listed.push(Listed {
            name: environment.name,
            title: environment.title,
            what: environment.what,
            unit: environment.unit,
            started_with,
            status,
            reason,
            unverified: environment.unverified,
            misleads: environment.misleads,
        });
    }
    progress.done();
    Ok(listed)
}

fn table(environments: &[Listed]) -> Table {
    let columns = Columns::new(environments)
        .same("environment", |e| &e.name)
        .left("status", |e| Cell::styled(status(e), style(e.status)))
        .same("title", |e| &e.title)
        .wrapping()
        .field("unit", |e| unit(e.unit))
        .field("started_with", |e| {
            Some(e.started_with.join(" ")).filter(|words| !words.is_empty())
        })
        .field("status", |e| name(e.status))
        .field("reason", |e| e.reason.as_ref())
        .field("what", |e| &e.what)
        .field("unverified", |e| e.unverified.as_ref());
    let [ready, unbuilt] = [Readiness::Ready, Readiness::NotBuilt]
        .map(|status| environments.iter().filter(|e| e.status == status).count());
    let count = format!(
        "{ready} of {} are ready; {unbuilt} are built at their first use",
        environments.len()
    );
    let use_them = "'syscost run --env native,NAME' shows them side by side".to_string();
    let missing = environments
        .iter()
        .filter(|e| !matches!(e.status, Readiness::Ready | Readiness::NotBuilt))
        .filter_map(|e| Some((e.reason.as_deref()?, &e.name)));
    let missing = grouped(missing);
    let lines = missing
        .iter()
        .map(|(reason, names)| format!("{}: {reason}", few(names)));
    let notes: Vec<String> = lines.chain([count, use_them]).collect();
    columns.table().noted(notes)
}

/// `ready`, for kernels with the name to use: `ready: linux-6.12`; or in few words why not: `install bubblewrap`, `not permitted`.
fn status(listed: &Listed) -> String {
    let reason = listed.reason.as_deref().unwrap_or_default();
    if let Some(images) = reason.strip_prefix(IMAGES) {
        let version: Vec<&str> = images.splitn(3, '.').take(2).collect();
        return format!("ready: {}-{}", listed.name, version.join("."));
    }
    match reason.split_once("; install ") {
        Some((_, package)) if listed.status == Readiness::Missing => {
            let first = package.split([':', '(', ',']).next().unwrap_or_default();
            format!("install {}", first.trim())
        }
        _ => name(listed.status),
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::Instructions => "instructions",
    }
}

fn name(status: Readiness) -> String {
    word(&status, "").replace('_', " ")
}

fn style(status: Readiness) -> Style {
    match status {
        Readiness::Ready => Style::Plain,
        _ => Style::Faint,
    }
}
