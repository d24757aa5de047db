//! `syscost cache`: the size of what is kept to be used again, and its removal.

use super::exit::Exit;
use super::output::tables;
use super::terminal::screen;
use anyhow::{Context, Result};
use measure::runner::{Entry, cache_directory, entries};
use report::{Columns, Format, Table, write_table};
use std::io::Write;

/// Show the size of the cache, or empty it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  syscost cache\n  syscost cache --remove machines")]
pub struct CacheArgs {
    /// Remove compiled snippets and probes, states of emulated machines, or both, without asking. What a running
    /// syscost uses is kept, and so is what syscost did not make.
    #[arg(long, value_name = "KIND", value_parser = [KINDS[0], KINDS[1], "all"])]
    remove: Option<String>,
    /// Output format.
    #[arg(long, value_parser = tables(), default_value = "text")]
    format: Format,
}

const KINDS: [&str; 2] = ["builds", "machines"];
const MIB: f64 = (1 << 20) as f64;

/// The table has what is kept or, with --remove, what was removed.
pub fn run(args: &CacheArgs, out: &mut dyn Write) -> Result<Exit> {
    let root = cache_directory().context("no private directory for a cache: set XDG_CACHE_HOME")?;
    let mut all = entries(&root)?;
    let mut note = format!(
        "in {}; 'syscost cache --remove all' empties it",
        root.display()
    );
    let mut exit = Exit::Success;
    if let Some(kind) = &args.remove {
        all.retain(|entry| kind == "all" || kind == entry.kind);
        let wanted = all.len();
        let mut removed = Vec::new();
        for entry in all {
            if entry.remove(&root)? {
                removed.push(entry);
            }
        }
        all = removed;
        note = format!("removed from {}", root.display());
        if all.len() < wanted {
            exit = Exit::SomeFailed;
            note += &format!("; {} in use by a running syscost", wanted - all.len());
        }
    }
    write_table(&table(&all).noted([note]), args.format, screen(), out)?;
    Ok(exit)
}

fn table(all: &[Entry]) -> Table {
    let rows = KINDS.map(|kind| {
        let entries = all.iter().filter(|entry| entry.kind == kind);
        let bytes: u64 = entries.clone().map(|entry| entry.bytes).sum();
        (kind, entries.count().to_string(), bytes as f64 / MIB)
    });
    Columns::new(&rows)
        .same("kind", |row| row.0)
        .counts("entries", "entries", |row| &row.1)
        .counts("MiB", "mib", |row| format!("{:.1}", row.2))
        .table()
}
