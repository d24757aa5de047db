//! `syscost list --long`: a paragraph for each operation.

use super::{count, entries, what};
use crate::model::Operation;
use crate::report::{Screen, write_lines};
use anyhow::Result;
use std::io::Write;

const INDENT: &str = "    ";

/// Writes all there is to say about each operation; lines are broken between words only.
pub fn write(operations: &[&Operation], screen: Screen, out: &mut dyn Write) -> Result<()> {
    let width = screen.width.map_or(usize::MAX, usize::from);
    for operation in operations {
        write_lines([&operation.id], out)?;
        for text in texts(operation) {
            write_lines(wrapped(&text, width), out)?;
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

/// The lines of a text, indented, those after the first one further. A word longer than the line has one of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = INDENT.to_string();
    let mut words = 0;
    for word in text.split_whitespace() {
        if words > 0 && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, format!("{INDENT}  ")));
            words = 0;
        }
        line.push_str(if words > 0 { " " } else { "" });
        line.push_str(word);
        words += 1;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_only() {
        assert_eq!(wrapped("one two three", 12), ["    one two", "      three"]);
        assert_eq!(wrapped("clock_nanosleep_absolute x1", 10), ["    clock_nanosleep_absolute", "      x1"]);
    }
}
