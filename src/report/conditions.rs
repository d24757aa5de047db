//! The text of facts about a run, and of changes between two runs of one machine.

use crate::compare::Known;
use crate::compare::history::{HostChange, SetChange};
use crate::model::Tax;
use std::collections::BTreeMap;

/// A fact as text; `unknown` for `None`, `none` for an empty one.
pub fn known(value: Option<&Known>) -> String {
    match value {
        None => "unknown".to_string(),
        Some(Known::Text(text)) if text.is_empty() => "none".to_string(),
        Some(Known::Text(text)) => shortened(text),
        Some(Known::Count(count)) => count.to_string(),
        Some(Known::Switch(on)) => if *on { "on" } else { "off" }.to_string(),
        Some(Known::Seconds(seconds)) => format!("{seconds} s"),
        Some(Known::Percent(percent)) => format!("{percent}%"),
        Some(Known::Published) => "others, as they published it".to_string(),
    }
}

/// `pool=web, zone=a`; `None` without labels.
pub fn labels(labels: &BTreeMap<String, String>) -> Option<String> {
    let each: Vec<String> = labels.iter().map(|(key, text)| format!("{key}={}", shortened(text))).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// `tax on every system call: seccomp: 1 filter runs at every system call`
pub fn tax(tax: &Tax) -> String {
    format!("tax on every system call: {}: {}", tax.kind, tax.detail)
}

/// Facts come from files and may be long or have line ends.
pub fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// `kernel: Linux 6.1 -> Linux 6.18`
pub fn host_change(change: &HostChange) -> String {
    match change {
        HostChange::OtherWork { before, after } => {
            format!("not the same operation any more: kernel entries {before} -> {after}")
        }
        HostChange::Fact { fact, before, after } => {
            format!("{fact}: {} -> {}", known(before.as_ref()), known(after.as_ref()))
        }
        HostChange::Mitigations(change) => format!("mitigations: {}", set_change(change)),
        HostChange::Taxes(change) => format!("taxes on every system call: {}", set_change(change)),
    }
}

/// `+ retbleed: IBPB, - retbleed: none`
fn set_change(change: &SetChange) -> String {
    let come = change.come.iter().map(|text| format!("+ {text}"));
    come.chain(change.gone.iter().map(|text| format!("- {text}"))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Entries;

    #[test]
    fn changes_stand_in_one_line_each() {
        let text = |text: &str| Some(Known::Text(text.into()));
        let kernel = HostChange::Fact { fact: "kernel", before: text("6.1"), after: text("6.18") };
        assert_eq!(host_change(&kernel), "kernel: 6.1 -> 6.18");
        let smt = HostChange::Fact { fact: "SMT", before: None, after: Some(Known::Switch(false)) };
        assert_eq!(host_change(&smt), "SMT: unknown -> off");
        let set = SetChange { come: vec!["retbleed: IBPB".into()], gone: vec!["x".into()] };
        assert_eq!(host_change(&HostChange::Mitigations(set)), "mitigations: + retbleed: IBPB, - x");
        let before = Entries::from_iter([("getpid".to_string(), 1.0)]);
        let work = HostChange::OtherWork { before, after: Entries::default() };
        assert_eq!(host_change(&work), "not the same operation any more: kernel entries getpid x1 -> none");
        assert_eq!((known(text("").as_ref()), shortened(&"x".repeat(99)).chars().count()), ("none".into(), 81));
    }
}
