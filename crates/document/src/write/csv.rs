//! Comma-separated values. Text that spreadsheets would take for a formula is made harmless.

use std::io::Write;

/// A header line and the rows, quoted as RFC 4180 requires.
pub fn write(records: &crate::Records, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record(records.names())?;
    for row in records.rows() {
        csv.write_record(
            row.iter()
                .map(|value| model::clean::csv(&value.to_string())),
        )?;
    }
    Ok(csv.flush()?)
}
