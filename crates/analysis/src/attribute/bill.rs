//! How much more the calls of a program cost in an environment: calls x (unit cost there - unit cost here). One run measured both costs in
//! the same rounds, so that each difference has an interval.

use super::costs::Costs;
use super::elsewhere::prices;
use super::priced::Pricing;
use super::units::{CREATION, bare_name, has};
use crate::summary::{Summary, summarize};
use model::{By, CallCount, Profile, REFERENCE, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

// Chosen: each further operation shortens the time of all others.
/// More operations take too long to measure; all other calls are charged with the difference of the cheapest call.
const MOST_OPERATIONS: usize = 8;

/// If an operation is missing, at most this share of the calls may be charged at the difference of the cheapest call.
const FEW_BARE: f64 = 0.05;

/// The extra time of a program's calls in an environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bill {
    /// All calls of the program.
    pub calls: u64,
    /// Calls that are charged only with the extra cost of the cheapest call there: no measured operation resembles them, or
    /// they start processes.
    pub bare_calls: u64,
    /// The extra seconds of all calls there, with the ends of the 95% interval.
    pub added_s: [f64; 3],
    /// The system call that adds the most seconds.
    pub most: String,
    /// Its extra seconds.
    pub most_s: f64,
}

/// The operations that the bill of a program needs, at the defaults of all parameters: with more cases there are too few rounds.
pub fn pricing(profile: &Profile) -> Pricing {
    // Starting a process costs what its memory makes it cost, so no unit cost is right for it.
    Pricing {
        settings: Vec::new(),
        ..Pricing::new(profile, MOST_OPERATIONS, |call: &str| {
            !has(CREATION, bare_name(call))
        })
    }
}

/// `None` if the run did not measure the cheapest call in both environments, with an interval, or lacks an operation that many calls need.
pub fn bill(profile: &Profile, run: &Run, here: &str, there: &str) -> Option<Bill> {
    let errors = Errors::new(&summarize(run), here, there);
    let [here, there] = [here, there].map(|name| Costs::from_run(run, Some(name)));
    let (here, there) = (here.ok()?, there.ok()?);
    let (null_here, null_there) = here.null_calls(&there)?;
    errors.0.get(REFERENCE)?;
    let mut bill = Bill::default();
    let mut by_call: BTreeMap<String, f64> = BTreeMap::new();
    let mut by_operation: BTreeMap<String, f64> = BTreeMap::new();
    for total in profile.totals(By::Class) {
        let count = total.count;
        let known = errors.difference(&count, &here, &there);
        if known.is_none() {
            bill.bare_calls += count.calls;
        }
        // Calls without a price cross the kernel's entry too, and most environments add their cost there.
        let (operation, ns) =
            known.unwrap_or_else(|| (REFERENCE.to_string(), null_there - null_here));
        let calls = count.calls as f64;
        bill.calls += count.calls;
        bill.added_s[0] += calls * ns / 1e9;
        *by_call.entry(count.call).or_default() += calls * ns / 1e9;
        *by_operation.entry(operation).or_default() += calls;
    }
    let lacks = |operation: &&str| !errors.0.contains_key(*operation);
    if bill.bare_calls as f64 > FEW_BARE * bill.calls as f64
        && pricing(profile).operations.iter().any(lacks)
    {
        return None;
    }
    // Operations were measured in processes of their own: their errors are independent.
    let squares = by_operation
        .iter()
        .map(|(name, calls)| (calls * errors.0[name]).powi(2));
    let error_s = squares.sum::<f64>().sqrt() / 1e9;
    bill.added_s[1] = bill.added_s[0] - error_s;
    bill.added_s[2] = bill.added_s[0] + error_s;
    (bill.most, bill.most_s) = by_call.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(bill)
}

/// By operation, how far the difference of its costs may be from its estimate, in nanoseconds.
struct Errors(HashMap<String, f64>);

impl Errors {
    fn new(summary: &Summary, here: &str, there: &str) -> Errors {
        let rows = summary.rows.iter().chain(&summary.baselines);
        let there = rows.filter(|row| row.case.environment == there);
        let known = there.filter_map(|row| {
            let versus = row
                .versus
                .as_ref()
                .filter(|versus| versus.environment == here)?;
            let (low, high) = versus.ratio.low_high?;
            let here_ns = row.cost()?.median.0 / versus.ratio.value;
            // The shown quotient may be an end of the paired interval: the farther end counts for both sides.
            let error = (high - versus.ratio.value).max(versus.ratio.value - low);
            Some((row.case.operation.clone(), here_ns * error))
        });
        Errors(known.collect())
    }

    /// The extra nanoseconds of one call, and the operation that prices most of these calls. `None` without a price, or if its error is not
    /// known.
    fn difference(&self, count: &CallCount, here: &Costs, there: &Costs) -> Option<(String, f64)> {
        let (here, there) = prices(count, here, there)?;
        let operation = here.basis.operation;
        self.0.get(&operation)?;
        Some((operation, there.ns - here.ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Record;
    use model::fixtures::{called, entering, in_environment, profile, run, with};

    /// Three launches, `by` percent apart.
    fn record(operation: &str, environment: &str, ns: u64, by: u64) -> Record {
        let record = in_environment(environment, entering(operation, ns, &[("call", 1.0)]));
        with(record, |measured| {
            let all = measured.blocks.len();
            for (i, block) in measured.blocks.iter_mut().enumerate() {
                block.launch = (3 * i / all) as u32;
                let batch = ns * measured.iterations * (100 + by * u64::from(block.launch)) / 100;
                block.slots.iter_mut().for_each(|slot| slot.fill(batch));
            }
        })
    }

    fn program() -> Profile {
        let counts = [
            ("getuid", 1000),
            ("lseek", 500),
            ("io_setup", 10),
            ("execve", 1),
        ];
        profile(counts.map(|(name, calls)| called(name, calls)).into())
    }

    #[test]
    fn operations_that_price_most_calls_are_measured() {
        let all = pricing(&program()).operations;
        assert!(all.contains(&"fd.lseek"), "{all:?}");
        assert!(
            all.iter()
                .all(|operation| !operation.starts_with("process."))
        );
    }

    fn both(by: u64) -> Run {
        run(vec![
            record(REFERENCE, "native", 100, 0),
            record("fd.lseek", "native", 200, 0),
            record(REFERENCE, "filter", 120, by),
            record("fd.lseek", "filter", 260, by),
        ])
    }

    #[test]
    fn a_bill_is_calls_times_the_difference_of_their_costs() {
        let exact = bill(&program(), &both(0), "native", "filter").unwrap();
        assert_eq!((exact.calls, exact.bare_calls), (1511, 11));
        let expected = (1011.0 * 20.0 + 500.0 * 60.0) / 1e9;
        assert!((exact.added_s[0] - expected).abs() < 1e-12, "{exact:?}");
        assert_eq!(exact.most, "lseek");
        let [middle, low, high] = bill(&program(), &both(2), "native", "filter")
            .unwrap()
            .added_s;
        assert!(low < middle && middle < high && low < expected && expected < high);
        assert_eq!(bill(&program(), &both(0), "native", "box"), None);
        let mut run = both(0);
        run.records.pop();
        assert_eq!(bill(&program(), &run, "native", "filter"), None);
    }
}
