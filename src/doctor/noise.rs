//! Looks at what disturbs results during a run: other load, the hypervisor, the CPU's frequency.

use super::finding::{Answer, is_virtual};
use super::machine::unknown;
use crate::kernel::checks::Checks;
use crate::model::Host;
use crate::prose::counted;

/// Running processes per CPU over the last minute: the thresholds for a notice, and for spoiling results.
const LOAD: (f64, f64) = (0.25, 0.75);
/// The same for stolen time, in percent.
const STEAL: (f64, f64) = (0.5, 5.0);

pub fn load(host: &Host, _: &Checks) -> Option<Answer> {
    let (Some(load), Some(cpus)) = (host.load_1min, host.cpus) else {
        return Answer::notice("unknown", "Make sure that nothing else is running.");
    };
    let found = format!("{load:.2} over the last minute on {}", counted(cpus, "CPU"));
    graded(load / f64::from(cpus), LOAD, found, "Wait for the other work to end, or stop it.")
}

/// During the run if there was one, else since boot. Hardware has none.
pub fn steal(host: &Host, checks: &Checks) -> Option<Answer> {
    let over_run = host.steal_percent.map(|percent| (percent, "over the run"));
    let share = over_run.or(checks.steal_since_boot_percent.map(|percent| (percent, "since the machine started")));
    match share {
        _ if !is_virtual(host) => None,
        None => Answer::notice("unknown", "The hypervisor may take CPU time without reporting it."),
        Some((percent, when)) => {
            let found = format!("{percent:.1}% of CPU time {when}");
            graded(percent, STEAL, found, "Other guests take CPU time: measure at another time or on another machine.")
        }
    }
}

fn graded(value: f64, (noticed, disturbing): (f64, f64), found: String, advice: &str) -> Option<Answer> {
    if value >= disturbing {
        Answer::spoils(found, advice)
    } else if value >= noticed {
        Answer::notice(found, advice)
    } else {
        Answer::good(found)
    }
}

/// When the quota is used up, the whole group is stopped for the rest of the period.
pub fn quota(host: &Host, checks: &Checks) -> Option<Answer> {
    let Some(quota) = checks.cpu_quota else { return Answer::good("none") };
    let found = format!("{quota:.2} CPUs");
    // One worker runs at a time, and the driver waits for it.
    if quota >= f64::from(host.cpus_allowed.unwrap_or(2).min(2)) {
        return Answer::notice(found, "Enough for one worker and the driver, unless others share the control group.");
    }
    Answer::spoils(found, "The control group is stopped whenever it has used its share: lift the quota for the run.")
}

pub fn processors(host: &Host, _: &Checks) -> Option<Answer> {
    match (host.cpus_allowed.or(host.cpus), host.cpus) {
        (None, _) => Answer::notice("unknown", "Two are needed to keep the driver off the measured CPU."),
        (Some(1), Some(online)) => {
            let found = if online > 1 { format!("1 of {online} permitted") } else { "1".to_string() };
            Answer::spoils(found, "The driver and everything else share the measured CPU: permit a second one.")
        }
        (Some(allowed), Some(online)) if allowed < online => Answer::good(format!("{allowed} of {online} permitted")),
        (Some(allowed), _) => Answer::good(format!("{allowed}, all permitted")),
    }
}

/// A virtual machine may run on shared cores without knowing.
pub fn smt(host: &Host, _: &Checks) -> Option<Answer> {
    match host.smt {
        Some(true) => {
            let advice = "Load on a core's other thread slows the measured one: keep it idle.";
            Answer::notice("two or more threads per core", advice)
        }
        Some(false) if is_virtual(host) => Answer::good("none visible in this VM"),
        Some(false) => Answer::good("none"),
        None => Answer::notice(unknown(host), "Another thread on the same core may slow the measured one."),
    }
}

/// One finding if nothing is known; governor and turbo then report nothing.
pub fn frequency(host: &Host, checks: &Checks) -> Option<Answer> {
    let nominal = || checks.nominal_mhz.filter(|_| is_virtual(host)).map(|mhz| format!(" (nominal {mhz:.0} MHz)"));
    match host.frequency_mhz {
        Some(mhz) => Answer::good(format!("{mhz:.0} MHz just now")),
        None => {
            let governed = if knows_control(host) { "" } else { ", governor and turbo too" };
            let found = format!("{}{}{governed}", unknown(host), nominal().unwrap_or_default());
            Answer::notice(found, "Ratios within a run are more reliable than times across runs.")
        }
    }
}

