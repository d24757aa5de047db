//! Logs of `strace -f -T -ttt`, line by line: calls of several processes, split in two lines where they overlap. The output
//! of -T, -ttt and -y is used if present.

use super::malformed::Malformed;
use super::tally::{Seen, Tally, call_name, nanoseconds, number_of};
use crate::model::{Class, DescriptorKind, Drives, Profile, Selector, depth, drives, selector};
use std::collections::{BTreeMap, BTreeSet};

pub const NOTE: &str = "Elapsed times come from a program that strace stops at every call, and do not separate running from \
    waiting. Unknown: time on the CPU, page faults, user and system time.";

/// Reads a log. Errors: the first line that does not belong in a log, or that there is no call.
pub fn read(text: &str) -> Result<Profile, Malformed> {
    let mut log = Log::default();
    for (i, line) in text.lines().enumerate() {
        // strace -C appends a table of the same calls.
        if is_header(line) {
            break;
        }
        log.line(i + 1, line)?;
    }
    log.finish().ok_or_else(|| {
        Malformed::new(text.lines().count().max(1), "there is no call: name a log of 'strace -f -T -ttt -o FILE'")
    })
}

/// Whether `line` may be the first one of a log, or, if it is `cut` off, the beginning of it.
pub fn begins(line: &str, cut: bool) -> bool {
    let rest = stamp_of(thread_of(line.trim_end()).1).1;
    !rest.is_empty() && (Log::default().line(1, line).is_ok() || cut && name_and_arguments(1, rest).is_ok())
}

#[derive(Default)]
struct Log {
    /// First lines of calls that have not returned, by thread.
    pending: BTreeMap<u64, String>,
    /// Calls, each with its thread and how many programs that had started.
    calls: Vec<(u64, u32, Seen)>,
    /// Names of the programs that each thread has started with execve.
    programs: BTreeMap<u64, Vec<String>>,
    /// The parent of each thread, and how many programs that had started.
    parents: BTreeMap<u64, (u64, u32)>,
    threads: BTreeSet<u64>,
    /// Other modes that processes ran in, as strace prints them: `32 bit`.
    modes: BTreeSet<String>,
    first_s: Option<f64>,
    last_s: Option<f64>,
}

impl Log {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Malformed> {
        let (thread, rest) = thread_of(line.trim_end());
        let (stamp, rest) = stamp_of(rest);
        self.first_s = self.first_s.or(stamp);
        self.last_s = stamp.or(self.last_s);
        if let Some(mode) = other_mode(rest) {
            self.modes.insert(mode.to_string());
            return Ok(());
        }
        if is_remark(rest) {
            return Ok(());
        }
        let thread = thread.unwrap_or(0);
        if let Some(begun) = rest.strip_suffix("<unfinished ...>").or_else(|| rest.strip_suffix("<detached ...>")) {
            name_and_arguments(number, begun)?;
            self.pending.insert(thread, begun.trim_end().to_string());
            return Ok(());
        }
        // Without -o, strace's own messages end up in the line.
        if let Some((begun, _)) = rest.split_once("strace: Process ").filter(|_| rest.ends_with(" attached")) {
            name_and_arguments(number, begun)?;
            self.pending.insert(thread, begun.to_string());
            return Ok(());
        }
        let whole = self.whole(number, thread, rest)?;
        self.call(number, thread, &whole)
    }

    /// The line, joined with its first part if that came earlier. If a call began before the log, only its name is known.
    fn whole(&mut self, number: usize, thread: u64, rest: &str) -> Result<String, Malformed> {
        if let Some(begun) = self.pending.get(&thread).filter(|_| rest.starts_with("=> ")) {
            let whole = format!("{begun}{rest}");
            self.pending.remove(&thread);
            return Ok(whole);
        }
        let Some(resumed) = rest.strip_prefix("<... ") else { return Ok(rest.to_string()) };
        let Some((name, end)) = resumed.split_once(" resumed>") else {
            return Err(Malformed::at(number, "'<... CALL resumed>'", rest));
        };
        let begun = self.pending.remove(&thread).unwrap_or_else(|| format!("{name}("));
        if begun.split('(').next() == Some(name) {
            Ok(format!("{begun}{end}"))
        } else {
            Err(Malformed::at(number, &format!("the end of '{begun}'"), rest))
        }
    }

