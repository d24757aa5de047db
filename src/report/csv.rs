//! Comma-separated values: a header line, then exact numbers. Notes are left to the other formats.

use super::Table;
use anyhow::Result;
use std::io::Write;

pub fn write(table: &Table, out: &mut dyn Write) -> Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record(table.columns.iter().map(|c| &c.title))?;
    for row in &table.rows {
        csv.write_record(row.iter().map(|cell| cell.value()))?;
    }
    Ok(csv.flush()?)
}
