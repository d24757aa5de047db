//! Reads logs line by line: calls of several processes, split in two lines if they overlap, between lines that the processes printed.

use super::arguments::{
    class, described, descriptor, is_hidden_path, makes_thread, program, split, used_path,
};
use super::descriptors::Descriptors;
use super::line::{Call, Line, embedded, ends_call, entered, parse};
use super::pending::Pending;
use super::tally::{Caller, Tally, call_name};
use super::threads::{FIRST, Threads};
use super::timeline::Timeline;
use model::clean::excerpt;
use model::{
    CallCount, DescriptorKind, Drives, ObjectKind, OpenCall, Profile, SlowCall, Thread, drives,
};
use std::collections::BTreeSet;

const NOTE: &str = "Elapsed times come from a program that strace stops at every call, and do not separate running from \
    waiting. Unknown: time on the CPU, page faults, user and system time.";
const NO_RETURN: &str = "No call returned while strace ran, so nothing else is known.";
const NO_TIMES: &str = "No times of calls: trace with -T. Unknown: time on the CPU, page faults, user and system time.";

const SHOWN: usize = 60;

#[derive(Default)]
pub struct Log {
    pub tally: Tally,
    threads: Threads,
    pending: Pending,
    open: Option<Open>,
    timeline: Timeline,
    descriptors: Descriptors,
    /// `32 bit`
    modes: BTreeSet<String>,
    /// The line number of the first.
    foreign: usize,
    first_foreign: Option<(usize, String)>,
    /// Printed as addresses, and whether any path was not.
    hidden_paths: (u64, bool),
    decimals: Option<usize>,
    /// Another thread replaced theirs by execve as they returned: tables of strace count some of them.
    pub unavailable: u64,
    detached: bool,
}

struct Open {
    thread: u64,
    text: String,
    /// Other programs close their brackets, as in `open(/x): No such file`.
    is_certain: bool,
    number: usize,
}

impl Open {
    /// Another program's brackets are in pairs.
    fn goes_on(&self, line: &str) -> bool {
        let count = |bracket| line.matches(bracket).count();
        ends_call(line) && (self.is_certain || count(')') > count('('))
    }
}

impl Log {
    /// `number` is for messages.
    pub fn line(&mut self, number: usize, line: &str) {
        let (prefix, about) = parse(line);
        // A foreign line must not set the clock or name a thread, even if it begins like a prefix.
        if about == Line::Foreign {
            return self.foreign(number, line);
        }
        prefix
            .stamp
            .iter()
            .for_each(|stamp| self.timeline.clock.add(*stamp));
        let resumes = matches!(about, Line::Resumed(..));
        // Without a number, the only live thread made the call: strace numbers lines once there are several.
        let thread = match prefix.thread {
            Some(thread) => self.named(thread, resumes),
            None => self.threads.only(),
        };
        // The next call shows that an open one gets no more lines.
        if matches!(
            about,
            Line::Call(_) | Line::Begun(..) | Line::Open(_) | Line::Resumed(..)
        ) {
            self.close();
        }
        match about {
            Line::Remark | Line::Foreign => {}
            Line::Attached(thread) => self.threads.runs(thread),
            Line::Exited => {
                self.timeline.forget(thread);
                self.threads.ends_for_sure(thread);
            }
            Line::Superseded(by) => self.superseded(prefix.thread, by),
            Line::Mode(mode) => drop(self.modes.insert(mode.to_string())),
            Line::Resumed(name, end) => {
                let (thread, text) = self.resumed(thread, prefix.thread.is_some(), name, end);
                self.joined(thread, &text, number);
            }
            about => self.of_call(thread, about, number, false),
        }
    }

    /// A program that was there before the log began.
    pub fn starts_as(&mut self, thread: u64, program: &str) {
        if !self.threads.is_known(thread) {
            self.threads.starts(thread, Some(program.to_string()));
        }
    }

