//! Counts the blocks that an emulated kernel executes while a command runs, by what the kernel was entered for. Pure: fed with the
//! emulator's log, which has the blocks of the kernel and the two marks of `probe/program.c` only.

use crate::explain::kernel::emulator::Sink;
use crate::explain::kernel::log::Line;
use std::collections::HashMap;

/// Addresses that mean something.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Where the command begins and has ended, in the probe.
    pub begins: u64,
    pub ended: u64,
    pub kernel: HashMap<u64, Mark>,
}

/// What the kernel does from an address on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A system call, which is not known yet.
    Entry,
    /// The function of that call.
    Call(String),
    /// A fault or an interrupt, from user mode or within the kernel.
    Interruption(&'static str),
    /// Back to what was interrupted within the kernel.
    Resumes,
    /// To another process.
    Switches,
}

/// What is executed for no reason that is known, and for a call before its function is reached.
pub const SWITCHED: &str = "[after a switch]";
const ENTERED: &str = "[entry]";

/// The number of a reason to be in the kernel.
type Reason = u16;

/// A block that was executed for a reason, and the one that followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    pub reason: Reason,
    pub block: u64,
    pub next: u64,
}

/// What was counted between the marks.
pub struct Counter {
    marks: Marks,
    reasons: Vec<String>,
    by_name: HashMap<String, Reason>,
    /// How often the kernel was entered for each.
    entered: Vec<u64>,
    has_begun: bool,
    has_ended: bool,
    now: Reason,
    interrupted: Vec<Reason>,
    /// The block that runs.
    block: Option<u64>,
    /// Blocks since the entry, until the call is known.
    pending: Vec<(u64, u64)>,
    /// Since the last mark of the end: only what precedes one counts, since another program can have code at that address.
    recent: HashMap<Edge, u64>,
    edges: HashMap<Edge, u64>,
}

/// The numbers of the two reasons that are always there.
const AFTER_SWITCH: Reason = 0;
const ENTRY: Reason = 1;

impl Counter {
    pub fn new(marks: Marks) -> Counter {
        let mut counter = Counter {
            marks,
            reasons: Vec::new(),
            by_name: HashMap::new(),
            entered: Vec::new(),
            has_begun: false,
            has_ended: false,
            now: ENTRY,
            interrupted: Vec::new(),
            block: None,
            pending: Vec::new(),
            recent: HashMap::new(),
            edges: HashMap::new(),
        };
        counter.reason(SWITCHED);
        counter.reason(ENTERED);
        counter
    }

    /// The executed edges with how often each was; `None` unless both marks were seen.
    pub fn edges(&self) -> Option<&HashMap<Edge, u64>> {
        self.has_ended.then_some(&self.edges)
    }

    /// The reason by name, and how often the kernel was entered for it.
    pub fn reason_of(&self, edge: &Edge) -> &str {
        &self.reasons[usize::from(edge.reason)]
    }

    /// All reasons with their numbers of entries.
    pub fn entries(&self) -> impl Iterator<Item = (&str, u64)> {
        self.reasons.iter().map(String::as_str).zip(self.entered.iter().copied())
    }

    fn reason(&mut self, name: &str) -> Reason {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let number = Reason::try_from(self.reasons.len()).unwrap_or(AFTER_SWITCH);
        self.reasons.push(name.to_string());
        self.entered.push(0);
        self.by_name.insert(name.to_string(), number);
        number
    }

    fn executes(&mut self, block: u64) {
        if block == self.marks.begins && !self.has_begun {
            self.has_begun = true;
            return;
        }
        if !self.has_begun {
            return;
        }
        self.follows(block);
        if block == self.marks.ended {
            self.settle_entry(ENTRY);
            self.has_ended = true;
            self.recent.drain().for_each(|(edge, times)| *self.edges.entry(edge).or_insert(0) += times);
            return;
        }
        if block != self.marks.begins {
            self.pass_mark(block);
            self.block = Some(block);
        }
    }

