//! What the calls of a workload waited for, as far as the tracer named it. Pure; `attribute` calls it.

use super::seconds::s;
use super::waits::Reason;
use crate::model::{Class, Profile};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Time blocked in one call for one thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Wait {
    pub reason: Reason,
    #[serde(rename = "name")]
    pub call: String,
    /// What the call was made on: a path, or the address of the socket's peer; `None` where that is not known.
    pub on: Option<String>,
    /// The process that ended the wait, or the thread of the same process; `None` where that is not known, or nobody did.
    pub by: Option<String>,
    /// Summed over threads.
    pub blocked_s: f64,
    /// Wall time of it in which no thread of the workload could run; `None` where that is not known.
    pub stalled_s: Option<f64>,
}

/// What calls waited for, the longest first.
pub fn waited(profile: &Profile) -> Vec<Wait> {
    let alone = profile.usage.has_one_thread();
    let mut found: BTreeMap<_, Wait> = BTreeMap::new();
    for of in &profile.waits {
        let class = Class { descriptor: of.descriptor, ..Class::default() };
        let reason = Reason::from_call(&of.call, &class);
        // A device or a timer ends these waits, in the name of whatever it interrupts.
        let by = of.by.as_deref().filter(|_| !matches!(reason, Reason::Disk | Reason::Timer | Reason::Terminal));
        let own = found.entry((reason, of.call.as_str(), of.on.as_deref(), by)).or_insert_with(|| Wait {
            reason,
            call: of.call.clone(),
            on: of.on.clone(),
            by: by.map(str::to_string),
            blocked_s: 0.0,
            stalled_s: Some(0.0),
        });
        let stalled_s = of.stalled_ns.or(alone.then_some(of.blocked_ns)).map(s);
        own.blocked_s += s(of.blocked_ns);
        own.stalled_s = own.stalled_s.zip(stalled_s).map(|(sum, more)| sum + more);
    }
    let mut found: Vec<Wait> = found.into_values().collect();
    found.sort_by(|a, b| b.blocked_s.total_cmp(&a.blocked_s));
    found
}
