//! The traced processes and threads, the call that each is in, and their counts.

use super::account::{Ended, TreeAccount};
use super::blocked::Stop;
use super::descriptors::{Descriptors, kind};
use super::tally::{Key, Outcome, Tally, Took};
use crate::sections::Marker;
use crate::waited::{Other, Waited};
use model::syscall_names::{bare_name, foreign};
use model::{DescriptorKind, Drives, Profile, Usage, WaitCount, depth};
use std::collections::HashMap;
use std::time::Instant;
use sys::bpf::Live;
use sys::clock::{ThreadClock, ThreadTime, ns};
use sys::follow::{End, faults};
use sys::process::{gains_privileges, name_of};
use sys::status::Status;
use sys::syscall_stop::Call;
use sys::tracee::{executable_architecture, is_thread_of, read_text};
use sys::usage::Used;

#[derive(Clone, Copy)]
pub struct Inside {
    pub key: Key,
    /// The number of the path that it was called with, if paths are counted.
    path: Option<usize>,
    pub arguments: [u64; 6],
    /// Whether the thread was in this call when tracing began.
    pub before: bool,
    /// `None` without times, or if the kernel does not report them.
    pub entry: Option<Stop>,
    pub alone: bool,
}

struct Task {
    process: i32,
    /// At its start, or that of tracing.
    since: Instant,
    time: Option<ThreadTime>,
    /// The number of the call in which tracing interrupted it.
    interrupted: Option<u64>,
    /// The node that counts its calls: its process's name, or a section.
    node: usize,
    faults: [u64; 2],
    inside: Option<Inside>,
    clock: Option<ThreadClock>,
    /// When last looked at.
    waiting_ns: u64,
}

struct Process {
    fresh: bool,
    architecture: u32,
    parent: Option<i32>,
    threads: u32,
}

#[derive(Default)]
pub struct Tree {
    tasks: HashMap<i32, Task>,
    processes: HashMap<i32, Process>,
    account: TreeAccount,
    processes_seen: u64,
    threads_seen: u64,
    descriptors: Descriptors,
    waited: Waited,
    ended: HashMap<i32, usize>,
    pub tally: Tally,
    /// The time that threads waited for a CPU; `None` if the kernel does not report it.
    waiting_ns: Option<u64>,
    pub paths: bool,
    /// Whether calls count yet: they do from the command's execve on.
    pub counting: bool,
    /// Reports of unknown threads.
    pub lost: u64,
}

/// After a stop, a thread waits so long for a CPU, whatever else runs.
const USUAL_WAIT_NS: u64 = 50_000;
/// Clocks kept open, of the 1024 descriptors that a process usually may have.
const OPEN_CLOCKS: usize = 400;

impl Tree {
    pub fn started(&mut self, tid: i32, by: Option<i32>) {
        if self.tasks.contains_key(&tid) {
            return;
        }
        let process = match by.and_then(|by| self.tasks.get(&by)) {
            Some(maker) if is_thread_of(tid, maker.process) => maker.process,
            Some(_) => tid,
            None => self.process_of(tid),
        };
        // A maker that was killed just then is not known: the first thread of its process stands for it.
        let known = by.filter(|by| self.tasks.contains_key(by));
        let maker = known.or_else(|| match process == tid {
            true => Status::of_task(tid).number("PPid"),
            false => Some(process),
        });
        let maker = maker.and_then(|maker| self.tasks.get(&maker));
        let from = maker.map(|maker| (maker.node, maker.process));
        let node = match from {
            Some((node, _)) => node,
            None => self.tally.process(None, &name_of(tid)),
        };
        let task = Task {
            process,
            since: Instant::now(),
            time: None,
            interrupted: None,
            node,
            faults: [0; 2],
            inside: None,
            clock: None,
            waiting_ns: 0,
        };
        self.tasks.insert(tid, task);
        match self.processes.get_mut(&process) {
            Some(known) => {
                known.threads += 1;
                self.threads_seen += 1;
            }
            None => self.add_process(process, from),
        }
    }

    /// A new one if the task is not traced.
    fn process_of(&self, tid: i32) -> i32 {
        let process = Status::of_task(tid).number("Tgid");
        process
            .filter(|process| self.processes.contains_key(process))
            .unwrap_or(tid)
    }

    /// `from` is the node and the process of who started it.
    fn add_process(&mut self, pid: i32, from: Option<(usize, i32)>) {
        let parent = from.map(|(_, parent)| parent);
        // A child has its parent's name and program until its own execve.
        let inherited = parent.and_then(|parent| self.processes.get(&parent));
        let architecture = inherited.map_or_else(
            || executable_architecture(pid),
            |parent| parent.architecture,
        );
        self.processes.insert(
            pid,
            Process {
                fresh: true,
                architecture,
                parent,
                threads: 1,
            },
        );
        self.processes_seen += 1;
        self.account.started(pid);
        if let Some((node, _)) = from {
            self.tally.starts(node);
        }
    }

