//! Calls that are made again and again although once, or none, would do, and which other calls are a reason for one each.

use super::caller::{Caller, added, errors, is_one_of, waited};
use super::found::Advice;
use model::CallCount;

pub struct Repeat {
    pub calls: &'static str,
    pub operations: &'static str,
    /// Each of these calls is a reason for one; those that stand twice for two.
    pub reasons: &'static [&'static str],
}

pub const fn repeat(calls: &'static str, reasons: &'static [&'static str]) -> Repeat {
    Repeat {
        calls,
        operations: "",
        reasons,
    }
}

pub const NEW: &str = "socket accept accept4 pipe pipe2 dup dup2 dup3 connect bind listen";
pub const CHILDREN: &str = "fork vfork clone clone3 exit exit_group execve";

/// Each process may do it as often as it starts or sets something up.
pub const AGAIN: u64 = 20;

/// What is beyond the reasons for them, of which `left` is what takes their place. Those that wait are no questions.
pub fn repeats(caller: &Caller, table: &[Repeat], left: f64) -> Vec<Advice> {
    let one = |repeat: &Repeat| {
        let own = |count: &CallCount| {
            let operation = count.class.operation.as_deref().unwrap_or_default();
            let does = repeat.operations.is_empty()
                || repeat.operations.split(' ').any(|name| name == operation);
            is_one_of(count, repeat.calls) && does
        };
        let all = caller.sum(own);
        let reasons = added(repeat.reasons.iter().map(|names| caller.succeeded(names)));
        let beyond = all
            .calls
            .saturating_sub(errors(&all, "EBADF"))
            .saturating_sub(reasons);
        // A profile by hand may have left them out.
        let unknown = !repeat.reasons.is_empty() && reasons == 0;
        if waited(&all) || unknown || beyond <= caller.processes.saturating_mul(AGAIN) {
            return None;
        }
        let part = caller.some(beyond, own);
        let less = 1.0 - left;
        let saved = part.left_out().times([less * less, less, 1.0]);
        Some(part.advice(0, saved))
    };
    table.iter().filter_map(one).collect()
}
