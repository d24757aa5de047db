//! `syscost list`: the catalogue.

use super::error::usage;
use super::exit::Exit;
use super::{complete, terminal};
use crate::clean;
use crate::model::Operation;
use crate::plan::{Study, like};
use crate::report::{Cell, Format, Screen, Spec, Style, Table, wrapped, write_lines, write_table};
use crate::runner::{Language, RunDirectory, read_catalogue};
use anyhow::Result;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// List the operations: id and what one iteration does; with --long also kernel entries and parameters.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// Ids, areas, globs, or any part of an id; everything if omitted.
    #[arg(value_name = "PATTERN", add = complete::operations())]
    patterns: Vec<String>,
    /// Show full descriptions, expected kernel entries and parameters (other formats than text always do).
    #[arg(short, long)]
    long: bool,
    /// List snippet languages instead: name, version found, path.
    #[arg(long, conflicts_with = "patterns")]
    languages: bool,
    /// List the built-in studies instead: name, title, question.
    #[arg(long, conflicts_with_all = ["patterns", "languages"])]
    studies: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost list
  syscost list getpid
  syscost list --long file 'time.clock_*'
  syscost list --format json";

pub fn run(args: &ListArgs, out: &mut dyn Write) -> Result<Exit> {
    if args.languages {
        return languages(args.format, out);
    }
    if args.studies {
        return studies(args.format, out);
    }
    let directory = RunDirectory::create()?;
    let catalogue = read_catalogue(&directory.probe())?;
    let chosen = usage(like(&catalogue, &args.patterns))?;
    match args.format {
        Format::Json => write_json(&chosen, out)?,
        Format::Text if args.long => write_long(&chosen, terminal::screen(), out)?,
        Format::Text => write_short(&chosen, terminal::screen(), out)?,
        format => write_table(&table(&chosen), format, terminal::screen(), out)?,
    }
    Ok(Exit::Success)
}

/// Characters of a description below which it is left out.
const FEWEST: usize = 10;

/// A line for each operation, whatever the width: an id is never broken, a description cut where the screen ends.
fn write_short(operations: &[&Operation], screen: Screen, out: &mut dyn Write) -> Result<()> {
    let longest = operations.iter().map(|o| o.id.chars().count()).max().unwrap_or_default();
    let room = screen.width.map(|width| usize::from(width).saturating_sub(longest + 2));
    let described = room.is_none_or(|room| room >= FEWEST);
    let short = |o: &&Operation| Cell { text: clean::cut(&what(o).text, room.unwrap_or(usize::MAX)), ..what(o) };
    let mut specs = vec![Spec::left("operation", |o: &&Operation| o.id.clone().into())];
    specs.extend(described.then(|| Spec::left("what one iteration is", short)));
    let notes = vec![count(operations), "-l shows kernel entries and parameters".to_string()];
    let table = Table::of(&specs, operations).noted(notes);
    write_table(&table, Format::Text, Screen { width: None, ..screen }, out)
}

/// Indents a text below the id that it is about.
const INDENT: &str = "    ";

/// All there is to say about each operation; lines are broken between words only.
fn write_long(operations: &[&Operation], screen: Screen, out: &mut dyn Write) -> Result<()> {
    let width = screen.width.map_or(usize::MAX, usize::from).saturating_sub(INDENT.len());
    for operation in operations {
        write_lines([&operation.id], out)?;
        let lines = texts(operation).into_iter().flat_map(|text| wrapped(&text, width, "  "));
        write_lines(lines.map(|line| format!("{INDENT}{line}")), out)?;
        writeln!(out)?;
    }
    write_lines([count(operations)], out)
}

fn texts(operation: &Operation) -> Vec<String> {
    let prepares = operation.prepares.to_string();
    let mut texts = vec![what(operation).text, format!("kernel entries: {}", entries(operation))];
    texts.extend((!prepares.is_empty()).then(|| format!("untimed before each iteration: {prepares}")));
    texts.extend(operation.params.iter().map(|p| format!("--param {}={}: {}", p.name, p.default, p.what)));
    texts
}

/// What one iteration is, or which systems have it.
fn what(operation: &Operation) -> Cell {
    match operation.available {
        true => Cell::from(operation.what.clone()),
        false => Cell::styled(format!("not on this system ({})", operation.systems), Style::Faint),
    }
}

/// `7 operations in 1 area`.
fn count(operations: &[&Operation]) -> String {
    let areas: BTreeSet<&str> = operations.iter().map(|o| o.area()).collect();
    let of = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    format!("{} in {}", of(operations.len(), "operation"), of(areas.len(), "area"))
}

