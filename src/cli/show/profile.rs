//! What `syscost show` does with a profile: its views.

use super::args::ShowArgs;
use crate::cli::error::usage;
use crate::model::{By, Profile};
use crate::report::{
    Format, ProfileDocument, RunFormat, Screen, Sort, Table, ViewKind, profile_table, slowest_table, write_json,
    write_profile, write_profile_export, write_profile_latency, write_stacks, write_table,
};
use anyhow::{Result, anyhow};
use std::io::Write;

/// Checks the options for a profile.
///
/// # Errors
/// Which do not apply to one.
pub fn check(args: &ShowArgs) -> Result<()> {
    let file = args.file.display();
    let view = args.view.view.unwrap_or(ViewKind::Table);
    if args.view.sort != Sort::Asked || !args.only.is_empty() {
        return usage(Err(anyhow!(
            "--only and --sort are for result files, {file} is a profile: omit them, or use --by"
        )));
    }
    if !matches!(view, ViewKind::Table | ViewKind::Latency) && !view.is_of_profiles() {
        let views = "table, latency, slowest, paths, descriptors or stacks";
        return usage(Err(anyhow!("{file} is a profile: choose --view {views}")));
    }
    if args.by.is_some() && view != ViewKind::Table {
        return usage(Err(anyhow!("--by is for the table of a profile: omit it, or --view")));
    }
    if args.weight.is_some() && view != ViewKind::Stacks {
        return usage(Err(anyhow!("--weight is for --view stacks: omit it, or add --view stacks")));
    }
    Ok(())
}

/// Writes a profile. As JSON every view is the document of the profile, which has them all.
///
/// # Errors
/// If the format is not one of profiles, or `out` cannot be written.
pub fn write(profile: &Profile, args: &ShowArgs, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let format = match args.view.format {
        RunFormat::Ours(format) => format,
        RunFormat::Export(export) => return usage(write_profile_export(profile, export, out)),
    };
    let table = |table: Table, out: &mut dyn Write| write_table(&table, format, screen, out);
    match args.view.view.unwrap_or(ViewKind::Table) {
        _ if format == Format::Json => write_json(&ProfileDocument::new(profile), out),
        ViewKind::Latency => write_profile_latency(profile, (format, screen, args.view.no_plot), out),
        ViewKind::Slowest => table(slowest_table(profile), out),
        ViewKind::Paths => table(profile_table(profile, By::Path), out),
        ViewKind::Descriptors => table(profile_table(profile, By::Descriptor), out),
        ViewKind::Stacks => write_stacks(profile, &args.weight.unwrap_or_default().into(), (format, screen), out),
        _ => write_profile(profile, args.by.unwrap_or_default(), format, screen, out),
    }
}
