//! What the workload would take with the unit costs of another run: another machine, kernel, environment or article. Pure;
//! `attribute` calls it.
//!
//! Class by class, seconds there = seconds here x (unit cost there / unit cost here). Seconds here are measured time on
//! the CPU, or calls x unit cost where only counts are known. The ratio is taken of the bare crossing and of the work apart,
//! as far as a null call is known on both sides: what makes every crossing dearer (a tracer, a filter, another hypervisor)
//! adds the same to a call of 100 ns and to one of 10 us, however cold its caches are. Rejected: one ratio of the whole,
//! which multiplies the work of a call that is dearer in the program than in its operation by the dearer crossing. For the
//! same reason the ratio of work is at most `MOST_RATIO`; what is beyond is added to each call.
//!
//! The error is that of the change: where both unit costs are equal nothing changes, whatever the call does beside. Calls
//! that no operation is like are kept out and listed; their bare crossing, which every call makes, is a line of its own.

use super::costs::{Cost, Costs, Price};
use super::here::{fault_count, s};
use super::spread::{MODEL_SD, Seconds, Z, sum, sum_by_call};
use super::units::{CREATION, FAMILIES, FAULTS, bare_name};
use crate::model::{By, CallCount, Class, Profile};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The unit costs of this machine; without them nothing is compared.
    #[serde(skip)]
    pub here: Option<String>,
    /// The unit costs that it is compared with.
    #[serde(rename = "costs")]
    pub there: String,
    /// Classes with a unit cost on both sides, the greatest change first.
    #[serde(rename = "calls")]
    pub rows: Vec<ChangeRow>,
    /// Lines beside the calls, and their totals.
    pub lines: Vec<Line>,
    /// All lines together.
    pub total: Option<Line>,
    /// Bare crossings of all calls: in the lines as far as calls have no unit cost.
    pub crossings: Option<Line>,
    /// Families of calls that a reader asks for by name.
    pub families: Vec<Line>,
    /// Calls without a unit cost on both sides, with their number and measured seconds.
    pub unpriced: Vec<Unpriced>,
    /// Time blocked in calls, which nothing here predicts.
    pub blocked_s: Option<f64>,
    /// Wall time there, if the change lies on the longest path, and if all processors share it.
    pub wall: Option<Wall>,
}

/// A call that is kept out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Unpriced {
    #[serde(rename = "name")]
    pub call: String,
    pub calls: u64,
    pub on_cpu_s: Option<f64>,
}

/// Wall time, if waiting stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Wall {
    pub here_s: f64,
    pub there_s: Seconds,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeRow {
    #[serde(rename = "name")]
    pub call: String,
    #[serde(flatten)]
    pub class: Class,
    pub calls: u64,
    pub here_s: f64,
    pub ratio: f64,
    /// There minus here.
    #[serde(rename = "change_s")]
    pub change: Seconds,
    /// What priced it.
    #[serde(rename = "unit")]
    pub from: String,
}

/// Seconds here and there, and the difference with its range.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    #[serde(rename = "name")]
    pub what: String,
    pub here_s: f64,
    #[serde(rename = "change_s")]
    pub change: Seconds,
    pub note: String,
}

impl Line {
    pub fn there_s(&self) -> f64 {
        self.here_s + self.change.value
    }
}

/// An operation whose work is a smaller share of its null call says nothing about how much more work costs.
const LEAST_WORK: f64 = 0.1;

/// Work that is dearer by more than this is not the same work on another machine: the rest is taken as something added to
/// each call, such as what a tracer does with its arguments, and not multiplied by the call's size or cold caches.
const MOST_RATIO: f64 = 4.0;

pub fn change(profile: &Profile, here: Option<&Costs>, there: &Costs) -> Change {
    let mut change = Change {
        here: here.map(|costs| costs.label.clone()),
        there: there.label.clone(),
        rows: vec![],
        lines: vec![],
        total: None,
        crossings: None,
        families: vec![],
        unpriced: vec![],
        blocked_s: profile.all_calls().blocked_ns.map(s),
        wall: None,
    };
    let Some(here) = here else { return change };
    let mut kept_out = CallCount::default();
    let mut unpriced = IndexMap::new();
    for count in profile.totals(By::Class).into_iter().map(|total| total.count) {
        match row(&count, here, there) {
            Some(row) => change.rows.push(row),
            None => {
                kept_out.add(&count);
                keep_out(&mut unpriced, &count);
            }
        }
    }
    change.unpriced =
        unpriced.into_iter().map(|(call, (calls, on_cpu_s))| Unpriced { call, calls, on_cpu_s }).collect();
    change.rows.sort_by(|a, b| b.change.value.abs().total_cmp(&a.change.value.abs()));
    change.crossings = crossings(&profile.all_calls(), here, there, "all crossings");
    change.lines = lines(profile, &change.rows, &kept_out, here, there);
    change.families = families(&change.rows);
    change.total = total(&change.lines);
    change.wall = wall(profile, change.total.as_ref());
    change
}