/// Name, version found and path of each language; of those that lack it, what is missing.
fn languages(format: Format, out: &mut dyn Write) -> Result<Exit> {
    let mut found = Vec::new();
    for language in Language::all()? {
        let program = language.program();
        let version = program.as_ref().ok().and_then(|path| language.version_of(path));
        found.push((language, version, program));
    }
    if format == Format::Json {
        let language = |(l, version, program): &(Language, Option<String>, Result<PathBuf>)| json!({"name": l.name, "title": l.title, "version": version, "path": program.as_ref().ok(), "package": l.package});
        let languages: Vec<_> = found.iter().map(language).collect();
        serde_json::to_writer_pretty(&mut *out, &json!({"schema": "syscost.languages/1", "languages": languages}))?;
        writeln!(out)?;
        return Ok(Exit::Success);
    }
    type Found = (Language, Option<String>, Result<PathBuf>);
    let path = |(_, _, program): &Found| program.as_ref().ok().map(|path| path.display().to_string());
    let missing = |(_, _, program): &Found| program.as_ref().err().map(ToString::to_string);
    let shown = move |found: &Found| match missing(found) {
        Some(missing) => Cell::styled(missing, Style::Faint),
        None => Cell::from(path(found).unwrap_or_default()),
    };
    let specs = [
        Spec::left("language", |(l, ..): &Found| l.name.clone().into()).text("language", |(l, ..)| l.name.clone()),
        Spec::left("version found", |(_, version, _): &Found| version.clone().unwrap_or_default().into())
            .wrapping()
            .text("version", |(_, version, _)| version.clone()),
        Spec::left("path", shown).wrapping().text("path", path).text("error", missing),
    ];
    let table = Table::of(&specs, &found);
    write_table(&table, format, terminal::screen(), out)?;
    Ok(Exit::Success)
}

/// Name, title, languages and question of each study.
fn studies(format: Format, out: &mut dyn Write) -> Result<Exit> {
    let all = Study::names().iter().map(|name| Study::find(name)).collect::<Result<Vec<_>>>()?;
    if format == Format::Json {
        let study = |s: &Study| json!({"name": s.view.name, "title": s.view.title, "question": s.view.question, "languages": s.languages(), "views": s.view.views, "seconds": s.seconds});
        let studies: Vec<_> = all.iter().map(study).collect();
        serde_json::to_writer_pretty(&mut *out, &json!({"schema": "syscost.studies/1", "studies": studies}))?;
        writeln!(out)?;
        return Ok(Exit::Success);
    }
    let languages = |s: &Study| s.languages().join(" ");
    let specs = [
        Spec::left("study", |s: &Study| s.view.name.clone().into()).text("study", |s| s.view.name.clone()),
        Spec::left("title", |s: &Study| s.view.title.clone().into()).wrapping().text("title", |s| s.view.title.clone()),
        Spec::left("languages of snippets", move |s| languages(s).into()).wrapping().text("languages", languages),
    ];
    let notes = vec!["run one by 'syscost run --study NAME'".to_string()];
    let table = Table::of(&specs, &all).noted(notes);
    write_table(&table, format, terminal::screen(), out)?;
    Ok(Exit::Success)
}

fn table(operations: &[&Operation]) -> Table {
    let specs = [
        Spec::left("operation", |o: &&Operation| o.id.clone().into()).text("operation", |o| o.id.clone()),
        Spec::left("what one iteration is", |o: &&Operation| what(o)).wrapping().text("what", |o| o.what.clone()),
        Spec::left("kernel entries", |o: &&Operation| entries(o).into())
            .wrapping()
            .text("enters", |o| o.enters.to_string())
            .text("prepares", |o| o.prepares.to_string()),
        Spec::left("parameters", |o: &&Operation| params(o).into()).wrapping().text("params", |o| params(o)),
        Spec::hidden()
            .text("area", |o: &&Operation| o.area().to_string())
            .text("systems", |o| o.systems.to_string())
            .text("family", |o| o.family.clone())
            .text("available", |o| o.available.to_string()),
    ];
    Table::of(&specs, operations).noted(vec![count(operations)])
}

fn entries(operation: &Operation) -> String {
    let text = operation.enters.to_string();
    if text.is_empty() { "none".to_string() } else { text }
}

fn params(operation: &Operation) -> String {
    operation.params.iter().map(|p| format!("{}={}", p.name, p.default)).collect::<Vec<_>>().join(" ")
}

fn write_json(operations: &[&Operation], out: &mut dyn Write) -> Result<()> {
    let operation = |o: &&Operation| {
        let params: Vec<_> =
            o.params.iter().map(|p| json!({"name": p.name, "default": p.default, "what": p.what})).collect();
        json!({
            "id": o.id, "area": o.area(), "what": o.what, "enters": o.enters.to_string(),
            "prepares": o.prepares.to_string(), "params": params, "systems": o.systems, "family": o.family,
            "available": o.available,
        })
    };
    let document = json!({
        "schema": "syscost.list/1",
        "operations": operations.iter().map(operation).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    Ok(writeln!(out)?)
}
