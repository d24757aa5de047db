//! Rules about memory: small mappings that come and go.

use super::caller::Caller;
use super::rule::{Advice, Rule, SOME, Time};
use crate::attribute::breakdown::fault_count;
use crate::attribute::spread::{MODEL_SD, Seconds, at_most, plus};
use crate::attribute::units::bare_name;
use crate::model::CallCount;

/// Mappings from this size on are not small. Above it the copying and zeroing of pages matters more than the calls, and
/// keeping the memory costs the machine more than mapping it again.
const LARGE: u64 = 4 << 20;

const PAGE: u64 = 4096;

/// Fewer pairs do not matter: each has page faults too.
const PAIRS: u64 = 10 * SOME;

fn maps(count: &CallCount) -> bool {
    matches!(bare_name(&count.call), "mmap" | "mmap2") && count.class.operation.as_deref() == Some("anonymous")
}

fn unmaps(count: &CallCount) -> bool {
    bare_name(&count.call) == "munmap"
}

/// For each size (rounded down to a power of two) the mappings that have an unmapping.
pub fn small_maps(caller: &Caller) -> Vec<Advice> {
    let mut sizes: Vec<u64> = caller.counts.iter().filter(|count| maps(count)).filter_map(|c| c.class.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().filter(|size| (PAGE..LARGE).contains(size)).filter_map(|size| of_size(caller, size)).collect()
}

fn of_size(caller: &Caller, size: u64) -> Option<Advice> {
    let own = |keep: fn(&CallCount) -> bool| move |count: &CallCount| keep(count) && count.class.size == Some(size);
    let (mapped, unmapped) = (caller.sum(own(maps)).calls, caller.sum(own(unmaps)).calls);
    let pairs = mapped.min(unmapped);
    let share = |calls: u64| pairs as f64 / calls.max(1) as f64;
    let part = caller.part(|count| match count {
        count if own(maps)(count) => share(mapped),
        count if own(unmaps)(count) => share(unmapped),
        _ => 0.0,
    });
    let calls = part.takes(Time::Cpu).filter(|_| pairs >= PAIRS && churns(caller, pairs, size))?;
    let faults = faults(caller, pairs, size);
    let price = caller.costs.price_of("mem.fault_anonymous")?;
    // Pages that nobody touches have no faults.
    let touched = at_most(price.cost.times(faults, MODEL_SD));
    let saved = plus(calls, touched);
    let saved = Seconds { low: saved.low.max(calls.low), ..saved };
    Some(part.advice(Rule::SmallMaps { size, faults }, Some(saved), [price.basis]))
}

/// Whether mappings come and go: not one for each process, as loaders make, and more than were ever resident at once, so
/// that the same memory could have served again.
fn churns(caller: &Caller, pairs: u64, size: u64) -> bool {
    let usage = &caller.profile.usage;
    let resident = usage.peak_rss_kib.map(|kib| kib.saturating_mul(1024));
    let several = pairs >= usage.processes.unwrap_or(1).saturating_mul(2);
    several && resident.is_some_and(|resident| pairs.saturating_mul(size) > resident.saturating_mul(2))
}

/// Page faults in `pairs` mappings of `size` to twice as many bytes: one for each page, and not more than there were.
fn faults(caller: &Caller, pairs: u64, size: u64) -> u64 {
    let pages = size.saturating_mul(3) / (2 * PAGE);
    fault_count(caller.profile).map_or(0, |all| all.min(pairs.saturating_mul(pages)))
}