    /// `stops` is the number of the task's stops if calls are timed. Marks of sections are not counted.
    pub fn enter(&mut self, tid: i32, call: &Call, stops: Option<u64>) {
        let task = self.tasks.get_mut(&tid);
        let process = task
            .as_ref()
            .and_then(|task| self.processes.get(&task.process));
        let (Some(task), Some(process)) = (task, process) else {
            self.lost += u64::from(self.counting);
            return;
        };
        let (native, interrupted) = (process.architecture, task.interrupted.take());
        let (number, before) = self.tally.resumed(call, native, interrupted);
        let known = &self.tally.calls[number];
        // The held child makes calls of ours before its execve.
        self.counting |= known.name.starts_with("execve");
        if !self.counting {
            return;
        }
        let place = known.path();
        let text = place.and_then(|at| read_text(tid, call.arguments[usize::from(at)]));
        if let Some(marker) = text.as_deref().and_then(Marker::from_path)
            && !known.name.starts_with("execve")
        {
            return self.mark(tid, &marker);
        }
        let thread = (task.process, tid);
        let (node, alone) = (task.node, process.threads == 1);
        let objects = &mut self.tally.objects;
        let path = match (&text, place) {
            (Some(text), Some(at)) if self.paths && !text.is_empty() => {
                objects.path(thread, &known.name, text, (&call.arguments, at))
            }
            _ => None,
        };
        if !known.leaves_descriptors {
            self.forget_descriptors();
        }
        let known = &self.tally.calls[number];
        let (descriptor, measure) = match text {
            Some(text) => (None, Some(depth(&text))),
            None => measure(known.drives, thread, call, &mut self.descriptors),
        };
        let inside = Inside {
            path,
            key: Key {
                process: node,
                call: number,
                descriptor,
                measure,
                selected: known.selected(&call.arguments),
            },
            arguments: call.arguments,
            before,
            // At the very end of the entry stop, so that the tracer's work is not part of the call.
            entry: stops.and_then(|stops| self.stop_now(tid, stops)),
            alone,
        };
        if let Some(task) = self.tasks.get_mut(&tid) {
            task.inside = Some(inside);
        }
    }

    fn stop_now(&mut self, tid: i32, stops: u64) -> Option<Stop> {
        let time = self.thread_time(tid)?;
        let at = Instant::now();
        Some(Stop { at, time, stops })
    }

    fn forget_descriptors(&mut self) {
        self.descriptors.clear();
        self.tally.objects.forget_directories();
    }

    /// Counts a call that was entered, by class and by path.
    pub fn add(&mut self, inside: &Inside, outcome: Outcome, took: Option<Took>) {
        if let Some(path) = inside.path {
            let key = (inside.key.process, inside.key.call, path);
            self.tally.objects.add(key, outcome);
        }
        self.tally.add(inside.key, outcome, took);
    }

    /// The task's calls count elsewhere from here on.
    fn mark(&mut self, tid: i32, marker: &Marker) {
        self.faulted(tid, faults(tid));
        let Some(task) = self.tasks.get_mut(&tid) else {
            return;
        };
        match marker {
            Marker::Begin(name) => task.node = self.tally.begin(task.node, name),
            Marker::End(path) => {
                let Some((section, from)) = self.tally.end(task.node, path) else {
                    return;
                };
                let was_in = std::mem::replace(&mut task.node, from);
                // The task executed another program within the section, and keeps its name.
                if was_in != section {
                    task.node = self.tally.process(Some(from), &name_of(task.process));
                }
            }
        }
    }

    fn faulted(&mut self, tid: i32, faults: [u64; 2]) {
        if let Some(task) = self.tasks.get_mut(&tid) {
            let more = [0, 1].map(|kind| faults[kind].saturating_sub(task.faults[kind]));
            self.tally.faulted(task.node, more);
            task.faults = faults;
        }
    }