    fn call(&mut self, number: usize, thread: u64, line: &str) -> Result<(), Malformed> {
        let (seen, returned) = call(number, line)?;
        let program = self.programs.get(&thread).map_or(0, Vec::len) as u32;
        let succeeded = seen.error.is_none() && !seen.unfinished;
        let makes = matches!(seen.call.as_str(), "clone" | "clone3" | "fork" | "vfork") && succeeded;
        if let Some(child) = returned.filter(|_| makes).and_then(|value| u64::try_from(value).ok()) {
            self.parents.insert(child, (thread, program));
            if line.contains("CLONE_THREAD") {
                self.threads.insert(child);
            }
        }
        let name = (seen.call == "execve" && succeeded).then(|| program_name(line)).flatten();
        self.calls.push((thread, program, seen));
        self.programs.entry(thread).or_default().extend(name);
        Ok(())
    }

    /// The profile; `None` without calls.
    fn finish(mut self) -> Option<Profile> {
        for (thread, begun) in std::mem::take(&mut self.pending) {
            if let Ok((name, arguments)) = name_and_arguments(0, &begun) {
                let class = class(&name, &split_arguments(arguments), None, false);
                let program = self.programs.get(&thread).map_or(0, Vec::len) as u32;
                self.calls.push((thread, program, Seen { call: name, class, unfinished: true, ..Seen::default() }));
            }
        }
        let mut tally = Tally::default();
        for (thread, program, seen) in &self.calls {
            tally.add(&self.name(*thread, *program), seen.clone());
        }
        if tally.is_empty() {
            return None;
        }
        let mut profile = tally.profile();
        let wall = self.first_s.zip(self.last_s).map(|(first, last)| last - first).filter(|wall| *wall > 0.0);
        profile.usage.wall_ns = wall.filter(|wall| *wall < 1e9).map(|wall| (wall * 1e9) as u64);
        let all = self.programs.len() as u64;
        let threads = self.programs.keys().filter(|thread| self.threads.contains(thread)).count() as u64;
        // Without -o, the first process has a PID in the log only while there are others.
        if all == 1 || !self.programs.contains_key(&0) {
            profile.usage.processes = Some(all - threads);
            profile.usage.threads = Some(threads);
        }
        let plain =
            |mode: &String| format!("calls in {mode} mode are among the others: their names are those of that mode");
        profile.warnings = self.modes.iter().map(plain).collect();
        Some(profile)
    }

    /// The name of the program that a thread ran when it had started so many; before the first, that of its parent.
    fn name(&self, thread: u64, program: u32) -> String {
        let (mut thread, mut program) = (thread, program);
        // In a log merged from several, parents can form a cycle.
        for _ in 0..64 {
            if let Some(index) = program.checked_sub(1) {
                let own = self.programs.get(&thread).and_then(|names| names.get(index as usize));
                return own.cloned().unwrap_or_default();
            }
            let Some(parent) = self.parents.get(&thread) else { break };
            (thread, program) = *parent;
        }
        // The first process before its execve.
        self.programs.get(&thread).and_then(|names| names.first()).cloned().unwrap_or_default()
    }
}

/// `10401 REST` (strace -f -o) or `[pid 10401] REST`.
fn thread_of(line: &str) -> (Option<u64>, &str) {
    let own = line.strip_prefix("[pid").and_then(|rest| rest.split_once(']'));
    let (number, rest) = own.or_else(|| line.split_once(' ')).unwrap_or((line, ""));
    match number.trim().parse::<u64>() {
        Ok(thread) => (Some(thread), rest.trim_start()),
        Err(_) => (None, line),
    }
}

/// Seconds of `1795192689.675803` or `16:38:09.775521`; not of relative times (-r), which mean something else.
fn stamp_of(line: &str) -> (Option<f64>, &str) {
    let line = line.trim_start();
    let Some((word, rest)) = line.split_once(' ') else { return (None, line) };
    if !word.starts_with(|c: char| c.is_ascii_digit())
        || !word.chars().all(|c| c.is_ascii_digit() || c == ':' || c == '.')
    {
        return (None, line);
    }
    let parts: Vec<&str> = word.split(':').collect();
    let seconds = match parts.as_slice() {
        [epoch] => epoch.parse::<f64>().ok().filter(|epoch| *epoch > 1e8),
        [hours, minutes, seconds] => parse_clock(hours, minutes, seconds),
        _ => None,
    };
    (seconds, rest.trim_start())
}

