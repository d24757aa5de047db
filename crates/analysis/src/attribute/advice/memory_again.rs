//! Memory that is given back to the kernel and used again: each page of it is then one more page fault, which belongs to the call that
//! gave it back.

use super::caller::{Caller, Rule, added, does, is_one_of, s};
use super::output::Advice;
use super::same_answer::AGAIN;
use crate::attribute::seconds::Seconds;
use model::{CallCount, Profile};

pub static RULE: Rule = Rule {
    name: "memory-again",
    least: 0.08,
    phrase: "{calls} that give memory back, {items} page faults to get it again",
    change: "",
    find,
};

struct Way {
    gives: fn(&CallCount) -> bool,
    /// The call that gets it again, where another use of it does not.
    gets: Option<fn(&CallCount) -> bool>,
    change: &'static str,
}

/// brk has no size, so it comes last and gets the faults that the others leave.
const WAYS: &[Way] = &[
    Way {
        gives: |count| {
            is_one_of(count, "madvise") && (does(count, "dontneed") || does(count, "free"))
        },
        gets: None,
        change: "keep the pages while more work comes: after MADV_DONTNEED each is a page fault again",
    },
    Way {
        gives: |count| is_one_of(count, "munmap"),
        gets: Some(|count| maps(count, "anonymous")),
        change: "keep the memory: reuse the buffer, or raise M_MMAP_THRESHOLD (mallopt)",
    },
    Way {
        gives: |count| is_one_of(count, "brk"),
        gets: None,
        change: "keep the memory: reuse the buffer, or raise M_TRIM_THRESHOLD (mallopt)",
    },
];

const PAGE: f64 = 4096.0;
// The mean of a size, over the power of two below it, if sizes are spread evenly on the log scale.
/// Sizes are rounded down to a power of two.
const MEAN_SIZE: f64 = 1.44;
/// Seconds of a page fault that was not sampled: at least, if the page is there, and at most, if it is zeroed.
const FAULT_S: (f64, f64) = (0.25e-6, 1.5e-6);

fn maps(count: &CallCount, operation: &str) -> bool {
    is_one_of(count, "mmap mmap2") && does(count, operation)
}

fn find(caller: &Caller) -> Vec<Advice> {
    let Some(mut left) = faults_again(caller) else {
        return Vec::new();
    };
    // Mapped files fault too, and their pages were not given back.
    left -= left.min(caller.pages(|count| maps(count, "file")));
    WAYS.iter()
        .filter_map(|way| {
            let faults = way.pages(caller).min(left);
            left -= faults;
            way.advice(caller, faults)
        })
        .collect()
}

impl Way {
    fn pages(&self, caller: &Caller) -> f64 {
        let given = caller.pages(self.gives);
        match self.gets {
            _ if caller.sum(self.gives).calls == 0 => 0.0,
            Some(gets) => given.min(caller.pages(gets)),
            None if given == 0.0 => f64::INFINITY,
            None => given,
        }
    }

    fn advice(&self, caller: &Caller, faults: f64) -> Option<Advice> {
        let given = caller.sum(self.gives).calls;
        if given <= caller.processes.saturating_mul(AGAIN) || faults < given as f64 / 2.0 {
            return None;
        }
        let mut part = caller.whole(self.gives);
        if let Some(gets) = self.gets {
            part = part.and(given, gets);
        }
        let saved = part.left_out().plus(faults_s(caller.profile, faults));
        Some(Advice {
            change: self.change,
            ..part.advice(faults as u64, saved)
        })
    }
}

impl Caller<'_> {
    fn pages(&self, keep: impl Fn(&CallCount) -> bool) -> f64 {
        let counts = self.counts.iter().filter(|count| keep(count));
        let bytes = counts.map(|count| count.calls.saturating_mul(count.class.size.unwrap_or(0)));
        added(bytes) as f64 / PAGE * MEAN_SIZE
    }
}

/// Page faults beyond the first of each page: a program has at most the largest resident set. Those of several programs are divided as
/// their CPU time is. `None` if they were not counted.
fn faults_again(caller: &Caller) -> Option<f64> {
    let usage = &caller.profile.usage;
    let programs = usage.processes?.saturating_add(caller.workload.execs);
    let first = usage.peak_rss_kib? as f64 * 1024.0 / PAGE * programs.max(1) as f64;
    let cpu_s = s(added(
        [usage.user_ns, usage.system_ns].into_iter().flatten(),
    ));
    let share = if caller.cpu_s > 0.0 && cpu_s > 0.0 {
        (caller.cpu_s / cpu_s).min(1.0)
    } else {
        1.0
    };
    Some((usage.minor_faults? as f64 - first).max(0.0) * share)
}

/// Seconds of so many page faults: those that were sampled outside of calls in proportion, else the usual ones.
pub fn faults_s(profile: &Profile, faults: f64) -> Seconds {
    let usage = &profile.usage;
    let all = usage.minor_faults.unwrap_or(0).max(1) as f64;
    match usage.outside.as_ref().filter(|outside| outside.samples > 0) {
        Some(outside) => Seconds::scaled(
            s(outside.page_faults_ns) * faults.min(all) / all,
            [0.7, 1.0, 1.3],
        ),
        None => Seconds::scaled(faults, [FAULT_S.0, 0.6e-6, FAULT_S.1]),
    }
}
