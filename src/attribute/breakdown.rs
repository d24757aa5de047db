//! Where the workload's time went, on the machine where it ran. Pure; `attribute` calls it.
//!
//! The profile's own times are the truth; unit costs only divide them. The account adds up to wall time x CPUs used: user
//! mode, the calls (bare crossing, work, process creation), page faults, unexplained system time, and idle time. Blocked
//! time belongs to threads, not to CPUs, so it is listed beside the sum.

use super::costs::{Basis, Costs, UnitCost};
use super::spread::{MODEL_SD, Seconds, sum_by_call};
use super::units::{CREATION, FAULTS, bare_name};
use crate::model::{By, CallCount, Class, Profile};
use schemars::JsonSchema;
use serde::Serialize;

/// Where the time went.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Breakdown {
    #[serde(rename = "calls")]
    pub rows: Vec<CallRow>,
    pub account: Account,
    /// Whether times were measured; false where counts are priced by unit costs.
    pub measured: bool,
    /// The unit costs that were used.
    pub costs: Option<String>,
}

/// One call, or one class of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CallRow {
    #[serde(rename = "name")]
    pub call: String,
    /// Empty where each call has one row.
    #[serde(flatten)]
    pub class: Class,
    pub calls: u64,
    pub failures: u64,
    pub on_cpu_s: Option<f64>,
    pub blocked_s: Option<f64>,
    /// Seconds between entry and return.
    pub elapsed_s: Option<f64>,
    /// Elapsed time as a share of wall time.
    pub wall_share: Option<f64>,
    /// Calls x cost of a null call; at most the measured CPU time.
    #[serde(rename = "crossing_s")]
    pub crossing: Option<Seconds>,
    /// The rest of the CPU time.
    #[serde(rename = "work_s")]
    pub work: Option<Seconds>,
    /// Calls x unit cost, class by class.
    #[serde(rename = "by_unit_cost_s")]
    pub priced: Option<Seconds>,
}

/// Where the CPUs' time went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Account {
    pub wall_s: Option<f64>,
    /// CPUs that the workload could use.
    pub cpus: Option<u64>,
    /// Parts that add up to `whole`.
    pub parts: Vec<Part>,
    /// Seconds: wall time x CPUs, or user + system time where wall time is not known.
    #[serde(rename = "whole_s")]
    pub whole: Option<f64>,
    /// What is not part of the sum.
    pub beside: Vec<Part>,
    pub notes: Vec<AccountNote>,
}

/// One part of the account.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    #[serde(flatten)]
    pub kind: PartKind,
    pub seconds: Seconds,
}

/// What a part is, with the numbers that it was made from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PartKind {
    /// By the kernel's accounting.
    UserMode,
    /// Calls x cost of a null call, at most their measured time.
    Crossings,
    /// Measured CPU time of calls minus the crossings.
    Work,
    /// The same for calls that create and end processes.
    Creation,
    /// Faults x unit cost, at most the system time that calls leave over.
    Faults {
        count: u64,
        each_ns: f64,
        #[serde(rename = "unit")]
        basis: Basis,
    },
    /// Calls x what the tracer adds to a null call.
    Tracer,
    /// System time minus everything above.
    UnexplainedSystem,
    /// Wall time x CPUs minus the CPU time.
    Idle,
    /// Threads that waited in calls.
    Blocked,
    /// Calls x unit cost, for as many calls as have one: a profile without times.
    Priced { calls: u64 },
    /// The bare crossings of all these calls: a profile without times.
    AllCrossings { calls: u64 },
}

/// What one must know to read the account.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AccountNote {
    /// The calls' time exceeds the kernel's accounting of system time.
    ExceedsAccounting,
    /// User or system time is not known, so the parts do not add up to a whole.
    NoWhole,
    /// The profile has counts and no CPU time.
    CountsOnly,
    /// The tracer added this to each of the calls; wall and system time include it.
    TracerAdded { calls: u64, each_ns: f64 },
}

