//! The results of a run: one row a record, with estimates, comparisons to the baselines and warnings.

mod cold;
mod cost;
mod doubts;
mod figure;
mod latency;
mod pairs;
mod quotients;
mod repeated;
mod row;
mod speed;
mod start_up;
mod warning;

pub use cost::{Moves, Relative, RowCost};
pub use doubts::CPU_SHARE;
pub use figure::{Instructions, RowFigure};
pub use latency::{LEAST_TIMES_TIMER, Latency, NoLatency, Percentiles, RowLatency};
pub use pairs::ControlRange;
pub use repeated::{combined, derived_over, summarize};
pub use row::{Row, RunStart, Summary, Versus};
pub use speed::{MachineSpeed, Panel, machine_speed, run_deviation};
pub use start_up::{StartUpCost, mean_ratio, start_ups};
pub use warning::{Disturbed, RunWarning, Warning};

use crate::derive::{MOST_ROWS, derive};
use cold::ColdRatios;
use doubts::{EmptyLoop, MOST_WAITED, below_empty_loop, doubts, left_out, not_entered};
use model::{
    self, Case, EMPTY_CALL, EntriesStatus, Failure, Measurement, Nanos, Outcome, REFERENCE, Record,
    Run, SELDOM, SPIN, StudyView, Tax,
};
use stats::{Launches, Side, UserShare};
use std::collections::BTreeMap;

fn summarize_one(run: &Run, study: Option<&StudyView>) -> Summary {
    let panel = Panel::new(run);
    let derived = derive(study, run);
    let recorded = run
        .warnings
        .iter()
        .cloned()
        .map(|text| RunWarning::Recorded { text });
    let more_derived =
        (derived.len() >= MOST_ROWS).then_some(RunWarning::ManyDerived { most: MOST_ROWS });
    let machine = machine_speed(run, &panel);
    let yardsticks = Yardsticks::new(run, &panel);
    let row = |record: &Record| row(record, &yardsticks);
    Summary {
        rows: run.asked().map(row).collect(),
        derived,
        study: run.study.clone(),
        baselines: run
            .records
            .iter()
            .filter(|r| is_shown_as_baseline(r))
            .map(|record| Row {
                latency: yardstick_latency(record),
                ..row(record)
            })
            .collect(),
        machine,
        control: None,
        warnings: recorded
            .chain(Disturbed::new(&run.host, &panel.calm).map(RunWarning::Disturbed))
            .chain(RunWarning::about_host(&run.host))
            .chain(more_derived)
            .collect(),
        repeats: Vec::new(),
        start_ups: start_ups(&run.environments),
        environments: run.environments.clone(),
        labels: run.labels.clone(),
    }
}

/// Work in user mode always has one: its tail is the machine's.
fn yardstick_latency(record: &Record) -> Option<RowLatency> {
    let new_latency = if record.case.is_plain(SPIN) {
        RowLatency::for_yardstick
    } else {
        RowLatency::new
    };
    record.latency.as_ref().map(new_latency)
}

struct Yardsticks<'a> {
    /// By language (none for the native probe), environment and treatment before each call.
    empty_loops: BTreeMap<Loop, EmptyLoop>,
    counted_loops: BTreeMap<Loop, f64>,
    /// Nanoseconds, by environment.
    bare_calls: BTreeMap<String, Nanos>,
    precision_percent: f64,
    run: &'a Run,
    panel: &'a Panel<'a>,
    machine: Side,
    cold: ColdRatios<'a>,
}

