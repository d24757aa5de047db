//! Where the workload's time went, on the machine where it ran. Pure; `attribute` calls it.
//!
//! The profile's own times are the truth; unit costs only divide them. The path says what the wall time was, where that is known;
//! the account then divides the CPU time: user mode, the calls (bare crossing, work, process creation), page faults, and
//! unexplained system time. Without a path, the account adds up to wall time x CPUs used. Blocked time belongs to threads, not
//! to CPUs, so it is listed beside the sum, by what the calls waited for.

use super::blocked::{Blocked, blocked};
use super::charged::{Charged, share, tracing_s};
use super::costs::{Basis, Costs, UnitCost};
use super::path::{Path, path};
pub use super::spread::s;
use super::spread::{MODEL_SD, Seconds, sum_by_call};
use super::units::{CREATION, FAULTS, bare_name};
use super::waits::Reason;
use crate::model::{By, CallCount, Class, Profile};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where the time went.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Breakdown {
    #[serde(rename = "calls")]
    pub rows: Vec<CallRow>,
    /// What the wall time was; `None` where that is not known.
    pub path: Option<Path>,
    pub account: Account,
    /// Time blocked in calls, by reason and call.
    pub blocked: Vec<Blocked>,
    /// Calls without a unit cost.
    pub unpriced: Unpriced,
    /// Whether times were measured; false where counts are priced by unit costs.
    pub measured: bool,
    /// The unit costs that were used.
    pub costs: Option<String>,
}

/// The calls that no unit cost prices: all of them without unit costs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Unpriced {
    pub calls: u64,
    pub on_cpu_s: Option<f64>,
    /// Their share of the calls' CPU time, or of the calls where times are not known; `None` if there are no calls.
    pub share: Option<f64>,
    /// Their names, the one with most time first.
    pub names: Vec<String>,
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
    /// Waited for a CPU, after a wake-up or a preemption.
    pub runnable_s: Option<f64>,
    /// Until woken.
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
    /// CPUs that the workload could use; `None` where the parts add up to CPU time.
    pub cpus: Option<u64>,
    /// Parts that add up to `whole`.
    pub parts: Vec<Part>,
    /// Seconds: user + system time where the path or no wall time is known, or else wall time x CPUs.
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
    /// By the kernel's accounting, which samples it by ticks.
    UserMode,
    /// User mode, and the kernel outside calls: the CPU time is too short for ticks to distinguish them.
    UserOrSystem,
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
    /// Wall time x CPUs minus the CPU time, where the path is not known.
    OffCpu,
    /// Threads that waited in calls, by what they waited for.
    Blocked { reason: Reason, calls: Vec<String> },
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
    /// The CPU time is too short for its split into user and system time, or that of each process is.
    FewTicks { processes: Option<u64> },
    /// The profile has counts and no CPU time.
    CountsOnly,
    /// The tracer added this to each of the calls; wall and system time include it.
    TracerAdded { calls: u64, each_ns: f64 },
}

/// Breaks the time of `profile` down, with a row for each call or for each class, as `by` says.
pub fn break_down(profile: &Profile, costs: Option<&Costs>, by: By) -> Breakdown {
    let null = costs.and_then(|costs| costs.null_call()).map(|price| price.cost);
    let measured = profile.all_calls().on_cpu_ns.is_some();
    let classes = profile.totals(By::Class);
    let price = |count: &CallCount| Some(costs?.price_of_calls(count)?.times(count.calls));
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
    let blocked = blocked(profile, |_| true);
    let path = path(profile, &blocked);
    let account = if measured {
        account(profile, costs, null, (path.is_some(), &blocked))
    } else {
        priced_account(profile, costs.map(|_| &*priced), null)
    };
    let unpriced = unpriced(profile, costs);
    Breakdown { rows, path, account, blocked, unpriced, measured, costs: costs.map(|costs| costs.label.clone()) }
}

/// Calls x unit cost by name of the call, in seconds with the ends of its range.
pub fn priced_by_call(profile: &Profile, costs: &Costs) -> BTreeMap<String, [f64; 3]> {
    let rows = break_down(profile, Some(costs), By::Call).rows.into_iter();
    rows.filter_map(|row| Some((row.call, row.priced.map(|own| [own.value, own.low, own.high])?))).collect()
}

