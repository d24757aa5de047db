//! Where the workload's time went, on the machine where it ran. Pure; `attribute` calls it.
//!
//! The profile's own times are the truth, unit costs only divide them. The account adds up to wall time x processors used:
//! user mode, the calls (bare crossing, work, creation of processes), page faults, what is unexplained of the system time,
//! and idle. Blocked time is time of threads, not of processors: it stands beside the sum, not in it.

use super::costs::{Cost, Costs, Price};
use super::spread::{MODEL_SD, Seconds, sum_by_call};
use super::units::{CREATION, FAULTS, bare_name};
use crate::model::{By, CallCount, Class, Profile};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Here {
    #[serde(rename = "calls")]
    pub rows: Vec<Row>,
    pub account: Account,
    /// Whether times were measured; false where counts are priced by unit costs.
    pub measured: bool,
    /// The unit costs that were used.
    pub costs: Option<String>,
}

/// One call, or one class of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    #[serde(rename = "name")]
    pub call: String,
    /// Empty where rows are told apart by call.
    #[serde(flatten)]
    pub class: Class,
    pub calls: u64,
    pub failures: u64,
    pub on_cpu_s: Option<f64>,
    pub blocked_s: Option<f64>,
    /// Between entry and return, in seconds.
    pub elapsed_s: Option<f64>,
    /// Elapsed time as a share of wall time.
    pub wall_share: Option<f64>,
    /// Calls x cost of a null call; of measured calls at most their time on the CPU.
    #[serde(rename = "crossing_s")]
    pub crossing: Option<Seconds>,
    /// The rest of the time on the CPU.
    #[serde(rename = "work_s")]
    pub work: Option<Seconds>,
    /// Calls x unit cost, class by class.
    #[serde(rename = "by_unit_cost_s")]
    pub priced: Option<Seconds>,
}

/// Where the time of the processors went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Account {
    pub wall_s: Option<f64>,
    /// Processors that the workload could use.
    pub cpus: Option<u64>,
    /// Parts that add up to `whole`.
    pub parts: Vec<Part>,
    /// Wall time x processors; or user + system time where wall time is not known.
    #[serde(rename = "whole_s")]
    pub whole: Option<f64>,
    /// What is not part of the sum.
    pub beside: Vec<Part>,
    /// What must be known to read it.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    #[serde(rename = "name")]
    pub what: &'static str,
    pub seconds: Seconds,
    /// In words: how it is known.
    pub note: String,
}

pub fn here(profile: &Profile, costs: Option<&Costs>, by: By) -> Here {
    let null = costs.and_then(Costs::null_call).map(|price| price.cost);
    let measured = profile.all_calls().on_cpu_ns.is_some();
    let by = if by == By::Class { By::Class } else { By::Call };
    let rows = profile.totals(by).iter().map(|total| row(profile, costs, null, &total.count)).collect();
    let account = if measured { account(profile, costs, null) } else { priced(profile, costs, null) };
    Here { rows, account, measured, costs: costs.map(|costs| costs.label.clone()) }
}

/// Nanoseconds as seconds.
pub fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn row(profile: &Profile, costs: Option<&Costs>, null: Option<Cost>, count: &CallCount) -> Row {
    let crossing = null.map(|null| crossing(count, null));
    let elapsed_s = count.elapsed_ns().map(s);
    let wall = profile.usage.wall_ns.filter(|wall| *wall > 0).map(s);
    Row {
        call: count.call.clone(),
        class: count.class.clone(),
        calls: count.calls,
        failures: count.failures(),
        on_cpu_s: count.on_cpu_ns.map(s),
        blocked_s: count.blocked_ns.map(s),
        elapsed_s,
        wall_share: elapsed_s.zip(wall).map(|(elapsed, wall)| elapsed / wall),
        crossing,
        work: count.on_cpu_ns.map(|ns| crossing.unwrap_or_default().taken_from(s(ns))),
        priced: costs.and_then(|costs| price_of_call(profile, costs, count)),
    }
}

/// The bare crossing of all these calls. A measured call cannot have crossed for longer than it ran: its
/// time is that of the whole call, by the calibration of its tracer.
fn crossing(count: &CallCount, null: Cost) -> Seconds {
    let calls = Seconds::within(count.calls as f64 * null.ns / 1e9, null.log_sd);
    let most = count.on_cpu_ns.map_or(f64::INFINITY, s);
    Seconds { value: calls.value.min(most), low: calls.low.min(most), high: calls.high.min(most) }
}