impl Yardsticks<'_> {
    fn new<'a>(run: &'a Run, panel: &'a Panel) -> Yardsticks<'a> {
        let estimate = |r: &Record| stats::estimate(&panel.calm.only(r.outcome.measurement()?));
        let loops = run.records.iter().filter(|r| r.case.is_empty_loop());
        let counted_loops = loops
            .clone()
            .filter_map(|r| Some((whose_loop(&r.case), r.outcome.counted()?.per_operation()?)))
            .collect();
        let calls = run.records.iter().filter(|r| r.case.is_plain(REFERENCE));
        let empty_loops = loops
            .filter_map(|r| {
                let empty = EmptyLoop {
                    estimate: estimate(r)?,
                    instructions: r.instructions,
                };
                Some((whose_loop(&r.case), empty))
            })
            .collect();
        let bare_calls = calls
            .filter_map(|r| Some((r.case.environment.clone(), estimate(r)?.median)))
            .collect();
        Yardsticks {
            empty_loops,
            counted_loops,
            bare_calls,
            precision_percent: run.plan.precision_percent,
            run,
            panel,
            machine: Side::from_machine(&[], run_deviation(run)),
            cold: ColdRatios::new(run, &panel.calm),
        }
    }

    /// Work in user mode passes no tracer.
    fn is_traced(&self, record: &Record) -> bool {
        let mut environments = self.run.environments.iter();
        let elsewhere = environments
            .find(|facts| facts.name == record.case.environment)
            .and_then(|facts| facts.host.as_deref());
        let host = elsewhere.unwrap_or(&self.run.host);
        !in_user_mode(record) && host.taxes.iter().any(Tax::is_tracer)
    }

    fn empty_loop(&self, case: &Case) -> Option<&EmptyLoop> {
        self.empty_loops.get(&whose_loop(case))
    }

    fn net(&self, case: &Case, median: Nanos) -> Option<Nanos> {
        Some(median - self.empty_loop(case)?.estimate.median)
    }

    /// The bare call is warm and in batches, so single cold calls do not compare with it.
    fn times_getppid(&self, case: &Case, median: Nanos) -> Option<f64> {
        let bare = *self.bare_calls.get(&case.environment)?;
        if case.cold().is_none() && bare.is_cost() {
            Some(median / bare)
        } else {
            None
        }
    }
}

type Loop = (Option<String>, String, Option<u64>);

fn whose_loop(case: &Case) -> Loop {
    (case.language.clone(), case.environment.clone(), case.cold())
}

pub fn is_baseline(case: &Case) -> bool {
    case.is_empty_loop()
        || [EMPTY_CALL, REFERENCE, SPIN]
            .iter()
            .any(|operation| case.is_plain(operation))
}

/// Published results were not measured in the same rounds, so they are none.
fn is_shown_as_baseline(record: &Record) -> bool {
    is_baseline(&record.case) && !matches!(record.outcome, Outcome::Published(_))
}

fn row(record: &Record, yardsticks: &Yardsticks) -> Row {
    let mut warnings: Vec<Warning> = record
        .warnings
        .iter()
        .cloned()
        .map(|text| Warning::Recorded { text })
        .collect();
    let figure = match &record.outcome {
        Outcome::Failed(failure) => Err(failure.clone()),
        Outcome::Measured(measurement) => {
            cost(record, measurement, yardsticks, &mut warnings).map(RowFigure::Time)
        }
        Outcome::Published(published) => Ok(RowFigure::Time(published_cost(
            published,
            &record.case,
            yardsticks,
        ))),
        Outcome::Counted(counted) => {
            let empty_loop = yardsticks
                .counted_loops
                .get(&whose_loop(&record.case))
                .copied();
            Instructions::new(counted, empty_loop)
                .map(RowFigure::Instructions)
                .ok_or_else(|| Failure::failed("no instructions were counted"))
        }
    };
    warnings.extend(not_entered(record));
    if let (Ok(_), EntriesStatus::Unverified(reason)) = (&figure, &record.entries_status) {
        warnings.push(Warning::Unverified {
            reason: reason.clone(),
        });
    }
    Row {
        case: record.case.clone(),
        figure,
        entries: record.entries.clone(),
        entries_status: record.entries_status.clone(),
        entries_iterations: record.entries_iterations,
        counters: record.counters.clone(),
        latency: record.latency.as_ref().map(RowLatency::new),
        warnings,
        over_runs: None,
        versus: None,
    }
}

