//! Times of calls that a tracer by stops cannot know: calls x the costs of operations that were measured on the same machine.

use super::costs::Costs;
use super::units::{CREATION, Per, Unit, bare_name, endings, has, units_of};
use super::waits;
use crate::ticks::ticks_divide;
use itertools::Itertools;
use model::{By, CallCount, Outside, Profile};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// More operations take too long to measure; other calls take as long as the cheapest call, at least.
const MOST_OPERATIONS: usize = 12;
// Half a second after tracing has to be enough for all operations and values.
const MOST_VALUES: usize = 3;
const LARGEST: u64 = 1 << 20;
const FAULT: &str = "mem.fault_anonymous";
/// With fewer, page faults take too little time to matter.
const FEWEST_FAULTS: u64 = 1000;

// Without it, the user mode of `dd bs=1` was 0.146 s instead of 0.045 s (bench/trace parts).
/// Stops switch tasks with interrupts disabled: some of their ticks arrive in user mode. This share of the stops' time in the kernel is
/// subtracted from user time.
const TICKED_USER: f64 = 0.05;

#[derive(Debug, Default, PartialEq)]
pub struct Pricing {
    pub operations: Vec<&'static str>,
    /// Parameters with the values that most calls have, `size=1,4096`.
    pub settings: Vec<String>,
}

/// A call that starts or ends a process takes as long as so many others.
const CREATION_WEIGHT: u64 = 1000;

