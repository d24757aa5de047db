//! Counts the blocks that an emulated kernel executes while a command runs, by what the kernel was entered for, and those of the command
//! itself. Pure: fed with the emulator's log, which has at least the blocks of the kernel and the marks of `probe/program.c`.
//!
//! The log does not say which process runs. What runs from one switch to the next is one's, and is left out where it turns out not to
//! be the command's.

use crate::kernel::emulator::Sink;
use crate::kernel::log::Line;
use crate::kernel::names::KERNEL;
use indexmap::IndexMap;
use std::collections::HashMap;

pub type Marks = HashMap<u64, Mark>;

#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Entry,
    Call(String),
    Interruption(&'static str),
    Resumes,
    Switches,
    Begins,
    Ended,
    Other,
    /// What a process of the command executes from here on is in nobody's time.
    Dies,
}

/// For no reason that is known, and for a call before its function is reached.
const SWITCHED: &str = "[after a switch]";
const ENTERED: &str = "[entry]";
pub const PAGE_FAULT: &str = "[page fault]";

type Reason = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    pub reason: Reason,
    pub block: u64,
    pub next: u64,
}

#[derive(Default)]
pub struct Counter {
    marks: Marks,
    reasons: IndexMap<String, u64>,
    has_begun: bool,
    has_ended: bool,
    /// From the execve on, what is executed in user mode is the command.
    has_entered: bool,
    /// What runs until the next switch is not the command.
    is_other: bool,
    now: Reason,
    interrupted: Vec<Reason>,
    block: Option<u64>,
    /// Blocks since the entry, until the call is known.
    pending: Vec<(u64, u64)>,
    recent: HashMap<Edge, u64>,
    entered_recently: Vec<Reason>,
    edges: HashMap<Edge, u64>,
    recent_user: i64,
    user: i64,
    before: u64,
    /// The block in user mode that a page fault interrupted: it is logged again if it had not been executed.
    faulted: Option<u64>,
}

const AFTER_SWITCH: Reason = 0;
const ENTRY: Reason = 1;

impl Counter {
    pub fn new(marks: Marks) -> Counter {
        Counter {
            marks,
            reasons: [SWITCHED, ENTERED].map(|name| (name.to_string(), 0)).into(),
            now: ENTRY,
            ..Counter::default()
        }
    }

    /// How often each edge was executed; `None` unless both marks were seen.
    pub fn edges(&self) -> Option<&HashMap<Edge, u64>> {
        self.has_ended.then_some(&self.edges)
    }

    /// Blocks in user mode.
    pub fn user(&self) -> u64 {
        self.user.max(0).cast_unsigned()
    }

    pub fn reason_of(&self, edge: &Edge) -> &str {
        let reason = self.reasons.get_index(edge.reason);
        reason.map_or(SWITCHED, |(name, _)| name)
    }

    pub fn entries(&self) -> impl Iterator<Item = (&str, u64)> {
        self.reasons
            .iter()
            .map(|(name, times)| (name.as_str(), *times))
    }

    fn executes(&mut self, block: u64) {
        if !self.has_begun {
            self.has_begun = self.marks.get(&block) == Some(&Mark::Begins);
        } else if !self.has_ended {
            self.follows(block);
            self.pass_mark(block);
            self.block = Some(block);
        }
    }

    fn follows(&mut self, next: u64) {
        let Some(block) = self.block.take() else {
            return;
        };
        self.before = block;
        if next < KERNEL && self.faulted.take() == Some(next) {
            self.recent_user -= 1;
        }
        if block < KERNEL {
            self.recent_user += i64::from(self.has_entered);
        } else if self.now == ENTRY {
            self.pending.push((block, next));
        } else {
            self.count(self.now, block, next);
        }
    }

    fn count(&mut self, reason: Reason, block: u64, next: u64) {
        let edge = Edge {
            reason,
            block,
            next,
        };
        *self.recent.entry(edge).or_insert(0) += 1;
    }

    fn settle_entry(&mut self, reason: Reason) {
        for (block, next) in std::mem::take(&mut self.pending) {
            self.count(reason, block, next);
        }
    }

    fn pass_mark(&mut self, block: u64) {
        let Some(mark) = self.marks.get(&block) else {
            return;
        };
        match mark.clone() {
            Mark::Call(name) if self.now == ENTRY => {
                self.enter(&name);
                self.settle_entry(self.now);
            }
            // A call that is made by another one.
            Mark::Call(_) => {}
            Mark::Entry => {
                self.settle_entry(ENTRY);
                self.interrupted.clear();
                self.now = ENTRY;
                self.has_entered = true;
            }
            Mark::Interruption(name) => {
                self.settle_entry(ENTRY);
                let faults = name == PAGE_FAULT && self.before < KERNEL;
                self.faulted = faults.then_some(self.before);
                self.interrupted.push(self.now);
                self.enter(name);
            }
            Mark::Resumes => {
                if let Some(before) = self.interrupted.pop() {
                    self.now = before;
                }
            }
            Mark::Switches => {
                self.settle_entry(ENTRY);
                self.interrupted.clear();
                self.now = AFTER_SWITCH;
                self.end_turn();
            }
            Mark::Other => self.is_other = true,
            Mark::Dies => {
                self.end_turn();
                self.is_other = true;
            }
            Mark::Ended => (self.is_other, self.has_ended) = (true, true),
            // Only the first one is the command's.
            Mark::Begins => {}
        }
    }

    fn enter(&mut self, name: &str) {
        let known = self.reasons.get_index_of(name);
        self.now = known.unwrap_or_else(|| self.reasons.insert_full(name.to_string(), 0).0);
        self.entered_recently.push(self.now);
    }

