//! Tables of `strace -c`, also among other lines and several of them; -U chooses the columns. Those of `perf trace -s` and of bcc's
//! syscount, which have other titles.

use super::log::Log;
use super::tally::{Tally, call_name, nanoseconds, parse_count};
use model::{CallCount, Profile};

const NOTE: &str = "Times are system CPU time or, with 'strace -w', elapsed time: the table does not show which. They include the overhead of \
    strace's stops. Unknown: classes, errors by name, time on the CPU, blocked time, accounting.";
const ELAPSED_NOTE: &str = "Times are elapsed times of calls: they include waiting. Unknown: classes, errors by name, time on the CPU, blocked time, \
    accounting.";
const COUNTS_NOTE: &str =
    "Unknown: classes, errors by name, time on the CPU, blocked time, accounting.";

struct Kind {
    name: &'static str,
    note: &'static str,
    /// Any may be missing, but for the name of calls.
    titles: &'static [&'static str],
    /// Names, calls and times.
    named: [&'static str; 3],
    /// Units in titles, and what one is in seconds; without one, the last.
    units: &'static [(&'static str, f64)],
    /// Calls, times.
    lacks: [&'static str; 2],
}

/// Calls that return in the new thread too.
const FORKS: [&str; 4] = ["fork", "vfork", "clone", "clone3"];

/// The title of strace's percentages has two words.
const KINDS: [Kind; 3] = [
    Kind {
        name: "strace -c",
        note: NOTE,
        titles: &[
            "%",
            "time",
            "seconds",
            "longest",
            "shortest",
            "usecs/call",
            "calls",
            "errors",
            "syscall",
        ],
        named: ["syscall", "calls", "seconds"],
        units: &[("", 1.0)],
        lacks: [
            "the table has no column 'calls': leave out -U of strace, or name calls in it",
            "no times: leave out -U of strace, or name total-time in it",
        ],
    },
    Kind {
        name: "perf trace -s",
        note: ELAPSED_NOTE,
        titles: &[
            "syscall", "calls", "errors", "total", "min", "avg", "max", "stddev",
        ],
        named: ["syscall", "calls", "total"],
        units: &[("", 1e-3)],
        lacks: [
            "the table has no column 'calls': trace with 'perf trace -s'",
            "no times",
        ],
    },
    Kind {
        name: "syscount",
        note: ELAPSED_NOTE,
        titles: &["SYSCALL", "COUNT", "TIME", "(us)", "(ms)"],
        named: ["SYSCALL", "COUNT", "TIME"],
        units: &[("(ms)", 1e-3), ("(us)", 1e-6), ("", 1e-6)],
        lacks: [
            "the table has no column COUNT: count with 'syscount -L'",
            "no times: syscount measures them with -L",
        ],
    },
];

#[derive(Default)]
pub struct Tables {
    tally: Tally,
    kind: Option<&'static Kind>,
    columns: Vec<String>,
    unit_s: f64,
    /// For calls that were made in another mode.
    gate: &'static str,
    /// As perf names them before the table of each.
    processes: Vec<String>,
    lacking: Option<&'static str>,
}

