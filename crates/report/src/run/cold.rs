//! What tables say of cold calls.

use analysis::summary::Summary;

pub fn note(summary: &Summary) -> Option<String> {
    let note = "cold=SIZE: single calls, each after SIZE of memory and 128K of code displaced the caches (0: nothing did). ns/op includes the timer; net and 'cold / warm' subtract call.empty_loop measured the same way";
    is_in(summary).then(|| note.to_string())
}

pub fn is_in(summary: &Summary) -> bool {
    summary.rows.iter().any(|row| row.case.cold().is_some())
}
