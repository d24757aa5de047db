//! What tables say of cold calls.

use analysis::summary::Summary;

pub fn note(summary: &Summary) -> Option<String> {
    let note = "cold=SIZE: single calls, each after SIZE of memory and 128K of code displaced what the one before left (0: \
                nothing). ns/op includes the timer; net and 'cold / warm' are without call.empty_loop under the same treatment";
    is_in(summary).then(|| note.to_string())
}

pub fn is_in(summary: &Summary) -> bool {
    summary.rows.iter().any(|row| row.case.cold().is_some())
}
