//! Comma-separated values: a line of names, then a line a record with one exact number or one text in each field; no text
//! is one that spreadsheets take for a formula. Titles and notes are left to the other formats.

use crate::clean;
use crate::report::Records;
use anyhow::Result;
use std::io::Write;

pub fn write(records: &Records, out: &mut dyn Write) -> Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record(records.names())?;
    for row in records.rows() {
        csv.write_record(row.iter().map(|value| clean::csv(value)))?;
    }
    Ok(csv.flush()?)
}