/// Breaks the time of `profile` down, with a row for each call or for each class, as `by` says.
pub fn break_down(profile: &Profile, costs: Option<&Costs>, by: By) -> Breakdown {
    let null = costs.and_then(Costs::null_call).map(|price| price.cost);
    let measured = profile.all_calls().on_cpu_ns.is_some();
    let classes = profile.totals(By::Class);
    let price = |count: &CallCount| Some(costs?.price(&count.call, &count.class)?.times(count.calls));
    let classes = classes.iter().map(|total| &total.count);
    let priced: Vec<(&CallCount, Seconds)> = classes.filter_map(|count| Some((count, price(count)?))).collect();
    let rows = profile.totals(by).into_iter().map(|total| {
        let own: Vec<Seconds> = match by {
            By::Class => price(&total.count).into_iter().collect(),
            _ => priced.iter().filter(|(count, _)| count.call == total.count.call).map(|(_, time)| *time).collect(),
        };
        row(profile, null, total.count, &own)
    });
    let rows = rows.collect();
    let account =
        if measured { account(profile, costs, null) } else { priced_account(profile, costs.map(|_| &*priced), null) };
    Breakdown { rows, account, measured, costs: costs.map(|costs| costs.label.clone()) }
}

/// Nanoseconds as seconds.
pub fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// `priced` are the prices of its classes.
fn row(profile: &Profile, null: Option<UnitCost>, count: CallCount, priced: &[Seconds]) -> CallRow {
    let crossing = null.map(|null| crossing(&count, null));
    let elapsed_s = count.elapsed_ns().map(s);
    let wall = profile.usage.wall_ns.filter(|wall| *wall > 0).map(s);
    CallRow {
        calls: count.calls,
        failures: count.failures(),
        on_cpu_s: count.on_cpu_ns.map(s),
        blocked_s: count.blocked_ns.map(s),
        elapsed_s,
        wall_share: elapsed_s.zip(wall).map(|(elapsed, wall)| elapsed / wall),
        crossing,
        work: count.on_cpu_ns.map(|ns| crossing.unwrap_or_default().subtracted_from(s(ns))),
        priced: (!priced.is_empty()).then(|| sum_by_call(priced.iter().map(|time| ("", *time)))),
        call: count.call,
        class: count.class,
    }
}

/// The bare crossing of all these calls. A measured call cannot have crossed for longer than it ran, since tracers are
/// calibrated to measure the whole call.
fn crossing(count: &CallCount, null: UnitCost) -> Seconds {
    null.times(count.calls, 0.0).at_most(count.on_cpu_ns.map_or(f64::INFINITY, s))
}

/// The crossings, the work of ordinary calls, and that of calls that create and end processes.
fn calls(profile: &Profile, null: Option<UnitCost>) -> [Seconds; 3] {
    let totals = profile.totals(By::Call);
    let (mut crossings, mut work, mut creation) = (Vec::new(), Vec::new(), Vec::new());
    for count in totals.iter().map(|total| &total.count) {
        let own = null.map(|null| crossing(count, null)).unwrap_or_default();
        let rest = own.subtracted_from(count.on_cpu_ns.map_or(0.0, s));
        if CREATION.contains(&bare_name(&count.call)) { &mut creation } else { &mut work }
            .push((count.call.as_str(), rest));
        // One null call prices all crossings, so they share its error.
        crossings.push(("", own));
    }
    [crossings, work, creation].map(|parts| sum_by_call(parts.into_iter()))
}

