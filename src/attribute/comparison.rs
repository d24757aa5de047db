//! Two sets of unit costs side by side, at the same speed of the machine. Pure; `change`, `scaled` and `wall` call it.

use super::costs::{Costs, Price, UnitCost};
use super::speed::Shift;
use crate::model::CallCount;

/// Unit costs here and there. Those there are given as they would be at the speed that the machine had here, as far as that is
/// known.
///
/// Environments of one run were measured in turns, within milliseconds of each other: neither the machine's speed nor what moves a
/// case from run to run is an error of their ratio.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    here: &'a Costs,
    pub there: &'a Costs,
    pub shift: Shift,
    in_one_run: bool,
}

/// A ratio that is not known within a factor of two prices nothing: the scheduler decided it.
const MOST_SD: f64 = std::f64::consts::LN_2;

impl<'a> Comparison<'a> {
    pub fn new(here: &'a Costs, there: &'a Costs) -> Comparison<'a> {
        let in_one_run = here.machine.is_same_run(&there.machine);
        let shift = if in_one_run { Shift::default() } else { here.machine.shift(&there.machine) };
        Comparison { here, there, shift, in_one_run }
    }

    /// What one of these calls costs on both sides, by the same operations.
    pub fn prices(&self, count: &CallCount) -> Option<(Price, Price)> {
        let (a, b) = self.side_by_side(self.here.prices(self.there, count)?);
        (a.cost.log_sd.hypot(b.cost.log_sd) <= MOST_SD).then_some((a, b))
    }

    /// What the first of these operations costs that both sides have.
    pub fn first_of(&self, operations: &[&str]) -> Option<(Price, Price)> {
        self.here.first_of_both(self.there, operations).map(|prices| self.side_by_side(prices))
    }

    /// What a null call costs on both sides.
    pub fn null_calls(&self) -> Option<(UnitCost, UnitCost)> {
        let (a, b) = self.side_by_side((self.here.null_call()?, self.there.null_call()?));
        Some((a.cost, b.cost))
    }

    /// Standard deviation, on the log scale, of two times that are measured at different moments.
    pub fn scatter(&self) -> f64 {
        if self.in_one_run { 0.0 } else { self.here.machine.scatter(&self.there.machine) }
    }

    /// The second at the speed that the machine had for the first.
    fn side_by_side(&self, (a, b): (Price, Price)) -> (Price, Price) {
        if self.in_one_run {
            return (Price { cost: a.cost.in_one_run(), ..a }, Price { cost: b.cost.in_one_run(), ..b });
        }
        let cost = UnitCost { ns: b.cost.ns / self.shift.ln.exp(), ..b.cost };
        (a, Price { cost, ..b })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{run, varying};
    use crate::model::{PANEL, Run};

    /// The panel and a call that scatters by a factor from run to run, in two environments.
    fn sides() -> Run {
        let mut all = run([&PANEL[..], &["process.clone_thread"]]
            .concat()
            .iter()
            .map(|op| varying(op, |_| 100 + 900 * u64::from(op.starts_with("process"))))
            .collect());
        let mut other = all.records.clone();
        other.iter_mut().for_each(|record| record.case.environment = "filter".to_string());
        all.records.extend(other);
        (all.host.name, all.host.cpu) = (Some("a".into()), Some("a processor".into()));
        all
    }

    fn costs(run: &Run, environment: &str) -> Costs {
        Costs::from_run(run, Some(environment)).unwrap()
    }

    #[test]
    fn environments_of_one_run_share_what_moves_runs() {
        let one = sides();
        let later = Run { started_unix_s: one.started_unix_s + 60, ..one.clone() };
        let compared = |there: &Run| {
            let (here, there) = (costs(&one, "native"), costs(there, "filter"));
            let both = Comparison::new(&here, &there);
            (
                both.scatter(),
                both.shift.sd,
                both.prices(&CallCount { call: "clone3".into(), ..CallCount::default() }).is_some(),
            )
        };
        let (scatter, shift, priced) = compared(&later);
        assert!(scatter > 0.0 && shift > 0.0 && !priced, "{scatter} {shift}");
        assert_eq!(compared(&one), (0.0, 0.0, true));
    }
}
