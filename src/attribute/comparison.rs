//! Two sets of unit costs side by side, at the same speed of the machine. Pure; `change`, `scaled` and `wall` call it.

use super::costs::{Costs, Price, UnitCost};
use super::speed::Shift;
use crate::model::Class;

/// Unit costs here and there. Those there are given as they would be at the speed that the machine had here, as far as that is
/// known.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    here: &'a Costs,
    pub there: &'a Costs,
    pub shift: Shift,
}

/// A ratio that is not known within a factor of two prices nothing: the scheduler decided it.
const MOST_SD: f64 = std::f64::consts::LN_2;

impl<'a> Comparison<'a> {
    pub fn new(here: &'a Costs, there: &'a Costs) -> Comparison<'a> {
        Comparison { here, there, shift: here.machine.shift(&there.machine) }
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

    /// Standard deviation, on the log scale, of two times that are measured at different moments.
    pub fn scatter(&self) -> f64 {
        self.here.machine.scatter(&self.there.machine)
    }

    fn at_same_speed(&self, price: Price) -> Price {
        let cost = UnitCost { ns: price.cost.ns / self.shift.ln.exp(), ..price.cost };
        Price { cost, ..price }
    }
}