fn account(profile: &Profile, costs: Option<&Costs>, null: Option<UnitCost>) -> Account {
    let usage = &profile.usage;
    let all = profile.all_calls();
    let [crossings, work, creation] = calls(profile, null);
    let mut account = Account { wall_s: usage.wall_ns.map(s), cpus: cpus_used(profile), ..Account::default() };
    account.parts.extend(usage.user_ns.map(|ns| exactly(PartKind::UserMode, s(ns))));
    account.parts.extend(null.map(|_| Part { kind: PartKind::Crossings, seconds: crossings }));
    account.parts.push(Part { kind: PartKind::Work, seconds: work });
    account.parts.push(Part { kind: PartKind::Creation, seconds: creation });
    if let Some(system) = usage.system_ns.map(s) {
        let tracing = tracing(profile);
        let rest = system - all.on_cpu_ns.map_or(0.0, s) - tracing;
        let faults = faults(profile, costs, rest.max(0.0));
        let of_faults = faults.as_ref().map_or(Seconds::default(), |part| part.seconds);
        account.parts.extend(faults);
        account.parts.extend((tracing > 0.0).then(|| exactly(PartKind::Tracer, tracing)));
        account.parts.push(Part { kind: PartKind::UnexplainedSystem, seconds: of_faults.subtracted_from(rest) });
        account.notes.extend((rest < 0.0).then_some(AccountNote::ExceedsAccounting));
    }
    add_idle(&mut account, profile);
    account.beside.push(exactly(PartKind::Blocked, all.blocked_ns.map_or(0.0, s)));
    let added = profile.tracer.added_per_call_ns;
    account.notes.extend(added.map(|each_ns| AccountNote::TracerAdded { calls: all.calls, each_ns }));
    account
}

fn exactly(kind: PartKind, seconds: f64) -> Part {
    Part { kind, seconds: Seconds::exactly(seconds) }
}

/// Seconds of the workload's own system time that the tracer took.
fn tracing(profile: &Profile) -> f64 {
    let added = profile.tracer.added_per_call_ns.filter(|_| profile.tracer.adds_system_time);
    added.unwrap_or(0.0) * profile.all_calls().calls as f64 / 1e9
}

/// Sets what the parts add up to, and adds idle time where wall time is known.
fn add_idle(account: &mut Account, profile: &Profile) {
    let usage = &profile.usage;
    let cpu = usage.user_ns.zip(usage.system_ns).map(|(user, system)| s(user) + s(system));
    let wall = account.wall_s.zip(account.cpus).map(|(wall, cpus)| wall * cpus as f64);
    account.whole = cpu.map(|cpu| wall.unwrap_or(cpu));
    account.parts.extend(wall.zip(cpu).map(|(whole, cpu)| exactly(PartKind::Idle, whole - cpu)));
    account.notes.extend(account.whole.is_none().then_some(AccountNote::NoWhole));
}

/// CPUs that the workload could use: not more than it had threads, not fewer than its CPU time needs.
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

/// Faults x unit cost, at most `most` seconds.
fn faults(profile: &Profile, costs: Option<&Costs>, most: f64) -> Option<Part> {
    let count = fault_count(profile)?;
    let price = costs?.first_of(FAULTS)?;
    let seconds = price.cost.times(count, MODEL_SD).at_most(most);
    Some(Part { kind: PartKind::Faults { count, each_ns: price.cost.ns, basis: price.basis }, seconds })
}

/// Minor plus major faults; `None` where neither is known.
pub fn fault_count(profile: &Profile) -> Option<u64> {
    let usage = &profile.usage;
    let known = [usage.minor_faults, usage.major_faults];
    known.iter().any(Option::is_some).then(|| known.iter().flatten().fold(0u64, |sum, n| sum.saturating_add(*n)))
}

/// The account of a profile without times: calls x unit cost, which has no whole to add up to.
fn priced_account(profile: &Profile, priced: Option<&[(&CallCount, Seconds)]>, null: Option<UnitCost>) -> Account {
    let all = profile.all_calls();
    let mut account = Account { wall_s: profile.usage.wall_ns.map(s), ..Account::default() };
    if let Some(priced) = priced {
        let calls = priced.iter().map(|(count, _)| count.calls).sum();
        let seconds = sum_by_call(priced.iter().map(|(count, time)| (count.call.as_str(), *time)));
        account.beside.push(Part { kind: PartKind::Priced { calls }, seconds });
    }
    let kind = PartKind::AllCrossings { calls: all.calls };
    account.beside.extend(null.map(|null| Part { kind, seconds: crossing(&all, null) }));
    account.notes.push(AccountNote::CountsOnly);
    account
}
