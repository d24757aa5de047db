//! Parses a line: the prefix that options put before a call, and the kind of the line.

use super::tally::{call_name, nanoseconds, number_of};
use model::syscall_names::{self, errno};

/// `[pid 12<sh>] 16:38:09.775521 (+ 0.000012) [  39] [00007fbc39f6dad7] `
#[derive(Default)]
pub struct Prefix {
    pub thread: Option<u64>,
    pub stamp: Option<Stamp>,
    pub printed: bool,
}

#[derive(Clone, Copy)]
pub enum Stamp {
    /// Seconds of -t, -tt and -ttt.
    Clock(f64),
    /// Seconds since the line before, of -r.
    Since(f64),
}

#[derive(PartialEq)]
pub enum Line<'a> {
    /// A signal, a stack frame, bytes that were read, a message.
    Remark,
    Attached(u64),
    Exited,
    /// The thread goes on as what this other thread has executed.
    Superseded(u64),
    /// The process runs in another mode from here on: `32 bit`.
    Mode(&'a str),
    Call(Call<'a>),
    /// A call whose result is in another line, marked as such: its text, and whether strace detached during the call.
    Begun(&'a str, bool),
    /// Neither a result nor a mark: something else was printed inside of it.
    Open(&'a str),
    Resumed(&'a str, &'a str),
    Foreign,
}

#[derive(Debug, Default, PartialEq)]
pub struct Call<'a> {
    pub name: String,
    pub arguments: &'a str,
    /// `None` if it did not return.
    pub returned: Option<i64>,
    /// It returned, but strace could not read what.
    pub is_unavailable: bool,
    pub error: Option<String>,
    pub elapsed_ns: Option<u64>,
    pub decimals: usize,
}

impl Call<'_> {
    /// Times in whole seconds would make nearly all calls take nothing.
    pub fn precise_ns(&self) -> Option<u64> {
        if self.decimals > 0 {
            self.elapsed_ns
        } else {
            None
        }
    }

    /// The log has neither a result nor an error of the call.
    pub fn is_unfinished(&self) -> bool {
        self.returned.is_none() && self.error.is_none()
    }

    /// `None` if it failed or did not return.
    pub fn succeeded(&self) -> Option<i64> {
        if self.error.is_none() {
            self.returned
        } else {
            None
        }
    }
}

/// As strace indents them: stack frames, bytes, and the buffers they are in.
const ADDED: [&str; 4] = [" > ", " | ", " * ", " = "];
const LONGEST_NAME: usize = 40;
const DETACHED: &str = "<detached ...>";
const UNFINISHED: &str = "<unfinished ...>";

/// Lines of the traced program become [`Line::Foreign`].
pub fn parse(line: &str) -> (Prefix, Line<'_>) {
    let line = line.trim_end();
    if ADDED.iter().any(|added| line.starts_with(added)) {
        return (Prefix::default(), Line::Remark);
    }
    let (prefix, rest) = prefix(line);
    let about = about(rest, prefix.printed);
    (prefix, about)
}

/// All that strace prints after what interrupted it.
pub fn ends_call(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(UNFINISHED) || line.ends_with(DETACHED) || returned(line).is_some()
}

/// After something else without a line end.
pub fn embedded(line: &str) -> Option<&str> {
    if let Some(at) = line.find("[pid ").filter(|at| *at > 0) {
        return Some(&line[at..]);
    }
    let (before, _) = line.split_once('(')?;
    let ends = before
        .char_indices()
        .rev()
        .take(LONGEST_NAME)
        .map(|(at, _)| at);
    // The longest known name wins, or `pread64` would be found as `read`.
    let from = ends
        .filter(|at| syscall_names::is_known(&before[*at..]))
        .last()?;
    matches!(about(&line[from..], false), Line::Call(_) | Line::Begun(..)).then_some(&line[from..])
}

fn prefix(line: &str) -> (Prefix, &str) {
    let mut prefix = Prefix::default();
    let mut rest = line;
    while let Some(after) = field(rest, &mut prefix) {
        prefix.printed = true;
        rest = after;
    }
    (prefix, rest.trim_start())
}

fn field<'a>(text: &'a str, prefix: &mut Prefix) -> Option<&'a str> {
    let field = text.trim_start();
    if let Some(rest) = field.strip_prefix("[pid ") {
        let (thread, rest) = process(rest.trim_start(), "]")?;
        prefix.thread = Some(thread);
        return rest.strip_prefix(']');
    }
    if let Some((since, rest)) = field
        .strip_prefix("(+")
        .and_then(|rest| rest.split_once(')'))
    {
        prefix.stamp = prefix
            .stamp
            .or(Some(Stamp::Since(since.trim().parse().ok()?)));
        return Some(rest);
    }
    // The number of the call, the address it was made from, or a security context.
    if let Some((inner, rest)) = field
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        return (!inner.trim().is_empty() && !inner.trim().contains(' ')).then_some(rest);
    }
    // The remaining fields are a thread's number without brackets (of -o), with its name (of -Y), or a time.
    let (word, rest) = field.split_once(' ')?;
    if let Some((thread, rest)) = process(field, " ")
        && word.contains('<')
    {
        prefix.thread = Some(thread);
        return Some(rest);
    }
    // Only the first word can be a thread's number, and PIDs are small; larger numbers are times.
    let first = !prefix.printed && text.len() == field.len();
    match word
        .parse::<u64>()
        .ok()
        .filter(|number| first && *number < 1 << 26)
    {
        Some(thread) => prefix.thread = Some(thread),
        None => prefix.stamp = Some(stamp(word)?),
    }
    Some(rest)
}

