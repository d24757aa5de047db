//! Why one command takes longer than another. A system call's part of the difference is what the traced runs took in it, on a CPU or
//! with the whole program blocked; outside of calls it is what the timed runs took.

use super::super::profiles::{Counts, ProfileRow, Span};
use super::net::{Net, in_seconds};
use crate::attribute::spent::stalled_ns;
use model::{Contender, Profile, TimedRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parts that are smaller shares of the difference are not named.
pub const LEAST: f64 = 0.05;

/// Page faults that differ by less, as a share, are not named.
const FAULTS_APART: f64 = 0.05;

// Clearing a huge page takes 71 to 124 us; other faults take a few.
/// A page fault takes less than this, in seconds: further time of the kernel has another cause.
const LONGEST_FAULT: f64 = 200e-6;

pub fn are_faults_apart(old: u64, new: u64) -> bool {
    old.abs_diff(new) as f64 > FAULTS_APART * old as f64
}

/// A part of the difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    #[serde(flatten)]
    pub kind: CauseOf,
    /// The head's wall time in it minus the base's.
    pub seconds: f64,
}

/// The part that takes longer, or less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum CauseOf {
    /// There are more calls, or fewer.
    Calls {
        call: String,
    },
    /// Each call takes longer, or less.
    TimePerCall {
        call: String,
    },
    UserMode,
    /// The kernel outside of calls, where page faults differ.
    PageFaults,
    /// The kernel outside of calls.
    Kernel,
    /// In an environment, the kernel outside of calls as a tracer times them, which is after filters have run.
    AroundCalls,
    /// The kernel, whose calls the tracer did not time on a CPU.
    UntimedKernel,
    /// On a CPU outside of timed calls, with too few ticks of the clock to distinguish user mode from the kernel.
    UserOrKernel,
    /// Off the CPU outside of calls, as for a CPU; or less so, as where threads run side by side.
    Waiting,
    /// Outside of calls, where a tracer stops the program before and after each call.
    OutsideCalls,
    /// Outside of calls, where other processes do a part of the work.
    OtherProcesses,
}

/// The place where a command runs, which decides what its time outside of timed calls may be.
#[derive(Clone, Copy, PartialEq)]
pub enum Surroundings {
    Native,
    Environment,
    Tracer,
}

impl Surroundings {
    pub fn new(contender: &Contender) -> Surroundings {
        match &contender.environment {
            Some(there) if there.is_traced => Surroundings::Tracer,
            Some(_) => Surroundings::Environment,
            None => Surroundings::Native,
        }
    }
}

#[derive(Clone, Copy)]
pub struct Side {
    wall: f64,
    on_cpu: Option<f64>,
    /// `None` if ticks do not distinguish user mode from the kernel.
    user: Option<f64>,
    faults: u64,
    surroundings: Surroundings,
}

/// `scale` is what a second on a CPU is in wall time: less than one where threads run side by side. It is that of the command with more
/// CPU time.
pub struct Sides {
    both: [Side; 2],
    waits: [f64; 2],
    scale: f64,
    /// It is the CPU time that differs.
    is_cpu: bool,
}

impl Side {
    /// `has_others`: its CPU time is not the program's alone. `None` for too few rounds.
    pub fn new(contender: &Contender, net: &Net, has_others: bool) -> Option<Side> {
        let cpu = if has_others { None } else { net.cpu.as_ref() };
        let faults = Span::from_values(
            contender
                .runs
                .iter()
                .map(|run: &TimedRun| run.faults)
                .collect(),
        )
        .median;
        Some(Side {
            wall: mean_s(&net.wall)?,
            on_cpu: cpu.and_then(|cpu| mean_s(cpu)).filter(|cpu| *cpu > 0.0),
            user: net.user.as_ref().and_then(|user| mean_s(user)),
            faults,
            surroundings: Surroundings::new(contender),
        })
    }
}

fn mean_s(values_ns: &[f64]) -> Option<f64> {
    in_seconds(values_ns).map(|[mean_s, ..]| mean_s)
}

