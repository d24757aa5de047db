//! `syscost list --long`: a paragraph for each operation.

use super::{count, entries, what};
use crate::model::Operation;
use crate::prose::wrapped;
use crate::report::{Screen, write_lines};
use anyhow::Result;
use std::io::Write;

/// Writes all there is to say about each operation; lines are broken between words only.
pub fn write(operations: &[&Operation], screen: Screen, out: &mut dyn Write) -> Result<()> {
    let width = screen.width.map_or(usize::MAX, usize::from);
    for operation in operations {
        write_lines([&operation.id], out)?;
        for text in texts(operation) {
            write_lines(wrapped(&text, width, "    ", "      "), out)?;
        }
        writeln!(out)?;
    }
    write_lines([count(operations)], out)
}

fn texts(operation: &Operation) -> Vec<String> {
    let prepares = operation.prepares.to_string();
    let mut texts = vec![what(operation).text, format!("kernel entries: {}", entries(operation))];
    texts.extend((!prepares.is_empty()).then(|| format!("untimed before each iteration: {prepares}")));
    texts.extend(operation.params.iter().map(|p| format!("--param {}={}: {}", p.name, p.default, p.what)));
    texts
}
