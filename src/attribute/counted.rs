//! A profile by numbers of instructions: calls x the instructions that an emulated machine counted for their operations, on one
//! kernel and on others. Pure; `cli::attribute` calls it.
//!
//! No seconds follow from it, nor a share of the program's time: caches, page-table switches and waiting are not in a count. A call
//! that mostly waits is left out, because the emulated machine's idle time would count as instructions. There are no ranges either:
//! no experiment has compared such sums with the instructions of a program.

use super::breakdown::{fault_count, s};
use super::change::UnpricedCall;
use super::charged::share;
use super::costs::{Basis, CountedCosts, InstructionsPerCall};
use super::prices::Price;
use super::units::FAULTS;
use super::waits;
use crate::model::{By, CallCount, Class, Profile};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// A profile by the instructions of one kernel, and of another one beside it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CountedComparison {
    /// The counts that price it.
    pub costs: String,
    /// The counts beside them; `None` where there is one side.
    pub versus: Option<String>,
    /// By call or class, the most instructions first.
    pub calls: Vec<CountedRow>,
    /// Page faults x those of one; `None` where faults or their instructions are not known.
    pub faults: Option<CountedRow>,
    /// All rows and the faults.
    pub total: CountedSum,
    /// How many page faults have no price.
    pub unpriced_faults: Option<u64>,
    /// Calls without a count on every side, and those that mostly wait.
    pub unpriced: Vec<UnpricedCall>,
    /// Their share of the calls' CPU time, or of the calls where only counts are known; `None` if there are none.
    pub unpriced_share: Option<f64>,
}

/// One call, or one class of it, or all page faults.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CountedRow {
    pub name: String,
    /// Empty where each call has one row.
    #[serde(flatten)]
    pub class: Class,
    pub calls: u64,
    #[serde(flatten)]
    pub sum: CountedSum,
    /// What the calls were counted by.
    #[serde(rename = "unit")]
    pub basis: Vec<Basis>,
}

/// Numbers of instructions, of all calls together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CountedSum {
    pub here_instructions: f64,
    pub there_instructions: Option<f64>,
}

impl CountedSum {
    /// There over here.
    pub fn ratio(self) -> Option<f64> {
        Some(self.there_instructions? / self.here_instructions).filter(|ratio| ratio.is_finite())
    }

    fn add(&mut self, other: CountedSum) {
        self.here_instructions += other.here_instructions;
        self.there_instructions = self.there_instructions.zip(other.there_instructions).map(|(a, b)| a + b);
    }

    /// Nothing yet, on as many sides as there are.
    fn zero(there: Option<&CountedCosts>) -> CountedSum {
        CountedSum { here_instructions: 0.0, there_instructions: there.map(|_| 0.0) }
    }
}

/// `profile` by the instructions of `here`, beside each of `versus`; with a row for each call or class, as `by` says.
pub fn count(profile: &Profile, here: &CountedCosts, versus: &[CountedCosts], by: By) -> Vec<CountedComparison> {
    let sides: Vec<Option<&CountedCosts>> = match versus {
        [] => vec![None],
        all => all.iter().map(Some).collect(),
    };
    sides.into_iter().map(|there| side(profile, Sides { here, there }, by)).collect()
}

#[derive(Clone, Copy)]
struct Sides<'a> {
    here: &'a CountedCosts,
    there: Option<&'a CountedCosts>,
}

impl Sides<'_> {
    /// The price of a class on each side, by the same operation.
    fn price(self, count: &CallCount) -> Option<(Price<InstructionsPerCall>, Option<f64>)> {
        let (here, there) = match self.there {
            None => (self.here.price_of_calls(count)?, None),
            Some(there) => {
                let (a, b) = self.here.prices(there, count)?;
                (a, Some(b.cost.0))
            }
        };
        (!waits::waits(&here.basis.operation)).then_some((here, there))
    }

    fn faults(self, count: u64) -> Option<CountedRow> {
        let (here, there) = match self.there {
            None => (self.here.first_of(FAULTS)?, None),
            Some(there) => {
                let (a, b) = self.here.first_of_both(there, FAULTS)?;
                (a, Some(b.cost.0))
            }
        };
        let fault = CallCount { call: "page faults".into(), calls: count, ..CallCount::default() };
        Some(row(&fault, Class::default(), here, there))
    }
}

fn side(profile: &Profile, sides: Sides, by: By) -> CountedComparison {
    let mut rows: IndexMap<(String, Class), CountedRow> = IndexMap::new();
    let mut unpriced: IndexMap<String, CallCount> = IndexMap::new();
    for count in profile.totals(By::Class).into_iter().map(|total| total.count) {
        let class = if by == By::Class { count.class.clone() } else { Class::default() };
        match sides.price(&count) {
            Some((here, there)) => add(&mut rows, row(&count, class, here, there)),
            None => unpriced.entry(count.call.clone()).or_default().add(&count),
        }
    }
    let mut calls: Vec<CountedRow> = rows.into_values().collect();
    calls.sort_by(|a, b| b.sum.here_instructions.total_cmp(&a.sum.here_instructions));
    let seen = fault_count(profile).filter(|count| *count > 0);
    let faults = seen.and_then(|count| sides.faults(count));
    let mut total = CountedSum::zero(sides.there);
    calls.iter().chain(&faults).for_each(|row| total.add(row.sum));
    let mut others = CallCount::default();
    unpriced.values().for_each(|count| others.add(count));
    CountedComparison {
        costs: sides.here.label.clone(),
        versus: sides.there.map(|there| there.label.clone()),
        unpriced_faults: seen.filter(|_| faults.is_none()),
        unpriced_share: share(&others, &profile.all_calls()),
        unpriced: unpriced.into_iter().map(left_out).collect(),
        calls,
        faults,
        total,
    }
}

