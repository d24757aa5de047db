//! Comma-separated values. Text that spreadsheets would take for a formula is made harmless.

use crate::Records;
use anyhow::Result;
use model::clean;
use std::io::Write;

/// A header line and the rows, quoted as RFC 4180 requires.
pub fn write(records: &Records, out: &mut dyn Write) -> Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record(records.names())?;
    for row in records.rows() {
        csv.write_record(row.iter().map(|value| clean::csv(&value.to_string())))?;
    }
    Ok(csv.flush()?)
}