fn unpriced(profile: &Profile, costs: Option<&Costs>) -> Unpriced {
    let is_priced = |count: &CallCount| costs.is_some_and(|costs| costs.price_of_calls(count).is_some());
    let mut sum = CallCount::default();
    let mut names: Vec<String> = Vec::new();
    for count in profile.totals(By::Class).into_iter().map(|total| total.count).filter(|count| !is_priced(count)) {
        sum.add(&count);
        if !names.contains(&count.call) {
            names.push(count.call);
        }
    }
    let all = profile.all_calls();
    let on_cpu_s = all.on_cpu_ns.map(|_| sum.on_cpu_ns.map_or(0.0, s));
    Unpriced { calls: sum.calls, on_cpu_s, share: share(&sum, &all), names }
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
        runnable_s: count.runnable_ns.map(s),
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
pub(super) fn crossing(count: &CallCount, null: UnitCost) -> Seconds {
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

/// `known` is whether the path is, which leaves the account the CPU time alone.
fn account(
    profile: &Profile,
    costs: Option<&Costs>,
    null: Option<UnitCost>,
    (known, blocked): (bool, &[Blocked]),
) -> Account {
    let usage = &profile.usage;
    let all = profile.all_calls();
    let charged = Charged::from_profile(profile);
    let [crossings, work, creation] = calls(profile, null);
    let mut account = Account { wall_s: usage.wall_ns.map(s), ..Account::default() };
    account.parts.extend(charged.and_then(|c| c.user).map(|seconds| Part { kind: PartKind::UserMode, seconds }));
    account.parts.extend(null.map(|_| Part { kind: PartKind::Crossings, seconds: crossings }));
    account.parts.push(Part { kind: PartKind::Work, seconds: work });
    account.parts.push(Part { kind: PartKind::Creation, seconds: creation });
    if let Some(charged) = charged {
        add_other_system_time(&mut account, profile, costs, &charged);
    }
    add_whole(&mut account, profile, charged, known);
    account.beside = blocked_parts(blocked);
    let added = profile.tracer.added_per_call_ns;
    account.notes.extend(added.map(|each_ns| AccountNote::TracerAdded { calls: all.calls, each_ns }));
    account
}

/// The tracer, page faults, and what is left; of an unknown split, user mode is in what is left.
fn add_other_system_time(account: &mut Account, profile: &Profile, costs: Option<&Costs>, charged: &Charged) {
    let rest = charged.other_system_s();
    let faults = faults(profile, costs, rest);
    let of_faults = faults.as_ref().map_or(Seconds::default(), |part| part.seconds);
    account.parts.extend(faults);
    let tracing = tracing_s(profile);
    account.parts.extend((tracing > 0.0).then(|| exactly(PartKind::Tracer, tracing)));
    let kind = if charged.user.is_some() { PartKind::UnexplainedSystem } else { PartKind::UserOrSystem };
    account.parts.push(Part { kind, seconds: of_faults.subtracted_from(rest).at_least(0.0) });
    let charged_system = profile.usage.system_ns.map_or(0.0, s);
    account.notes.extend((charged.known_system_s > charged_system).then_some(AccountNote::ExceedsAccounting));
    let few = AccountNote::FewTicks { processes: profile.usage.processes };
    account.notes.extend(charged.user.is_none().then_some(few));
}

fn exactly(kind: PartKind, seconds: f64) -> Part {
    Part { kind, seconds: Seconds::exactly(seconds) }
}

/// Sets what the parts add up to, and adds the time off the CPUs where wall time is known and the path is not.
fn add_whole(account: &mut Account, profile: &Profile, charged: Option<Charged>, known: bool) {
    let cpu = charged.map(|charged| charged.cpu_s);
    let cpus = cpus_used(profile).filter(|_| !known);
    let wall = account.wall_s.zip(cpus).map(|(wall, cpus)| wall * cpus as f64);
    account.cpus = cpus;
    account.whole = cpu.map(|cpu| wall.map_or(cpu, |wall| wall.max(cpu)));
    let off = account.whole.zip(cpu).map(|(whole, cpu)| exactly(PartKind::OffCpu, whole - cpu));
    account.parts.extend(off.filter(|_| wall.is_some()));
    account.notes.extend(account.whole.is_none().then_some(AccountNote::NoWhole));
}

/// Blocked time by reason, the longest first.
fn blocked_parts(blocked: &[Blocked]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for own in blocked {
        let same = |part: &&mut Part| matches!(&part.kind, PartKind::Blocked { reason, .. } if *reason == own.reason);
        let add = Seconds::exactly(own.blocked_s);
        match parts.iter_mut().find(same) {
            Some(Part { kind: PartKind::Blocked { calls, .. }, seconds }) => {
                calls.push(own.call.clone());
                *seconds = seconds.plus(add);
            }
            _ => {
                let kind = PartKind::Blocked { reason: own.reason, calls: vec![own.call.clone()] };
                parts.push(Part { kind, seconds: add });
            }
        }
    }
    parts.sort_by(|a, b| b.seconds.value.total_cmp(&a.seconds.value));
    parts
}

/// CPUs that the workload could use: not more than it had threads, not fewer than its CPU time needs.
pub fn cpus_used(profile: &Profile) -> Option<u64> {
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
