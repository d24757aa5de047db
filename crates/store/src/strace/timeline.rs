//! When calls began and ended, as far as the lines have times: the wall time, the slowest calls, and the longest time between two.

use super::line::Stamp;
use super::tally::Caller;
use model::{Gap, SlowCall};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

const SLOWEST: usize = 20;
/// With more pauses, those are summed up that no later one can overlap.
const MOST_PAUSES: usize = 4096;

#[derive(Default)]
pub struct Timeline {
    pub clock: Clock,
    /// For each thread, the end of its last call or, if its duration is not known, the beginning.
    last: HashMap<u64, (f64, String)>,
    /// When each open call began, and whether it is the thread's first.
    open: HashMap<u64, (f64, bool)>,
    pub longest_gap: Option<Gap>,
    /// When at least one thread was outside of calls: disjoint, by rising time.
    pauses: Vec<(f64, f64)>,
    /// The sum of earlier ones.
    paused_s: f64,
    /// By duration, and the line.
    slowest: BTreeMap<(u64, Reverse<usize>), (Caller, SlowCall)>,
}

impl Timeline {
    pub fn rename(&mut self, from: u64, to: u64) {
        let last = self.last.remove(&from);
        self.last.extend(last.map(|last| (to, last)));
        let open = self.open.remove(&from);
        self.open.extend(open.map(|open| (to, open)));
    }

    /// The pause before this call may be the longest so far.
    pub fn begins(&mut self, thread: u64, call: &str, line: usize) {
        let Some(now) = self.clock.now else {
            return;
        };
        let before = self.last.remove(&thread);
        self.open.insert(thread, (now, before.is_none()));
        let Some((then, after)) = before else {
            return;
        };
        self.pause(then, now);
        let ns = ((now - then).max(0.0) * 1e9) as u64;
        if self.longest_gap.as_ref().is_none_or(|gap| gap.ns < ns) {
            self.longest_gap = Some(Gap {
                ns,
                after,
                before: call.to_string(),
                line: line as u64,
            });
        }
    }

    /// Whether the thread made no call before the one that it is in, and for how long it has been in that.
    pub fn open(&self, thread: u64) -> (bool, u64) {
        let (begin, is_first) = self.open.get(&thread).copied().unwrap_or((f64::MAX, true));
        let end = self.clock.ends.map_or(0.0, |(_, _, most)| most);
        (is_first, ((end - begin).max(0.0) * 1e9) as u64)
    }

    /// The thread has ended.
    pub fn forget(&mut self, thread: u64) {
        self.last.remove(&thread);
    }

    fn pause(&mut self, mut begin: f64, mut end: f64) {
        while let Some((earlier, later)) = self.pauses.pop_if(|(_, later)| *later >= begin) {
            (begin, end) = (begin.min(earlier), end.max(later));
        }
        self.pauses.push((begin, end.max(begin)));
        if self.pauses.len() > MOST_PAUSES {
            let ends = self.last.values().map(|(end, _)| *end);
            let first = ends.fold(end, f64::min);
            let settled = self.pauses.partition_point(|(_, end)| *end < first);
            let settled = self.pauses.drain(..settled);
            self.paused_s += settled.map(|(begin, end)| end - begin).sum::<f64>();
        }
    }

    /// The wall time in which every thread was in a call, if the ends of calls are known.
    pub fn in_calls_ns(&self) -> Option<u64> {
        let pauses = self.pauses.iter().map(|(begin, end)| end - begin);
        let paused_ns = (self.paused_s + pauses.sum::<f64>()) * 1e9;
        Some(self.clock.wall_ns()?.saturating_sub(paused_ns as u64))
    }

    /// `is_at_end`: the time of the line is that of the return.
    pub fn ends(&mut self, thread: u64, call: &str, elapsed_ns: Option<u64>, is_at_end: bool) {
        let after = match elapsed_ns {
            Some(ns) if !is_at_end => ns as f64 / 1e9,
            _ => 0.0,
        };
        if let Some(now) = self.clock.now {
            self.open.remove(&thread);
            self.clock.until(now + after);
            self.last.insert(thread, (now + after, call.to_string()));
        }
    }

    /// `call` lacks the time at which it began.
    pub fn took(&mut self, caller: Caller, mut call: SlowCall, line: usize, is_at_end: bool) {
        let before_ns = if is_at_end { call.elapsed_ns } else { 0 };
        call.at_ns = self.clock.since_begin_ns().saturating_sub(before_ns);
        self.slowest
            .insert((call.elapsed_ns, Reverse(line)), (caller, call));
        // Drops the fastest as it goes, so that a long log needs no memory for all calls.
        if self.slowest.len() > SLOWEST {
            self.slowest.pop_first();
        }
    }

    /// The longest time in which a thread made no call; `None` without times.
    /// The slowest first.
    pub fn slowest(self) -> impl Iterator<Item = (Caller, SlowCall)> {
        self.slowest.into_values().rev()
    }
}

#[derive(Default)]
pub struct Clock {
    now: Option<f64>,
    /// The first, the least and the greatest.
    ends: Option<(f64, f64, f64)>,
    midnights: f64,
}

impl Clock {
    pub fn add(&mut self, stamp: Stamp) {
        let now = match stamp {
            Stamp::Since(seconds) => self.now.unwrap_or(0.0) + seconds,
            Stamp::Clock(seconds) => self.today(seconds),
        };
        self.now = Some(now);
        self.until(now);
    }

    /// Days pass in logs of -t and -tt.
    fn today(&mut self, seconds: f64) -> f64 {
        let now = seconds + self.midnights;
        if self
            .now
            // A time of day that falls by over 12 hours is past midnight; less is a log with lines out of order.
            .is_some_and(|last| last - now > 43200.0 && last < 1e8)
        {
            self.midnights += 86400.0;
        }
        seconds + self.midnights
    }

    fn until(&mut self, end: f64) {
        let (first, least, most) = self.ends.unwrap_or((end, end, end));
        self.ends = Some((first, least.min(end), most.max(end)));
    }

    fn since_begin_ns(&self) -> u64 {
        let since = self
            .now
            .zip(self.ends)
            .map(|(now, (first, ..))| now - first);
        since.map_or(0, |since| (since.max(0.0) * 1e9) as u64)
    }

    pub fn wall_ns(&self) -> Option<u64> {
        let (_, least, most) = self.ends?;
        let wall = most - least;
        // More than 30 years would be a mixture of two kinds of times.
        (wall > 0.0 && wall < 1e9).then_some((wall * 1e9) as u64)
    }
}