/// `12` or, of -Y, `12<sh>`, and what follows, which begins with `end`.
fn process<'a>(text: &'a str, end: &str) -> Option<(u64, &'a str)> {
    let (digits, rest) = text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    );
    let named = if rest.starts_with('<') {
        rest.find(&format!(">{end}"))
    } else {
        None
    };
    let rest = named.map_or(rest, |at| &rest[at + 1..]);
    if !rest.starts_with(end) {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

/// Seconds of `1795192689.675803`, `16:38:09.775521` or `0.000012`.
fn stamp(word: &str) -> Option<Stamp> {
    let plain = word.starts_with(|c: char| c.is_ascii_digit())
        && word
            .chars()
            .all(|c| c.is_ascii_digit() || c == ':' || c == '.');
    if !plain {
        return None;
    }
    let parts: Vec<f64> = word
        .split(':')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    match parts.as_slice() {
        // Seconds since 1970 (-ttt) or, if few, since the line before (-r).
        [seconds] if *seconds > 1e8 => Some(Stamp::Clock(*seconds)),
        [seconds] => Some(Stamp::Since(*seconds)),
        [hours, minutes, seconds] => Some(Stamp::Clock(hours * 3600.0 + minutes * 60.0 + seconds)),
        _ => None,
    }
}

fn about(rest: &str, printed: bool) -> Line<'_> {
    let framed = |mark: &str| rest.len() > 6 && rest.starts_with(mark) && rest.ends_with(mark);
    if rest.is_empty() || framed("---") {
        Line::Remark
    } else if framed("+++") {
        let by = rest
            .strip_prefix("+++ superseded by execve in pid ")
            .and_then(|by| process(by, " "));
        by.map_or(Line::Exited, |(thread, _)| Line::Superseded(thread))
    } else if let Some(message) = message(rest) {
        message
    } else if let Some(resumed) = rest.strip_prefix("<... ") {
        let parts = resumed.split_once(" resumed>");
        parts
            .filter(|(name, _)| call_name(name).is_some())
            .map_or(Line::Foreign, |(name, end)| Line::Resumed(name, end))
    } else {
        entered(rest, printed)
    }
}

/// A message of strace itself. Old versions do not mark them with `strace: `.
fn message(rest: &str) -> Option<Line<'_>> {
    if let Some(mode) = rest.strip_prefix("[ Process PID=") {
        return Some(Line::Mode(
            mode.strip_suffix(" mode. ]")?.split_once(" runs in ")?.1,
        ));
    }
    let by_strace = rest.strip_prefix("strace: ");
    let about = by_strace
        .unwrap_or(rest)
        .strip_prefix("Process ")
        .and_then(|about| process(about, " "));
    match about {
        Some((thread, what)) if what.starts_with(" attached") => Some(Line::Attached(thread)),
        Some((_, what))
            if [" detached", " suspended", " resumed"]
                .iter()
                .any(|state| what.starts_with(state)) =>
        {
            Some(Line::Remark)
        }
        _ => by_strace.map(|_| Line::Remark),
    }
}