    /// `None` if the kernel keeps no statistics (CONFIG_SCHED_INFO).
    pub fn thread_time(&mut self, tid: i32) -> Option<ThreadTime> {
        let keep = self.tasks.len() < OPEN_CLOCKS;
        let task = self.tasks.get_mut(&tid)?;
        let clock = match task.clock.take() {
            Some(clock) => clock,
            None => ThreadClock::open(tid)?,
        };
        // A kernel without CONFIG_SCHED_INFO shows zeros.
        let time = clock.read().filter(|time| time.turns > 0);
        task.clock = keep.then_some(clock);
        let waiting_ns = time?.waiting_ns;
        let more_ns = waiting_ns.saturating_sub(task.waiting_ns);
        task.waiting_ns = waiting_ns;
        let sum_ns = self.waiting_ns.get_or_insert_default();
        if more_ns > USUAL_WAIT_NS && self.counting {
            *sum_ns = sum_ns.saturating_add(more_ns);
        }
        time
    }

    /// `None` if that does not count.
    pub fn leave(&mut self, tid: i32) -> Option<Inside> {
        let task = self.tasks.get_mut(&tid)?;
        let inside = task.inside.take()?;
        let known = &self.tally.calls[inside.key.call];
        if !known.leaves_descriptors {
            self.forget_descriptors();
        }
        let task = self.tasks.get_mut(&tid)?;
        let known = &self.tally.calls[inside.key.call];
        if known.name.starts_with("prctl")
            && inside.arguments[0] as i32 == libc::PR_SET_NAME
            && task.process == tid
        {
            task.node = self.tally.process(Some(task.node), &name_of(tid));
        }
        Some(inside)
    }

    /// `result` is the call's result if it did not fail.
    pub fn waited(&mut self, tid: i32, inside: &Inside, result: Option<i64>, blocked_ns: u64) {
        if let Some((on, by)) = self.awaited(tid, inside, result) {
            self.tally.waited(inside.key, on, by, blocked_ns);
        }
    }

    /// What a call waited for, and the process at the other end.
    fn awaited(
        &mut self,
        tid: i32,
        inside: &Inside,
        result: Option<i64>,
    ) -> Option<(Option<String>, Option<usize>)> {
        let process = self.tasks.get(&tid)?.process;
        let name = bare_name(&self.tally.calls[inside.key.call].name);
        let writes = begins_with(name, &["write", "pwrite", "send", "vmsplice"]);
        let awaits_child = begins_with(name, &["wait", "clone", "vfork", "fork"]);
        let other = match inside.key.descriptor {
            Some(kind) if kind != DescriptorKind::None => {
                let others = self.processes.keys().copied().filter(|pid| *pid != process);
                self.waited
                    .other(tid, inside.arguments[0] as i32, writes, others)
            }
            _ if awaits_child => Other {
                on: None,
                by: result.and_then(|pid| i32::try_from(pid).ok()),
            },
            _ => Other::default(),
        };
        let by = other.by.and_then(|pid| match self.tasks.get(&pid) {
            Some(task) => Some(task.node),
            None => self.ended.get(&pid).copied(),
        });
        Some((other.on, by))
    }

    /// A thread that ran before it was traced: the call that it was in is continued.
    pub fn was_there(&mut self, tid: i32, interrupted: Option<u64>) {
        let time = self.thread_time(tid);
        if let Some(task) = self.tasks.get_mut(&tid) {
            (task.time, task.interrupted) = (time, interrupted);
        }
    }

    /// A thread and what it waits for in the call that it is in, with no registers and no functions.
    pub fn open(
        &mut self,
        tid: i32,
        inside: &Inside,
        blocked_ns: u64,
    ) -> Option<(Live, WaitCount)> {
        let (on, by) = self.awaited(tid, inside, None)?;
        let time = self.thread_time(tid)?;
        let task = self.tasks.get(&tid)?;
        let began = task
            .time
            .map_or([0; 2], |time| [time.cpu_ns, time.waiting_ns]);
        let ran_ns = time.cpu_ns.saturating_sub(began[0]);
        let waited_ns = time.waiting_ns.saturating_sub(began[1]);
        let mut live = Live {
            pid: tid.cast_unsigned(),
            process: task.process.cast_unsigned(),
            inside: 1 + u32::from(inside.before),
            elapsed: ns(inside.entry?.at.elapsed()),
            blocked: blocked_ns,
            argument: inside.arguments[0],
            used: Used {
                ran_ns,
                waited_ns,
                blocked_ns: ns(task.since.elapsed()).saturating_sub(ran_ns + waited_ns),
                ..Used::default()
            },
            ..Live::default()
        };
        let name = name_of(tid);
        let length = name.len().min(live.name.len());
        live.name[..length].copy_from_slice(&name.as_bytes()[..length]);
        let row = self.tally.open(inside, on, by);
        Some((
            live,
            WaitCount {
                tid: Some(live.pid),
                ..row
            },
        ))
    }

