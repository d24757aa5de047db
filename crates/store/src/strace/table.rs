//! Tables of `strace -c`, also among other lines and several of them; -U chooses the columns.

use super::log::Log;
use super::tally::{Tally, call_name, nanoseconds, parse_count};
use model::{CallCount, Profile};

pub const NOTE: &str = "Times are system time or, with -w of strace, elapsed time: the table does not show which. They have the overhead of its \
    stops. Unknown: classes, errors by name, time on the CPU, blocked time, accounting.";

/// Words of the titles. Any of them may be missing, but for the name of calls.
const TITLES: [&str; 9] = [
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
const NO_COUNTS: &str =
    "the table has no column 'calls': leave out -U of strace, or name calls in it";
const NO_TIMES: &str = "there are no times: leave out -U of strace, or name total-time in it";

#[derive(Default)]
pub struct Tables {
    tally: Tally,
    columns: Vec<String>,
    has_header: bool,
    /// For calls that were made in another mode.
    gate: &'static str,
    /// What to do about a missing column.
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
            self.begin(&words);
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
        if let Some(row) = self.row(&words) {
            self.tally.add((0, 0), row);
            return true;
        }
        // What separates the titles from the rows.
        !words.is_empty() && words.iter().all(|word| word.chars().all(|c| c == '-'))
    }

    fn begin(&mut self, words: &[&str]) {
        self.columns = words
            .iter()
            .filter(|word| **word != "%")
            .map(|word| (*word).to_string())
            .collect();
        self.has_header = true;
        let missing = [("calls", NO_COUNTS), ("seconds", NO_TIMES)]
            .into_iter()
            .find(|(column, _)| !words.contains(column));
        self.lacking = self.lacking.or(missing.map(|(_, advice)| advice));
    }

    /// `61.74    0.034239        4891         7         3 wait4`; without errors strace leaves their column empty.
    fn row(&self, words: &[&str]) -> Option<CallCount> {
        let short = words.len() + 1 == self.columns.len();
        let columns: Vec<&String> = self
            .columns
            .iter()
            .filter(|column| !(short && *column == "errors"))
            .collect();
        let of = |name: &str| {
            columns
                .iter()
                .position(|column| *column == name)
                .map(|at| words[at])
        };
        let mut numbers = columns
            .iter()
            .zip(words)
            .filter(|(column, _)| column.as_str() != "syscall");
        if columns.len() != words.len() || numbers.any(|(_, word)| number(word).is_none()) {
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
            || log.tally.calls() == 0 && self.has_header
    }

    pub fn finish(self, log: &Log) -> Result<Profile, &'static str> {
        if self.lacking == Some(NO_COUNTS) {
            return Err(NO_COUNTS);
        }
        let (all, shown) = (self.tally.calls(), log.tally.returned());
        if all == 0 {
            return Err("the table has no calls: trace again");
        }
        let some = if shown > 0 {
            Some(format!(
                "classes and single calls are not known, because lines show {shown} of the {all} calls: leave out -z, -Z and -e status="
            ))
        } else {
            None
        };
        let mut profile = self.tally.profile(|_| String::new());
        profile.warnings = self
            .lacking
            .map(str::to_string)
            .into_iter()
            .chain(some)
            .chain(log.foreign_lines())
            .collect();
        Ok(profile)
    }
}

/// As nanoseconds if it is one of seconds; some languages have decimal commas, and some numbers are percentages.
fn number(word: &str) -> Option<u64> {
    nanoseconds(&word.trim_end_matches('%').replace(',', "."))
}

/// The header of a table with names only is one word.
pub fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    line.contains("syscall") && words.all(|word| TITLES.contains(&word))
}
