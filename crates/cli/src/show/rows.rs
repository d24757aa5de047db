//! `syscost show FILES --format rows`: result files as JSON lines for data engines.

use super::args::ShowArgs;
use crate::error::bail_usage;
use crate::exit::Exit;
use crate::messages::tell;
use crate::result_files::{check_labels, is_input};
use anyhow::Result;
use indexmap::IndexMap;
use model::{Role, clean};
use report::write_rows;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use store::StoreError;
use sys::threads::in_order;

/// Each file is read twice, first for its labels alone: fields must be known before the first row is written, and all files do not
/// fit in memory. A file that cannot be read is named and skipped.
pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    fn shown(file: &Path) -> String {
        clean::line(&file.to_string_lossy())
    }

    if args.is_of_profile() {
        bail_usage!(
            "--by, --weight and --no-arguments are for profiles, rows are of runs: omit them"
        );
    }
    check_labels(&args.files, &[])?;
    let selection = args.only.selection();
    // The files that were left out, by the reason.
    let mut skipped: IndexMap<String, Vec<String>> = IndexMap::new();
    let files = &args.files;
    // Standard input can be read once only.
    let input = files
        .iter()
        .find(|file| is_input(file))
        .map(|file| store::bytes(file))
        .transpose()?;
    let bytes = |file: &Path| match &input {
        Some(bytes) if is_input(file) => Ok(Cow::Borrowed(&bytes[..])),
        _ => store::bytes(file).map(Cow::Owned),
    };
    let keys = labels(files, &bytes)?;
    in_order(
        files.len(),
        |index: usize| -> Result<Vec<u8>, (String, String)> {
            let file = &files[index];
            let mut run = bytes(file)
                .and_then(|bytes| store::run_from_bytes(file, &bytes))
                .map_err(|error| (error.file().to_string(), error.reason()))?;
            if !run.labels.keys().all(|key| keys.contains(key)) {
                let replaced = "was replaced while it was being read: read it again";
                return Err((shown(file), replaced.to_string()));
            }
            run.retain_records(|record| {
                record.role == Role::Baseline || selection.takes(&record.case)
            });
            let mut lines = Vec::new();
            write_rows(&run, file.to_str(), &keys, &mut lines)
                .map_err(|error| (shown(file), error.to_string()))?;
            Ok(lines)
        },
        |lines| -> Result<()> {
            match lines {
                Ok(lines) => out.write_all(&lines)?,
                Err((file, reason)) => skipped.entry(reason).or_default().push(file),
            }
            Ok(())
        },
    )?;
    for (reason, files) in &skipped {
        let more = match files.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        tell(&format_args!("skipped: {}{more}: {reason}", files[0]));
    }
    Ok(if skipped.is_empty() {
        Exit::Success
    } else {
        Exit::SomeFailed
    })
}

fn labels<'a>(
    files: &[PathBuf],
    bytes: &(impl Fn(&Path) -> Result<Cow<'a, [u8]>, StoreError> + Sync),
) -> Result<BTreeSet<String>> {
    let mut keys = BTreeSet::new();
    in_order(
        files.len(),
        |index| {
            bytes(&files[index])
                .ok()
                .and_then(|bytes| store::labels(&bytes))
                .unwrap_or_default()
        },
        |labels| -> Result<()> {
            keys.extend(labels.into_keys());
            Ok(())
        },
    )?;
    Ok(keys)
}