    fn of_call(&mut self, thread: u64, about: Line, number: usize, is_joined: bool) {
        match about {
            Line::Call(call) => {
                if !is_joined {
                    // Joined calls began in an earlier line, which has been entered already.
                    self.timeline.begins(thread, &call.name, number);
                }
                self.timeline
                    .ends(thread, &call.name, call.elapsed_ns, is_joined);
                self.call(thread, &call, (number, is_joined));
            }
            Line::Begun(text, detached) => {
                if !is_joined {
                    let name = text.split('(').next().unwrap_or_default();
                    self.timeline.begins(thread, name, number);
                }
                self.begun(thread, text, detached);
            }
            Line::Open(text) => {
                self.open = Some(Open {
                    thread,
                    text: text.to_string(),
                    // `name(...)` without a result may also be a line of the traced program.
                    is_certain: is_joined || !text.contains(')'),
                    number,
                });
            }
            _ => {}
        }
    }

    fn named(&mut self, thread: u64, resumes: bool) -> u64 {
        // A new thread resumes nothing, and is known once the call that made it has returned.
        if self.threads.may_be_first(thread) && (resumes || !self.pending.has(FIRST)) {
            self.threads.name_first(thread);
            self.tally.rename(FIRST, thread);
            self.pending.rename(FIRST, thread);
            self.timeline.rename(FIRST, thread);
            self.descriptors.forked(FIRST, thread);
        }
        self.threads.runs(thread);
        thread
    }

    /// Unless it is the end of a call, or one begins in it.
    fn foreign(&mut self, number: usize, line: &str) {
        let certain = self.open.as_ref().is_some_and(|open| open.is_certain);
        // Inside of a call that is certain, only `[pid N] ` is reliable: arguments may contain names of calls.
        let inner = embedded(line).filter(|inner| !certain || inner.starts_with('['));
        if let Some(inner) = inner.filter(|inner| parse(inner).1 != Line::Foreign) {
            self.line(number, inner);
        } else if let Some(open) = self.open.take_if(|open| open.goes_on(line)) {
            self.joined(
                open.thread,
                &format!("{}{}", open.text, line.trim_end()),
                number,
            );
        } else {
            self.not_ours(number, line);
        }
    }

    fn not_ours(&mut self, number: usize, line: &str) {
        self.foreign += 1;
        self.first_foreign
            .get_or_insert_with(|| (number, excerpt(line.trim(), SHOWN)));
    }

    fn close(&mut self) {
        match self.open.take() {
            // Its end may still follow, as `<... name resumed>`.
            Some(open) if open.is_certain => self.begun(open.thread, &open.text, false),
            Some(open) => self.not_ours(open.number, &open.text),
            None => {}
        }
    }

    fn begun(&mut self, thread: u64, text: &str, detached: bool) {
        self.detached |= detached;
        self.threads.caller(thread);
        // A thread cannot be in two calls: the log lacks the end of the first.
        if let Some(lost) = self.pending.insert(thread, text.to_string()) {
            self.unfinished(thread, &lost);
        }
    }

    /// If its first part came before the log, only its name is known.
    fn resumed(&mut self, thread: u64, is_named: bool, name: &str, end: &str) -> (u64, String) {
        // strace names threads only while there are several, and that may change during a call, as do those that call execve.
        let other = if !is_named || name.starts_with("execve") {
            self.pending.only(name)
        } else {
            Some(FIRST).filter(|first| self.pending.is_in(*first, name))
        };
        let own_thread = Some(thread).filter(|own_thread| self.pending.is_in(*own_thread, name));
        let from = own_thread.or(other);
        let begun = self.pending.resumed(from, name);
        let thread = match from {
            Some(value) if !is_named => value,
            _ => thread,
        };
        (thread, format!("{begun}{end}"))
    }

    fn joined(&mut self, thread: u64, text: &str, number: usize) {
        match entered(text, true) {
            Line::Foreign => self.not_ours(number, text),
            about => self.of_call(thread, about, number, true),
        }
    }

    /// Under the number of the one of its process that called execve.
    fn superseded(&mut self, thread: Option<u64>, by: u64) {
        self.threads.ends(by);
        let thread = thread.unwrap_or_else(|| self.threads.only());
        self.pending.rename(by, thread);
    }

