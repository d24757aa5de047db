//! The CPU time outside of calls, which samples of the same execution divide.

use crate::bpf_support::{count, run};
use crate::common::*;
use model::{Outside, Profile};
use trace::Detail::{Counts, Times};

fn outside(profile: &Profile) -> &Outside {
    profile
        .usage
        .outside
        .as_ref()
        .expect("CPUs are sampled while calls are timed")
}

fn total_ns(profile: &Profile) -> u64 {
    let of = outside(profile);
    of.user_ns + of.page_faults_ns + of.interrupts_ns + of.kernel_ns
}

fn share(profile: &Profile, part: fn(&Outside) -> u64) -> f64 {
    part(outside(profile)) as f64 / total_ns(profile) as f64
}

#[test]
fn page_faults_are_told_from_user_mode_whatever_their_size() {
    for what in [["touch", "300"], ["touch-huge", "600"]] {
        let profile = needs!(run(what, Times));
        let faults = share(&profile, |of| of.page_faults_ns);
        assert!(
            faults > 0.5,
            "{what:?}: {faults} of {:?}",
            outside(&profile)
        );
    }
    let profile = needs!(run("compute 3000000", Times));
    let user = share(&profile, |of| of.user_ns);
    assert!(user > 0.7, "{user} of {:?}", outside(&profile));
    let functions = &outside(&profile).functions;
    assert!(
        functions
            .first()
            .is_some_and(|found| found.name.starts_with("compute") || found.name == "main"),
        "{functions:?}"
    );
}

/// The parts, the calls and the tracer's overhead are all of the CPU time. A tracer of another test adds time to each call outside of what this
/// one times, so the share of user mode is that of the best of three runs.
#[test]
fn short_calls_are_no_user_mode() {
    let mut shares = Vec::new();
    for _ in 0..3 {
        let profile = needs!(run("mixture 1000000", Times));
        assert_eq!(count(&profile, "getppid"), 1_000_000);
        // Times that contradict the scheduler's are refused: one run in 60.
        let Some(calls) = profile.all_calls().on_cpu_ns else {
            continue;
        };
        let usage = &profile.usage;
        let tracer = profile.tracer.added_total_ns.unwrap_or(0);
        let cpu = usage.user_ns.unwrap() + usage.system_ns.unwrap();
        assert!(
            cpu.abs_diff(calls + tracer + total_ns(&profile)) < 1_000,
            "{cpu}: {calls}, {tracer}, {usage:?}"
        );
        shares.push(share(&profile, |of| of.user_ns));
        if shares.last() > Some(&0.5) {
            return;
        }
    }
    panic!("{shares:?}");
}

#[test]
fn counts_alone_say_nothing_of_the_time_outside() {
    let profile = needs!(run("leaf 1000", Counts));
    assert_eq!(profile.usage.outside, None);
}
