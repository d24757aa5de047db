//! The calls that threads are in when tracing ends: in which function, for what, and who holds it. Read from /proc and the memory of
//! their processes, for any tracer.

use crate::holders::Search;
use crate::stacks::Waiting;
use crate::watched;
use model::syscall_names::bare_name;
use model::{DescriptorKind, OpenCall, Thread, ThreadTime, WaitCount};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use sys::bpf::{Live, text};
use sys::proc_stat;
use sys::usage::Used;

/// The offset of the thread that holds a lock from the futex's word: `__owner` of glibc's pthread_mutex_t.
const OWNER_OFFSET: u64 = 8;
/// Bits of a futex's word with the thread that holds it: FUTEX_TID_MASK.
const OWNER_BITS: u32 = 0x3fff_ffff;
/// FUTEX_WAITERS: the word has the thread in it.
const HAS_OWNER: u32 = 0x8000_0000;

/// Shorter waits may be over when the memory of their thread is read.
const SETTLED_NS: u64 = 1_000_000_000;

/// The bytes of the stack that the functions between RLock.acquire() and the call take at most.
const RLOCK_STACK: usize = 2048;
/// The field of CPython's `rlockobject` with the lock, behind which is the owner (3.10 to 3.13, Modules/_threadmodule.c).
const RLOCK_LOCK: usize = 2;
/// The offsets of an object's type and, in that, of the address of its name.
const OBJECT_TYPE: u64 = 8;
const TYPE_NAME: u64 = 24;
const RLOCK_NAME: &[u8; 14] = b"_thread.RLock\0";
/// The offset of `tid` in glibc's `struct pthread`, whose address is the owner.
const THREAD_NUMBER: u64 = if cfg!(target_arch = "aarch64") {
    0xd0
} else {
    0x2d0
};

pub struct OpenCalls<'a> {
    waiting: &'a HashMap<u32, Waiting>,
    numbers: Vec<u32>,
    search: Search,
}

impl<'a> OpenCalls<'a> {
    pub fn new<'b>(
        waiting: &'a HashMap<u32, Waiting>,
        threads: impl Iterator<Item = &'b Live>,
    ) -> OpenCalls<'a> {
        OpenCalls {
            waiting,
            numbers: threads.map(|live| live.pid).collect(),
            search: Search::default(),
        }
    }

    pub fn wait(&self, live: &Live, row: WaitCount) -> WaitCount {
        WaitCount {
            open: true,
            calls: 1,
            blocked_ns: live.blocked,
            ..self.described(live, row)
        }
    }

    fn described(&self, live: &Live, mut row: WaitCount) -> WaitCount {
        let waiting = self.waiting.get(&live.pid).filter(|_| is_settled(live));
        let waiting = waiting.cloned().unwrap_or_default();
        if let Some(class) = waiting.python_lock {
            let holder = rlock_holder(live);
            row.lock |= holder.is_some();
            let class = holder.map_or(class, |_| "RLock");
            row.on = row.on.map(|on| format!("{on} threading.{class}"));
        }
        if let Some(function) = waiting.function {
            row.function = Some(function.to_string());
        }
        let futex = row.on.as_deref().and_then(|on| on.strip_prefix("futex "));
        if let Some(futex) = futex
            && let Some(kind) = waiting.awaited.filter(|_| waiting.python_lock.is_none())
        {
            row.lock &= kind == "rwlock";
            row.on = Some(match futex.split_once(' ') {
                // The call's argument may be within the object.
                Some((_, variable)) => {
                    format!("{kind} {}", variable.split('+').next().unwrap_or_default())
                }
                None => format!("{kind} at {futex}"),
            });
        } else if futex.is_some()
            && !row.lock
            && let Some(thread) = joined(live)
        {
            row.on = Some(format!("thread {thread} to end"));
        } else if is_open_of_fifo(&row.call, live.pid) {
            row.descriptor = Some(DescriptorKind::Pipe);
            let path = watched::opened(&row.call, live.pid);
            let path = path.map_or_else(String::new, |path| path + ", ");
            row.on = Some(format!(
                "{path}a FIFO that nobody has opened at the other end"
            ));
        }
        row
    }

    /// `row` is the wait in the call that the thread is in, if any.
    pub fn thread(&mut self, live: &Live, ended: bool, row: WaitCount) -> Thread {
        Thread {
            ended,
            process: row.process.clone(),
            pid: live.process,
            tid: live.pid,
            name: text(&live.name).into_owned(),
            time: time(&live.used),
            open: match live.inside {
                0 => None,
                _ => Some(self.call(live, ended, row)),
            },
        }
    }

    fn call(&mut self, live: &Live, ended: bool, row: WaitCount) -> OpenCall {
        let mut row = self.described(live, row);
        if row.on.is_none() && !ended {
            row.on = watched::descriptors(bare_name(&row.call), live.pid);
        }
        // The memory may have held anything: only a traced thread's number is taken for an owner's.
        let holder = if row.lock {
            let waiting = self.waiting.get(&live.pid);
            waiting
                .filter(|waiting| waiting.python_lock.is_some())
                .and_then(|_| rlock_holder(live))
                .or_else(|| holder(live, ended))
                .filter(|holder| self.numbers.contains(holder))
        } else {
            None
        };
        let holders = self.search.holders(live.process, live.pid, &row);
        let first = match row.descriptor {
            Some(DescriptorKind::Pipe) => None,
            _ => holders.processes.first(),
        };
        OpenCall {
            call: row.call,
            before: live.inside > 1,
            elapsed_ns: live.elapsed,
            on: row.on,
            lock: row.lock,
            holder: holder.or(first.map(|process| process.pid)),
            holders: holders.processes,
            taken_by: holders.taken_by,
            function: row.function,
        }
    }
}