    fn unfinished(&mut self, thread: u64, text: &str) {
        let Some((name, arguments)) = text.split_once('(') else {
            return;
        };
        if let Some(name) = call_name(name) {
            self.call(
                thread,
                &Call {
                    name,
                    arguments,
                    ..Call::default()
                },
                (0, true),
            );
        }
    }

    /// `at` is its line, and whether that has the time of the return.
    fn call(&mut self, thread: u64, call: &Call, at: (usize, bool)) {
        let caller = self.threads.caller(thread);
        let arguments = split(call.arguments);
        let (unfinished, succeeded) = (call.is_unfinished(), call.succeeded());
        let positive = succeeded.and_then(|value| u64::try_from(value).ok());
        let bytes = if matches!(drives(&call.name), Some((Drives::Bytes, _))) {
            positive
        } else {
            None
        };
        let moved = if unfinished {
            None
        } else {
            Some(bytes.unwrap_or(0))
        };
        let mut class = class(&call.name, &arguments, moved, succeeded.is_some());
        class.descriptor = class
            .descriptor
            .or_else(|| self.descriptor_kind(thread, descriptor(&call.name, &arguments)?));
        // Counted for a warning, because classes lack the depth of such paths.
        self.hidden_paths.0 += u64::from(is_hidden_path(&call.name, &arguments));
        self.hidden_paths.1 |= class.depth.is_some();
        if call.elapsed_ns.is_some() {
            self.decimals = Some(
                self.decimals
                    .map_or(call.decimals, |least| least.min(call.decimals)),
            );
        }
        self.unavailable += u64::from(call.is_unavailable);
        let elapsed_ns = call.precise_ns();
        if let Some(elapsed_ns) = elapsed_ns {
            self.tally.took(&call.name, elapsed_ns);
            let slow = SlowCall {
                call: call.name.clone(),
                class: class.clone(),
                elapsed_ns,
                ..SlowCall::default()
            };
            self.timeline.took(caller, slow, at.0, at.1);
        }
        let count = CallCount {
            calls: 1,
            unfinished: u64::from(unfinished),
            errors: call.error.iter().map(|errno| (errno.clone(), 1)).collect(),
            elapsed_ns,
            bytes,
            call: call.name.clone(),
            ..CallCount::default()
        };
        let path = used_path(&call.name, &arguments)
            .map(|(path, directory)| (ObjectKind::Path, path, directory));
        let open = descriptor(&call.name, &arguments).and_then(described);
        let open = open.map(|name| (ObjectKind::Descriptor, name, None));
        if let Some(object) = path.or(open) {
            self.tally.add_object(caller, object, count.clone());
        }
        self.tally.add(caller, CallCount { class, ..count });
        self.follow(caller, call, &arguments);
    }

    /// The kind of the call's descriptor, by the call that opened it.
    fn descriptor_kind(&self, thread: u64, argument: &str) -> Option<DescriptorKind> {
        self.descriptors
            .kind(self.threads.process(thread), argument)
    }

    fn follow(&mut self, caller: Caller, call: &Call, arguments: &[&str]) {
        let (thread, _) = caller;
        let succeeded = call.succeeded();
        let process = self.threads.process(thread);
        if let Some(value) = succeeded {
            self.descriptors
                .follow(process, &call.name, arguments, value);
        }
        match call.name.as_str() {
            "clone" | "clone3" | "fork" | "vfork" => {
                let is_thread = if call.name.ends_with("fork") {
                    Some(false)
                } else {
                    makes_thread(call.arguments)
                };
                if let Some(child) = succeeded.and_then(|value| u64::try_from(value).ok())
                    && child > 0
                {
                    self.threads.made(child, caller, is_thread);
                    if is_thread != Some(true) {
                        self.descriptors.forked(process, child);
                    }
                }
            }
            "execve" | "execveat" if succeeded.is_some() => {
                self.threads.starts(thread, program(arguments));
                self.descriptors.executes(process);
            }
            // These never return, so the log has no result.
            "exit" | "exit_group" if call.is_unfinished() => {
                self.timeline.forget(thread);
                self.threads.ends(thread);
            }
            _ => {}
        }
    }

