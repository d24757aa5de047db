//! `syscost list`: the catalogue.

pub mod environments;

use super::complete;
use super::error::usage;
use super::terminal::screen;
use anyhow::Result;
use measure::plan::Study;
use measure::runner::{Environment, Language, RunDirectory, read_catalogue};
use model::pattern::like;
use model::prose::{counted, wrapped};
use model::{JsonDocument, Operation, StudyView, clean};
use report::{Cell, Columns, Format, Screen, Style, Table, write_answer, write_lines, write_table};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// List the operations: id and what one iteration does.
///
/// With --long also kernel entries and parameters.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// Ids, areas, globs, any part of an id, or a word of a description; every operation if omitted.
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
    /// List the environments of --env instead: name, title, unit, how programs are started, and whether each works
    /// here (each is tried).
    #[arg(long, conflicts_with_all = ["patterns", "languages", "studies"])]
    envs: bool,
    /// Output format.
    #[arg(long, default_value = "text")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost list
  syscost list getpid
  syscost list container
  syscost list --long file 'time.clock_*'
  syscost list --envs
  syscost list --format json";

/// Operations by default.
pub fn run(args: &ListArgs, out: &mut dyn Write) -> Result<()> {
    if args.languages {
        return languages(args.format, out);
    }
    if args.studies {
        return studies(args.format, out);
    }
    if args.envs {
        return environments::run(args.format, out);
    }
    let directory = RunDirectory::create()?;
    let catalogue = read_catalogue(&directory.probe())?;
    let named = named(&args.patterns)?;
    let chosen = match like(&catalogue, &args.patterns) {
        Err(_) if !named.is_empty() => Vec::new(),
        chosen => usage(chosen)?,
    };
    if args.format == Format::Text {
        match &chosen[..] {
            [] => {}
            chosen if args.long => write_long(chosen, screen(), out)?,
            chosen => write_short(chosen, screen(), out)?,
        }
        return write_lines(named.lines(screen()), out);
    }
    let list = OperationList {
        environments: named.environments,
        studies: named.studies,
        operations: chosen
            .iter()
            .map(|operation| Listed {
                area: operation.area(),
                operation,
            })
            .collect(),
    };
    write_answer(&list, || table(&chosen), args.format, screen(), out)
}

/// Environments and studies whose descriptions have a word.
#[derive(Default)]
struct Named {
    environments: Vec<String>,
    studies: Vec<String>,
}

fn named(patterns: &[String]) -> Result<Named> {
    let is_about = |texts: &[&str]| {
        let text = texts.join(" ").to_lowercase();
        patterns
            .iter()
            .any(|word| has_word(&text, &word.to_lowercase()))
    };
    let mut named = Named::default();
    if patterns.is_empty() {
        return Ok(named);
    }
    for name in Environment::names() {
        let environment = Environment::find(name)?;
        let kind = if environment.is_sandbox {
            "sandbox"
        } else {
            ""
        };
        let keywords = environment.keywords.join(" ");
        if is_about(&[name, &environment.title, &environment.what, kind, &keywords]) {
            named.environments.push(name.to_string());
        }
    }
    for name in Study::names() {
        let view = Study::find(&name)?.view;
        if is_about(&[&name, &view.title, &view.question]) {
            named.studies.push(name);
        }
    }
    Ok(named)
}

/// Whether a word of the text begins so: `read` is not in `already`.
fn has_word(text: &str, word: &str) -> bool {
    let mut places = text.match_indices(word).map(|(at, _)| &text[..at]);
    places.any(|before| !before.ends_with(char::is_alphanumeric))
}

impl Named {
    fn is_empty(&self) -> bool {
        self.environments.is_empty() && self.studies.is_empty()
    }