fn knows_control(host: &Host) -> bool {
    host.governor.is_some() || host.turbo.is_some()
}

/// Whether the finding on the frequency already covers governor and turbo.
fn said_unknown(host: &Host) -> bool {
    host.frequency_mhz.is_none() && !knows_control(host)
}

pub fn governor(host: &Host, _: &Checks) -> Option<Answer> {
    match host.governor.as_deref() {
        _ if said_unknown(host) => None,
        None => Answer::notice(unknown(host), "The CPU may change its frequency during a run."),
        Some("performance") => Answer::good("performance"),
        Some(name) => {
            let advice = "The frequency follows the load: `cpupower frequency-set -g performance` for the run.";
            Answer::spoils(name, advice)
        }
    }
}

pub fn turbo(host: &Host, _: &Checks) -> Option<Answer> {
    match host.turbo {
        _ if said_unknown(host) => None,
        None => Answer::notice(unknown(host), "The CPU may change its frequency with its temperature."),
        Some(false) => Answer::good("off"),
        Some(true) => {
            let advice =
                "The frequency depends on temperature and on other cores; switch it off for repeatable results.";
            Answer::notice("on", advice)
        }
    }
}

pub fn autogroup(host: &Host, _: &Checks) -> Option<Answer> {
    match host.autogroup {
        Some(true) => {
            let advice = "`nice` has no effect between sessions: stop the work of other sessions instead.";
            Answer::notice("on", advice)
        }
        Some(false) => Answer::good("off"),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::super::fake::{hardware, permitted, state};
    use super::*;

    fn virtual_machine() -> Host {
        let unknown = Host { governor: None, turbo: None, frequency_mhz: None, ..hardware() };
        Host { hypervisor: Some("kvm".to_string()), ..unknown }
    }

    #[test]
    fn load_counts_per_cpu() {
        let judged = |load| state(super::load(&Host { load_1min: Some(load), ..hardware() }, &permitted()));
        assert_eq!([judged(1.0), judged(3.0), judged(8.0)], [State::Good, State::Notice, State::Spoils].map(Some));
    }

    #[test]
    fn stolen_time_is_a_virtual_machines() {
        assert_eq!(state(steal(&hardware(), &permitted())), None);
        let run = Host { steal_percent: Some(9.0), ..virtual_machine() };
        assert_eq!(state(steal(&run, &permitted())), Some(State::Spoils));
        let found = steal(&virtual_machine(), &permitted()).map(|answer| answer.found);
        assert_eq!(found.as_deref(), Some("0.0% of CPU time since the machine started"));
    }

    #[test]
    fn a_quota_below_what_a_run_needs_spoils() {
        let judged = |quota| state(super::quota(&hardware(), &Checks { cpu_quota: quota, ..permitted() }));
        assert_eq!(judged(None), Some(State::Good));
        assert_eq!(judged(Some(0.5)), Some(State::Spoils));
        assert_eq!(judged(Some(2.0)), Some(State::Notice));
    }

    #[test]
    fn one_permitted_cpu_spoils() {
        let one = Host { cpus_allowed: Some(1), ..hardware() };
        assert_eq!(state(processors(&one, &permitted())), Some(State::Spoils));
    }

    #[test]
    fn unknown_frequencies_of_a_virtual_machine_are_one_line() {
        let host = virtual_machine();
        let checks = Checks { nominal_mhz: Some(2596.094), ..permitted() };
        let found = frequency(&host, &checks).map(|answer| answer.found);
        assert_eq!(found.as_deref(), Some("unknown in this VM (nominal 2596 MHz), governor and turbo too"));
        assert!(governor(&host, &checks).is_none() && turbo(&host, &checks).is_none());
    }

    #[test]
    fn a_governor_that_follows_the_load_spoils() {
        let host = Host { governor: Some("powersave".to_string()), turbo: Some(true), ..hardware() };
        assert_eq!(state(governor(&host, &permitted())), Some(State::Spoils));
        assert_eq!(state(turbo(&host, &permitted())), Some(State::Notice));
    }
}
