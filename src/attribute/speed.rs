//! How fast the machine was when unit costs were measured, and what that says of two runs: it moves all costs of a run together,
//! so it must neither pass for a difference between machines nor be averaged out over calls. Pure; `costs` and `wall` call it.
//!
//! On one machine, the panel's operations in user mode show the shift, because no tracer, filter or file system changes them. It
//! is divided out. Between machines, a shift cannot be distinguished from a difference, so it is an error of both runs.

use crate::model::{PANEL, PANEL_IN_USER_MODE, Run};
use crate::summary::{self, Panel};
use std::collections::BTreeMap;

/// Standard deviation, on the log scale, of what moves all system calls of a run together and user mode not. Chosen so that
/// two runs of one machine predict no change.
const BEYOND_USER_MODE: f64 = 0.005;

/// Fewer operations in user mode do not give the machine's speed.
const FEWEST: usize = 2;

/// What a run shows of its machine's speed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// When the run began, and its seed; `None` for an article.
    run: Option<(u64, u64)>,
    /// Name and processor; `None` if either is unknown.
    identity: Option<(String, String)>,
    /// Logarithms of the costs of the panel's operations in user mode.
    user_mode_ln: BTreeMap<String, f64>,
    /// Standard deviation of whole runs on the log scale; 0 for an article, of which nothing is known.
    pub run_scatter: f64,
    /// Processors that the run might use.
    pub cpus: Option<u64>,
}

/// How two sets of unit costs differ by the machine's speed alone, on the log scale.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shift {
    /// By how much the second is slower; 0 where it is not known.
    pub ln: f64,
    /// The standard deviation of what is left of it.
    pub sd: f64,
}

impl Machine {
    pub fn from_run(run: &Run) -> Machine {
        let (range, _) = summary::steady_range(run);
        let panel = Panel::of(run, &range).costs_ns();
        let in_user_mode = PANEL[..PANEL_IN_USER_MODE].iter();
        let ln = |operation: &&str| Some((operation.to_string(), panel.get(*operation).filter(|ns| **ns > 0.0)?.ln()));
        Machine {
            run: run.source.is_none().then_some((run.started_unix_s, run.seed)),
            identity: run.host.name.clone().zip(run.host.cpu.clone()),
            user_mode_ln: in_user_mode.filter_map(ln).collect(),
            run_scatter: if run.source.is_some() { 0.0 } else { summary::run_deviation(run).as_normal() },
            cpus: run.host.cpus_allowed.or(run.host.cpus).map(u64::from),
        }
    }

    /// How much slower everything is in the run `there` because of the machine's speed then.
    pub fn shift(&self, there: &Machine) -> Shift {
        match self.measured_shift(there) {
            Some(ln) => Shift { ln, sd: std::f64::consts::SQRT_2 * BEYOND_USER_MODE },
            None => Shift { ln: 0.0, sd: self.scatter(there) },
        }
    }

    /// Whether both are of one run.
    pub fn is_same_run(&self, other: &Machine) -> bool {
        self.run.is_some() && (&self.run, &self.identity) == (&other.run, &other.identity)
    }

    /// Standard deviation of the ratio of two times that were taken at different moments, one on each machine.
    pub fn scatter(&self, there: &Machine) -> f64 {
        self.run_scatter.hypot(there.run_scatter)
    }

    fn measured_shift(&self, there: &Machine) -> Option<f64> {
        (self.identity.is_some() && self.identity == there.identity).then_some(())?;
        let both = self.user_mode_ln.iter().filter_map(|(name, ln)| Some(there.user_mode_ln.get(name)? - ln));
        let mut both: Vec<f64> = both.collect();
        both.sort_by(f64::total_cmp);
        let middle = both.len() / 2;
        (both.len() >= FEWEST).then(|| (both[middle] + both[(both.len() - 1) / 2]) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{run, varying};

    fn at(ns: u64, name: &str) -> Machine {
        let mut run = run(PANEL.iter().map(|operation| varying(operation, |_| ns)).collect());
        (run.host.name, run.host.cpu) = (Some(name.into()), Some("a processor".into()));
        (run.host.run_scatter_percent, run.host.run_scatter_runs) = (Some(3.0), Some(1_000_000));
        Machine::from_run(&run)
    }

    #[test]
    fn one_machine_shows_by_how_much_it_was_slower() {
        let shift = at(1000, "a").shift(&at(1080, "a"));
        assert!((shift.ln - 1.08f64.ln()).abs() < 1e-9 && shift.sd < 0.01, "{shift:?}");
    }

    #[test]
    fn between_machines_a_shift_is_an_error_of_both_runs() {
        let shift = at(1000, "a").shift(&at(1080, "b"));
        assert_eq!(shift.ln, 0.0);
        assert!((shift.sd - 0.03 * 2f64.sqrt()).abs() < 1e-6, "{shift:?}");
    }
}