/// Calls x unit cost of all classes of a row that have one; `None` where none has.
fn price_of_call(profile: &Profile, costs: &Costs, row: &CallCount) -> Option<Seconds> {
    let classes = profile.totals(By::Class);
    let own = classes.iter().map(|total| &total.count).filter(|count| count.call == row.call);
    let own = own.filter(|count| row.class == Class::default() || count.class == row.class);
    let parts: Vec<(&str, Seconds)> =
        own.filter_map(|count| Some(("", priced_count(count, &costs.price(&count.call, &count.class)?)))).collect();
    (!parts.is_empty()).then(|| sum_by_call(parts.into_iter()))
}

/// Calls x unit cost, with the model's error.
pub fn priced_count(count: &CallCount, price: &Price) -> Seconds {
    Seconds::within(count.calls as f64 * price.cost.ns / 1e9, MODEL_SD.hypot(price.beyond).hypot(price.cost.log_sd))
}

/// Calls of all kinds, divided.
struct Calls {
    crossing: Seconds,
    work: Seconds,
    creation: Seconds,
    blocked: f64,
    all_on_cpu: f64,
}

fn calls(profile: &Profile, null: Option<Cost>) -> Calls {
    let totals = profile.totals(By::Call);
    let (mut crossings, mut work, mut creation) = (Vec::new(), Vec::new(), Vec::new());
    for count in totals.iter().map(|total| &total.count) {
        let on_cpu = count.on_cpu_ns.map_or(0.0, s);
        let own = null.map(|null| crossing(count, null)).unwrap_or_default();
        let rest = own.taken_from(on_cpu);
        if CREATION.contains(&bare_name(&count.call)) { &mut creation } else { &mut work }
            .push((count.call.as_str(), rest));
        crossings.push(own);
    }
    // One null call prices all crossings: their errors are common.
    let crossing = sum_by_call(crossings.iter().map(|own| ("", *own)));
    let all = profile.all_calls();
    Calls {
        crossing,
        work: sum_by_call(work.into_iter()),
        creation: sum_by_call(creation.into_iter()),
        blocked: all.blocked_ns.map_or(0.0, s),
        all_on_cpu: all.on_cpu_ns.map_or(0.0, s),
    }
}

/// What the tracer took of the workload's own system time.
fn tracing(profile: &Profile) -> f64 {
    let added = profile.tracer.added_per_call_ns.filter(|_| profile.tracer.adds_system_time);
    added.unwrap_or(0.0) * profile.all_calls().calls as f64 / 1e9
}

fn account(profile: &Profile, costs: Option<&Costs>, null: Option<Cost>) -> Account {
    let usage = &profile.usage;
    let calls = calls(profile, null);
    let mut account = Account { wall_s: usage.wall_ns.map(s), cpus: cpus_used(profile), ..Account::default() };
    let mut parts = Vec::new();
    parts.extend(usage.user_ns.map(|ns| part("user mode", Seconds::exactly(s(ns)), "by the kernel's accounting")));
    parts.extend(
        null.map(|_| part("bare crossings", calls.crossing, "calls x cost of a null call, at most what they ran")),
    );
    parts.push(part("work in calls", calls.work, "measured time on the CPU without the crossing"));
    parts.push(part("making processes", calls.creation, "fork, clone, execve, exit and wait: the same, kept apart"));
    if let Some(system) = usage.system_ns.map(s) {
        let tracing = tracing(profile);
        let residual = system - calls.all_on_cpu - tracing;
        let faults = faults(profile, costs, residual.max(0.0));
        let of_faults = faults.as_ref().map_or(Seconds::default(), |part| part.seconds);
        parts.extend(faults);
        let rest = of_faults.taken_from(residual);
        if tracing > 0.0 {
            parts.push(part("the tracer", Seconds::exactly(tracing), "calls x what it adds to a null call"));
        }
        parts.push(part(
            "unexplained system time",
            rest,
            "interrupts, scheduling, entry and exit outside the tracer's hooks, dearer faults",
        ));
        if residual < 0.0 {
            account.notes.push(
                "The calls' time exceeds the kernel's accounting of system time: part of each crossing is user mode, and \
                 the accounting may go by ticks."
                    .to_string(),
            );
        }
    }
    finish(&mut account, parts, profile);
    account.beside.push(part(
        "blocked",
        Seconds::exactly(calls.blocked),
        "threads waiting in calls: no processor's time",
    ));
    account.notes.extend(added(profile));
    account
}

