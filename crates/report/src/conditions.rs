//! The text of facts about a run.

use analysis::compare::Known;
use itertools::Itertools;
use model::{Host, Tax, clean};
use std::collections::BTreeMap;

/// A fact as text: `unknown` if the run lacks it, `none` if it is empty.
pub fn known(value: Option<&Known>) -> String {
    match value {
        None => "unknown".to_string(),
        Some(Known::Text(text)) if text.is_empty() => "none".to_string(),
        Some(Known::Text(text)) => shortened(text),
        Some(Known::Count(count)) => count.to_string(),
        Some(Known::Switch(on)) => if *on { "on" } else { "off" }.to_string(),
        Some(Known::Seconds(seconds)) => format!("{seconds} s"),
        Some(Known::Percent(percent)) => format!("{percent}%"),
        Some(Known::Published) => "others, as published".to_string(),
    }
}

/// `Linux 6.18`
pub fn kernel(host: &Host) -> Option<String> {
    let parts = [&host.system, &host.kernel]
        .into_iter()
        .filter_map(|part| part.as_deref())
        .join(" ");
    Some(parts).filter(|text| !text.is_empty())
}

/// `pool=web, zone=a`; `None` without labels.
pub fn labels(labels: &BTreeMap<String, String>) -> Option<String> {
    let each = labels
        .iter()
        .map(|(key, text)| format!("{key}={}", shortened(text)))
        .join(", ");
    Some(each).filter(|text| !text.is_empty())
}

/// `slows every system call: seccomp: 1 filter runs at every system call`
pub fn tax(tax: &Tax) -> String {
    format!("slows every system call: {}: {}", tax.kind, tax.detail)
}

/// What stopped or recorded every call besides.
pub fn tracers(host: &Host) -> impl Iterator<Item = String> {
    host.taxes.iter().filter(|tax| tax.is_tracer()).map(tax)
}

/// Facts come from files and may be long or have line ends.
pub fn shortened(text: &str) -> String {
    clean::cut(text, 81)
}
