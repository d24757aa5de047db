//! Two sets of unit costs side by side, at the same speed of the machine. Pure; `change`, `scaled` and `wall` call it.

use super::costs::{Costs, Price, UnitCost};
use super::speed::Shift;
use super::units::FAULTS;
use crate::model::Class;

/// Unit costs here and there. Those there are given as they would be at the speed that the machine had here, as far as that is
/// known.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    here: &'a Costs,
    there: &'a Costs,
    shift: Shift,
}

/// A ratio that is not known within a factor of two prices nothing: the scheduler decided it.
const MOST_SD: f64 = std::f64::consts::LN_2;

impl<'a> Comparison<'a> {
    pub fn of(here: &'a Costs, there: &'a Costs) -> Comparison<'a> {
        Comparison { here, there, shift: here.shift(there) }
    }

    /// The label of the costs there.
    pub fn label(&self) -> &str {
        &self.there.label
    }

    /// What a class costs on both sides, by the same operation.
    pub fn prices(&self, call: &str, class: &Class) -> Option<(Price, Price)> {
        let (a, b) = self.here.prices(self.there, call, class)?;
        (a.cost.log_sd.hypot(b.cost.log_sd) <= MOST_SD).then(|| (a, self.at_same_speed(b)))
    }

    /// What the first of these operations costs that both sides have.
    pub fn first_of(&self, operations: &[&str]) -> Option<(Price, Price)> {
        let both = |operation: &&str| Some((self.here.price_of(operation)?, self.there.price_of(operation)?));
        operations.iter().find_map(both).map(|(a, b)| (a, self.at_same_speed(b)))
    }

    /// What a null call costs on both sides.
    pub fn null_calls(&self) -> Option<(UnitCost, UnitCost)> {
        Some((self.here.null_call()?.cost, self.at_same_speed(self.there.null_call()?).cost))
    }

    pub fn faults(&self) -> Option<(Price, Price)> {
        self.first_of(FAULTS)
    }

    /// Standard deviation, on the log scale, of what moves all costs there together.
    pub fn common_sd(&self) -> f64 {
        self.shift.sd
    }

    /// Standard deviation, on the log scale, of two times that are measured at different moments.
    pub fn scatter(&self) -> f64 {
        self.here.scatter(self.there)
    }

    /// Processors that the run there might use.
    pub fn cpus_there(&self) -> Option<u64> {
        self.there.cpus()
    }

    fn at_same_speed(&self, price: Price) -> Price {
        let cost = UnitCost { ns: price.cost.ns / self.shift.ln.exp(), ..price.cost };
        Price { cost, ..price }
    }
}