    fn lines(&self, screen: Screen) -> Vec<String> {
        let width = screen.width.map_or(usize::MAX, usize::from);
        let kinds = [
            ("environments", &self.environments, "syscost list --envs"),
            ("studies", &self.studies, "syscost list --studies"),
        ];
        let mut lines = Vec::new();
        for (kind, names, command) in kinds {
            if !names.is_empty() {
                let text = format!("{kind}: {} ('{command}' describes them)", names.join(", "));
                lines.extend(wrapped(&text, width, "", "  "));
            }
        }
        lines
    }
}

/// Characters of a description below which it is left out.
const FEWEST: usize = 10;

/// One line per operation at any width: ids are never broken, and descriptions are cut at the end of the screen.
fn write_short(operations: &[&Operation], screen: Screen, out: &mut dyn Write) -> Result<()> {
    let longest = operations.iter().map(|o| o.id.chars().count()).max();
    let room = screen.width.map_or(usize::MAX, |width| {
        usize::from(width).saturating_sub(longest.unwrap_or_default() + 2)
    });
    let mut columns = Columns::new(operations).left("operation", |o| &o.id);
    if room >= FEWEST {
        columns = columns.left("description", |o| Cell {
            text: clean::cut(&what(o).text, room),
            ..what(o)
        });
    }
    let notes = vec![
        counts_text(operations),
        "-l shows kernel entries and parameters".to_string(),
    ];
    let table = columns.table().noted(notes);
    let screen = Screen {
        width: None,
        ..screen
    };
    write_table(&table, Format::Text, screen, out)
}

fn write_long(operations: &[&Operation], screen: Screen, out: &mut dyn Write) -> Result<()> {
    let width = screen.width.map_or(usize::MAX, usize::from);
    for operation in operations {
        write_lines([&operation.id], out)?;
        for text in texts(operation) {
            write_lines(wrapped(&text, width, "    ", "      "), out)?;
        }
        writeln!(out)?;
    }
    write_lines([counts_text(operations)], out)
}

fn texts(operation: &Operation) -> Vec<String> {
    let prepares = operation.prepares.to_string();
    let mut texts = vec![
        what(operation).text,
        format!("kernel entries: {}", entries(operation)),
    ];
    if !prepares.is_empty() {
        texts.push(format!("untimed before each iteration: {prepares}"));
    }
    for p in &operation.params {
        texts.push(format!("--param {}={}: {}", p.name, p.default, p.what));
    }
    texts
}

fn what(operation: &Operation) -> Cell {
    if operation.available {
        Cell::from(operation.what.clone())
    } else {
        Cell::styled(
            format!("not on this system ({})", operation.systems),
            Style::Faint,
        )
    }
}

fn counts_text(operations: &[&Operation]) -> String {
    let areas: BTreeSet<&str> = operations.iter().map(|o| o.area()).collect();
    format!(
        "{} in {}",
        counted(operations.len(), "operation"),
        counted(areas.len(), "area")
    )
}

/// What `syscost list` prints.
#[derive(Serialize, JsonSchema)]
pub struct OperationList<'a> {
    /// One for each operation of the probe.
    operations: Vec<Listed<'a>>,
    /// Environments that a pattern describes.
    environments: Vec<String>,
    /// Studies that a pattern describes.
    studies: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Listed<'a> {
    /// The part of the id before the dot.
    area: &'a str,
    #[serde(flatten)]
    operation: &'a Operation,
}

impl JsonDocument for OperationList<'_> {
    const SCHEMA: &'static str = "syscost.list/1";
}

/// What `syscost list --languages` prints.
#[derive(Serialize, JsonSchema)]
pub struct LanguageList {
    /// The languages of snippets.
    languages: Vec<Found>,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    /// The prefix of snippets.
    name: String,
    /// The language.
    title: String,
    /// The version that the program prints.
    version: Option<String>,
    /// The program; null if it is missing.
    path: Option<PathBuf>,
    /// The package to install.
    package: String,
    /// Why it cannot be used; null if it can.
    error: Option<String>,
}

impl JsonDocument for LanguageList {
    const SCHEMA: &'static str = "syscost.languages/1";
}