    /// A thread that was in a call when strace let go of it; since before strace began, if it made no other.
    fn open(&self, thread: u64, begun: &str) -> Thread {
        let (call, arguments) = begun.split_once('(').unwrap_or((begun, ""));
        let (before, elapsed_ns) = self.timeline.open(thread);
        let on = descriptor(call, &split(arguments)).and_then(described);
        let [pid, tid] = [self.threads.process(thread), thread]
            .map(|number| u32::try_from(number).unwrap_or_default());
        Thread {
            process: self.threads.current(thread),
            pid,
            tid,
            open: Some(OpenCall {
                call: call.to_string(),
                before,
                elapsed_ns,
                on,
                ..OpenCall::default()
            }),
            ..Thread::default()
        }
    }

    /// And a note about its times; `None` without calls.
    pub fn finish(mut self) -> Option<(Profile, &'static str)> {
        // Cut off, the last line may lack its result.
        if let Some(open) = &mut self.open {
            open.is_certain |= open.text.ends_with(')');
        }
        self.close();
        let pending = self.pending.take();
        let open = if self.detached {
            pending
                .iter()
                .map(|(thread, begun)| self.open(*thread, begun))
                .collect()
        } else {
            Vec::new()
        };
        for (thread, begun) in &pending {
            self.unfinished(*thread, begun);
        }
        if self.tally.calls() == 0 {
            return None;
        }
        // Before the tally is consumed.
        let warnings = self.warnings();
        let has_times = self.decimals.is_some_and(|decimals| decimals > 0);
        let tree = self.threads.tree(self.tally.by_caller());
        let mut profile = self.tally.profile(|caller| self.threads.name(caller));
        (profile.warnings, profile.complete) = (warnings, !self.detached);
        profile.usage.wall_ns = self.timeline.clock.wall_ns();
        if has_times {
            profile.usage.in_calls_ns = self.timeline.in_calls_ns();
        }
        profile.usage.longest_gap = self.timeline.longest_gap.take();
        (profile.threads, profile.tree) = (open, tree);
        if let Some((processes, threads)) = self.threads.counts() {
            (profile.usage.processes, profile.usage.threads) = (Some(processes), Some(threads));
        }
        let (threads, slowest) = (&self.threads, self.timeline.slowest());
        profile.slowest = slowest
            .map(|(caller, call)| threads.named(caller, call))
            .collect();
        let note = if has_times {
            NOTE
        } else if profile.threads.is_empty() {
            NO_TIMES
        } else {
            NO_RETURN
        };
        Some((profile, note))
    }

    /// Lines that strace did not print; `None` without any.
    pub fn foreign_lines(&self) -> Option<String> {
        let (number, text) = self.first_foreign.as_ref()?;
        let count = self.foreign;
        Some(format!(
            "lines that strace did not print are left out: {count}, the first one is line {number}, '{text}'"
        ))
    }

    fn warnings(&self) -> Vec<String> {
        let calls = self.tally.calls();
        let modes = self.modes.iter().filter(|mode| *mode != "64 bit");
        let modes = modes.map(|mode| {
            format!("calls in {mode} mode are among the others: their names are those of that mode")
        });
        let raw = self.hidden_paths.0 > 0 && !self.hidden_paths.1;
        let rounded = match self.decimals {
            Some(0) => Some(
                "times of calls are in whole seconds, and left out: use -T without --syscall-times=s",
            ),
            Some(1..6) => Some(
                "times of calls are rounded to more than microseconds: use -T without --syscall-times=",
            ),
            _ => None,
        };
        let failed = calls > 9 && self.tally.failures() == calls;
        let others = [
            raw.then_some("paths are printed as addresses and unknown: leave out -e raw="),
            rounded,
            failed.then_some("every call failed: if strace was told to show only those, leave out -Z and -e status="),
        ];
        modes
            .chain(self.foreign_lines())
            .chain(others.into_iter().flatten().map(str::to_string))
            .collect()
    }
}
