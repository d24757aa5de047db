//! One command against another: the ratios of wall time, CPU time and memory with their verdicts, and what a certain difference
//! consists of.

use super::super::judge::unmarked;
use super::super::profiles::{
    ProfileColumn, ProfileComparison, ProfileRow, Span, compare_profiles,
};
use super::super::verdict::{Mark, Ratio, RatioOf};
use super::cause::{
    Cause, CauseOf, LEAST, Side, Sides, Surroundings, are_faults_apart, causes, seconds, with_waits,
};
use super::net::{Net, in_seconds, net};
use crate::attribute::bill::Bill;
use model::Contender;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{BetweenRuns, findings, next_trimmed_ratio, trimmed};

/// A command compared with another, both by their index in `results`. In an environment, `net` and `net_cpu` are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Versus {
    /// The command that it is compared with.
    pub base: usize,
    /// The command.
    pub head: usize,
    /// The head's wall time over the base's; null for fewer than 5 rounds, and if the start-up scatters by more than the command takes.
    /// A verdict needs the control to be nearer to 1, by its whole interval, than what is claimed.
    pub wall: Option<Ratio>,
    /// The same of user and system time together.
    pub cpu: Option<Ratio>,
    /// The same of peak memory.
    pub memory: Option<Ratio>,
    /// Wall time of the head minus that of the base, in seconds, with the ends of its 95% interval.
    pub difference: Option<[f64; 3]>,
    /// The same of user and system time together.
    #[serde(default)]
    pub cpu_difference: Option<[f64; 3]>,
    /// The system calls of base and head that differ, in number or in time; null if those of one were not counted.
    pub calls: Option<ProfileComparison>,
    /// The parts of a certain difference in wall time, or else in CPU time, the largest first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Page faults of base and head, the medians, if they differ by more than 5%.
    pub page_faults: Option<[u64; 2]>,
    /// The extra time of the command's calls in the head's environment, by unit costs; null if these were not measured.
    #[serde(default)]
    pub by_calls: Option<Bill>,
}

/// Ratios of wall time, CPU time and memory; `None` if one is not known.
type Ratios = [Option<BetweenRuns>; 3];

pub fn all_versus(all: &[Contender], margin: f64) -> Vec<Versus> {
    let nets: Vec<Net> = all.iter().map(|contender| net(all, contender)).collect();
    let between =
        |base: usize, head: usize| ratios([&all[base], &all[head]], [&nets[base], &nets[head]]);
    all.iter()
        .enumerate()
        .filter_map(|(head, contender)| {
            let base = contender.base?;
            let mut versus = Versus::new(base, head, [&nets[base], &nets[head]]);
            let again = all
                .iter()
                .position(|other| other.is_control && other.base == Some(base));
            let control = match again {
                Some(again) if !contender.is_control => Some(between(base, again)),
                _ => None,
            };
            [versus.wall, versus.cpu, versus.memory] = judged(between(base, head), control, margin);
            if !contender.is_control {
                versus.explain([&all[base], contender], [&nets[base], &nets[head]]);
                let again = again.and_then(|again| waiting(&nets[again], &nets[base]));
                versus
                    .causes
                    .retain(|cause| !is_also_the_controls(cause, again));
            }
            Some(versus)
        })
        .collect()
}

fn ratios([old, new]: [&Contender; 2], nets: [&Net; 2]) -> Ratios {
    fn peaks(contender: &Contender) -> Vec<f64> {
        contender
            .runs
            .iter()
            .map(|run| run.peak_rss_kib as f64)
            .collect()
    }

    let is_inside = new.environment.is_some();
    let is_known = nets.iter().all(|net| net.is_above_scatter());
    let cpu = nets[1].cpu.as_ref().zip(nets[0].cpu.as_ref());
    [
        if is_known {
            ratio(&nets[1].wall, &nets[0].wall, is_inside)
        } else {
            None
        },
        cpu.and_then(|(new, old)| ratio(new, old, is_inside)),
        if is_inside {
            None
        } else {
            log_ratio(&peaks(new), &peaks(old))
        },
    ]
}

/// Net times may be below 0 after a subtraction, so they have no logarithms.
fn ratio(new: &[f64], old: &[f64], is_net: bool) -> Option<BetweenRuns> {
    if is_net {
        next_trimmed_ratio(new, old)
    } else {
        log_ratio(new, old)
    }
}

fn log_ratio(new: &[f64], old: &[f64]) -> Option<BetweenRuns> {
    let logs = new.iter().zip(old).map(|(new, old)| new.ln() - old.ln());
    trimmed(logs.collect()).map(stats::Trimmed::as_log_ratio)
}

fn difference(new: &[f64], old: &[f64]) -> Option<[f64; 3]> {
    let differences: Vec<f64> = new.iter().zip(old).map(|(new, old)| new - old).collect();
    in_seconds(&differences)
}

/// Time off the CPU: how much more the control has of it than the same command, in seconds, with the ends of the interval.
fn waiting(again: &Net, base: &Net) -> Option<[f64; 3]> {
    let off_cpu = |net: &Net| -> Option<Vec<f64>> {
        let rounds = net.wall.iter().zip(net.cpu.as_ref()?);
        Some(rounds.map(|(wall, cpu)| wall - cpu).collect())
    };
    difference(&off_cpu(again)?, &off_cpu(base)?)
}

