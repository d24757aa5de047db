//! Files that were left out of many: one line for each reason, and the exit status is 3.

use super::exit::Exit;
use super::messages;
use indexmap::IndexMap;
use model::clean;
use std::path::Path;

pub fn shown(path: &Path) -> String {
    clean::line(&path.to_string_lossy())
}

/// For each reason, the number of files and the first of them.
#[derive(Debug, Default)]
pub struct Skipped(IndexMap<String, (usize, String)>);

impl Skipped {
    pub fn add(&mut self, name: &str, reason: &str) {
        self.0
            .entry(reason.to_string())
            .or_insert_with(|| (0, name.to_string()))
            .0 += 1;
    }

    fn lines(&self) -> Vec<String> {
        let line = |(reason, (count, first)): (&String, &(usize, String))| match count {
            1 => format!("{first}: {reason}"),
            _ => format!("{first} and {} more: {reason}", count - 1),
        };
        self.0.iter().map(line).collect()
    }

    pub fn report(&self) -> Exit {
        self.lines()
            .iter()
            .for_each(|line| messages::tell(&format_args!("skipped: {line}")));
        if self.0.is_empty() {
            Exit::Success
        } else {
            Exit::SomeFailed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_a_line() {
        let mut skipped = Skipped::default();
        for (name, reason) in [
            ("a", "is odd"),
            ("b", "is even"),
            ("c", "is odd"),
            ("d", "is odd"),
        ] {
            skipped.add(name, reason);
        }
        assert_eq!(skipped.lines(), ["a and 2 more: is odd", "b: is even"]);
    }
}