fn keep_out(unpriced: &mut IndexMap<String, (u64, Option<f64>)>, count: &CallCount) {
    let seconds = count.on_cpu_ns.map(s);
    let (calls, sum) = unpriced.entry(count.call.clone()).or_insert((0, None));
    *calls = calls.saturating_add(count.calls);
    *sum = sum.map_or(seconds, |sum| Some(sum + seconds.unwrap_or(0.0)));
}

fn row(count: &CallCount, here: &Costs, there: &Costs) -> Option<ChangeRow> {
    let (a, b) = here.prices(there, &count.call, &count.class)?;
    let here_s = count.on_cpu_ns.map_or(count.calls as f64 * a.cost.ns / 1e9, s);
    Some(ChangeRow {
        call: count.call.clone(),
        class: count.class.clone(),
        calls: count.calls,
        here_s,
        ratio: b.cost.ns / a.cost.ns,
        change: change_of_call(count, here_s, (here, &a), (there, &b)),
        from: a.from,
    })
}

/// The change of a class: of its crossings, without the model's error, and of its work. As one where a call does not cross,
/// or where no null call is known.
fn change_of_call(count: &CallCount, here_s: f64, here: (&Costs, &Price), there: (&Costs, &Price)) -> Seconds {
    let (a, b) = (here.1.cost, there.1.cost);
    let model_sd = MODEL_SD.hypot(here.1.beyond).hypot(there.1.beyond);
    let nulls = here.0.null_call().zip(there.0.null_call()).map(|(a, b)| (a.cost, b.cost));
    let Some((null_a, null_b)) = nulls.filter(|(null_a, null_b)| a.ns >= null_a.ns && b.ns >= null_b.ns) else {
        return changed(here_s, a, b, model_sd);
    };
    let crossing_s = count.calls as f64 * null_a.ns / 1e9;
    let crossing = changed(crossing_s, null_a, null_b, 0.0);
    let (work_a, work_b) = (a.ns - null_a.ns, b.ns - null_b.ns);
    let calls = count.calls as f64 / 1e9;
    // How much work this is of the operation's: once where it cannot be told.
    let times = match count.on_cpu_ns {
        Some(_) if work_a > LEAST_WORK * null_a.ns => (here_s - crossing_s).max(0.0) / work_a,
        _ => calls,
    };
    let scaled_ns = work_b.min(MOST_RATIO * work_a.max(LEAST_WORK * null_a.ns));
    let work = Seconds::within(times * (scaled_ns - work_a) + calls * (work_b - scaled_ns), model_sd);
    let sd = |whole: Cost, null: Cost| (whole.ns * whole.log_sd).hypot(null.ns * null.log_sd);
    let ratio = scaled_ns / work_a.max(LEAST_WORK * null_a.ns);
    widened(work, Z * times * (ratio * sd(a, null_a)).hypot(sd(b, null_b).min(scaled_ns))).plus(crossing)
}

/// The change of `here_s` from one unit cost to the other: the model errs in proportion to the change, the intervals of
/// the unit costs in proportion to the seconds.
fn changed(here_s: f64, here: Cost, there: Cost, model_sd: f64) -> Seconds {
    let ratio = there.ns / here.ns;
    let model = Seconds::within(here_s * (ratio - 1.0), model_sd);
    widened(model, Z * here_s * ratio * here.log_sd.hypot(there.log_sd))
}

/// The range with another, independent error of so many seconds.
fn widened(time: Seconds, error: f64) -> Seconds {
    let end = |end: f64| (end - time.value).hypot(error);
    Seconds { value: time.value, low: time.value - end(time.low), high: time.value + end(time.high) }
}

/// The bare crossing of `count` calls on both sides; no model error, as a null call is nothing else.
fn crossings(count: &CallCount, here: &Costs, there: &Costs, what: &str) -> Option<Line> {
    let (a, b) = (here.null_call()?.cost, there.null_call()?.cost);
    let here_s = count.calls as f64 * a.ns / 1e9;
    let note = format!("{} calls x {:.1} ns here, {:.1} ns there", count.calls, a.ns, b.ns);
    Some(Line { what: what.to_string(), here_s, change: changed(here_s, a, b, 0.0), note })
}