/// Only if something was `printed` before it, it may have a name that nobody knows.
pub fn entered(rest: &str, printed: bool) -> Line<'_> {
    let named = rest
        .split_once('(')
        .and_then(|(name, arguments)| Some((name, call_name(name)?, arguments)));
    let Some((shown, name, arguments)) = named else {
        return Line::Foreign;
    };
    // Programs print lines such as `foo(1) = 2` too. A prefix shows that strace printed it.
    let known = printed || name != shown || syscall_names::is_known(shown);
    if let Some(call) = rest.strip_suffix(UNFINISHED) {
        return Line::Begun(call.trim_end(), false);
    } else if let Some(call) = rest.strip_suffix(DETACHED) {
        return Line::Begun(call.trim_end(), true);
    } else if !known {
        return Line::Foreign;
    }
    match returned(arguments) {
        Some((end, call)) => Line::Call(Call {
            name,
            arguments: &arguments[..end],
            ..call
        }),
        None => {
            // A message of strace may have been printed into the unfinished line.
            let message = rest
                .rfind("strace: ")
                .filter(|at| message(&rest[*at..]).is_some());
            Line::Open(message.map_or(rest, |at| &rest[..at]))
        }
    }
}

/// After the last `) = ` that a result can follow.
fn returned(text: &str) -> Option<(usize, Call<'static>)> {
    // Names in the result can look like another one.
    // The limit keeps long buffers full of `= ` from taking quadratic time.
    text.rmatch_indices("= ").take(64).find_map(|(at, _)| {
        let arguments = text[..at].trim_end().strip_suffix(')').map(str::len);
        arguments.zip(result(text[at + 2..].trim()))
    })
}

/// `3</etc/passwd>`, `-1 ENOENT (No such file or directory) <0.000012>`, `?`.
fn result(text: &str) -> Option<Call<'static>> {
    let digits = text
        .find(|c: char| !(c.is_ascii_hexdigit() || "-x?".contains(c)))
        .unwrap_or(text.len());
    let returned = number_of(&text[..digits]);
    if returned.is_none() && &text[..digits] != "?" {
        return None;
    }
    let time = text
        .rsplit_once(' ')
        .and_then(|(_, word)| word.strip_prefix('<')?.strip_suffix('>'));
    let time = time.and_then(|time| Some((time, nanoseconds(time)?)));
    let rest = text[digits..text.len() - time.map_or(0, |(time, _)| time.len() + 3)].trim_end();
    // The target of a descriptor, or the name of a process.
    let rest = if rest.starts_with('<') {
        &rest[rest.rfind('>')? + 1..]
    } else {
        rest
    };
    let error = rest
        .trim_start()
        .split(' ')
        .next()
        .filter(|word| is_errno(word))
        .map(str::to_string);
    let number = rest
        .trim_start()
        .strip_prefix("(errno ")
        .and_then(|rest| rest.split(')').next()?.parse().ok());
    let is_unavailable = rest == " <unavailable>";
    let remark = rest.trim_start().starts_with(['(', '/', '[']) || is_unavailable;
    let follows = rest.is_empty() || error.is_some() || remark;
    if !follows {
        return None;
    }
    Some(Call {
        returned,
        is_unavailable,
        error: error.or_else(|| {
            if returned == Some(-1) {
                number.map(errno::name)
            } else {
                None
            }
        }),
        elapsed_ns: time.map(|(_, ns)| ns),
        decimals: time.map_or(0, |(time, _)| {
            time.split_once('.')
                .map_or(0, |(_, decimals)| decimals.len())
        }),
        ..Call::default()
    })
}

fn is_errno(word: &str) -> bool {
    word.starts_with('E')
        && word.len() > 1
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
