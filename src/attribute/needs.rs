//! What a run must measure so that it can price a profile: the operations that are like its calls, at the sizes, depths and
//! set sizes that its classes have. Pure; `run --profile` plans by it, and `attribute` without unit costs names it.

use super::units::{Ending, FAULTS, NULL_CALLS, Unit, endings, units_of};
use crate::model::{By, CallCount, Concurrency, Need, Operation, Profile};
use indexmap::{IndexMap, IndexSet};
use std::collections::{BTreeMap, BTreeSet};

/// What to measure, and what that leaves out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// Operations by falling share, each with ascending values of its parameter.
    pub cases: Vec<Need>,
    /// Whether shares are of the calls' time; of their number where the profile has no times.
    pub by_time: bool,
    /// Share of the calls that the cases price, from 0 to 1.
    pub priced: f64,
    /// The calls that no operation is like, with their shares, greatest first.
    pub unpriced: Vec<(String, f64)>,
    /// How many threads were on a CPU at once while any was, on average; `None` if the profile does not say.
    pub threads: Option<u64>,
}

/// Most values of one operation's parameter: costs in between lie on the line through these.
const MOST_VALUES: usize = 6;

/// The weight that each value of the parameter prices; no parameter is `None`.
type Values = BTreeMap<Option<u64>, f64>;

#[derive(Default)]
struct Wanted {
    parameter: Option<&'static str>,
    values: Values,
}

/// The operations that can be measured here; `None` where that is not known, and any may be wanted.
type Catalogue<'a> = Option<&'a [Operation]>;

/// The needs of `profile`, of the operations that `catalogue` offers.
pub fn needs(profile: &Profile, catalogue: Catalogue) -> Needs {
    let totals = profile.totals(By::Class);
    let by_time = totals.iter().any(|total| time_ns(&total.count).is_some());
    let weight = |count: &CallCount| if by_time { time_ns(count).unwrap_or(0) } else { count.calls } as f64;
    let mut wanted: IndexMap<&'static str, Wanted> = IndexMap::new();
    let mut unpriced: IndexMap<String, f64> = IndexMap::new();
    let (mut whole, mut priced) = (0.0, 0.0);
    for count in totals.iter().map(|total| &total.count) {
        whole += weight(count);
        let endings = endings(count);
        let calls: f64 = endings.iter().map(|(_, calls)| *calls as f64).sum();
        for (ending, own) in endings {
            let own = weight(count) * own as f64 / calls;
            match best(count, ending, catalogue) {
                Some(way) => {
                    priced += own;
                    add_wanted(&mut wanted, way, count, own);
                }
                None => *unpriced.entry(count.call.clone()).or_default() += own,
            }
        }
    }
    let share = |weight: f64| if whole > 0.0 { weight / whole } else { 0.0 };
    let mut unpriced: Vec<(String, f64)> = unpriced.into_iter().map(|(call, own)| (call, share(own))).collect();
    unpriced.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let mut all = unshared(catalogue, &wanted);
    all.extend(cases(wanted, catalogue, &share));
    let threads = profile.usage.concurrency.as_ref().and_then(mean_threads);
    Needs { cases: all, by_time, priced: share(priced), unpriced, threads }
}

/// On a CPU; between entry and return where that split is not known.
fn time_ns(count: &CallCount) -> Option<u64> {
    count.on_cpu_ns.or(count.elapsed_ns)
}

/// The operation that is most like the calls that end so, of those that can be measured here, as can what is subtracted from it.
fn best(count: &CallCount, ending: Ending, catalogue: Catalogue) -> Option<(&'static Unit, &'static str)> {
    let complete = |unit: &&Unit| unit.less.iter().all(|less| has_operation(catalogue, less));
    let first = |unit: &'static Unit| Some((unit, *unit.operations.iter().find(|id| has_operation(catalogue, id))?));
    units_of(&count.call, &count.class, ending).filter(complete).find_map(first)
}

fn find<'a>(catalogue: Catalogue<'a>, id: &str) -> Option<&'a Operation> {
    catalogue?.iter().find(|operation| operation.id == id && operation.available)
}

fn has_operation(catalogue: Catalogue, id: &str) -> bool {
    catalogue.is_none() || find(catalogue, id).is_some()
}

