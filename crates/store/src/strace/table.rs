//! Tables of `strace -c`, also among other lines and several of them; -U chooses the columns.

use super::log::Log;
use super::tally::{Tally, call_name, nanoseconds, parse_count};
use model::{CallCount, Profile};

pub const NOTE: &str = "Times are system time or, with -w of strace, elapsed time: the table does not show which. They have the overhead of its \
    stops. Unknown: classes, errors by name, time on the CPU, blocked time, accounting.";

/// The title of percentages has two words.
const COLUMNS: [&str; 9] = [
    "%",
    "time",
    "seconds",
    "longest",
    "shortest",
    "usecs/call",
    "calls",
    "errors",
    "syscall",
];

#[derive(Default)]
pub struct Tables {
    tally: Tally,
    is_there: bool,
    columns: Vec<String>,
    /// For calls that were made in another mode.
    gate: &'static str,
    lacking: Option<&'static str>,
}

impl Tables {
    pub fn line(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(mode) = line.trim().strip_prefix("System call usage summary for ") {
            self.gate = match mode.split(' ').next() {
                Some("32") => "(i386)",
                Some("x32") => "(x32)",
                _ => "",
            };
            return true;
        }
        if is_header(line) {
            self.columns = words
                .iter()
                .filter(|word| **word != "%")
                .map(|word| (*word).to_string())
                .collect();
            self.is_there = true;
            self.lacking = self.lacking.or(["calls", "seconds"]
                .into_iter()
                .find(|name| !words.contains(name)));
            return true;
        }
        if self.columns.is_empty() {
            return false;
        }
        if words.contains(&"total")
            && words
                .iter()
                .all(|word| *word == "total" || number(word).is_some())
        {
            self.columns.clear();
            return true;
        }
        let row = self.row(&words);
        let is_rule = !words.is_empty() && words.iter().all(|word| word.chars().all(|c| c == '-'));
        row.map(|row| self.tally.add((0, 0), row)).is_some() || is_rule
    }

    /// `61.74    0.034239        4891         7         3 wait4`; without errors their column is empty.
    fn row(&self, words: &[&str]) -> Option<CallCount> {
        let short = words.len() + 1 == self.columns.len();
        let columns: Vec<&String> = self
            .columns
            .iter()
            .filter(|name| !(short && *name == "errors"))
            .collect();
        let of = |name: &str| {
            columns
                .iter()
                .position(|column| *column == name)
                .map(|at| words[at])
        };
        let numbers = || {
            columns
                .iter()
                .zip(words)
                .filter(|(name, _)| name.as_str() != "syscall")
        };
        if columns.len() != words.len() || numbers().any(|(_, word)| number(word).is_none()) {
            return None;
        }
        let count = |name| of(name).map_or(Some(0), parse_count);
        let errors = Some(count("errors")?).filter(|errors| *errors > 0);
        Some(CallCount {
            call: format!("{}{}", call_name(of("syscall")?)?, self.gate),
            calls: count("calls")?,
            errors: errors
                .into_iter()
                .map(|errors| ("unknown".to_string(), errors))
                .collect(),
            elapsed_ns: of("seconds").and_then(number),
            ..CallCount::default()
        })
    }

    pub fn has_more_than(&self, log: &Log) -> bool {
        self.tally.calls() > log.tally.returned() + log.unavailable
            || log.tally.calls() == 0 && self.is_there
    }

    pub fn finish(self, log: &Log) -> Result<Profile, &'static str> {
        let lacks = |name| self.lacking == Some(name);
        if lacks("calls") {
            return Err(
                "the table has no column 'calls': leave out -U of strace, or name calls in it",
            );
        }
        let (all, shown) = (self.tally.calls(), log.tally.returned());
        if all == 0 {
            return Err("the table has no calls: trace again");
        }
        let times = if lacks("seconds") {
            Some("there are no times: leave out -U of strace, or name total-time in it".to_string())
        } else {
            None
        };
        let some = if shown > 0 {
            Some(format!(
                "classes and single calls are not known, because lines show {shown} of the {all} calls: leave out -z, -Z and -e status="
            ))
        } else {
            None
        };
        let mut profile = self.tally.profile(|_| String::new());
        profile.warnings = times
            .into_iter()
            .chain(some)
            .chain(log.foreign_lines())
            .collect();
        Ok(profile)
    }
}

/// As nanoseconds if it is one of seconds; some languages have decimal commas.
fn number(word: &str) -> Option<u64> {
    nanoseconds(&word.replace(',', "."))
}

/// The header of a table with names only is one word.
pub fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.contains(&"syscall") && words.iter().all(|word| COLUMNS.contains(word))
}