fn parse_clock(hours: &str, minutes: &str, seconds: &str) -> Option<f64> {
    Some(hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}

/// Whether this is the first line of a table.
pub fn is_header(line: &str) -> bool {
    line.split_whitespace().take(3).eq(["%", "time", "seconds"])
}

/// `32 bit` of `[ Process PID=21618 runs in 32 bit mode. ]`; 64-bit mode is the default.
pub fn other_mode(line: &str) -> Option<&str> {
    let mode = line.trim().strip_prefix("[ Process PID=")?.strip_suffix(" mode. ]")?.split_once(" runs in ")?.1;
    Some(mode)
}

/// Lines about something other than a call: signals, exits, strace's own messages.
fn is_remark(line: &str) -> bool {
    let framed = |mark: &str| line.starts_with(mark) && line.ends_with(mark);
    line.is_empty() || line.starts_with("strace: ") || (line.len() > 6 && (framed("---") || framed("+++")))
}

fn name_and_arguments(number: usize, line: &str) -> Result<(String, &str), Malformed> {
    let bad = || Malformed::at(number, "'CALL(ARGUMENTS) = RESULT'", line);
    let (name, arguments) = line.split_once('(').ok_or_else(bad)?;
    Ok((call_name(name).ok_or_else(bad)?, arguments))
}

/// A complete call, and what it returned.
fn call(number: usize, line: &str) -> Result<(Seen, Option<i64>), Malformed> {
    let bad = || Malformed::at(number, "'CALL(ARGUMENTS) = RESULT'", line);
    let (name, rest) = name_and_arguments(number, line)?;
    let (arguments, result) = result_of(rest).ok_or_else(bad)?;
    let (result, elapsed_ns) = elapsed(result);
    if elapsed_ns.is_none() && result.contains('<') && !result.contains('>') {
        return Err(bad());
    }
    let mut words = result.split_whitespace();
    let value = words.next().ok_or_else(bad)?;
    let error = words.next().filter(|word| is_errno(word)).map(str::to_string);
    let returned = number_of(value.split('<').next().unwrap_or(value));
    if returned.is_none() && value != "?" {
        return Err(bad());
    }
    let succeeded = returned.filter(|_| error.is_none());
    let unfinished = value == "?" && error.is_none();
    let arguments = split_arguments(arguments);
    let moves = matches!(drives(&name), Some(Drives::Bytes { .. }));
    let moved = succeeded.filter(|_| moves).and_then(|bytes| u64::try_from(bytes).ok());
    let class = class(&name, &arguments, (!unfinished).then(|| moved.unwrap_or(0)), succeeded.is_some());
    Ok((Seen { call: name, class, error, elapsed_ns, bytes: moved, unfinished }, returned))
}

/// Arguments and result, split at the last `) = `.
fn result_of(text: &str) -> Option<(&str, &str)> {
    let mut end = text.len();
    while let Some(at) = text[..end].rfind("= ") {
        let before = text[..at].trim_end();
        if let Some(arguments) = before.strip_suffix(')') {
            return Some((arguments, text[at + 2..].trim()));
        }
        end = at;
    }
    None
}

/// The result without the time `<0.000233>` at its end, and that time.
fn elapsed(result: &str) -> (&str, Option<u64>) {
    let found = result.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'));
    let time = found.and_then(|(rest, time)| Some((rest.trim_end(), nanoseconds(time, 1e9)?)));
    time.map_or((result, None), |(rest, ns)| (rest, Some(ns)))
}

fn is_errno(word: &str) -> bool {
    word.starts_with('E')
        && word.len() > 1
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// The last component of the program's path, cut to the 15 bytes that the kernel keeps.
fn program_name(line: &str) -> Option<String> {
    let path = line.split_once('"')?.1.split('"').next()?;
    let name: String = path.rsplit('/').next()?.chars().take(15).collect();
    (!name.is_empty()).then_some(name)
}

/// The arguments, split at commas outside strings and brackets.
fn split_arguments(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut level, mut string, mut escaped) = (0, 0i32, false, false);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            _ if string => {}
            b'(' | b'[' | b'{' => level += 1,
            b')' | b']' | b'}' => level -= 1,
            b',' if level <= 0 => {
                parts.push(text[begin..i].trim());
                begin = i + 1;
            }
            _ => {}
        }
    }
    let last = text[begin..].trim();
    parts.extend((!last.is_empty()).then_some(last));
    parts
}

