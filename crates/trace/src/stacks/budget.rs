//! The limits on reading files that traced programs have mapped, which somebody may have made to exhaust or to hold us: so many bytes,
//! and so much CPU time to work through them. Beyond these, functions have no names.

use nix::time::ClockId;
use object::ReadRef;
use std::cell::Cell;
use std::ops::Range;
use sys::clock::now_ns;

const BYTES: u64 = 64 << 20;
/// Open until their names are needed.
const FILES: u64 = 512;
const CPU_NS: u64 = 2_000_000_000;
/// CPU time of each event and name that is not counted: usual ones take less.
const FREE_NS: u64 = 1_000_000;
const STRING: u64 = 64;

#[derive(Debug)]
pub struct Budget {
    bytes: Cell<u64>,
    files: Cell<u64>,
    cpu_ns: Cell<u64>,
    /// The end of the present work, on the thread's CPU clock.
    deadline_ns: Cell<u64>,
    is_exceeded: Cell<bool>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            bytes: Cell::new(BYTES),
            files: Cell::new(FILES),
            cpu_ns: Cell::new(CPU_NS),
            deadline_ns: Cell::new(u64::MAX),
            is_exceeded: Cell::new(false),
        }
    }
}

impl Budget {
    /// False if there are not enough left, which leaves the rest to smaller files.
    pub fn take(&self, bytes: u64) -> bool {
        self.take_from(&self.bytes, bytes)
    }

    pub fn take_file(&self) -> bool {
        self.take_from(&self.files, 1)
    }

    fn take_from(&self, all: &Cell<u64>, wanted: u64) -> bool {
        let left = all.get().checked_sub(wanted);
        self.is_exceeded
            .set(self.is_exceeded.get() || left.is_none());
        all.set(left.unwrap_or(all.get()));
        left.is_some()
    }

    /// Charges its CPU time; `None` if there was no time left. A long loop asks whether its time `is_over`.
    pub fn timed<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        if !self.take_from(&self.cpu_ns, 1) {
            return None;
        }
        let free = thread_ns() + FREE_NS;
        self.deadline_ns.set(free + self.cpu_ns.get());
        let done = work();
        let used = thread_ns().saturating_sub(free);
        self.take_from(&self.cpu_ns, used.min(self.cpu_ns.get()));
        self.deadline_ns.set(u64::MAX);
        Some(done)
    }

    pub fn is_over(&self) -> bool {
        let is_over = thread_ns() >= self.deadline_ns.get();
        self.is_exceeded.set(self.is_exceeded.get() || is_over);
        is_over
    }

    /// A line for the user if something was refused.
    pub fn warning(&self) -> Option<String> {
        if !self.is_exceeded.get() {
            return None;
        }
        Some(format!(
            "functions without names: the files that programs mapped take more than {} MB or {} s to read",
            BYTES >> 20,
            CPU_NS / 1_000_000_000
        ))
    }
}

fn thread_ns() -> u64 {
    now_ns(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Data that charges for every read, also of bytes that were read before: they are worked through again.
#[derive(Clone, Copy)]
pub struct Metered<'a, R> {
    pub data: R,
    pub budget: &'a Budget,
}

impl<'a, R: ReadRef<'a>> ReadRef<'a> for Metered<'a, R> {
    fn len(self) -> Result<u64, ()> {
        self.data.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        let end = offset.checked_add(size).ok_or(())?;
        if end > self.data.len()? || !self.budget.take(size) {
            return Err(());
        }
        self.data.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        if !self.budget.take(STRING) {
            return Err(());
        }
        self.data.read_bytes_at_until(range, delimiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_with_its_time() {
        let budget = Budget::default();
        budget.cpu_ns.set(1_000_000);
        budget.timed(|| while !budget.is_over() {}).unwrap();
        assert_eq!(
            (budget.timed(|| ()), budget.is_exceeded.get()),
            (None, true)
        );
    }
}
