//! `syscost fleet`: runs on many nodes, from the script that starts them to what was gathered.

mod check;
mod rows;
mod script;
mod sql;

use super::exit::Exit;
use anyhow::Result;
use std::io::Write;

/// Run on many nodes and gather the results.
///
/// syscost schedules nothing and stores nothing by itself: it runs under the launcher that is there, and its files are read by
/// the engine that is there.
#[derive(clap::Args)]
pub struct FleetArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(clap::Subcommand)]
enum FleetCommand {
    Script(script::ScriptArgs),
    Check(check::CheckArgs),
    Rows(rows::RowsArgs),
    Sql(sql::SqlArgs),
}

pub fn run(args: &FleetArgs, out: &mut dyn Write) -> Result<Exit> {
    match &args.command {
        FleetCommand::Script(args) => script::run(args, out),
        FleetCommand::Check(args) => check::run(args, out),
        FleetCommand::Rows(args) => rows::run(args, out),
        FleetCommand::Sql(args) => sql::run(args, out),
    }
}