impl Sides {
    /// Commands, with what their calls waited, and how wall time follows CPU time.
    pub fn new(rows: &[ProfileRow], both: [Side; 2]) -> Sides {
        let waits = [0, 1].map(|side| rows.iter().map(|row| waited(&row.counts[side])).sum());
        let mut sides = Sides {
            both,
            waits,
            scale: 1.0,
            is_cpu: false,
        };
        let scales = [sides.scale_of(0), sides.scale_of(1)];
        sides.scale = scales
            .into_iter()
            .flatten()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map_or(1.0, |(_, scale)| scale.min(1.0));
        sides
    }

    pub fn on_cpu(both: [Side; 2]) -> Sides {
        let both = both.map(|side| Side {
            wall: side.on_cpu.unwrap_or(0.0),
            ..side
        });
        Sides {
            both,
            waits: [0.0; 2],
            scale: 1.0,
            is_cpu: true,
        }
    }

    fn scale_of(&self, side: usize) -> Option<(f64, f64)> {
        let cpu = self.both[side].on_cpu?;
        Some((
            cpu,
            ((self.both[side].wall - self.waits[side]) / cpu).max(0.0),
        ))
    }

    /// `None` if it was not timed.
    fn time(&self, counts: &Counts) -> Option<f64> {
        let is_known =
            counts.on_cpu_ns.is_some() || counts.stalled_ns.is_some() || counts.calls.most == 0;
        let waited = if self.is_cpu { 0.0 } else { waited(counts) };
        if !is_known {
            return None;
        }
        Some(self.scale * s(counts.on_cpu_ns) + waited)
    }
}

fn s(span: Option<Span>) -> f64 {
    span.map_or(0.0, |span| span.median as f64 / 1e9)
}

fn waited(counts: &Counts) -> f64 {
    s(counts.stalled_ns)
}

/// The profile with the waits of calls as wall time: in a program of one thread, all of their waits.
pub fn with_waits(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    let alone = profile.usage.has_one_thread();
    let first = profile.groups.iter_mut().flat_map(|group| &mut group.calls);
    for count in first.chain(profile.repeats.iter_mut().flat_map(|run| &mut run.calls)) {
        count.stalled_ns = stalled_ns(count, alone);
    }
    profile
}

/// Head minus base, in seconds; `None` if it was not timed.
pub fn seconds(row: &ProfileRow, sides: &Sides) -> Option<f64> {
    Some(sides.time(&row.counts[1])? - sides.time(&row.counts[0])?)
}

/// The parts of `difference` seconds, the largest first. Those that go the other way, or are hardly a part of it, are left out.
pub fn causes(rows: &[ProfileRow], sides: &Sides, difference: f64) -> Vec<Cause> {
    let mut all: Vec<Cause> = rows
        .iter()
        .filter_map(|row| {
            Some(Cause {
                kind: call_cause(row, sides),
                seconds: seconds(row, sides)?,
            })
        })
        .collect();
    all.extend(outside(rows, sides));
    // Parts of the other sign have negative shares and go as well.
    all.retain(|cause| cause.seconds / difference >= LEAST);
    all.sort_by(|a, b| b.seconds.abs().total_cmp(&a.seconds.abs()));
    all
}

fn call_cause(row: &ProfileRow, sides: &Sides) -> CauseOf {
    let call = row.call.clone();
    let [(old, before), (new, after)] = [0, 1].map(|which| {
        let counts = &row.counts[which];
        (
            counts.calls.median as f64,
            sides.time(counts).unwrap_or(0.0),
        )
    });
    if old == 0.0 || new == 0.0 {
        return CauseOf::Calls { call };
    }
    // Shapley's division: each factor changes at the mean of the other's two values, so the parts add up whichever changed first.
    let by_number = (new - old) * (before / old + after / new) / 2.0;
    let by_time = (after / new - before / old) * (new + old) / 2.0;
    let way = (after - before).signum();
    if way * by_time > way * by_number {
        CauseOf::TimePerCall { call }
    } else {
        CauseOf::Calls { call }
    }
}