    /// What ran since the last switch counts if it was the command.
    fn end_turn(&mut self) {
        let is_other = std::mem::take(&mut self.is_other);
        let user = std::mem::take(&mut self.recent_user);
        if is_other {
            self.recent.clear();
            self.entered_recently.clear();
            return;
        }
        self.user += user;
        for (edge, times) in self.recent.drain() {
            *self.edges.entry(edge).or_insert(0) += times;
        }
        for reason in self.entered_recently.drain(..) {
            self.reasons[reason] += 1;
        }
    }
}

impl Sink for Counter {
    fn line(&mut self, line: &str) {
        match Line::read(line) {
            Some(Line::Executes(address)) => self.executes(address),
            // The one before led here; this block itself did not run, or is logged again.
            Some(Line::TakesBack(address)) if self.block == Some(address) => self.block = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const ENTRY_AT: u64 = KERNEL + 0x1000;
    const READ: u64 = KERNEL + 0x2000;
    const FAULT: u64 = KERNEL + 0x3000;
    const BACK: u64 = KERNEL + 0x4000;
    const SWITCH: u64 = KERNEL + 0x5000;

    const OTHER: u64 = 0x60;
    const DEAD: u64 = KERNEL + 0x6000;
    const USER: u64 = 0x40_0000;

    fn marks() -> Marks {
        Marks::from([
            (0x40, Mark::Begins),
            (0x50, Mark::Ended),
            (OTHER, Mark::Other),
            (ENTRY_AT, Mark::Entry),
            (READ, Mark::Call("read".into())),
            (FAULT, Mark::Interruption(PAGE_FAULT)),
            (BACK, Mark::Resumes),
            (SWITCH, Mark::Switches),
            (DEAD, Mark::Dies),
        ])
    }

    fn counted(blocks: &[u64]) -> Counter {
        let mut counter = Counter::new(marks());
        for block in blocks {
            let block = if *block < 0x40 {
                KERNEL + block
            } else {
                *block
            };
            counter.line(&format!(
                "Trace 0: 0x7f00 [0000000000000000/{block:016x}/0040c2b0/ff020201] x"
            ));
        }
        counter
    }

    fn blocks_by_reason(counter: &Counter) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for (edge, times) in counter.edges().unwrap() {
            *sums.entry(counter.reason_of(edge)).or_insert(0) += times;
        }
        sums
    }

    #[test]
    fn blocks_belong_to_the_call_that_the_kernel_was_entered_for() {
        let resumed = [SWITCH, 6, ENTRY_AT, 7, READ, SWITCH, 0x50];
        let begun = [
            1, 0x40, ENTRY_AT, 7, READ, 8, FAULT, 9, BACK, 8, ENTRY_AT, 7, READ,
        ];
        let counter = counted(&[&begun[..], &resumed, &[ENTRY_AT, READ]].concat());
        let expected = [("[after a switch]", 2), ("[page fault]", 2), ("read", 12)];
        assert_eq!(blocks_by_reason(&counter), expected.into());
        let entries: BTreeMap<&str, u64> = counter.entries().collect();
        assert_eq!(
            (entries["read"], entries["[page fault]"]),
            (3, 1),
            "not those behind the end"
        );
        assert!(
            counted(&[0x40, ENTRY_AT]).edges().is_none()
                && counted(&[ENTRY_AT, 0x50]).edges().is_none()
        );
    }

    #[test]
    fn what_others_execute_between_two_switches_is_not_the_commands() {
        let launcher = [SWITCH, 6, OTHER, ENTRY_AT, 7, READ];
        let own = [SWITCH, 6, ENTRY_AT, 7, READ];
        let counter = counted(
            &[
                &[0x40][..],
                &launcher,
                &own,
                &[DEAD, 5],
                &launcher,
                &[SWITCH, 6, 0x50],
            ]
            .concat(),
        );
        let expected = [("[after a switch]", 2), ("read", 3)];
        assert_eq!(blocks_by_reason(&counter), expected.into());
        assert_eq!(
            counter.entries().find(|(name, _)| *name == "read"),
            Some(("read", 1))
        );
    }

    #[test]
    fn a_block_that_did_not_run_is_not_counted() {
        let mut counter = counted(&[0x40, ENTRY_AT, READ, 8]);
        let again = KERNEL + 8;
        counter.line(&format!(
            "Stopped execution of TB chain before 0x7f [{again:016x}] x"
        ));
        for block in [again, SWITCH, 0x50] {
            counter.line(&format!("Trace 0: 0x7f00 [0/{block:x}/0/0] x"));
        }
        let edges = counter.edges().unwrap();
        assert_eq!(edges.values().sum::<u64>(), 3, "{edges:?}");
    }

    #[test]
    fn user_mode_is_counted_from_the_execve_on_and_an_instruction_that_faults_once() {
        let launched = [USER + 90, 0x40, USER + 91, ENTRY_AT, 7, READ, 8];
        let faults = [USER, USER + 1, FAULT, 9, BACK, USER + 1, USER + 2];
        // A jump to a page that is not there was executed.
        let jumps = [FAULT, 9, BACK, USER + 70, ENTRY_AT, 7, SWITCH];
        let other = [SWITCH, OTHER, USER, USER + 1, SWITCH];
        let ends = [USER + 71, ENTRY_AT, READ, DEAD, SWITCH, 0x50];
        let counter = counted(&[&launched[..], &faults, &jumps, &other, &ends].concat());
        assert_eq!(counter.user(), 5);
    }
}