/// Waits for a CPU depend on what else runs: they are a cause only if they exceed what the control waited more than the same command.
fn is_also_the_controls(cause: &Cause, control: Option<[f64; 3]>) -> bool {
    let control = control.map_or(0.0, |[_, low, high]| low.abs().max(high.abs()));
    cause.kind == CauseOf::Waiting && cause.seconds.abs() <= control
}

/// No verdict is stronger than what the control shows.
fn judged(measured: Ratios, control: Option<Ratios>, margin: f64) -> [Option<Ratio>; 3] {
    let control = control.unwrap_or_default();
    let widened = [0, 1, 2].map(|which| match &control[which] {
        Some(control) => measured[which].map(|ratio| ratio.beside(control)),
        None => measured[which],
    });
    let known: Vec<BetweenRuns> = widened.iter().flatten().copied().collect();
    let mut findings = findings(&known, margin).into_iter();
    [0, 1, 2].map(|which| {
        let ratio = widened[which]?;
        let finding = findings.next()?;
        let is_permitted =
            control[which].is_none_or(|control| control.permits(finding, &ratio, margin));
        Some(Ratio {
            mark: if is_permitted {
                finding.into()
            } else {
                Mark::NotKnown
            },
            ..unmarked(&ratio, RatioOf::time(ratio.ratio()))
        })
    })
}

fn page_faults(old: &Contender, new: &Contender) -> Option<[u64; 2]> {
    let both = [old, new].map(|contender| {
        Span::from_values(contender.runs.iter().map(|run| run.faults).collect()).median
    });
    are_faults_apart(both[0], both[1]).then_some(both)
}

fn is_change(ratio: Option<&Ratio>) -> bool {
    ratio.is_some_and(|ratio| ratio.mark.is_change())
}

impl Versus {
    pub fn changed(&self) -> &[ProfileRow] {
        self.calls.as_ref().map_or(&[], |calls| &calls.rows)
    }

    /// The difference that the causes divide: that of the wall time or, if only CPU time differs for certain, of this one.
    pub fn explained(&self) -> Option<[f64; 3]> {
        if self.differs_on_cpu_alone() {
            self.cpu_difference
        } else {
            if is_change(self.wall.as_ref()) {
                self.difference
            } else {
                None
            }
        }
    }

    /// Whether CPU time differs for certain and wall time does not, as if threads run side by side.
    pub fn differs_on_cpu_alone(&self) -> bool {
        !is_change(self.wall.as_ref()) && is_change(self.cpu.as_ref())
    }

    pub(super) fn is_wall_unknown(&self) -> bool {
        self.wall
            .as_ref()
            .is_some_and(|wall| wall.mark == Mark::NotKnown)
    }

    fn new(base: usize, head: usize, [old, new]: [&Net; 2]) -> Versus {
        Versus {
            base,
            head,
            difference: difference(&new.wall, &old.wall),
            cpu_difference: new
                .cpu
                .as_ref()
                .zip(old.cpu.as_ref())
                .and_then(|(new, old)| difference(new, old)),
            ..Versus::default()
        }
    }

    fn explain(&mut self, both: [&Contender; 2], times: [&Net; 2]) {
        // In an environment, faults include those of the environment's own start.
        if both[1].environment.is_none() {
            self.page_faults = page_faults(both[0], both[1]);
        }
        let has_others = both.iter().any(|contender| {
            !contender.is_accounted() || Surroundings::new(contender) == Surroundings::Tracer
        });
        self.calls = all_calls(both);
        let [base, head] = [0, 1].map(|which| Side::new(both[which], times[which], has_others));
        // Without a certain difference there is nothing to divide: only calls whose number differs are kept.
        let (Some(base), Some(head), Some([difference, ..])) = (base, head, self.explained())
        else {
            self.calls
                .iter_mut()
                .for_each(|calls| calls.keep_differing(0.0, |_| false));
            return;
        };
        let sides = if self.differs_on_cpu_alone() {
            Sides::on_cpu([base, head])
        } else {
            Sides::new(self.changed(), [base, head])
        };
        let weight = |row: &ProfileRow| seconds(row, &sides).unwrap_or(0.0) / difference;
        self.causes = causes(self.changed(), &sides, difference);
        if let Some(calls) = &mut self.calls {
            calls.keep_differing(0.0, |row| weight(row).abs() >= LEAST);
            calls
                .rows
                .sort_by(|a, b| weight(b).abs().total_cmp(&weight(a).abs()));
        }
    }
}

fn all_calls(both: [&Contender; 2]) -> Option<ProfileComparison> {
    fn column(label: &str, contender: &Contender) -> Option<ProfileColumn> {
        Some(ProfileColumn::new(
            label,
            &with_waits(contender.counted.as_ref().ok()?),
        ))
    }

    Some(compare_profiles(
        &[column("before", both[0])?, column("after", both[1])?],
        0,
        |_| true,
    ))
}
