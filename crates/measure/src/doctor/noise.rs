//! Looks at the sources of noise during a run: other load, the hypervisor, the CPU's frequency.

use super::machine::unknown;
use super::{Finding, is_virtual};
use model::Host;
use model::prose::counted;
use sys::checks::Checks;

/// Running processes per CPU: for a notice, and for a problem.
const LOAD: (f64, f64) = (0.25, 0.75);
/// Percentages of CPU time: for a notice, and for a problem.
const STEAL: (f64, f64) = (0.5, 5.0);

/// The average over the last minute, per CPU that is online.
pub fn load(host: &Host, _: &Checks) -> Option<Finding> {
    let (Some(load), Some(cpus)) = (host.load_1min, host.cpus) else {
        return Finding::notice("unknown", "Make sure that nothing else is running.");
    };
    let load_text = format!("{load:.2} over the last minute on {}", counted(cpus, "CPU"));
    graded(
        load / f64::from(cpus),
        LOAD,
        load_text,
        "Wait for the other work to end, or stop it.",
    )
}

/// The share of CPU time that went to other guests: during the run if there was one, else since boot. None on hardware.
pub fn steal(host: &Host, checks: &Checks) -> Option<Finding> {
    let share = host
        .steal_percent
        .map(|percent| (percent, "over the run"))
        .or(checks
            .steal_since_boot_percent
            .map(|percent| (percent, "since the machine started")));
    match share {
        _ if !is_virtual(host) => None,
        None => Finding::notice(
            "unknown",
            "The hypervisor may take CPU time without reporting it.",
        ),
        Some((percent, when)) => {
            let stolen = format!("{percent:.1}% of CPU time {when}");
            graded(
                percent,
                STEAL,
                stolen,
                "Other guests take CPU time: measure at another time or on another machine.",
            )
        }
    }
}

fn graded(value: f64, limits: (f64, f64), observation: String, advice: &str) -> Option<Finding> {
    let (noticed, disturbing) = limits;

    if value >= disturbing {
        Finding::problem(observation, advice)
    } else if value >= noticed {
        Finding::notice(observation, advice)
    } else {
        Finding::good(observation)
    }
}

/// None in a virtual machine, which does not see the heat of its host.
pub fn heat(_: &Host, checks: &Checks) -> Option<Finding> {
    match checks.heat_throttles? {
        0 => Finding::good("no core was slowed down since the machine started"),
        times => Finding::notice(
            format!("slowed cores down {times} times since the machine started"),
            "Heat lowers the clock in long runs: ratios within a run are more reliable than times across runs.",
        ),
    }
}

/// When the quota is used up, the whole control group is stopped for the rest of the period.
pub fn quota(host: &Host, checks: &Checks) -> Option<Finding> {
    let Some(quota) = checks.cpu_quota else {
        return Finding::good("none");
    };
    let cpus = format!("{quota:.2} CPUs");
    // One worker runs at a time, and the driver waits for it.
    if quota >= f64::from(host.cpus_allowed.unwrap_or(2).min(2)) {
        return Finding::notice(
            cpus,
            "Enough for one worker and the driver, unless others share the control group.",
        );
    }
    Finding::problem(
        cpus,
        "The control group is throttled whenever it has used its share: lift the quota for the run.",
    )
}

/// The worker and the driver need one each.
pub fn processors(host: &Host, _: &Checks) -> Option<Finding> {
    match (host.cpus_allowed.or(host.cpus), host.cpus) {
        (None, _) => Finding::notice(
            "unknown",
            "Two are needed to keep the driver off the measured CPU.",
        ),
        (Some(1), Some(online)) => {
            let permitted = if online > 1 {
                format!("1 of {online} permitted")
            } else {
                "1".to_string()
            };
            Finding::problem(
                permitted,
                "The driver and everything else share the measured CPU: permit a second one.",
            )
        }
        (Some(allowed), Some(online)) if allowed < online => {
            Finding::good(format!("{allowed} of {online} permitted"))
        }
        (Some(allowed), _) => Finding::good(format!("{allowed}, all permitted")),
    }
}

/// A virtual machine may share its core without knowing.
pub fn smt(host: &Host, _: &Checks) -> Option<Finding> {
    match host.smt {
        Some(true) => {
            let advice = "Load on a core's other thread slows the measured one: keep it idle.";
            Finding::notice("two or more threads per core", advice)
        }
        Some(false) if is_virtual(host) => Finding::good("none visible in this VM"),
        Some(false) => Finding::good("none"),
        None => Finding::notice(
            unknown(host),
            "Another thread on the same core may slow the measured one.",
        ),
    }
}

/// The CPU's frequency in MHz. If nothing is known about it, this one finding stands for governor and turbo too.
pub fn frequency(host: &Host, checks: &Checks) -> Option<Finding> {
    match host.frequency_mhz {
        Some(mhz) => Finding::good(format!("{mhz:.0} MHz just now")),
        None => {
            let governed = if knows_control(host) {
                ""
            } else {
                ", governor and turbo too"
            };
            // On hardware the nominal frequency would suggest a value that the CPU may never have had.
            let nominal = match checks.nominal_mhz {
                Some(mhz) if is_virtual(host) => format!(" (nominal {mhz:.0} MHz)"),
                _ => String::new(),
            };
            Finding::notice(
                format!("{}{}{governed}", unknown(host), nominal),
                "Ratios within a run are more reliable than times across runs.",
            )
        }
    }
}

fn knows_control(host: &Host) -> bool {
    host.governor.is_some() || host.turbo.is_some()
}

fn said_unknown(host: &Host) -> bool {
    host.frequency_mhz.is_none() && !knows_control(host)
}

/// None if `frequency` stands for it.
pub fn governor(host: &Host, _: &Checks) -> Option<Finding> {
    match host.governor.as_deref() {
        _ if said_unknown(host) => None,
        None => Finding::notice(
            unknown(host),
            "The CPU may change its frequency during a run.",
        ),
        Some("performance") => Finding::good("performance"),
        Some(name) => {
            let advice = "The frequency follows the load: use `cpupower frequency-set -g performance` for the run.";
            Finding::problem(name, advice)
        }
    }
}

/// None if `frequency` stands for it.
pub fn turbo(host: &Host, _: &Checks) -> Option<Finding> {
    match host.turbo {
        _ if said_unknown(host) => None,
        None => Finding::notice(
            unknown(host),
            "The CPU may change its frequency with its temperature.",
        ),
        Some(false) => Finding::good("off"),
        Some(true) => {
            let advice = "The frequency depends on temperature and on other cores; turn turbo off for repeatable results.";
            Finding::notice("on", advice)
        }
    }
}

/// Scheduling by session, which `nice` cannot change. None if the kernel has no autogroups.
pub fn autogroup(host: &Host, _: &Checks) -> Option<Finding> {
    match host.autogroup {
        Some(true) => {
            let advice =
                "`nice` has no effect between sessions: stop the work of other sessions instead.";
            Finding::notice("on", advice)
        }
        Some(false) => Finding::good("off"),
        None => None,
    }
}
