//! The counted events of one record.

use crate::model::{CYCLES_KERNEL, CYCLES_USER, Counters, INSTRUCTIONS_KERNEL, INSTRUCTIONS_USER};
use crate::stats::{self, Ranged};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// Hardware and software events per iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct EventCounts {
    /// By event, as perf spells it.
    #[schemars(with = "std::collections::BTreeMap<String, Ranged>")]
    pub counted: IndexMap<String, Ranged>,
    /// Events that could not be counted for this case, and why.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub not_counted: IndexMap<String, String>,
    /// Instructions over cycles, in both modes together; `None` unless all four were counted.
    pub instructions_per_cycle: Option<f64>,
    /// Instructions in both modes in units of the empty function call's; `None` without one.
    pub instructions_times_empty_call: Option<f64>,
}

impl EventCounts {
    /// What was counted; `empty_call` is the same of the empty function call.
    pub fn of(counters: &Counters, empty_call: Option<&Counters>) -> EventCounts {
        let count = |(name, launches): (&String, &Vec<_>)| {
            Some((name.clone(), stats::event_count(&stats::launch_medians(launches))?))
        };
        let counted: IndexMap<String, Ranged> = counters.counted.iter().filter_map(count).collect();
        let cycles = both(&counted, [CYCLES_USER, CYCLES_KERNEL]);
        let instructions = both(&counted, [INSTRUCTIONS_USER, INSTRUCTIONS_KERNEL]);
        let of_empty_call = empty_call.and_then(|empty| EventCounts::of(empty, None).instructions());
        EventCounts {
            not_counted: counters.not_counted.clone(),
            instructions_per_cycle: ratio(instructions, cycles),
            instructions_times_empty_call: ratio(instructions, of_empty_call),
            counted,
        }
    }

    /// The count of an event per iteration.
    pub fn value(&self, event: &str) -> Option<f64> {
        self.counted.get(event).map(|count| count.value)
    }

    /// Instructions in both modes.
    pub fn instructions(&self) -> Option<f64> {
        both(&self.counted, [INSTRUCTIONS_USER, INSTRUCTIONS_KERNEL])
    }
}

fn both(counted: &IndexMap<String, Ranged>, events: [&str; 2]) -> Option<f64> {
    let [user, kernel] = events.map(|event| counted.get(event).map(|count| count.value));
    Some(user? + kernel?)
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b.filter(|b| *b > 0.0)?).filter(|ratio| ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(values: &[(&str, f64)]) -> Counters {
        let counted = values.iter().map(|(name, value)| (name.to_string(), vec![vec![*value]; 5])).collect();
        Counters { counted, ..Counters::default() }
    }

    #[test]
    fn both_modes_make_the_ratios() {
        let all = [("instructions:u", 20.0), ("instructions:k", 280.0), ("cycles:u", 50.0), ("cycles:k", 100.0)];
        let empty = counters(&[("instructions:u", 4.0), ("instructions:k", 0.0)]);
        let found = EventCounts::of(&counters(&all), Some(&empty));
        assert_eq!((found.instructions_per_cycle, found.instructions_times_empty_call), (Some(2.0), Some(75.0)));
        let user_alone = EventCounts::of(&counters(&all[..1]), Some(&empty));
        assert_eq!((user_alone.instructions_per_cycle, user_alone.instructions_times_empty_call), (None, None));
        assert_eq!(user_alone.value("instructions:u"), Some(20.0));
    }
}