/// The class of a call with these arguments; `bytes` is what it moved, if it moves any and that is known.
fn class(name: &str, arguments: &[&str], bytes: Option<u64>, returned: bool) -> Class {
    let at = |position: u8| arguments.get(usize::from(position)).copied();
    let operation = selector(name).and_then(|selector| operation(selector, arguments));
    let Some(drives) = drives(name) else { return Class { operation, ..Class::default() } };
    let (descriptor, number) = match drives {
        Drives::Bytes { descriptor } => (at(descriptor).and_then(descriptor_kind), bytes),
        Drives::Descriptor { argument } => (at(argument).and_then(descriptor_kind), None),
        Drives::Path { argument } => (None, at(argument).and_then(path_of).map(|path| depth(path.as_bytes()))),
        Drives::Length { argument } | Drives::Set { argument } => (None, at(argument).and_then(size_of)),
    };
    let listed = name.starts_with("getdents") && returned;
    let descriptor = if listed { Some(DescriptorKind::Directory) } else { descriptor };
    Class { operation, ..drives.class(descriptor, number) }
}

/// What the call's selector selects. strace names the arguments of clone, and orders them in its own way.
fn operation(selector: &Selector, arguments: &[&str]) -> Option<String> {
    let named = arguments.iter().find_map(|argument| argument.strip_prefix("flags="));
    selector.operation_of_symbols(named.or_else(|| arguments.get(usize::from(selector.argument)).copied())?)
}

/// The text between quotes, still escaped.
fn path_of(argument: &str) -> Option<&str> {
    argument.strip_prefix('"')?.split('"').next()
}

fn size_of(argument: &str) -> Option<u64> {
    match argument.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => argument.parse().ok(),
    }
}

/// The kind from what `strace -y` appends to a descriptor: `3</etc/passwd>`, `4<pipe:[17]>`; -1 is none.
fn descriptor_kind(argument: &str) -> Option<DescriptorKind> {
    let Some((_, rest)) = argument.split_once('<') else {
        return (argument == "-1").then_some(DescriptorKind::None);
    };
    let target = rest.strip_suffix('>').unwrap_or(rest);
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| target.starts_with(prefix));
    Some(match () {
        () if begins(&["pipe:"]) => DescriptorKind::Pipe,
        () if begins(&["socket:", "TCP", "UDP", "UNIX", "NETLINK"]) => DescriptorKind::Socket,
        () if begins(&["anon_inode:"]) => DescriptorKind::Event,
        () if begins(&["/dev/pts/", "/dev/tty"]) => DescriptorKind::Terminal,
        // Only strace -yy appends the device number: any other path in /dev may be a file.
        () if begins(&["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]) => DescriptorKind::Device,
        () if target.starts_with('/') && !target.starts_with("/dev/") => DescriptorKind::File,
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_outside_of_strings_and_brackets() {
        let text = r#"3, "a, \"b\" (c", {x=1, y=[2, 3]}, 0666"#;
        assert_eq!(split_arguments(text), ["3", r#""a, \"b\" (c""#, "{x=1, y=[2, 3]}", "0666"]);
        assert_eq!(split_arguments(""), Vec::<&str>::new());
    }

    #[test]
    fn the_class_follows_from_the_arguments() {
        assert_eq!(class("openat", &["AT_FDCWD", "\"/etc/ld.so.cache\""], None, true).depth, Some(2));
        assert_eq!(class("mmap", &["NULL", "39047"], None, true).size, Some(32768));
        assert_eq!(
            class("futex", &["0x1", "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME"], None, true).operation.unwrap(),
            "wait_bitset"
        );
        assert_eq!(class("poll", &["[{fd=1}]", "5"], None, true).set, Some(4));
        assert_eq!(class("select", &["5"], None, true).set, Some(4));
        assert_eq!(class("read", &["4<pipe:[17]>"], None, true).descriptor, Some(DescriptorKind::Pipe));
        assert_eq!(class("close", &["3"], None, true), Class::default());
    }
}
