//! `syscost show FILES --format rows`: result files as JSON lines for data engines.

use super::args::ShowArgs;
use crate::error::bail_usage;
use crate::exit::Exit;
use crate::messages::show_line;
use crate::result_files::{check_labels, is_input};
use analysis::compare::Selection;
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

/// Reads each file twice, first only for its labels: fields must be known before the first row is written, and many files do not
/// fit in memory. A file that cannot be read is named and skipped.
pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    if args.is_of_profile() {
        bail_usage!(
            "--by, --weight and --no-arguments are for profiles, rows are of runs: omit them"
        );
    }
    check_labels(&args.files, &[])?;
    let source = Source::new(&args.files)?;
    let keys = source.labels()?;
    let selection = args.only.selection();
    let mut skipped: Skipped = IndexMap::new();
    in_order(
        args.files.len(),
        |index| source.rows(index, &keys, &selection),
        |lines| -> Result<()> {
            match lines {
                Ok(lines) => out.write_all(&lines)?,
                Err((file, reason)) => skipped.entry(reason).or_default().push(file),
            }
            Ok(())
        },
    )?;
    report_skipped(&skipped);
    Ok(if skipped.is_empty() {
        Exit::Success
    } else {
        Exit::SomeFailed
    })
}

/// The files without rows, by the reason.
type Skipped = IndexMap<String, Vec<String>>;

fn report_skipped(skipped: &Skipped) {
    for (reason, files) in skipped {
        let more = match files.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        show_line(&format_args!("skipped: {}{more}: {reason}", files[0]));
    }
}

fn shown(file: &Path) -> String {
    clean::line(&file.to_string_lossy())
}

struct Source<'a> {
    files: &'a [PathBuf],
    /// The content of standard input, which can be read only once.
    input: Option<Vec<u8>>,
}

impl Source<'_> {
    fn new(files: &[PathBuf]) -> Result<Source<'_>> {
        let input = files
            .iter()
            .find(|file| is_input(file))
            .map(|file| store::bytes(file))
            .transpose()?;
        Ok(Source { files, input })
    }

    fn bytes(&self, file: &Path) -> Result<Cow<'_, [u8]>, StoreError> {
        match &self.input {
            Some(bytes) if is_input(file) => Ok(Cow::Borrowed(&bytes[..])),
            _ => store::bytes(file).map(Cow::Owned),
        }
    }

    fn labels(&self) -> Result<BTreeSet<String>> {
        let mut keys = BTreeSet::new();
        in_order(
            self.files.len(),
            |index| {
                self.bytes(&self.files[index])
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

    fn rows(
        &self,
        index: usize,
        keys: &BTreeSet<String>,
        selection: &Selection,
    ) -> Result<Vec<u8>, (String, String)> {
        let file = &self.files[index];
        let mut run = self
            .bytes(file)
            .and_then(|bytes| store::run_from_bytes(file, &bytes))
            .map_err(|error| (error.file().to_string(), error.reason()))?;
        if !run.labels.keys().all(|key| keys.contains(key)) {
            let replaced = "was replaced while it was being read: read it again";
            return Err((shown(file), replaced.to_string()));
        }
        run.retain_records(|record| record.role == Role::Baseline || selection.takes(&record.case));
        let mut lines = Vec::new();
        write_rows(&run, file.to_str(), keys, &mut lines)
            .map_err(|error| (shown(file), error.to_string()))?;
        Ok(lines)
    }
}
