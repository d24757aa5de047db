//! Calls that fail with the same error again and again: what is not supported, or not there.

use super::caller::{Caller, POLLS, Part, Rule, done, errors, is_on, is_one_of, share};
use super::found::Advice;
use super::repeats::AGAIN;
use model::{CallCount, DescriptorKind};

pub static RULE: Rule = Rule {
    name: "failures",
    least: 0.05,
    phrase: "{calls} failing with {of}",
    change: "the first failure gives the answer: remember it, or wait for a change",
    find,
};

/// Errors that are no surprise: time-outs, interruptions, what other rules look at, and those without a name in tables of strace.
const USUAL: &str =
    "unknown EAGAIN EINTR ETIMEDOUT EINPROGRESS ENOENT ECHILD ERESTARTSYS ERESTARTNOHAND EBADF";

fn find(caller: &Caller) -> Vec<Advice> {
    let mut names: Vec<&String> = caller
        .counts
        .iter()
        .flat_map(|count| count.errors.keys())
        .collect();
    names.sort_unstable();
    names.dedup();
    // Without paths nobody can tell whether a name that is absent is asked for again.
    let unknown = |error: &str| error == "ENOENT" && caller.profile.objects.is_empty();
    names.retain(|error| !USUAL.split(' ').any(|usual| usual == *error) || unknown(error));
    names
        .into_iter()
        .filter_map(|error| failing(caller, error))
        .collect()
}

/// Calls without a path that fail with this error; of a path it is an answer.
pub fn failing(caller: &Caller, error: &str) -> Option<Advice> {
    let part = of_error(caller, error, |count| {
        is_on(count, DescriptorKind::None)
            || (count.class.depth.is_none() && !is_one_of(count, POLLS))
    });
    let again = part.calls > caller.processes.saturating_mul(AGAIN);
    again.then(|| Advice {
        of: Some(error.to_string()),
        ..part.avoid(0)
    })
}

pub fn of_error<'a>(
    caller: &'a Caller,
    error: &str,
    keep: impl Fn(&CallCount) -> bool,
) -> Part<'a> {
    caller.part(|count| {
        if keep(count) && done(count) < count.calls {
            share(errors(count, error), count.calls)
        } else {
            0.0
        }
    })
}
