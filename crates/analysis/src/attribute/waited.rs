//! Waits of a workload's calls, by what the tracer names as their reason.

use super::blocked::reason;
use super::seconds::s;
use super::waits::Reason;
use model::{Profile, WaitCount};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Time blocked in one call for one thing.
#[derive(Default, Serialize, JsonSchema)]
pub struct Wait {
    pub reason: Reason,
    /// The system call.
    #[serde(rename = "name")]
    pub call: String,
    /// The object of the call: a path, the address of the socket's peer, or a kind (`a pipe`); `None` if that is not known, and
    /// of a kind where `by` is.
    pub on: Option<String>,
    /// The process that ended the wait, or the thread of the same process; `None` if that is not known, or nobody did.
    pub by: Option<String>,
    /// Time until woken, summed over threads.
    pub blocked_s: f64,
    /// Wall time of it in which no thread of the workload could run; `None` if that is not known.
    pub stalled_s: Option<f64>,
}

/// The longest first.
pub fn waited(profile: &Profile) -> Vec<Wait> {
    let alone = profile.usage.has_one_thread();
    let mut waits: BTreeMap<_, Wait> = BTreeMap::new();
    for wait in &profile.waits {
        let reason = reason(wait);
        // A device or a timer ends these waits, in the name of whatever it interrupts.
        let by = if matches!(reason, Reason::Disk | Reason::Timer | Reason::Terminal) {
            None
        } else {
            wait.by.as_deref()
        };
        let on = wait.on.as_deref().and_then(|on| named(on, by.is_some()));
        let sum = waits
            .entry((reason, wait.call.as_str(), on.clone(), by))
            .or_insert_with(|| Wait {
                reason,
                call: wait.call.clone(),
                on,
                by: by.map(str::to_string),
                blocked_s: 0.0,
                stalled_s: Some(0.0),
            });
        let stalled_s = stalled_ns(wait, alone).map(s);
        sum.blocked_s += s(wait.blocked_ns);
        sum.stalled_s = sum.stalled_s.zip(stalled_s).map(|(sum, more)| sum + more);
    }
    let mut waits: Vec<Wait> = waits.into_values().collect();
    waits.sort_by(|a, b| b.blocked_s.total_cmp(&a.blocked_s));
    waits
}

/// Wall time in which no thread of the workload could run. Until a call returns, that is known of a single thread alone.
fn stalled_ns(wait: &WaitCount, alone: bool) -> Option<u64> {
    if alone && (wait.open || wait.stalled_ns.is_none()) {
        Some(wait.blocked_ns)
    } else {
        wait.stalled_ns
    }
}

/// `pipe:[7]`: its number means nothing to a reader, nor does its kind if the other end is known.
pub fn named(on: &str, knows_other: bool) -> Option<String> {
    match on.split_once(":[") {
        _ if on.starts_with('/') => Some(on.to_string()),
        Some(_) if knows_other => None,
        Some(("anon_inode", kind)) => Some(kind.trim_end_matches(']').to_string()),
        Some((kind, _)) => Some(format!("a {kind}")),
        None => Some(on.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::WaitCount;

    #[test]
    fn waits_for_one_process_are_one_through_all_of_its_pipes() {
        let all = [
            ("pipe:[7]", Some("sort")),
            ("pipe:[8]", Some("sort")),
            ("pipe:[9]", None),
            ("/a:[b", None),
        ];
        let waits = all
            .map(|(on, by)| WaitCount {
                call: "read".into(),
                on: Some(on.into()),
                by: by.map(str::to_string),
                blocked_ns: 1_000_000_000,
                ..WaitCount::default()
            })
            .to_vec();
        let actual = waited(&Profile {
            waits,
            ..Profile::default()
        });
        let actual: Vec<_> = actual
            .iter()
            .map(|wait| (wait.on.as_deref(), wait.by.as_deref(), wait.blocked_s))
            .collect();
        assert_eq!(actual[0], (None, Some("sort"), 2.0));
        assert!(
            actual.contains(&(Some("a pipe"), None, 1.0))
                && actual.contains(&(Some("/a:[b"), None, 1.0)),
            "{actual:?}"
        );
    }
}
