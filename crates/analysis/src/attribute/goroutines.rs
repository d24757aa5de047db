//! Go moves goroutines between threads, so what a thread was asked for does not tell whether its next wait holds anybody up.

use model::{Profile, ThreadTime};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The processes in which stacks begin in Go's runtime.
pub fn processes(profile: &Profile) -> BTreeSet<&str> {
    let stacks = profile.stacks.iter();
    let begins = stacks.filter(|stack| {
        let first = stack.frames.first();
        first.is_some_and(|frame| frame.starts_with("runtime.goexit"))
    });
    begins.map(|stack| stack.process.as_str()).collect()
}

/// Without the links between threads and requests that do not hold: waits in the scheduler are idle, and the time of requests is not
/// divided.
pub fn unbound(profile: &Profile) -> Cow<'_, Profile> {
    let processes = processes(profile);
    if processes.is_empty() {
        return Cow::Borrowed(profile);
    }
    let mut unbound = profile.clone();
    for wait in &mut unbound.waits {
        wait.asked &= wait.function.is_some() || !processes.contains(&*wait.process);
    }
    for requests in &mut unbound.requests {
        if processes.contains(&*requests.process) {
            (requests.by_one_thread, requests.time) = (0, ThreadTime::default());
        }
    }
    Cow::Owned(unbound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Requests, StackCount, WaitCount};

    #[test]
    fn only_waits_of_goroutines_with_a_function_hold_requests_up() {
        let process = String::from("app");
        let wait = |function: Option<&str>| WaitCount {
            process: process.clone(),
            asked: true,
            function: function.map(str::to_string),
            ..WaitCount::default()
        };
        let mut profile = Profile {
            waits: vec![wait(None), wait(Some("main.save"))],
            requests: vec![Requests {
                process: process.clone(),
                requests: 9,
                by_one_thread: 9,
                ..Requests::default()
            }],
            ..Profile::default()
        };
        assert_eq!(*unbound(&profile), profile);
        profile.stacks.push(StackCount {
            process: process.clone(),
            frames: vec!["runtime.goexit.abi0".to_string(), "main.save".to_string()],
            ..StackCount::default()
        });
        let unbound = unbound(&profile);
        let asked: Vec<bool> = unbound.waits.iter().map(|wait| wait.asked).collect();
        assert_eq!(
            (asked, unbound.requests[0].by_one_thread),
            (vec![false, true], 0)
        );
    }
}