impl Tables {
    /// A line of a table is read. Others are left to the log.
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
        if let Some(kind) = kind(line) {
            self.begin(kind, &words);
            return true;
        }
        // `perf trace -s` prints `sh (123), 45 events, 10.0%` before the table of each thread.
        if let Some((process, events)) = line.split_once("), ")
            && events.contains(" events, ")
        {
            self.processes.push(format!("{})", process.trim()));
            return true;
        }
        if is_around(line) {
            return true;
        }
        if self.columns.is_empty() {
            return false;
        }
        // The sum ends a table: later lines belong to the next one, or to the program.
        if words.contains(&"total")
            && words
                .iter()
                .all(|word| *word == "total" || number(word).is_some())
        {
            self.columns.clear();
            return true;
        }
        if let Some(row) = self.row(&words) {
            if row.calls > 0 {
                self.tally.add((0, self.processes.len()), row);
            }
            return true;
        }
        // Units of columns, and what separates them from the rows.
        !words.is_empty()
            && words
                .iter()
                .all(|word| word.starts_with('(') || word.chars().all(|c| c == '-'))
    }

    fn begin(&mut self, kind: &'static Kind, words: &[&str]) {
        let units = kind.units.iter();
        let unit = units
            .rev()
            .find(|(unit, _)| unit.is_empty() || words.contains(unit));
        self.unit_s = unit.map_or(1.0, |(_, seconds)| *seconds);
        self.columns = words
            .iter()
            .filter(|word| **word != "%" && !word.starts_with('('))
            .map(|word| (*word).to_string())
            .collect();
        self.kind = Some(kind);
        let lacking = (0..2).find(|which| !words.contains(&kind.named[1 + which]));
        self.lacking = self.lacking.or(lacking.map(|which| kind.lacks[which]));
    }

    /// `61.74    0.034239        4891         7         3 wait4`; without errors strace leaves their column empty.
    fn row(&self, words: &[&str]) -> Option<CallCount> {
        let [name, calls, time] = self.kind?.named;
        // An empty errors column makes the row one word shorter than the titles.
        let short = words.len() + 1 == self.columns.len();
        let columns: Vec<&String> = self
            .columns
            .iter()
            .filter(|column| !(short && *column == "errors"))
            .collect();
        let word = |name: &str| {
            columns
                .iter()
                .position(|column| *column == name)
                .map(|at| words[at])
        };
        let mut numbers = columns
            .iter()
            .zip(words)
            .filter(|(column, _)| *column != &name);
        // Every other word must be a number, or the line is the program's own output.
        if columns.len() != words.len() || numbers.any(|(_, word)| number(word).is_none()) {
            return None;
        }
        let count = |name| word(name).map_or(Some(0), parse_count);
        // perf counts the return of a new thread too, which took no time.
        let is_returned = FORKS.contains(&word(name)?) && word("min").and_then(number) == Some(0);
        let errors = Some(count("errors")?).filter(|errors| *errors > 0);
        Some(CallCount {
            call: format!("{}{}", call_name(word(name)?)?, self.gate),
            calls: count(calls)?.saturating_sub(is_returned.into()),
            errors: errors
                .into_iter()
                .map(|errors| ("unknown".to_string(), errors))
                .collect(),
            elapsed_ns: word(time)
                .and_then(number)
                .map(|ns| (ns as f64 * self.unit_s).round() as u64),
            ..CallCount::default()
        })
    }

    /// The table's counts are then the better ones.
    pub fn has_more_than(&self, log: &Log) -> bool {
        self.tally.calls() > log.tally.returned() + log.unavailable
            || log.tally.calls() == 0 && self.kind.is_some()
    }

    /// The profile, which program printed it, and what to know of it.
    pub fn finish(self, log: &Log) -> Result<(Profile, &'static str, &'static str), &'static str> {
        let kind = self.kind.unwrap_or(&KINDS[0]);
        let lacks = |which: usize| self.lacking == Some(kind.lacks[which]);
        if lacks(0) {
            return Err(kind.lacks[0]);
        }
        let (all, shown) = (self.tally.calls(), log.tally.returned());
        if all == 0 {
            return Err("the table has no calls: trace again");
        }
        let times = if lacks(1) {
            Some(kind.lacks[1].to_string())
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
        // Tables are numbered by the processes before them; without any, all calls are of one.
        let mut profile = self.tally.profile(|(_, table)| {
            let process = table
                .checked_sub(1)
                .and_then(|index| self.processes.get(index));
            process.cloned().unwrap_or_default()
        });
        let elapsed_ns = profile.all_calls().elapsed_ns;
        let (mut times, mut note) = (times, kind.note);
        if elapsed_ns.is_none() {
            note = COUNTS_NOTE;
        } else if elapsed_ns == Some(0) {
            let calls = profile.groups.iter_mut().flat_map(|group| &mut group.calls);
            calls.for_each(|count| count.elapsed_ns = None);
            times = Some("no times, because all are 0: strace -c counts ticks of the clock; count with 'strace -c -w'".to_string());
            note = COUNTS_NOTE;
        }
        profile.warnings = times
            .into_iter()
            .chain(some)
            .chain(log.foreign_lines())
            .collect();
        Ok((profile, kind.name, note))
    }
}

/// As nanoseconds if it is one of seconds; some languages have decimal commas, and some numbers are percentages.
fn number(word: &str) -> Option<u64> {
    nanoseconds(&word.trim_end_matches('%').replace(',', "."))
}

/// The header of a table of strace with names only is one word.
fn kind(line: &str) -> Option<&'static Kind> {
    let words: Vec<&str> = line.split_whitespace().collect();
    KINDS.iter().find(|kind| {
        words.contains(&kind.named[0]) && words.iter().all(|word| kind.titles.contains(word))
    })
}

/// Lines that perf and syscount print before and after their tables.
fn is_around(line: &str) -> bool {
    let text = line.trim().trim_start_matches("^C");
    let is_time = text.len() == "[13:17:47]".len() && text.starts_with('[') && text.ends_with(']');
    is_time
        || ["Tracing ", "Detaching...", "Summary of events:"]
            .iter()
            .any(|begin| text.starts_with(begin))
}

pub fn is_header(line: &str) -> bool {
    kind(line).is_some()
}
