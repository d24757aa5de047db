//! Rules by the numbers of calls on one architecture.

use crate::syscall_names::number;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Rule {
    pub names: Vec<String>,
    /// What a filter returns if all conditions hold.
    pub action: u32,
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Compares an argument, of which only the bits of the mask count, with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    pub index: u32,
    pub comparison: Comparison,
    pub mask: u64,
    pub value: u64,
}

/// What happens to a call: the first alternative whose conditions hold decides, else the filter's default action.
pub type Alternatives = Vec<(Vec<Condition>, u32)>;

/// The calls with another action than the default, by number. Names that the architecture does not have are left out, as container
/// runtimes do. A rule without conditions decides, whatever others look at; rules with the default action say nothing.
pub fn by_number(rules: &[Rule], audit: u32, default: u32) -> BTreeMap<u32, Alternatives> {
    let mut calls: BTreeMap<u32, Alternatives> = BTreeMap::new();
    for rule in rules.iter().filter(|rule| rule.action != default) {
        for number in rule.names.iter().filter_map(|name| number(audit, name)) {
            let known = calls.entry(number).or_default();
            if known.iter().any(|(conditions, _)| conditions.is_empty()) {
                continue;
            }
            if rule.conditions.is_empty() {
                known.clear();
            }
            known.push((rule.conditions.clone(), rule.action));
        }
    }
    calls
}
