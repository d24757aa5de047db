//! A tax, and how processes are named: shared by the modules that look for taxes.

use crate::Sources;
use model::Tax;

/// One of the kinds in `model::tax::kind`.
pub fn tax(kind: &str, detail: String) -> Tax {
    Tax {
        kind: kind.to_string(),
        detail,
    }
}

/// Such as `strace (process 12)`.
pub fn who(sources: &Sources, process: &str) -> String {
    match sources.text(&format!("proc/{process}/comm")) {
        Some(name) => format!("{name} (process {process})"),
        None => format!("process {process}"),
    }
}

/// The IDs of all processes that /proc shows, as text.
pub fn processes(sources: &Sources) -> impl Iterator<Item = String> {
    sources
        .list("proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}