/// Memory is read after tracing ended. A thread that has not waited for long may do something else by then.
fn is_settled(live: &Live) -> bool {
    live.inside > 1 || live.elapsed >= SETTLED_NS
}

pub fn time(used: &Used) -> ThreadTime {
    ThreadTime {
        ran_ns: used.ran_ns,
        runnable_ns: used.waited_ns,
        blocked_ns: used.blocked_ns,
    }
}

/// An open has no object yet, but the kernel function that it sleeps in shows whether it waits for the other end of a FIFO.
pub fn is_open_of_fifo(call: &str, tid: u32) -> bool {
    let sleeps_in = || proc_stat::read(format!("/proc/{tid}/wchan"));
    call.starts_with("open") && sleeps_in().is_ok_and(|function| function == "wait_for_partner")
}

pub fn memory(live: &Live) -> Option<fs::File> {
    fs::File::open(format!("/proc/{}/mem", live.process)).ok()
}

/// The thread whose end a thread waits for: the C library waits until the kernel clears that thread's number in its memory.
fn joined(live: &Live) -> Option<u32> {
    let memory = memory(live)?;
    let number = word_at(&memory, live.argument)?;
    let task = format!("/proc/{}/task/{number}", live.process);
    Some(number).filter(|number| *number != live.pid && Path::new(&task).exists())
}

/// The thread that holds a lock, by the lock's memory; `None` if that is not readable or has none. The programs have copied the
/// memory of a thread that ended.
fn holder(live: &Live, ended: bool) -> Option<u32> {
    let [word, behind] = if ended {
        [live.lock as u32, (live.lock >> 32) as u32]
    } else {
        let memory = memory(live)?;
        let behind = word_at(&memory, live.argument.checked_add(OWNER_OFFSET)?);
        [word_at(&memory, live.argument)?, behind.unwrap_or(0)]
    };
    let is_in_word = word & HAS_OWNER > 0;
    // PI and robust mutexes keep their owner in the futex's word, ordinary ones in a field behind it.
    Some(if is_in_word {
        word & OWNER_BITS
    } else {
        behind
    })
}

/// The thread that holds the RLock that a thread of Python waits for: its stack has the lock's address. A Lock records no holder.
fn rlock_holder(live: &Live) -> Option<u32> {
    let memory = memory(live)?;
    let mut stack = [0; RLOCK_STACK];
    let read = memory.read_at(&mut stack, live.sp).ok()?;
    let owner = words(&stack[..read]).find_map(|object| {
        let mut fields = [0; 32];
        memory.read_exact_at(&mut fields, object).ok()?;
        let mut fields = words(&fields).skip(RLOCK_LOCK);
        let is_it = fields.next() == Some(live.argument);
        fields.next().filter(|_| is_it && is_rlock(&memory, object))
    })?;
    word_at(&memory, owner.checked_add(THREAD_NUMBER)?)
}

/// A Lock has other fields behind the futex's address.
fn is_rlock(memory: &fs::File, object: u64) -> bool {
    let field = |address: u64, offset| {
        let mut bytes = [0; 8];
        memory
            .read_exact_at(&mut bytes, address.checked_add(offset)?)
            .ok()?;
        Some(u64::from_ne_bytes(bytes))
    };
    let mut name = [0; RLOCK_NAME.len()];
    let at = field(object, OBJECT_TYPE).and_then(|class| field(class, TYPE_NAME));
    at.is_some_and(|at| memory.read_exact_at(&mut name, at).is_ok()) && name == *RLOCK_NAME
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.as_chunks().0.iter();
    words.map(|bytes| u64::from_ne_bytes(*bytes))
}

fn word_at(memory: &fs::File, address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    memory.read_exact_at(&mut bytes, address).ok()?;
    Some(u32::from_ne_bytes(bytes))
}
