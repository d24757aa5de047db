//! The sampler of user and system mode against the real kernel. What cannot be tested here is said on standard error.

use crate::common::*;
use measure::split::{TIME, split};
use model::ModeSamples;

fn sampled(machine: &Machine, id: &str) -> Option<ModeSamples> {
    split(&machine.workers, &machine.planned(id), TIME)
}

/// User mode's share of 50 samples or more, by up to three passes; `None`, said loudly, where there are fewer.
fn user_share(machine: &Machine, id: &str) -> Option<f64> {
    let passes = (0..3).filter_map(|_| sampled(machine, id));
    let enough = passes
        .map(|m| (m.user as f64, m.system as f64))
        .find(|(user, system)| user + system >= 50.0);
    if enough.is_none() {
        skip("the mode cannot be sampled here, or this machine is too busy");
    }
    enough.map(|(user, system)| user / (user + system))
}

#[test]
fn work_in_user_mode_is_user_mode() {
    let machine = Machine::new();
    for id in ["call.spin", "call.empty_loop", "sync.mutex"] {
        if let Some(share) = user_share(&machine, id) {
            assert!(share >= 0.95, "{id}: {share}");
        }
    }
}

#[test]
fn system_calls_are_system_mode() {
    let machine = Machine::new();
    for id in ["id.getppid", "file.fstat"] {
        if let Some(share) = user_share(&machine, id) {
            assert!(share <= 0.5, "{id}: {share}");
        }
    }
}

/// A tick that comes with the operation's own signal must still see where the operation was; other calls end early by a
/// tick, or are begun again.
#[test]
fn signals_and_interrupted_calls_do_not_pass_for_user_mode() {
    let machine = Machine::new();
    for id in [
        "signal.kill_self",
        "signal.raise",
        "event.poll_none",
        "dir.getdents64",
        "io.sendfile",
    ] {
        if let Some(share) = user_share(&machine, id) {
            assert!(share <= 0.4, "{id}: {share}");
        }
    }
}

#[test]
fn what_cannot_be_sampled_has_no_samples() {
    let machine = Machine::new();
    for id in [
        "process.fork_wait",
        "sync.futex_pingpong",
        "mem.fault_anonymous",
        "signal.segv",
    ] {
        assert_eq!(sampled(&machine, id), None, "{id}");
    }
}