/// Puts the parts in, with idle time where wall time is known; the whole is what they add up to.
fn finish(account: &mut Account, mut parts: Vec<Part>, profile: &Profile) {
    let usage = &profile.usage;
    let cpu = usage.user_ns.zip(usage.system_ns).map(|(user, system)| s(user) + s(system));
    account.whole = match (account.wall_s, account.cpus, cpu) {
        (Some(wall), Some(cpus), Some(cpu)) => {
            let whole = wall * cpus as f64;
            parts.push(part("idle", Seconds::exactly(whole - cpu), "processors that the workload left to others"));
            Some(whole)
        }
        (_, _, Some(cpu)) => Some(cpu),
        _ => None,
    };
    if account.whole.is_none() {
        account.notes.push("User or system time is not known: the parts do not add up to a whole.".to_string());
    }
    account.parts = parts;
}

/// Processors that the workload could use: not more than it had threads, not fewer than its CPU time needs.
fn cpus_used(profile: &Profile) -> Option<u64> {
    let usage = &profile.usage;
    let online = usage.cpus.or(profile.host.cpus.map(u64::from));
    let threads = usage.processes.map(|processes| processes.saturating_add(usage.threads.unwrap_or(0)).max(1));
    let wall = usage.wall_ns.filter(|wall| *wall > 0)?;
    let cpu = usage.user_ns.unwrap_or(0).saturating_add(usage.system_ns.unwrap_or(0));
    let needed = cpu.div_ceil(wall).max(1);
    Some(match (online, threads) {
        (Some(online), Some(threads)) => online.min(threads).max(needed),
        (Some(count), None) | (None, Some(count)) => count.max(needed),
        (None, None) => needed,
    })
}

/// Faults x unit cost, at most the system time that calls leave over.
fn faults(profile: &Profile, costs: Option<&Costs>, ceiling: f64) -> Option<Part> {
    let count = fault_count(profile)?;
    let price = costs?.first_of(FAULTS)?;
    let priced = Seconds::within(count as f64 * price.cost.ns / 1e9, MODEL_SD.hypot(price.cost.log_sd));
    let seconds =
        Seconds { value: priced.value.min(ceiling), low: priced.low.min(ceiling), high: priced.high.min(ceiling) };
    let note = format!("{count} x {:.0} ns ({}), at most what calls leave of system time", price.cost.ns, price.from);
    Some(part("page faults", seconds, &note))
}

/// Minor and major faults; `None` where neither is known.
pub fn fault_count(profile: &Profile) -> Option<u64> {
    let usage = &profile.usage;
    let known = [usage.minor_faults, usage.major_faults];
    known.iter().any(Option::is_some).then(|| known.iter().flatten().fold(0u64, |sum, n| sum.saturating_add(*n)))
}

/// A profile without times: calls x unit cost, which has no whole to add up to.
fn priced(profile: &Profile, costs: Option<&Costs>, null: Option<Cost>) -> Account {
    let mut account = Account { wall_s: profile.usage.wall_ns.map(s), ..Account::default() };
    let all = profile.all_calls();
    if let Some(costs) = costs {
        let classes = profile.totals(By::Class);
        let price = |count: &CallCount| Some(priced_count(count, &costs.price(&count.call, &count.class)?));
        let of_calls = classes.iter().filter_map(|total| Some((total.count.call.as_str(), price(&total.count)?)));
        let known: u64 = classes.iter().filter(|t| price(&t.count).is_some()).map(|t| t.count.calls).sum();
        let note = format!("calls x unit cost, of the {known} calls that have one");
        account.beside.push(part("calls with a unit cost", sum_by_call(of_calls), &note));
    }
    let note = format!("{} calls x cost of a null call", all.calls);
    account.beside.extend(null.map(|null| part("bare crossings of all calls", crossing(&all, null), &note)));
    account.notes.push("The profile has counts, no time on the CPU: times are calls x unit cost.".to_string());
    account
}

fn added(profile: &Profile) -> Option<String> {
    let ns = profile.tracer.added_per_call_ns?;
    let calls = profile.all_calls().calls as f64;
    Some(format!(
        "The tracer added about {:.3} s ({calls:.0} calls x {ns:.0} ns): wall and system time have it in them.",
        calls * ns / 1e9
    ))
}

fn part(what: &'static str, seconds: Seconds, note: &str) -> Part {
    Part { what, seconds, note: note.to_string() }
}
