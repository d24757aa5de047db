//! The time of a workload: its parts, possible savings, and the cost of its calls elsewhere.
//!
//! The program's own behaviour is taken from the tracer: `spent` divides its time, `calls` ranks the calls, `advice` estimates what could
//! be saved. Unit costs serve only machines on which nothing can be run: `elsewhere` multiplies calls by the difference of two of them.

pub mod advice;
pub mod bill;
pub mod blocked;
pub mod calls;
pub mod costs;
pub mod elsewhere;
pub mod goroutines;
pub mod hung;
pub mod ledger;
pub mod priced;
pub mod requests;
pub mod seconds;
pub mod spent;
pub mod stops;
pub mod units;
pub mod waited;
pub mod waits;

use advice::Advice;
use calls::{CallRow, Entering, NullCall};
use costs::Costs;
use elsewhere::Elsewhere;
use hung::Hung;
use ledger::Ledger;
use model::{LockCount, Profile, RingCount, ShootDowns};
use schemars::JsonSchema;
use serde::Serialize;
use spent::Spent;
use waited::Wait;

/// The analysis of a profile.
#[derive(Default, Serialize, JsonSchema)]
pub struct Attribution {
    /// The profile's command; empty if it is not known.
    pub command: Vec<String>,
    /// The time by what it was spent on.
    pub time: Spent,
    /// The time of threads by their state; `None` if it is not known, or the command had one thread.
    pub threads: Option<Ledger>,
    /// Threads that waited long when tracing ended, and for each other.
    pub hung: Vec<Hung>,
    /// Whether every thread that was alive when tracing ended had waited long.
    pub all_hang: bool,
    /// The calls, by falling time on a CPU and time in which nothing else of the program ran.
    pub calls: Vec<CallRow>,
    /// Waits of calls by what they waited for, the longest first; empty if that is not known.
    pub waits: Vec<Wait>,
    /// Locks of the kernel that calls waited for, the longest first; empty if that is not known.
    pub locks: Vec<LockCount>,
    /// TLB shoot-downs, the most first; empty if they are not known.
    pub shoot_downs: Vec<ShootDowns>,
    /// Requests of io_uring, the most first; empty if they are not known.
    pub rings: Vec<RingCount>,
    /// The cost of entering the kernel; `None` if the cost of a null call is not known.
    pub entering: Option<Entering>,
    /// The greatest saving first.
    pub advice: Vec<Advice>,
    /// One for each set of unit costs to compare with.
    pub elsewhere: Vec<Elsewhere>,
    /// The profile was cut short: its counts are lower bounds.
    pub incomplete: bool,
    /// Warnings of the tracer, from the profile.
    pub warnings: Vec<String>,
}

/// Attributes the time of a profile. The cost of a null call comes from `costs`, else from the tracer's own measurement; `versus` are
/// the unit costs of other machines or kernels, compared only if `costs` are known.
pub fn attribute(profile: &Profile, costs: Option<&Costs>, versus: &[Costs]) -> Attribution {
    let profile = &*goroutines::unbound(profile);
    let null = NullCall::new(profile, costs);
    let null_ns = null.as_ref().and_then(NullCall::known_ns);
    let time = spent::spent(profile);
    let threads = ledger::ledger(profile, &time);
    Attribution {
        command: profile.command.clone(),
        hung: hung::hung(profile),
        all_hang: hung::all_hang(profile),
        calls: calls::rows(profile, threads.is_some()),
        waits: waited::waited(profile),
        locks: profile.locks.clone(),
        shoot_downs: profile.shoot_downs.clone(),
        rings: profile.rings.clone(),
        entering: null.and_then(|null| calls::entering(profile, &null, &time, threads.is_some())),
        advice: advice::advice(profile, null_ns, &time),
        elsewhere: costs.map_or_else(Vec::new, |here| {
            versus
                .iter()
                .map(|there| elsewhere::elsewhere(profile, here, there))
                .collect()
        }),
        incomplete: !profile.complete,
        warnings: profile.warnings.clone(),
        threads,
        time,
    }
}