    /// The block that ran is over: `next` follows.
    fn follows(&mut self, next: u64) {
        let Some(block) = self.block.take() else { return };
        if self.now == ENTRY {
            self.pending.push((block, next));
        } else {
            *self.recent.entry(Edge { reason: self.now, block, next }).or_insert(0) += 1;
        }
    }

    /// What ran since the entry was for this.
    fn settle_entry(&mut self, reason: Reason) {
        for (block, next) in std::mem::take(&mut self.pending) {
            *self.recent.entry(Edge { reason, block, next }).or_insert(0) += 1;
        }
    }

    fn pass_mark(&mut self, block: u64) {
        let Some(mark) = self.marks.kernel.get(&block) else { return };
        match mark.clone() {
            Mark::Call(name) if self.now == ENTRY => {
                self.now = self.reason(&name);
                self.settle_entry(self.now);
                self.entered[usize::from(self.now)] += 1;
            }
            // A call that is made by another one.
            Mark::Call(_) => {}
            Mark::Entry => {
                self.settle_entry(ENTRY);
                self.interrupted.clear();
                self.now = ENTRY;
            }
            Mark::Interruption(name) => {
                self.settle_entry(ENTRY);
                self.interrupted.push(self.now);
                self.now = self.reason(name);
                self.entered[usize::from(self.now)] += 1;
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
            }
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

    const ENTRY_AT: u64 = 0xffff_0000;
    const READ: u64 = 0xffff_1000;
    const FAULT: u64 = 0xffff_2000;
    const BACK: u64 = 0xffff_3000;
    const SWITCH: u64 = 0xffff_4000;

    fn marks() -> Marks {
        let kernel = [
            (ENTRY_AT, Mark::Entry),
            (READ, Mark::Call("read".into())),
            (FAULT, Mark::Interruption("[page fault]")),
            (BACK, Mark::Resumes),
            (SWITCH, Mark::Switches),
        ];
        Marks { begins: 0x40, ended: 0x50, kernel: HashMap::from(kernel) }
    }

    fn counted(blocks: &[u64]) -> Counter {
        let mut counter = Counter::new(marks());
        for block in blocks {
            counter.line(&format!("Trace 0: 0x7f00 [0000000000000000/{block:016x}/0040c2b0/ff020201] x"));
        }
        counter
    }

    fn blocks_by_reason(counter: &Counter) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for (edge, times) in counter.edges().unwrap() {
            *sums.entry(counter.reason_of(edge).to_string()).or_insert(0) += times;
        }
        sums
    }

    #[test]
    fn blocks_belong_to_the_call_that_the_kernel_was_entered_for() {
        let counter =
            counted(&[1, 0x40, ENTRY_AT, 7, READ, 8, FAULT, 9, BACK, 8, ENTRY_AT, 7, READ, SWITCH, 6, 0x50, 5]);
        let expected = [("[after a switch]", 2), ("[page fault]", 2), ("read", 9)];
        assert_eq!(blocks_by_reason(&counter), expected.map(|(name, n)| (name.to_string(), n)).into());
        let entries: BTreeMap<&str, u64> = counter.entries().collect();
        assert_eq!((entries["read"], entries["[page fault]"]), (2, 1));
    }

    #[test]
    fn only_what_precedes_the_last_mark_counts() {
        let counter = counted(&[0x40, ENTRY_AT, READ, 0x50, ENTRY_AT, READ, 0x50, ENTRY_AT, READ, 1, 2]);
        assert_eq!(blocks_by_reason(&counter), [("read".to_string(), 4)].into());
        assert!(counted(&[0x40, ENTRY_AT]).edges().is_none() && counted(&[ENTRY_AT, 0x50]).edges().is_none());
    }

    #[test]
    fn a_block_that_did_not_run_is_not_counted() {
        let mut counter = counted(&[0x40, ENTRY_AT, READ, 8]);
        counter.line("Stopped execution of TB chain before 0x7f [0000000000000008] x");
        for block in [8, 0x50] {
            counter.line(&format!("Trace 0: 0x7f00 [0/{block:x}/0/0] x"));
        }
        let edges = counter.edges().unwrap();
        assert_eq!(edges.values().sum::<u64>(), 3, "{edges:?}");
    }
}