fn cost(
    record: &Record,
    m: &Measurement,
    yardsticks: &Yardsticks,
    warnings: &mut Vec<Warning>,
) -> Result<RowCost, Failure> {
    let estimate = stats::estimate(&yardsticks.panel.calm.only(m)).ok_or_else(|| no_batches(m))?;
    if m.switches && left_out(m) > MOST_WAITED {
        return Err(waited(m, "nearly every"));
    }
    if yardsticks.panel.calm.undisturbed(m).is_none() {
        warnings.push(Warning::Disturbed);
    }
    if yardsticks.is_traced(record) {
        warnings.push(Warning::Traced);
    }
    let launches = launches(record, yardsticks.panel);
    let moves = moves(record, m, launches.as_ref(), yardsticks);
    warnings.extend(doubts(
        m,
        record.case.language.is_some(),
        &estimate,
        yardsticks.precision_percent,
    ));
    warnings.extend(
        yardsticks
            .empty_loop(&record.case)
            .and_then(|empty| below_empty_loop(record, &estimate, empty)),
    );
    Ok(RowCost {
        median: estimate.median,
        best: Some(estimate.best),
        interval: estimate.interval,
        next_run: moves.and_then(|moves| moves.next_run(estimate.median.0)),
        relative: launches
            .zip(moves)
            .and_then(|(launches, moves)| relative(&launches, &moves)),
        moves,
        samples: estimate.samples,
        net: yardsticks.net(&record.case, estimate.median),
        cold_over_warm: yardsticks.cold.over_warm(&record.case),
        times_getppid: yardsticks.times_getppid(&record.case, estimate.median),
        user_share: stats::user_share(record.mode_samples, m),
    })
}

fn no_batches(m: &Measurement) -> Failure {
    if m.switches {
        return waited(m, "every");
    }
    Failure::failed("every batch was preempted by another process (try --cpu, or a longer --time)")
}

/// An iteration that takes longer than a time slice waits whenever another process wants the CPU: more batches would not help, but its
/// CPU time is known.
fn waited(m: &Measurement, batches: &str) -> Failure {
    let spent = (m.cpu.user_ns + m.cpu.system_ns) as f64 / m.cpu.wall_ns.max(1) as f64;
    let iterations = m.iterations * m.preempted_ns.len().max(1) as u64;
    let each_ms = spent * m.preempted_ns.iter().sum::<u64>() as f64 / iterations as f64 / 1e6;
    let cpu = if each_ms > 0.0 {
        format!("; an iteration takes about {each_ms:.3} ms of CPU time")
    } else {
        String::new()
    };
    Failure::failed(format!(
        "{batches} batch waited for a CPU that other processes used{cpu} (try --cpu, or a quieter machine)"
    ))
}

/// `None` for cold calls and those that depend on history: how far they scatter from run to run is not known.
fn moves(
    record: &Record,
    m: &Measurement,
    launches: Option<&Launches>,
    yardsticks: &Yardsticks,
) -> Option<Moves> {
    if m.history || record.case.is_displaced() {
        return None;
    }
    Some(Moves {
        case: Side::from_case(&[(launches?.clone(), 0.0)])?,
        machine: yardsticks.machine,
    })
}

fn relative(launches: &Launches, moves: &Moves) -> Option<Relative> {
    let value = launches.relative?;
    Some(Relative {
        value,
        in_user_mode: launches.in_user_mode,
        next_run: moves.case.next_run().interval(moves.case.expected(value)),
    })
}

/// The launches of a measured case, in undisturbed rounds.
pub fn launches(record: &Record, panel: &Panel) -> Option<Launches> {
    let in_user_mode = in_user_mode(record);
    let launches = panel.launches(&record.case, record.outcome.measurement()?, in_user_mode)?;
    let unit = panel.unit_ns(in_user_mode);
    Some(Launches {
        relative: unit.map(|unit| launches.level_ns / unit),
        in_user_mode,
        ..launches
    })
}

/// Whether the operation stays in user mode: older files do not state it, and there it is known by the entries, page faults and switches.
pub fn in_user_mode(record: &Record) -> bool {
    record.user_mode.unwrap_or_else(|| {
        let is_placed = record.outcome.measurement().is_none_or(stats::is_placed);
        record
            .entries
            .as_ref()
            .is_some_and(|counted| counted.total() <= SELDOM)
            && !is_placed
    })
}