fn outside(rows: &[ProfileRow], sides: &Sides) -> Vec<Cause> {
    let [base, head] = &sides.both;
    let in_calls: f64 = rows.iter().filter_map(|row| seconds(row, sides)).sum();
    let waited = sides.waits[1] - sides.waits[0];
    let wall = head.wall - base.wall;
    let is_timed = rows
        .iter()
        .any(|row| row.counts.iter().any(|counts| counts.on_cpu_ns.is_some()));
    let more = |old: Option<f64>, new: Option<f64>| Some(sides.scale * (new? - old?));
    let Some(cpu) = more(base.on_cpu, head.on_cpu) else {
        let rest = Cause {
            kind: if head.surroundings == Surroundings::Tracer {
                CauseOf::OutsideCalls
            } else {
                CauseOf::OtherProcesses
            },
            seconds: wall - in_calls,
        };
        return is_timed.then_some(rest).into_iter().collect();
    };
    let waiting = Cause {
        kind: CauseOf::Waiting,
        seconds: wall - cpu - waited,
    };
    let outside = cpu - if is_timed { in_calls - waited } else { 0.0 };
    let Some(user) = more(base.user, head.user) else {
        let kind = CauseOf::UserOrKernel;
        let seconds = outside;
        return vec![Cause { kind, seconds }, waiting];
    };
    let kernel = outside - user;
    let each_fault = kernel / (head.faults as f64 - base.faults as f64);
    let kind = if !is_timed {
        CauseOf::UntimedKernel
    } else if head.surroundings != Surroundings::Native {
        CauseOf::AroundCalls
    } else if are_faults_apart(base.faults, head.faults)
        && (0.0..LONGEST_FAULT).contains(&each_fault)
    {
        CauseOf::PageFaults
    } else {
        CauseOf::Kernel
    };
    vec![
        Cause {
            kind: CauseOf::UserMode,
            seconds: user,
        },
        Cause {
            kind,
            seconds: kernel,
        },
        waiting,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(wall: f64, [cpu, user]: [f64; 2]) -> Side {
        Side {
            wall,
            on_cpu: Some(cpu),
            user: Some(user),
            faults: 9,
            surroundings: Surroundings::Native,
        }
    }

    fn row(call: &str, both: [(u64, Option<u64>, u64); 2]) -> ProfileRow {
        let ms = |ms: u64| Span::from_values(vec![ms * 1_000_000]);
        ProfileRow {
            call: call.into(),
            counts: both
                .map(|(calls, on_cpu, waited)| Counts {
                    calls: Span::from_values(vec![calls]),
                    on_cpu_ns: on_cpu.map(ms),
                    stalled_ns: Some(ms(waited)),
                    ..Counts::default()
                })
                .to_vec(),
            grew: Vec::new(),
            fell: Vec::new(),
        }
    }

    fn longer_in_kernel() -> [Side; 2] {
        [quick(), side(0.1, [0.1, 0.01])]
    }

    fn longer() -> CauseOf {
        CauseOf::TimePerCall {
            call: "read".to_string(),
        }
    }

    fn quick() -> Side {
        side(0.02, [0.02, 0.01])
    }

    fn slow() -> Side {
        side(0.05, [0.05, 0.04])
    }

    fn same() -> Option<[(u64, Option<u64>, u64); 2]> {
        Some([(9, Some(1), 0); 2])
    }

    fn with_faults(faults: u64) -> Side {
        Side {
            faults,
            ..side(0.05, [0.05, 0.01])
        }
    }

    /// Of a call's counts on both sides, and both sides.
    fn expect_first(counts: Option<[(u64, Option<u64>, u64); 2]>, sides: [Side; 2], kind: CauseOf) {
        let rows: Vec<ProfileRow> = counts.map(|both| row("read", both)).into_iter().collect();
        let difference = sides[1].wall - sides[0].wall;
        let actual = causes(&rows, &Sides::new(&rows, sides), difference);
        assert_eq!(actual[0].kind, kind, "{actual:?}");
        assert!(
            actual.iter().all(|cause| cause.seconds * difference > 0.0),
            "{actual:?}"
        );
    }

    #[test]
    fn the_largest_part_is_named_first() {
        let waiting = [side(0.02, [0.01; 2]), side(0.04, [0.01; 2])];
        let in_kernel = side(0.05, [0.05, 0.01]);
        let call = "read".to_string();
        let more_calls = Some([(100, Some(10), 0), (1000, Some(90), 0)]);
        expect_first(more_calls, longer_in_kernel(), CauseOf::Calls { call });
        let as_many = Some([(100, Some(10), 0), (110, Some(90), 0)]);
        expect_first(as_many, longer_in_kernel(), longer());
        let blocked = Some([(1, Some(0), 10), (1, Some(0), 30)]);
        expect_first(blocked, waiting, longer());
        expect_first(same(), [quick(), slow()], CauseOf::UserMode);
        expect_first(same(), [quick(), with_faults(900)], CauseOf::PageFaults);
        expect_first(same(), [quick(), with_faults(30)], CauseOf::Kernel);
        let waits = side(0.05, [0.02, 0.01]);
        expect_first(same(), [quick(), waits], CauseOf::Waiting);
        let untimed = Some([(9, None, 0), (90, None, 0)]);
        expect_first(untimed, [quick(), in_kernel], CauseOf::UntimedKernel);
        expect_first(None, [quick(), slow()], CauseOf::UserMode);
    }

    #[test]
    fn tracers_and_environments_have_causes_of_their_own() {
        let filtered = Side {
            surroundings: Surroundings::Environment,
            ..with_faults(900)
        };
        expect_first(same(), [quick(), filtered], CauseOf::AroundCalls);
        let traced = [0.02, 0.05].map(|wall| Side {
            on_cpu: None,
            surroundings: Surroundings::Tracer,
            ..side(wall, [0.0; 2])
        });
        let confined = traced.map(|side| Side {
            surroundings: Surroundings::Environment,
            ..side
        });
        let counts = Some([(9, Some(1), 0), (9, Some(2), 0)]);
        expect_first(counts, traced, CauseOf::OutsideCalls);
        expect_first(counts, confined, CauseOf::OtherProcesses);
    }

    #[test]
    fn where_ticks_are_few_user_mode_is_not_told_from_the_kernel() {
        let rows = [row("read", [(10, Some(10), 0), (10, Some(15), 0)])];
        let sides = [0.02, 0.04].map(|cpu| Side {
            user: None,
            ..side(cpu, [cpu, 0.0])
        });
        let actual = causes(&rows, &Sides::new(&rows, sides), 0.02);
        assert_eq!(actual[0].kind, CauseOf::UserOrKernel);
        assert_causes(&actual, &[0.015, 0.005]);
    }

    fn assert_causes(actual: &[Cause], expected: &[f64]) {
        let seconds: Vec<f64> = actual.iter().map(|cause| cause.seconds).collect();
        let are_near = seconds
            .iter()
            .zip(expected)
            .all(|(seconds, expected)| (seconds - expected).abs() < 1e-9);
        assert!(are_near && seconds.len() == expected.len(), "{actual:?}");
    }

    #[test]
    fn what_runs_side_by_side_is_scaled_and_waiting_for_a_cpu_is_a_part_of_its_own() {
        let rows = [row("read", [(10, Some(10), 0), (10, Some(50), 0)])];
        for (scale, expected) in [
            (0.25, vec![0.01]),
            (1.0, vec![0.04]),
            (3.0, vec![0.08, 0.04]),
        ] {
            let sides = [0.01, 0.05].map(|cpu| side(scale * cpu, [cpu, 0.0]));
            let actual = causes(&rows, &Sides::new(&rows, sides), 0.04 * scale);
            assert_causes(&actual, &expected);
        }
    }

    #[test]
    fn cpu_time_has_causes_of_its_own() {
        let rows = [row("read", [(10, Some(10), 70), (10, Some(50), 30)])];
        let sides = [0.02, 0.08].map(|cpu| side(0.1, [cpu, cpu / 4.0]));
        let actual = causes(&rows, &Sides::on_cpu(sides), 0.06);
        assert_causes(&actual, &[0.04, 0.015, 0.005]);
    }
}