#[derive(Default)]
struct Priced {
    /// Long calls count more.
    weight: u64,
    less: Vec<&'static str>,
    values: BTreeMap<(&'static str, u64), u64>,
}

impl Pricing {
    /// At most `most` operations, with what is subtracted from them: those that price most of the calls whose names are kept.
    pub fn new(profile: &Profile, most: usize, keep: impl Fn(&str) -> bool) -> Pricing {
        let mut all: BTreeMap<&'static str, Priced> = BTreeMap::new();
        for total in profile.totals(By::Class) {
            let count = total.count;
            if !keep(&count.call) {
                continue;
            }
            let weight = if has(CREATION, bare_name(&count.call)) {
                CREATION_WEIGHT
            } else {
                1
            };
            for (ending, calls) in endings(&count) {
                let unit = units_of(&count.call, &count.class, ending).next();
                if let Some((unit, operation)) = unit.and_then(first_operation) {
                    let priced = all.entry(operation).or_default();
                    priced.weight += calls * weight;
                    priced.less = unit.less_operations().collect();
                    priced.add_value(unit, &count, calls);
                }
            }
        }
        let mut by_weight: Vec<(&'static str, Priced)> = all.into_iter().collect();
        by_weight.sort_by_key(|(_, priced)| Reverse(priced.weight));
        by_weight.truncate(most);
        let mut operations: BTreeSet<&'static str> = BTreeSet::new();
        for (operation, priced) in &by_weight {
            // Operations that are subtracted have to be measured as well.
            operations.extend(priced.less.iter().chain([operation]));
        }
        Pricing {
            operations: operations.into_iter().collect(),
            settings: settings(by_weight.iter().map(|(_, priced)| priced)),
        }
    }
}

fn first_operation(unit: &'static Unit) -> Option<(&'static Unit, &'static str)> {
    let operation = unit.operations().next()?;
    (!waits::waits(operation)).then_some((unit, operation))
}

impl Priced {
    fn add_value(&mut self, unit: &Unit, count: &CallCount, calls: u64) {
        if let Some((name, value)) = unit.per.value_in(&count.class)
            && matches!(unit.per, Per::Size | Per::Depth)
        {
            *self
                .values
                .entry((name, value.clamp(1, LARGEST)))
                .or_default() += calls;
        }
    }
}

fn settings<'a>(priced: impl Iterator<Item = &'a Priced>) -> Vec<String> {
    let mut by_name: BTreeMap<&str, BTreeMap<u64, u64>> = BTreeMap::new();
    for ((name, value), calls) in priced.flat_map(|priced| &priced.values) {
        *by_name.entry(name).or_default().entry(*value).or_default() += calls;
    }
    by_name
        .into_iter()
        .map(|(name, values)| {
            let values = values
                .into_iter()
                .sorted_by_key(|(_, calls)| Reverse(*calls));
            let mut values = values.take(MOST_VALUES).map(|(value, _)| value);
            format!("{name}={}", values.join(","))
        })
        .collect()
}

/// The tracer stopped the program, so it knows only of long calls how long they were on a CPU.
pub fn needs_prices(profile: &Profile) -> bool {
    profile.tracer.adds_system_time == Some(false)
        && profile.source.is_none()
        && profile.tracer.priced_by.is_empty()
}

pub fn pricing(profile: &Profile) -> Pricing {
    let mut pricing = Pricing::new(profile, MOST_OPERATIONS, |_| true);
    if profile.usage.minor_faults > Some(FEWEST_FAULTS) && !pricing.operations.contains(&FAULT) {
        pricing.operations.push(FAULT);
    }
    pricing
}

/// Fills in the times on a CPU, and takes the stops out of the CPU times. Nothing happens without the cost of the cheapest call.
pub fn price(profile: &mut Profile, costs: &Costs, operations: &[&str]) {
    let Some(null_ns) = costs.null_ns() else {
        return;
    };
    let stop_ns = profile.tracer.added_cpu_per_call_ns.unwrap_or(0.0);
    for group in &mut profile.groups {
        let (mut calls, mut system_ns) = (0, 0);
        for count in &mut group.calls {
            price_count(count, costs);
            calls += count.calls;
            system_ns += takes_ns(count, null_ns);
        }
        let program_ns = group.cpu_ns.map(|ns| without_stops(ns, calls, stop_ns));
        group.user_ns = program_ns.map(|ns| ns.saturating_sub(system_ns));
        group.system_ns = Some(system_ns);
        group.cpu_ns = None;
    }
    price_objects(profile);
    let all = profile.all_calls();
    let calls_ns = takes_ns(&all, null_ns);
    let usage = &mut profile.usage;
    if let (Some(user_ns), Some(system_ns)) = (usage.user_ns, usage.system_ns) {
        let ran_ns = user_ns.saturating_add(system_ns);
        let processes = usage.processes.unwrap_or(1);
        // With enough ticks the kernel's division is right, and only the stops' system time has to go. Otherwise user and system time are
        // one number, without the stops' calibrated time.
        if ticks_divide(ran_ns as f64 / 1e9, processes) {
            let faults = usage.minor_faults.unwrap_or(0);
            let each_ns = costs.price_of(FAULT).map_or(0.0, |price| price.ns);
            let faults_ns = (faults as f64 * each_ns) as u64;
            let program_ns = calls_ns.saturating_add(faults_ns);
            let stops_ns = system_ns.saturating_sub(program_ns);
            let user_ns = user_ns.saturating_sub((stops_ns as f64 * TICKED_USER) as u64);
            usage.system_ns = Some(program_ns);
            usage.user_ns = Some(user_ns);
            usage.outside = Some(Outside {
                user_ns,
                page_faults_ns: faults_ns,
                ..Outside::default()
            });
        } else {
            let program_ns = without_stops(ran_ns, all.calls, stop_ns);
            usage.user_ns = Some(program_ns.saturating_sub(calls_ns));
            usage.system_ns = Some(calls_ns);
        }
    }
    profile.tracer.priced_by = operations.iter().map(ToString::to_string).collect();
}

/// The tracer's time of long calls is kept. The time of a call that nothing prices is unknown.
fn price_count(count: &mut CallCount, costs: &Costs) {
    if count.on_cpu_ns.is_some() && count.untimed == 0 {
        return;
    }
    count.untimed = 0;
    match costs.prices(costs, count) {
        Some((price, _)) => count.on_cpu_ns = Some((price.ns * count.calls as f64) as u64),
        None => {
            count.on_cpu_ns = Some(0);
            count.untimed = count.calls;
        }
    }
}

/// Each call on a path takes as long as the mean of its kind in the process.
fn price_objects(profile: &mut Profile) {
    let mut means: HashMap<(&str, &str), CallCount> = HashMap::new();
    for group in &profile.groups {
        for count in &group.calls {
            let sum = means.entry((&group.name, &count.call)).or_default();
            sum.add(count);
        }
    }
    for object in &mut profile.objects {
        let mean = means.get(&(object.process.as_str(), object.count.call.as_str()));
        let mean_ns = mean.and_then(CallCount::mean_on_cpu_ns);
        object.count.on_cpu_ns = mean_ns.map(|ns| (ns * object.count.calls as f64) as u64);
    }
}

fn takes_ns(count: &CallCount, null_ns: f64) -> u64 {
    let untimed_ns = (null_ns * count.untimed as f64) as u64;
    count.on_cpu_ns.unwrap_or(0).saturating_add(untimed_ns)
}

fn without_stops(ran_ns: u64, calls: u64, stop_ns: f64) -> u64 {
    ran_ns.saturating_sub((calls as f64 * stop_ns) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::spent::{Part, PartKind, spent};
    use model::fixtures::{called, entering, profile, run};
    use model::{ObjectCount, ObjectKind, REFERENCE, Usage};

    /// Stops of 5 us, 3 of them on a CPU, around 100,000 calls that take 0.2.
    fn stopped() -> Profile {
        let mut profile = profile(vec![called("lseek", 100_000), called("io_setup", 10)]);
        profile.tracer.kind = "ptrace".into();
        profile.tracer.adds_system_time = Some(false);
        profile.tracer.added_per_call_ns = Some(5000.0);
        profile.tracer.added_cpu_per_call_ns = Some(3000.0);
        profile.groups[0].cpu_ns = Some(420_000_000);
        profile.objects = vec![ObjectCount {
            kind: ObjectKind::Path,
            name: "/a".into(),
            process: profile.groups[0].name.clone(),
            directory: None,
            count: called("lseek", 50_000),
        }];
        profile.usage = Usage {
            wall_ns: Some(620_000_000),
            user_ns: Some(100_000_000),
            system_ns: Some(320_000_000),
            processes: Some(1),
            threads: Some(0),
            ..Usage::default()
        };
        profile
    }

    fn costs() -> Costs {
        let records = [(REFERENCE, 100, "call"), ("fd.lseek", 200, "lseek")];
        let records = records.map(|(name, ns, call)| entering(name, ns, &[(call, 1.0)]));
        Costs::from_run(&run(records.into()), None).unwrap()
    }

    fn seconds(profile: &Profile, kind: PartKind) -> f64 {
        let parts = spent(profile).parts;
        parts
            .iter()
            .find(|part| part.kind == kind)
            .map_or(0.0, Part::seconds)
    }

    #[test]
    fn calls_take_what_they_cost_and_the_stops_the_rest() {
        let mut profile = stopped();
        assert!(needs_prices(&profile));
        assert_eq!(seconds(&profile, PartKind::Calls), 0.0);
        price(&mut profile, &costs(), &["fd.lseek"]);
        assert!(!needs_prices(&profile));
        // 0.2 us each, and the cheapest call's 0.1 for those without a price.
        let calls_s = seconds(&profile, PartKind::Calls);
        assert!((calls_s - 0.020_001).abs() < 1e-9, "{calls_s}");
        let user_s = seconds(&profile, PartKind::UserMode);
        assert!((0.08..0.1).contains(&user_s), "{user_s}");
        let tracing_s = seconds(&profile, PartKind::Tracer);
        assert!((tracing_s + calls_s + user_s - 0.62).abs() < 1e-6);
        assert_eq!(profile.all_calls().untimed, 10);
        // Half of the calls are on this path.
        assert_eq!(profile.objects[0].count.on_cpu_ns, Some(10_000_000));
        // 0.42 s without 100,010 stops.
        let group = &profile.groups[0];
        let ran_ns = group.user_ns.zip(group.system_ns).map(|(a, b)| a + b);
        assert_eq!(ran_ns, Some(119_970_000));
    }

    #[test]
    fn calls_that_the_tracer_timed_keep_their_times() {
        let mut profile = stopped();
        profile.groups[0].calls[0].on_cpu_ns = Some(50_000_000);
        price(&mut profile, &costs(), &["fd.lseek"]);
        assert_eq!(profile.all_calls().on_cpu_ns, Some(50_000_000));
    }

    #[test]
    fn few_ticks_do_not_tell_user_mode_from_the_rest() {
        let mut profile = stopped();
        profile.usage.processes = Some(1000);
        price(&mut profile, &costs(), &["fd.lseek"]);
        assert_eq!(seconds(&profile, PartKind::UserMode), 0.0);
        assert!(seconds(&profile, PartKind::Calls) > 0.0);
    }

    #[test]
    fn what_prices_most_calls_is_measured_at_their_parameters() {
        let mut profile = profile(vec![called("lseek", 10), called("execve", 1)]);
        fn read(size: u64, calls: u64) -> CallCount {
            let mut count = called("pread64", calls);
            count.class.size = Some(size);
            count.class.descriptor = Some(model::DescriptorKind::File);
            count
        }

        profile.groups[0].calls.extend([read(4096, 20), read(8, 5)]);
        let pricing = Pricing::new(&profile, 2, |_| true);
        assert!(pricing.operations.contains(&"io.pread"), "{pricing:?}");
        assert!(!pricing.operations.contains(&"fd.lseek"), "{pricing:?}");
        assert_eq!(pricing.settings, ["size=4096,8"]);
    }
}