fn left_out((call, count): (String, CallCount)) -> UnpricedCall {
    UnpricedCall { call, calls: count.calls, on_cpu_s: count.on_cpu_ns.map(s) }
}

fn row(count: &CallCount, class: Class, here: Price<InstructionsPerCall>, there: Option<f64>) -> CountedRow {
    let all = |each: f64| count.calls as f64 * each;
    let sum = CountedSum { here_instructions: all(here.cost.0), there_instructions: there.map(all) };
    CountedRow { name: count.call.clone(), class, calls: count.calls, sum, basis: vec![here.basis] }
}

fn add(rows: &mut IndexMap<(String, Class), CountedRow>, row: CountedRow) {
    match rows.entry((row.name.clone(), row.class.clone())) {
        indexmap::map::Entry::Vacant(place) => drop(place.insert(row)),
        indexmap::map::Entry::Occupied(mut own) => {
            let own = own.get_mut();
            own.calls = own.calls.saturating_add(row.calls);
            own.sum.add(row.sum);
            own.basis.extend(row.basis);
            own.basis.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::costs::UnitCosts;
    use crate::model::fixtures::{counted, instructions, run};
    use crate::model::{ProcessGroup, Record, Run, Usage};

    /// Two kernels: a null call, a stat of two depths, a sync, an open with its close, and a page fault, the second `factor` times the first.
    fn kernels() -> Run {
        let of = |environment: &str, factor: u64| -> Vec<Record> {
            let one = |operation: &str, each: u64, entries: &[(&str, f64)]| {
                counted(instructions(operation, environment, &[each * factor]), entries)
            };
            let stat = |depth: u64, each| {
                let mut record = one("file.stat", each, &[("newfstatat", 1.0)]);
                record.case.params.insert("depth".into(), depth);
                record
            };
            vec![
                one("id.getppid", 400, &[("getppid", 1.0)]),
                stat(1, 2_000),
                stat(4, 4_000),
                one("io.fsync", 9_000, &[("fsync", 1.0)]),
                one("io.pwrite", 1_000, &[("pwrite64", 1.0)]),
                one("mem.fault_anonymous", 1_500, &[]),
            ]
        };
        run([of("linux-a", 1), of("linux-b", 2)].concat())
    }

    fn side_of(run: &Run, environment: &str) -> CountedCosts {
        match UnitCosts::from_run(run, Some(environment)) {
            Ok(UnitCosts::Instructions(costs)) => costs,
            other => panic!("{other:?}"),
        }
    }

    fn profile() -> Profile {
        let call = |name: &str, depth: Option<u64>, calls| CallCount {
            call: name.into(),
            class: Class { depth, ..Class::default() },
            calls,
            ..CallCount::default()
        };
        let calls = vec![
            call("getppid", None, 10),
            call("newfstatat", Some(1), 100),
            call("newfstatat", Some(2), 7),
            call("fsync", None, 3),
            call("keyctl", None, 5),
        ];
        let usage = Usage { minor_faults: Some(20), ..Usage::default() };
        Profile { groups: vec![ProcessGroup { calls, ..ProcessGroup::default() }], usage, ..Profile::default() }
    }

    #[test]
    fn instructions_are_counts_times_unit_costs() {
        let run = kernels();
        let (here, there) = (side_of(&run, "linux-a"), [side_of(&run, "linux-b")]);
        let found = count(&profile(), &here, &there, By::Class).remove(0);
        let shown: Vec<(&str, u64, f64)> =
            found.calls.iter().map(|row| (&*row.name, row.calls, row.sum.here_instructions.round())).collect();
        // Depth 2 is half way between 1 and 4 on the logarithm: the geometric mean.
        let between = (7.0 * (2_000.0f64 * 4_000.0).sqrt()).round();
        assert_eq!(shown, [("newfstatat", 100, 200_000.0), ("newfstatat", 7, between), ("getppid", 10, 4_000.0)]);
        assert_eq!(found.faults.as_ref().map(|row| (row.calls, row.sum.here_instructions)), Some((20, 30_000.0)));
        let all = 200_000.0 + 7.0 * (2_000.0f64 * 4_000.0).sqrt() + 4_000.0 + 30_000.0;
        assert!((found.total.here_instructions - all).abs() < 1e-6, "{:?}", found.total);
        assert!((found.total.ratio().unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(found.unpriced.iter().map(|own| &*own.call).collect::<Vec<_>>(), ["keyctl", "fsync"]);
        assert_eq!(found.unpriced_share, Some(8.0 / 125.0));
    }

    #[test]
    fn calls_have_one_row_each_unless_asked_for_by_class_and_one_side_is_enough() {
        let run = kernels();
        let found = count(&profile(), &side_of(&run, "linux-b"), &[], By::Call).remove(0);
        let rows: Vec<(&str, u64, usize)> =
            found.calls.iter().map(|row| (&*row.name, row.calls, row.basis.len())).collect();
        assert_eq!(rows, [("newfstatat", 107, 2), ("getppid", 10, 1)]);
        assert_eq!((found.versus, found.total.there_instructions, found.total.ratio()), (None, None, None));
    }

    #[test]
    fn faults_without_a_count_are_left_out_and_said() {
        let mut run = kernels();
        run.records.retain(|record| record.case.operation != "mem.fault_anonymous");
        let found = count(&profile(), &side_of(&run, "linux-a"), &[], By::Call).remove(0);
        assert_eq!((found.faults, found.unpriced_faults), (None, Some(20)));
    }
}