fn lines(profile: &Profile, rows: &[ChangeRow], kept_out: &CallCount, here: &Costs, there: &Costs) -> Vec<Line> {
    let creates = |row: &&ChangeRow| CREATION.contains(&bare_name(&row.call));
    let mut lines = vec![line("calls", rows.iter().filter(|row| !creates(row)), "class by class, as listed")];
    if rows.iter().any(|row| creates(&row)) {
        lines.push(line("making processes", rows.iter().filter(creates), "fork, clone, execve, exit, wait"));
    }
    lines.extend(faults(profile, here, there));
    if kept_out.calls > 0 {
        lines.extend(crossings(kept_out, here, there, "other crossings"));
    }
    lines
}

fn line<'a>(what: &str, rows: impl Iterator<Item = &'a ChangeRow> + Clone, note: &str) -> Line {
    let change = sum_by_call(rows.clone().map(|row| (row.call.as_str(), row.change)));
    Line { what: what.to_string(), here_s: rows.map(|row| row.here_s).sum(), change, note: note.to_string() }
}

/// Faults x unit cost, at most the system time that calls leave over, on both sides alike.
fn faults(profile: &Profile, here: &Costs, there: &Costs) -> Option<Line> {
    let count = fault_count(profile).filter(|count| *count > 0)?;
    let both = |operation: &&str| Some((here.price_of(operation)?, there.price_of(operation)?));
    let (a, b) = FAULTS.iter().find_map(both)?;
    let on_cpu = profile.all_calls().on_cpu_ns;
    let ceiling =
        profile.usage.system_ns.zip(on_cpu).map_or(f64::INFINITY, |(all, calls)| s(all.saturating_sub(calls)));
    let here_s = (count as f64 * a.cost.ns / 1e9).min(ceiling);
    let note = format!("{count} faults, by {}", a.from);
    Some(Line { what: "page faults".to_string(), here_s, change: changed(here_s, a.cost, b.cost, MODEL_SD), note })
}

fn families(rows: &[ChangeRow]) -> Vec<Line> {
    let of = |(name, calls): &(&str, &[&str])| {
        let own = || rows.iter().filter(|row| calls.contains(&bare_name(&row.call)));
        own().next().map(|_| line(name, own(), ""))
    };
    FAMILIES.iter().filter_map(of).collect()
}

fn total(lines: &[Line]) -> Option<Line> {
    let here_s = lines.iter().map(|line| line.here_s).sum();
    let change = sum(lines.iter().map(|line| line.change));
    (!lines.is_empty()).then(|| Line { what: "total".to_string(), here_s, change, note: String::new() })
}

/// Wall time there: at most the whole change on one path, at least its share of the processors.
fn wall(profile: &Profile, total: Option<&Line>) -> Option<Wall> {
    let wall = profile.usage.wall_ns.map(s)?;
    let change = total?.change;
    let cpu = profile.usage.user_ns.zip(profile.usage.system_ns).map(|(user, system)| s(user) + s(system));
    // As parallel as it was here, the change spreads; as serial as it may be, all of it is waited for.
    let parallel = cpu.map_or(1.0, |cpu| if wall > 0.0 { (cpu / wall).max(1.0) } else { 1.0 });
    let value = wall + change.value / parallel;
    let ends = [change.low, change.high, change.low / parallel, change.high / parallel].map(|end| wall + end);
    let low = ends.iter().copied().fold(value, f64::min).max(0.0);
    let there_s = Seconds { value, low, high: ends.iter().copied().fold(value, f64::max) };
    Some(Wall { here_s: wall, there_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_unit_costs_change_nothing() {
        let cost = Cost { ns: 100.0, log_sd: 0.0 };
        assert_eq!(changed(5.0, cost, cost, MODEL_SD), Seconds::exactly(0.0));
        let twice = changed(5.0, cost, Cost { ns: 200.0, ..cost }, MODEL_SD);
        assert!((twice.value - 5.0).abs() < 1e-9 && (twice.low - 2.5).abs() < 1e-9 && (twice.high - 10.0).abs() < 1e-9);
    }

    #[test]
    fn intervals_of_unit_costs_widen_the_range() {
        let cost = |ns| Cost { ns, log_sd: 0.01 };
        let change = changed(5.0, cost(100.0), cost(100.0), MODEL_SD);
        assert!(change.low < -0.1 && change.high > 0.1 && change.value == 0.0, "{change:?}");
    }
}