impl Found {
    fn new(language: Language) -> Found {
        let (path, error) = match language.program() {
            Ok(path) => (Some(path), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let version = path.as_ref().and_then(|path| language.version_of(path));
        Found {
            name: language.name,
            title: language.title,
            version,
            path,
            package: language.package,
            error,
        }
    }

    fn path(&self) -> Option<String> {
        Some(self.path.as_ref()?.display().to_string())
    }
}

fn languages(format: Format, out: &mut dyn Write) -> Result<()> {
    let list = LanguageList {
        languages: Language::all()?.into_iter().map(Found::new).collect(),
    };
    write_answer(
        &list,
        || {
            Columns::new(&list.languages)
                .same("language", |l| &l.name)
                .left("version found", |l| l.version.as_ref())
                .wrapping()
                .field("version", |l| l.version.as_ref())
                .left("path", |findings| match &findings.error {
                    Some(missing) => Cell::styled(missing.clone(), Style::Faint),
                    None => Cell::from(findings.path().unwrap_or_default()),
                })
                .wrapping()
                .field("path", Found::path)
                .field("error", |l| l.error.as_ref())
                .table()
        },
        format,
        screen(),
        out,
    )
}

/// What `syscost list --studies` prints.
#[derive(Serialize, JsonSchema)]
pub struct StudyList<'a> {
    /// Studies of the program and of the user.
    studies: Vec<ListedStudy<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ListedStudy<'a> {
    #[serde(flatten)]
    view: &'a StudyView,
    /// Languages that it needs.
    languages: Vec<&'a str>,
    /// Its time for measuring.
    seconds: Option<f64>,
}

impl JsonDocument for StudyList<'_> {
    const SCHEMA: &'static str = "syscost.studies/1";
}

fn studies(format: Format, out: &mut dyn Write) -> Result<()> {
    let all = Study::names()
        .iter()
        .map(|name| Study::find(name))
        .collect::<Result<Vec<_>>>()?;
    let list = StudyList {
        studies: all
            .iter()
            .map(|s| ListedStudy {
                view: &s.view,
                languages: s.languages(),
                seconds: s.seconds,
            })
            .collect(),
    };
    write_answer(
        &list,
        || {
            Columns::new(&all)
                .same("study", |s| &s.view.name)
                .same("title", |s| &s.view.title)
                .wrapping()
                .left("languages of snippets", |s| s.languages().join(" "))
                .wrapping()
                .field("languages", |s| s.languages().join(" "))
                .table()
                .noted(["run one with 'syscost run --study NAME'"])
        },
        format,
        screen(),
        out,
    )
}

fn table(operations: &[&Operation]) -> Table {
    Columns::new(operations)
        .same("operation", |o| &o.id)
        .left("description", |o| what(o))
        .wrapping()
        .field("what", |o| &o.what)
        .left("kernel entries", |o| entries(o))
        .wrapping()
        .field("enters", |o| o.enters.to_string())
        .field("prepares", |o| o.prepares.to_string())
        .left("parameters", |o| params(o))
        .wrapping()
        .field("params", |o| params(o))
        .field("area", |o| o.area())
        .field("systems", |o| o.systems.to_string())
        .field("family", |o| o.family.as_ref())
        .field("available", |o| o.available.to_string())
        .table()
        .noted([counts_text(operations)])
}

fn entries(operation: &Operation) -> String {
    match operation.enters.to_string() {
        none if none.is_empty() => "none".to_string(),
        text => text,
    }
}

fn params(operation: &Operation) -> String {
    operation
        .params
        .iter()
        .map(|p| format!("{}={}", p.name, p.default))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_matched_from_its_beginning() {
        let text = "thread, linux-6.1 (already read-only)";
        let are_there =
            ["read", "linux-6", "only", "adread", "ready"].map(|word| has_word(text, word));
        assert_eq!(are_there, [true, true, true, false, false]);
    }
}
