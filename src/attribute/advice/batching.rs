//! A rule about calls that a ring could carry: many of them, whose crossings are a good part of the program's CPU time.

use super::caller::{Caller, is_one_of};
use super::rule::{Advice, Rule};
use crate::attribute::bounds::{Workload, ring, saved};
use crate::attribute::breakdown::crossing;
use crate::attribute::spread::{at_most, sum_by_call};
use crate::model::CallCount;

/// A bound of a smaller share of the CPU time is not worth a rewrite that may reach only a part of it.
const LEAST_SHARE: f64 = 0.1;

pub fn batches(caller: &Caller) -> Vec<Advice> {
    batch(caller).into_iter().collect()
}

/// The largest batch that was measured saves most.
fn batch(caller: &Caller) -> Option<Advice> {
    let many: Vec<&str> =
        ring::CARRIED.iter().copied().filter(|name| caller.are_many(caller.named(&[*name]).calls)).collect();
    let is_carried = |count: &CallCount| is_one_of(count, &many);
    let part = caller.whole(is_carried);
    let request = ring::requests(caller.costs).pop().filter(|_| caller.are_many(part.calls / 10))?;
    let null = caller.costs.null_call()?;
    let crossings = caller.counts.iter().filter(|count| is_carried(count)).map(|count| crossing(count, null.cost));
    let saved = saved(sum_by_call(crossings.map(|seconds| ("", seconds))), part.calls, &request);
    let share = Workload::new(caller.profile).cpu_share(saved)?;
    let ring = caller.costs.price_of(ring::OPERATION)?;
    let rule = Rule::Batching { batch: request.batch };
    (share >= LEAST_SHARE).then(|| part.advice(rule, Some(at_most(saved)), [null.basis, ring.basis]))
}