    /// Notes an execve: the task has its process's ID now. Returns the call of the thread that had this ID before, whose end is not
    /// reported.
    pub fn executed(
        &mut self,
        tid: i32,
        former: i32,
        warnings: &mut Vec<String>,
    ) -> Option<Inside> {
        // An execve by another thread than the first one ends the first one, and takes its number.
        let stray = if former == tid {
            None
        } else {
            self.tasks.remove(&tid)
        };
        let Some(mut task) = self.tasks.remove(&former) else {
            self.started(tid, None);
            return stray.and_then(|task| task.inside);
        };
        task.clock = None;
        let before = task.node;
        task.node = self.tally.process(Some(before), &name_of(tid));
        self.tally.executed(task.node);
        let process = self.processes.get_mut(&tid);
        if let Some(process) = process
            && before != task.node
        {
            if !process.fresh {
                self.tally.has_run(before);
            }
            process.fresh = false;
        }
        if let Some(inside) = &mut task.inside {
            inside.key.process = task.node;
        }
        self.tasks.insert(tid, task);
        if let Some(process) = self.processes.get_mut(&tid) {
            process.architecture = executable_architecture(tid);
            process.threads -= u32::from(stray.is_some() && process.threads > 1);
            note_program(tid, process.architecture, warnings);
        }
        stray.and_then(|task| task.inside)
    }

    /// Returns the call that it was in.
    pub fn ended(&mut self, tid: i32, end: &End) -> Option<Inside> {
        self.faulted(tid, end.faults);
        let task = self.tasks.remove(&tid)?;
        if task.process != tid {
            if let Some(process) = self.processes.get_mut(&task.process) {
                process.threads = process.threads.saturating_sub(1);
            }
            return task.inside;
        }
        let process = self.processes.remove(&tid);
        if process.is_some() {
            self.tally.has_run(task.node);
            self.tally.ran(task.node, end.cpu_ns.unwrap_or(0));
            // Waits of others may end by this process after it has been removed.
            self.ended.insert(tid, task.node);
        }
        self.account.ended(&Ended {
            pid: tid,
            parent: process.and_then(|process| process.parent),
            cpu_ns: end.cpu_ns,
            used: Used::from(&end.usage),
            peak_rss_kib: end.usage.ru_maxrss.unsigned_abs(),
        });
        task.inside
    }

    /// Takes the calls that all tasks are in, to count them as unfinished.
    pub fn all_inside(&mut self) -> Vec<(i32, Inside)> {
        let tasks = self.tasks.iter_mut();
        tasks
            .filter_map(|(tid, task)| Some((*tid, task.inside.take()?)))
            .collect()
    }

    pub fn fill(&self, into: &mut Profile) {
        if self.paths {
            self.tally.fill_objects(into);
        }
        let running = self.processes.keys().filter_map(|pid| self.tasks.get(pid));
        self.tally.fill_tree(running.map(|task| task.node), into);
    }

    /// The usage of the tree; includes the kernel's accounting if it was traced from its start (`whole`).
    pub fn usage(&self, whole: bool) -> Usage {
        let accounted = if whole {
            self.account.usage()
        } else {
            Usage::default()
        };
        Usage {
            processes: Some(self.processes_seen),
            programs: Some(self.tally.programs()),
            threads: Some(self.threads_seen),
            waiting_ns: self.waiting_ns,
            ..accounted
        }
    }
}

fn begins_with(name: &str, beginnings: &[&str]) -> bool {
    beginnings
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// The end of a warning about a program that ran without the privilege that its file grants.
pub const LOST_PRIVILEGE: &str =
    "is set-user-ID, set-group-ID or has capabilities: traced, it ran without that privilege";

/// Warns if the program is for another architecture, or lost a privilege.
fn note_program(pid: i32, architecture: u32, warnings: &mut Vec<String>) {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let program = program.display();
    let other = foreign(architecture).map(|label| {
        format!("{program} is a program for {label}: its calls have that architecture's names")
    });
    let loses = !nix::unistd::geteuid().is_root() && gains_privileges(pid);
    let lost = loses.then(|| format!("{program} {LOST_PRIVILEGE}"));
    for text in other.into_iter().chain(lost) {
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }
}

fn measure(
    drives: Option<(Drives, u8)>,
    thread: (i32, i32),
    call: &Call,
    descriptors: &mut Descriptors,
) -> (Option<DescriptorKind>, Option<u64>) {
    let Some((drives, argument)) = drives else {
        return (None, None);
    };
    let value = call.arguments[usize::from(argument)];
    match drives {
        Drives::Bytes | Drives::Descriptor => (Some(kind(descriptors, thread, value as i32)), None),
        Drives::Length | Drives::Set => (None, Some(drives.rounded(value))),
        // A path that could not be read has no measure.
        Drives::Path => (None, None),
    }
}
