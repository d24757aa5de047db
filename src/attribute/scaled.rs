//! How the time of one class of calls changes from one unit cost to another. Pure; `change` calls it.
//!
//! Where a null call is known on both sides, the bare crossing and the work each have their own ratio: what makes every crossing
//! slower (a tracer, a filter, another hypervisor) adds the same to a call of 100 ns and to one of 10 us, however cold its caches
//! are. Rejected: one ratio for the whole call, which multiplies work that takes longer in the program than in its operation by
//! the cost of a slower crossing. For the same reason the ratio of work is at most `MOST_RATIO`; the rest is added to each call.
//!
//! The error is that of the change: with equal unit costs nothing changes, whatever else the call does.

use super::costs::{Price, UnitCost};
use super::spread::{MODEL_SD, Seconds, Z, sum};
use super::unlike::UNLIKE;

/// The change of a class: that of its crossings, which all calls share, and that of its work. The whole is in `work` where the
/// call costs less than a null call, or where no null call is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scaled {
    pub crossing: Seconds,
    pub work: Seconds,
}

impl Scaled {
    pub fn whole(self) -> Seconds {
        sum([self.crossing, self.work].into_iter())
    }
}

/// Work that is a smaller share of its operation's null call says nothing about how much more work costs.
const LEAST_WORK: f64 = 0.1;

/// Work that takes longer by more than this factor is not the same work on another machine. The rest counts as something
/// added to each call, such as what a tracer does with its arguments, and is not multiplied by the call's size or cold caches.
const MOST_RATIO: f64 = 4.0;

/// The calls of a class: how many, the seconds that they took here, and whether those were measured.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    pub calls: u64,
    pub here_s: f64,
    pub measured: bool,
}

/// The change of these calls from the price `here` to the price `there`; `nulls` are the costs of a null call.
pub fn scaled(own: Calls, here: &Price, there: &Price, nulls: Option<(UnitCost, UnitCost)>) -> Scaled {
    let (a, b) = (here.cost, there.cost);
    let model_sd = MODEL_SD.hypot(here.beyond).hypot(there.beyond);
    let Some((null_a, null_b)) = nulls.filter(|(null_a, null_b)| a.ns >= null_a.ns && b.ns >= null_b.ns) else {
        return Scaled { work: changed(own.here_s, a, b, model_sd), ..Scaled::default() };
    };
    let crossing_s = own.calls as f64 * null_a.ns / 1e9;
    let work_s = (own.here_s - crossing_s).max(0.0);
    Scaled {
        crossing: changed(crossing_s, null_a, null_b, 0.0),
        work: changed_work(own, work_s, (a, null_a), (b, null_b), model_sd),
    }
}

/// The change of the work: `here` and `there` are the costs of the operation and of a null call.
fn changed_work(
    own: Calls,
    work_s: f64,
    here: (UnitCost, UnitCost),
    there: (UnitCost, UnitCost),
    model_sd: f64,
) -> Seconds {
    let sd = |(whole, null): (UnitCost, UnitCost)| (whole.ns * whole.log_sd).hypot(null.ns * null.log_sd);
    let work_a = here.0.ns - here.1.ns;
    let work_b = there.0.ns - there.1.ns;
    let calls = own.calls as f64 / 1e9;
    let least = LEAST_WORK * here.1.ns;
    // How often the work holds the operation's work: once per call where it cannot be told.
    let times = if own.measured && work_a > least { work_s / work_a } else { calls };
    let scaled_ns = work_b.min(MOST_RATIO * work_a.max(least));
    let work = Seconds::within(times * (scaled_ns - work_a) + calls * (work_b - scaled_ns), model_sd);
    let ratio = scaled_ns / work_a.max(least);
    let excess_s = (times - UNLIKE * calls).max(0.0) * work_a;
    or_else(work, excess_s, ratio).widened(Z * times * (ratio * sd(here)).hypot(sd(there).min(scaled_ns)))
}

/// The change of work of which `excess_s` seconds are not what the operation does: they may stay as they are, or, where the operation
/// takes less than half as long, be gone.
fn or_else(work: Seconds, excess_s: f64, ratio: f64) -> Seconds {
    let by_ratio = excess_s * (ratio - 1.0);
    let gone = excess_s * (2.0 * (1.0 - ratio)).clamp(0.0, 1.0);
    let (low, high) = (work.value - by_ratio - gone, work.value - by_ratio);
    Seconds { low: work.low.min(low), high: work.high.max(high), ..work }
}

/// The change of `here_s` from one unit cost to the other. The model's error is proportional to the change, that of the unit
/// costs to the seconds.
pub fn changed(here_s: f64, here: UnitCost, there: UnitCost, model_sd: f64) -> Seconds {
    let ratio = there.ns / here.ns;
    let model = Seconds::within(here_s * (ratio - 1.0), model_sd);
    model.widened(Z * here_s * ratio * here.log_sd.hypot(there.log_sd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_unit_costs_change_nothing() {
        let cost = UnitCost { ns: 100.0, ..UnitCost::default() };
        assert_eq!(changed(5.0, cost, cost, MODEL_SD), Seconds::exactly(0.0));
        let twice = changed(5.0, cost, UnitCost { ns: 200.0, ..cost }, MODEL_SD);
        assert!((twice.value - 5.0).abs() < 1e-9 && (twice.low - 2.5).abs() < 1e-9 && (twice.high - 10.0).abs() < 1e-9);
    }

    #[test]
    fn what_an_operation_does_not_do_may_stay_or_be_gone() {
        let cost = |ns| UnitCost { ns, ..UnitCost::default() };
        let (here, there) = ((cost(1_100.0), cost(100.0)), (cost(600.0), cost(100.0)));
        let own = |here_s| Calls { calls: 1_000_000, here_s, measured: true };
        let cold = changed_work(own(10.1), 10.0, here, there, 0.0);
        assert!((cold.value + 5.0).abs() < 1e-9, "{cold:?}");
        // 6 of the 10 seconds are more than four times the operation.
        assert!((cold.low + 8.0).abs() < 1e-9 && (cold.high + 2.0).abs() < 1e-9, "{cold:?}");
        assert!(changed_work(own(3.1), 3.0, here, there, 0.0).is_exact());
    }

    #[test]
    fn intervals_of_unit_costs_widen_the_range() {
        let cost = |ns| UnitCost { ns, log_sd: 0.01, in_run_sd: 0.01 };
        let change = changed(5.0, cost(100.0), cost(100.0), MODEL_SD);
        assert!(change.low < -0.1 && change.high > 0.1 && change.value == 0.0, "{change:?}");
    }
}