fn add_wanted(wanted: &mut IndexMap<&'static str, Wanted>, way: (&Unit, &'static str), count: &CallCount, weight: f64) {
    let (unit, operation) = way;
    let at = unit.measured_at(&count.class);
    let own = wanted.entry(operation).or_default();
    own.parameter = own.parameter.or(at.map(|(name, _)| name));
    *own.values.entry(at.map(|(_, value)| value)).or_default() += weight;
    for less in unit.less {
        *wanted.entry(less).or_default().values.entry(None).or_default() += weight;
    }
}

/// What prices no class of calls by itself, if no call has wanted it: the null call and a page fault, which price all crossings and
/// faults.
fn unshared(catalogue: Catalogue, wanted: &IndexMap<&'static str, Wanted>) -> Vec<Need> {
    let one = |ids: &[&'static str]| ids.iter().copied().find(|id| has_operation(catalogue, id));
    let always = [one(NULL_CALLS), one(FAULTS)].into_iter().flatten();
    let ids: IndexSet<&str> = always.filter(|id| !wanted.contains_key(id)).collect();
    ids.into_iter().map(|id| Need { operation: id.to_string(), params: BTreeMap::new(), share: None }).collect()
}

fn cases(wanted: IndexMap<&'static str, Wanted>, catalogue: Catalogue, share: &impl Fn(f64) -> f64) -> Vec<Need> {
    let mut all: Vec<(f64, Vec<Need>)> = Vec::new();
    for (operation, mut own) in wanted {
        let weight: f64 = own.values.values().sum();
        name_default(operation, &mut own, catalogue);
        let need = |(value, weight): (Option<u64>, f64)| Need {
            operation: operation.to_string(),
            params: own.parameter.zip(value).map(|(name, value)| (name.to_string(), value)).into_iter().collect(),
            share: Some(share(weight)),
        };
        all.push((weight, fewer(own.values).into_iter().map(need).collect()));
    }
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    all.into_iter().flat_map(|(_, needs)| needs).collect()
}

/// Gives what is wanted without a value the default of the parameter, where others are wanted with one.
fn name_default(operation: &str, own: &mut Wanted, catalogue: Catalogue) {
    let declared =
        find(catalogue, operation).and_then(|found| found.params.iter().find(|p| own.parameter == Some(&p.name)));
    let Some(default) = declared.map(|parameter| parameter.default) else { return };
    if let Some(weight) = own.values.remove(&None) {
        *own.values.entry(Some(default)).or_default() += weight;
    }
}

/// At most `MOST_VALUES` of them: the least and the greatest, and those between that price most. The others' weight goes to
/// the nearest below.
fn fewer(values: Values) -> Values {
    let ends = [values.keys().next().copied(), values.keys().next_back().copied()];
    let mut by_weight: Vec<(Option<u64>, f64)> = values.iter().map(|(value, weight)| (*value, *weight)).collect();
    by_weight.sort_by(|(a, x), (b, y)| ends.contains(&Some(*b)).cmp(&ends.contains(&Some(*a))).then(y.total_cmp(x)));
    by_weight.truncate(MOST_VALUES);
    let mut kept: Values = by_weight.iter().map(|(value, _)| (*value, 0.0)).collect();
    for (value, weight) in values {
        if let Some((_, own)) = kept.range_mut(..=value).next_back() {
            *own += weight;
        }
    }
    kept
}

/// The mean of how many threads were on a CPU, while any was, rounded.
fn mean_threads(concurrency: &Concurrency) -> Option<u64> {
    let times = concurrency.on_cpu_ns.iter().enumerate().map(|(i, ns)| ((i + 1) as f64, *ns as f64));
    let (sum, whole) = times.fold((0.0, 0.0), |(sum, whole), (threads, ns)| (sum + threads * ns, whole + ns));
    (whole > 0.0).then(|| (sum / whole).round() as u64)
}

impl Needs {
    /// The operations, each once.
    pub fn operations(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.cases.iter().map(|need| need.operation.as_str()).collect();
        names.dedup();
        names
    }

    /// All values of each parameter, as `--param` takes them.
    pub fn parameters(&self) -> Vec<String> {
        let mut values: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for (name, value) in self.cases.iter().flat_map(|need| &need.params) {
            values.entry(name).or_default().insert(*value);
        }
        let list = |values: BTreeSet<u64>| values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        values.into_iter().map(|(name, values)| format!("{name}={}", list(values))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Class, DescriptorKind, Parameter, ProcessGroup};

    fn operation(id: &str, parameter: Option<(&str, u64)>) -> Operation {
        let params = parameter.map(|(name, default)| Parameter { name: name.into(), default, what: String::new() });
        Operation { id: id.into(), params: params.into_iter().collect(), available: true, ..Operation::default() }
    }

    fn catalogue() -> Vec<Operation> {
        let flat =
            ["id.getppid", "mem.fault_anonymous", "fd.close", "file.close", "process.wait", "io.fsync", "fd.lseek"];
        let mut all: Vec<Operation> = flat.iter().map(|id| operation(id, None)).collect();
        let others = [
            ("io.read_file", "size", 1),
            ("io.pwrite", "size", 4096),
            ("file.open_close", "depth", 1),
            ("process.fork_wait", "rss", 0),
            ("process.exit_wait", "mib", 0),
        ];
        all.extend(others.map(|(id, name, default)| operation(id, Some((name, default)))));
        all
    }

    fn call(name: &str, class: Class, calls: u64, on_cpu_ns: Option<u64>) -> CallCount {
        CallCount { call: name.into(), class, calls, on_cpu_ns, ..CallCount::default() }
    }

    fn of(calls: Vec<CallCount>) -> Needs {
        let groups = vec![ProcessGroup { name: "x".into(), calls, ..ProcessGroup::default() }];
        needs(&Profile { groups, ..Profile::default() }, Some(&catalogue()))
    }

    fn read(size: u64, ns: u64) -> CallCount {
        let class = Class { descriptor: Some(DescriptorKind::File), size: Some(size), ..Class::default() };
        call("read", class, 1, Some(ns))
    }

    fn shown(needs: &Needs) -> Vec<String> {
        let params =
            |need: &Need| need.params.iter().map(|(name, value)| format!(" {name}={value}")).collect::<String>();
        needs.cases.iter().map(|need| format!("{}{}", need.operation, params(need))).collect()
    }

    #[test]
    fn each_class_has_its_case_and_what_is_subtracted_has_one_too() {
        let open = call("openat", Class { depth: Some(3), ..Class::default() }, 9, Some(600));
        let found = of(vec![read(4096, 300), read(1, 50), open, call("keyctl", Class::default(), 2, Some(50))]);
        let cases = [
            "id.getppid",
            "mem.fault_anonymous",
            "file.open_close depth=3",
            "file.close",
            "io.read_file size=1",
            "io.read_file size=4096",
        ];
        assert_eq!(shown(&found), cases);
        let shares: Vec<Option<f64>> = found.cases.iter().map(|need| need.share).collect();
        assert_eq!(shares, [None, None, Some(0.6), Some(0.6), Some(0.05), Some(0.3)]);
        assert!(found.by_time && (found.priced - 0.95).abs() < 1e-12);
        assert_eq!(found.unpriced, [("keyctl".to_string(), 0.05)]);
        assert_eq!(found.operations().len(), 5);
        assert_eq!(found.parameters(), ["depth=3", "size=1,4096"]);
    }

    #[test]
    fn without_times_calls_are_counted() {
        let found = of(vec![call("close", Class::default(), 3, None), call("keyctl", Class::default(), 1, None)]);
        assert!(!found.by_time && (found.priced - 0.75).abs() < 1e-12);
        assert_eq!(shown(&of(vec![])), ["id.getppid", "mem.fault_anonymous"]);
    }

    /// What is subtracted is measured at the operation's default, before larger values.
    #[test]
    fn defaults_come_before_values_of_the_same_operation() {
        let found =
            of(vec![call("fork", Class::default(), 1, Some(100)), call("exit_group", Class::default(), 1, Some(900))]);
        let cases = ["process.exit_wait mib=0", "process.exit_wait mib=1", "process.wait", "process.fork_wait"];
        assert_eq!(shown(&found)[2..], cases);
    }

    #[test]
    fn many_sizes_become_a_few_that_hold_the_ends_and_the_most() {
        let sizes: Vec<CallCount> = (0..20).map(|log| read(1 << log, 10 + 1000 * u64::from(log % 5 == 2))).collect();
        let found = of(sizes);
        let values: Vec<u64> = found.cases.iter().filter_map(|need| need.params.get("size").copied()).collect();
        assert_eq!(values, [1, 1 << 2, 1 << 7, 1 << 12, 1 << 17, 1 << 19]);
        let sum: f64 = found.cases.iter().filter_map(|need| need.share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn threads_are_those_that_ran_at_once() {
        let mean =
            |on_cpu_ns: &[u64]| mean_threads(&Concurrency { on_cpu_ns: on_cpu_ns.to_vec(), ..Concurrency::default() });
        assert_eq!([mean(&[100]), mean(&[10, 0, 90]), mean(&[])], [Some(1), Some(3), None]);
    }
}
