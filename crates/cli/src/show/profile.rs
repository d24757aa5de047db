//! What `syscost show` does with a profile: its views.

use super::args::ShowArgs;
use crate::error::bail_usage;
use crate::exit::Exit;
use crate::messages;
use crate::result_files::labels;
use anyhow::Result;
use document::Document;
use model::Profile;
use report::{
    Format, ProfileDocument, RunFormat, Screen, Sort, ViewKind, profile_latency_document,
    profile_table, slowest_table, stacks_document, together_table, write_answer, write_document,
};
use std::io::Write;
use std::path::Path;
use store::Stored;

pub fn check(args: &ShowArgs, file: &Path) -> Result<()> {
    let file = file.display();
    let view = args.view.view.unwrap_or(ViewKind::Table);
    if args.view.sort != Sort::Asked || !args.only.patterns.is_empty() {
        bail_usage!(
            "--only and --sort are for result files, {file} is a profile: omit them, or use --by"
        );
    }
    if !matches!(view, ViewKind::Table | ViewKind::Latency) && !view.is_of_profiles() {
        let views = "table, latency, slowest or stacks";
        bail_usage!("{file} is a profile: choose --view {views}");
    }
    if args.by.is_some() && view != ViewKind::Table {
        bail_usage!("--by is for the table of a profile: omit it, or --view");
    }
    if args.weight.is_some() && view != ViewKind::Stacks {
        bail_usage!("--weight is for --view stacks: omit it, or add --view stacks");
    }
    Ok(())
}

pub fn together(args: &ShowArgs, screen: Screen, out: &mut dyn Write) -> Result<Exit> {
    let RunFormat::Ours(format) = args.view.format else {
        bail_usage!("--format go-benchmark is for one result file: name one");
    };
    let is_plain = args.view.view.is_none() && args.view.sort != Sort::Name;
    if format == Format::Json || !is_plain || args.is_of_profile() || !args.only.patterns.is_empty()
    {
        bail_usage!(
            "several profiles have one view, as text, markdown or csv, and --sort cost: omit the other options, or name one file"
        );
    }
    let names = labels(&args.files, &[], &vec![None; args.files.len()]);
    let mut profiles = Vec::new();
    for (name, file) in names.into_iter().zip(&args.files) {
        match store::read_any(file)? {
            Stored::Profile(profile) => profiles.push((name, *profile)),
            _ => bail_usage!(
                "{} is not a profile: only profiles are added up; several result files take --format rows, or 'syscost compare'",
                file.display()
            ),
        }
    }
    let by_time = args.view.sort == Sort::Cost;
    write_document(
        &together_table(&profiles, by_time).into(),
        format,
        screen,
        out,
    )?;
    Ok(Exit::Success)
}

/// JSON is the same document for every view: it has them all.
pub fn write(
    profile: &Profile,
    args: &ShowArgs,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    let RunFormat::Ours(format) = args.view.format else {
        let formats = "text, markdown, csv or json";
        bail_usage!("--format go-benchmark and rows are for result files: choose {formats}");
    };
    messages::cautions(profile, format);
    let view = args.view.view.unwrap_or(ViewKind::Table);
    write_answer::<_, Document>(
        &ProfileDocument::new(profile),
        || match view {
            ViewKind::Latency => profile_latency_document(profile),
            ViewKind::Slowest => slowest_table(profile).into(),
            ViewKind::Stacks => stacks_document(
                profile,
                &args.weight.unwrap_or_default(),
                format == Format::Text,
            ),
            _ => profile_table(profile, args.by.unwrap_or_default()).into(),
        },
        format,
        screen,
        out,
    )
}
