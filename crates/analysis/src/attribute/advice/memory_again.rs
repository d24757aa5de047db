//! Memory that is given back to the kernel and used again: each page of it is then one more page fault, which belongs to the call that
//! gave it back.

use super::caller::{Caller, Rule, added, does, is_one_of, s};
use super::output::Advice;
use super::same_answer::AGAIN;
use crate::attribute::seconds::Seconds;
use model::runtime::name_and_line;
use model::{CallCount, Profile};

pub static RULE: Rule = Rule {
    name: "memory-again",
    least: 0.08,
    phrase: "{calls} that give memory back, about {items} page faults to get it again",
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
        change: "keep the memory: reuse the buffer or mapping or, if malloc made it, raise M_MMAP_THRESHOLD (mallopt)",
    },
    Way {
        gives: |count| is_one_of(count, "brk"),
        gets: None,
        change: "keep the memory: reuse the buffer, or raise M_TRIM_THRESHOLD (mallopt)",
    },
];

// In place of the change for munmap, if stacks show who calls it.
const BY_MALLOC: &str = "keep the memory: reuse the buffer, or raise M_MMAP_THRESHOLD (mallopt)";
const BY_PROGRAM: &str = "keep the mapping and use it again, as a pool does, or get its pages by fewer faults (MAP_POPULATE, huge pages)";

const ALLOCATORS: &str = "malloc calloc realloc free cfree memalign aligned_alloc posix_memalign";

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
        let change = match self.gets {
            Some(_) => is_by_malloc(caller).map(|by| if by { BY_MALLOC } else { BY_PROGRAM }),
            None => None,
        };
        Some(Advice {
            change: change.unwrap_or(self.change),
            ..part.advice(three_figures(faults), saved)
        })
    }
}

/// An estimate is known no better.
fn three_figures(count: f64) -> u64 {
    let unit = 10u64.pow(
        (count as u64)
            .checked_ilog10()
            .unwrap_or(0)
            .saturating_sub(2),
    );
    (count / unit as f64).round() as u64 * unit
}

/// Whether malloc and free call munmap most of the time; `None` without stacks.
fn is_by_malloc(caller: &Caller) -> Option<bool> {
    let stacks = caller.profile.stacks.iter();
    let stacks = stacks.filter(|stack| stack.process == caller.name && stack.call == "munmap");
    let (mut all, mut by_malloc) = (0, 0);
    for stack in stacks {
        all = stack.calls.saturating_add(all);
        if stack.frames.iter().any(|frame| is_allocator(frame)) {
            by_malloc = stack.calls.saturating_add(by_malloc);
        }
    }
    if all == 0 {
        None
    } else {
        Some(by_malloc > all / 2)
    }
}

/// `free`, or `__GI___libc_free` with the names of debugging information.
fn is_allocator(frame: &str) -> bool {
    let name = name_and_line(frame).0.trim_start_matches("__GI_");
    let name = name.trim_start_matches("__libc_");
    ALLOCATORS.split(' ').any(|allocator| allocator == name)
}

impl Caller<'_> {
    fn pages(&self, keep: impl Fn(&CallCount) -> bool) -> f64 {
        let counts = self.counts.iter().filter(|count| keep(count));
        let bytes = counts.map(|count| count.calls.saturating_mul(count.class.size.unwrap_or(0)));
        added(bytes) as f64 / PAGE * MEAN_SIZE
    }
}

/// Page faults beyond the first of each page: a program has at most the largest resident set. Those of several programs that give memory
/// back are divided as their CPU time is. `None` if they were not counted.
fn faults_again(caller: &Caller) -> Option<f64> {
    let usage = &caller.profile.usage;
    let started = usage.processes?.saturating_add(caller.workload.execs);
    let first = usage.peak_rss_kib? as f64 * 1024.0 / PAGE * started.max(1) as f64;
    let programs = caller.workload.programs.values();
    let others = programs.filter(|program| {
        let given = program.counts.iter();
        let given = given.filter(|count| WAYS.iter().any(|way| (way.gives)(count)));
        added(given.map(|count| count.calls)) > program.processes.saturating_mul(AGAIN)
    });
    let cpu_s: f64 = others.map(|program| program.cpu_s).sum();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_are_known_by_their_names() {
        let names = [
            "free",
            "__GI___libc_free",
            "realloc (pool.c:12)",
            "pool_alloc",
            "main",
        ];
        assert_eq!(names.map(is_allocator), [true, true, true, false, false]);
    }

    #[test]
    fn an_estimate_has_three_figures() {
        let counts = [0.0, 7.0, 327_731.4, 999.6];
        assert_eq!(counts.map(three_figures), [0, 7, 328_000, 1000]);
    }
}
