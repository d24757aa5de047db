//! Comma-separated values: a header line, then exact numbers, and texts that no spreadsheet takes for formulas. Notes are left to the other formats.

use super::Table;
use crate::clean;
use anyhow::Result;
use std::io::Write;

pub fn write(table: &Table, out: &mut dyn Write) -> Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record(table.columns.iter().map(|c| clean::csv(&c.title)))?;
    for row in &table.rows {
        csv.write_record(row.iter().map(|cell| clean::csv(cell.value())))?;
    }
    Ok(csv.flush()?)
}