fn published_cost(published: &model::Figure, case: &Case, yardsticks: &Yardsticks) -> RowCost {
    RowCost {
        median: published.time,
        net: yardsticks.net(case, published.time),
        times_getppid: yardsticks.times_getppid(case, published.time),
        user_share: published.user_share.map(|share| UserShare {
            share,
            standard_error: 0.0,
        }),
        ..RowCost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{PANEL, Role};

    use model::fixtures::{counted, run, varying, with};

    fn record(operation: &str, role: Role, ns: impl Fn(u64) -> u64) -> Record {
        Record {
            role,
            ..counted(varying(operation, ns), &[])
        }
    }

    #[test]
    fn costs_are_those_of_undisturbed_rounds() {
        fn slow(after: u64, ns: u64) -> impl Fn(u64) -> u64 {
            move |block| if block < after { ns } else { 2 * ns }
        }

        fn summary(after: u64) -> Summary {
            let panel = PANEL.map(|operation| record(operation, Role::Baseline, slow(after, 500)));
            let mut records = panel.to_vec();
            records.push(record("file.stat", Role::Asked, slow(after, 300)));
            summarize(&run(records))
        }

        let figure = *summary(7).rows[0].cost().unwrap();
        assert_eq!((figure.median, figure.samples), (Nanos(300.0), 7 * 4));
        assert_eq!(summary(7).warnings, []);
        let [RunWarning::Disturbed(few)] = summary(1).warnings[..] else {
            panic!("a twelfth of the rounds is little");
        };
        assert_eq!(
            (few.undisturbed_percent.round(), few.slower_percent),
            (8.0, None)
        );
    }

    #[test]
    fn batches_that_waited_for_a_cpu_are_counted_and_too_many_are_no_result() {
        fn waited(batches: usize) -> Row {
            let forking = with(record("process.fork_wait", Role::Asked, |_| 50), |m| {
                (m.switches, m.preempted_ns) = (true, vec![3_300_000; batches]);
                (m.cpu.system_ns, m.cpu.wall_ns) = (48, 3_300);
            });
            summarize(&run(vec![forking])).rows.remove(0)
        }

        assert_eq!(waited(0).warnings, []);
        assert_eq!(waited(0).cost().unwrap().samples, 48);
        assert_eq!(waited(48).warnings, [Warning::WaitedForCpu { share: 0.5 }]);
        let failure = waited(450).figure.unwrap_err();
        let text = "nearly every batch waited for a CPU that other processes used; an iteration takes about 0.048 ms of CPU time (";
        assert!(failure.message.starts_with(text), "{failure}");
    }

    #[test]
    fn what_depends_on_history_says_so_and_foretells_nothing() {
        let removed = with(record("file.creat_unlink", Role::Asked, |_| 4400), |m| {
            m.history = true
        });
        let kept = record("file.stat", Role::Asked, |_| 300);
        let rows = summarize(&run(vec![removed, kept])).rows;
        for (row, depends) in rows.iter().zip([true, false]) {
            assert_eq!(row.depends_on_history(), depends);
            assert_eq!(row.cost().unwrap().next_run.is_none(), depends);
        }
    }

    #[test]
    fn missing_knowledge_is_a_warning() {
        let mut noisy = record("file.lstat", Role::Asked, |i| 100 + 10 * i);
        noisy.entries_status = EntriesStatus::Unverified("ptrace was refused: EPERM".into());
        let mut failed = record("file.stat", Role::Asked, |_| 1);
        failed.outcome = Outcome::Failed(Failure::timeout("no answer"));
        let summary = summarize(&run(vec![noisy, failed]));
        let [not_met, unverified] = &summary.rows[0].warnings[..] else {
            panic!("{:?}", summary.rows[0].warnings)
        };
        assert!(matches!(not_met, Warning::TargetNotMet { .. }));
        let reason = "ptrace was refused: EPERM".to_string();
        assert_eq!(*unverified, Warning::Unverified { reason });
        assert!(summary.rows[1].figure.is_err());
    }
}
