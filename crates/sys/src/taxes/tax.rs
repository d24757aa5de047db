//! Kinds of taxes, and what those who look share.

use crate::Sources;
use model::Tax;

pub fn tax(kind: &str, detail: String) -> Tax {
    Tax {
        kind: kind.to_string(),
        detail,
    }
}

pub fn who(sources: &Sources, process: &str) -> String {
    match sources.text(&format!("proc/{process}/comm")) {
        Some(name) => format!("{name} (process {process})"),
        None => format!("process {process}"),
    }
}

pub fn processes(sources: &Sources) -> impl Iterator<Item = String> {
    sources
        .list("proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}
