//! What the runs of a history are grouped by: the host, a fact about it, or a label. Called by `history`.

use super::column::ColumnInfo;
use super::conditions::{CONDITIONS, Known};

/// The key that groups by host.
const HOST: &str = "host";
/// The value of runs that lack a fact or a label.
const NONE: &str = "none";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupBy {
    /// `host`, the name of a fact in any case, such as `cpu` or `kernel`, or else the key of a label.
    pub key: String,
}

impl GroupBy {
    pub fn new(key: &str) -> GroupBy {
        GroupBy { key: key.trim().to_string() }
    }

    pub fn value(&self, info: &ColumnInfo) -> String {
        if let Some(value) = info.labels.get(&self.key) {
            return value.clone();
        }
        if self.key.eq_ignore_ascii_case(HOST) {
            return info.host.name.clone().unwrap_or(NONE.to_string());
        }
        let fact = CONDITIONS.iter().find(|(fact, _)| fact.eq_ignore_ascii_case(&self.key));
        fact.and_then(|(_, of)| of(info)).map_or(NONE.to_string(), |known| text(&known))
    }

    /// Whether any of these runs has the fact or label.
    pub fn is_known(&self, info: &ColumnInfo) -> bool {
        self.value(info) != NONE
    }
}

fn text(known: &Known) -> String {
    match known {
        Known::Text(text) if text.is_empty() => NONE.to_string(),
        Known::Text(text) => text.clone(),
        Known::Count(count) => count.to_string(),
        Known::Switch(on) => if *on { "on" } else { "off" }.to_string(),
        Known::Seconds(value) | Known::Percent(value) => value.to_string(),
        Known::Published => "published".to_string(),
    }
}
