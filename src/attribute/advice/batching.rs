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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::costs::Costs;
    use crate::model::fixtures::{entering, run};
    use crate::model::{ProcessGroup, Profile, Usage};

    /// Advice on so many reads of 300 ns in a second of CPU time, with a null call of 100 ns and requests of 40 ns in batches of 8.
    fn advised(reads: u64, with_ring: bool) -> Vec<Advice> {
        let mut records = vec![entering("id.getppid", 100, &[("getppid", 1.0)])];
        let mut ring = entering(ring::OPERATION, 320, &[("io_uring_enter", 1.0)]);
        ring.case.params.insert(ring::PARAMETER.into(), 8);
        records.extend(with_ring.then_some(ring));
        let call = |name: &str, calls| CallCount {
            call: name.into(),
            calls,
            on_cpu_ns: Some(300 * calls),
            ..CallCount::default()
        };
        let group =
            ProcessGroup { name: "x".into(), calls: vec![call("read", reads), call("close", 9)], ..Default::default() };
        let (user_ns, system_ns) = (Some(400_000_000), Some(600_000_000));
        let usage = Usage { user_ns, system_ns, wall_ns: Some(1_000_000_000), ..Usage::default() };
        let profile = Profile { usage, groups: vec![group], ..Profile::default() };
        let costs = Costs::from_run(&run(records), None).unwrap();
        crate::attribute::advice::advice(&profile, &costs)
    }

    #[test]
    fn calls_whose_crossings_are_a_tenth_of_the_time_are_worth_a_ring() {
        let found = advised(2_000_000, true);
        let [one] = &found[..] else { panic!("{found:?}") };
        let saved = one.saved.unwrap();
        assert!((saved.value - 2e6 * 60e-9).abs() < 1e-9 && saved.low == 0.0, "{one:?}");
        assert_eq!(
            (&one.rule, one.calls, &one.names[..]),
            (&Rule::Batching { batch: 8 }, 2_000_000, &["read".into()][..])
        );
    }

    #[test]
    fn fewer_calls_and_kernels_without_a_ring_get_none() {
        assert_eq!([advised(1_000_000, true), advised(2_000_000, false)], [vec![], vec![]]);
    }
}
