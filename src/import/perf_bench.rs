//! `perf bench syscall`: a block per benchmark, `# Running`, `# Executed N CALL() calls`, the total time, and microseconds
//! per call, which is the result. The layout comes from the output of perf 6.1, not from its source.

use super::imported::{Imported, Malformed, outcome, parse_count, parse_number, record};
use crate::model::{Case, Record};

const NOTE: &str = "Results as printed by perf bench: wall time of one loop divided by its calls, including everything \
    else that ran. Compiler, kernel and CPU are unknown.";

/// Its calls that equal one of our operations.
const SAME: [(&str, &str); 2] = [("getppid()", "id.getppid"), ("getpgid()", "id.getpgid")];

/// A benchmark whose result has not been printed yet.
#[derive(Default)]
struct Block {
    name: String,
    /// The calls made, and which.
    executed: Option<(u64, String)>,
    total: Option<String>,
}

/// Reads the output. Errors: the first block that is not as perf prints it, or that there is no result.
pub fn parse(text: &str) -> Result<Imported, Malformed> {
    let mut imported = Imported { program: "perf bench".into(), note: NOTE, ..Imported::default() };
    let mut open: Option<Block> = None;
    let mut last = 0;
    for (i, line) in text.lines().enumerate() {
        last = i + 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), open.as_mut()) {
            (["#", "Running", rest @ ..], None) => open = Some(Block { name: name(rest), ..Block::default() }),
            (["#", "Running", ..], Some(_)) => return Err(Malformed::at(last, UNFINISHED, line)),
            (["#", "Executed", calls, what @ ..], Some(block)) => {
                block.executed = Some((parse_count(last, "calls", calls)?, what.join(" ")));
            }
            (["Total", "time:", seconds, "[sec]"], Some(block)) => block.total = Some(seconds.to_string()),
            ([us, "usecs/op"], Some(block)) => {
                imported.records.push(block.record(last, us)?);
                open = None;
            }
            ([alone], _) if alone.parse::<f64>().is_ok() => return Err(Malformed::at(last, SIMPLE, line)),
            _ => {}
        }
    }
    match open {
        Some(_) => Err(Malformed::at(last, UNFINISHED, text.lines().last().unwrap_or_default())),
        None if imported.records.is_empty() => {
            Err(Malformed::nothing("a line '# Running ... benchmark', as of 'perf bench syscall basic'"))
        }
        None => Ok(imported),
    }
}

const UNFINISHED: &str = "'NUMBER usecs/op' before the output of this benchmark ends";
const SIMPLE: &str = "perf's default format (--format=simple prints neither which call was made nor how often)";

/// The name in `'syscall/basic' benchmark:` or `syscall/basic benchmark...`.
fn name(words: &[&str]) -> String {
    words.first().map_or_else(|| "benchmark".to_string(), |word| word.trim_matches('\'').to_string())
}

impl Block {
    fn record(&self, line: usize, us: &str) -> Result<Record, Malformed> {
        let us_per_call = parse_number(line, "microseconds", us)?;
        let (calls, what) = self.executed.clone().unzip();
        let mut printed = format!("{us} usecs/op");
        if let (Some(calls), Some(what)) = (calls, &what) {
            printed.push_str(&format!(", {calls} {what}"));
        }
        if let Some(total) = &self.total {
            printed.push_str(&format!(", {total} s in all"));
        }
        let call = what.as_deref().and_then(|what| what.strip_suffix(" calls"));
        let same = SAME.iter().find(|(theirs, _)| call == Some(theirs)).map(|(_, id)| *id);
        Ok(record(Case::native(same.unwrap_or(&self.name)), outcome(us_per_call * 1e3, printed, calls), Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::imported::message;
    use super::*;

    #[test]
    fn mistakes_name_the_line() {
        let head = "# Running 'syscall/basic' benchmark:\n";
        for (text, expected) in [
            ("6.030\n".to_string(), "line 1: expected perf's default format (--format=simple prints"),
            (format!("{head}# Executed many getppid() calls\n"), "line 2: expected a count of calls, found 'many'"),
            (format!("{head}  fast usecs/op\n"), "line 2: expected a number of microseconds, found 'fast'"),
            (format!("{head}{head}"), "line 2: expected 'NUMBER usecs/op' before"),
            (head.to_string(), "line 1: expected 'NUMBER usecs/op' before"),
            (String::new(), "expected a line '# Running"),
        ] {
            let found = message(parse, &text);
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn unknown_calls_keep_their_name() {
        let text = "# Running syscall/fork benchmark...\n# Executed 10,000 fork() calls\n 61.5 usecs/op\n";
        let records = parse(text).ok().unwrap().records;
        assert_eq!(records[0].case, Case::native("syscall/fork"));
        assert_eq!(records[0].outcome, outcome(61500.0, "61.5 usecs/op, 10000 fork() calls".into(), Some(10_000)));
    }
}
