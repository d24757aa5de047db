//! Times of the calls of a program that was stopped at each of them: unit costs, measured on the same machine after it has ended.

use crate::messages::note;
use crate::run::in_environments;
use analysis::attribute::costs::Costs;
use analysis::attribute::priced::{needs_prices, price, pricing};
use model::{NATIVE, Profile};
use std::time::Duration;

/// The rounds take so long; starting and proving takes a second more.
const TIME: Duration = Duration::from_millis(500);

/// Nothing changes if the tracer knows the times itself, or if the operations cannot be measured.
pub fn add(profile: &mut Profile) {
    if !needs_prices(profile) {
        return;
    }
    let pricing = pricing(profile);
    let run = match in_environments(&pricing, &[NATIVE], TIME) {
        Ok(run) if run.complete => run,
        Ok(_) => return,
        Err(error) => return note(&format!("its calls have no prices: {error:#}")),
    };
    if let Ok(costs) = Costs::from_run(&run, Some(NATIVE)) {
        price(profile, &costs, &pricing.operations);
    }
}
