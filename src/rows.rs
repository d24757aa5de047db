//! A run as flat rows, one per case: what engines that gather the runs of many hosts read. Pure; nothing here knows a format
//! (`report::rows` does). Called by `syscost fleet rows` and by what shows many hosts at once.
//!
//! The rules of a run are those of `summary`: state changes, batches that are left out, too few blocks. Nothing is estimated
//! here. A file with repeats gives the rows of each of its runs.

mod machine;

use crate::derive::DerivedRow;
use crate::model::{Combination, Entries, FailureKind, Outcome, Record, Role, Run, Unit};
use crate::stats;
use crate::summary::{self, Panel, RowFigure, RunWarning, Summary, Warning, summarize};
pub use machine::Machine;
use std::collections::BTreeMap;
use std::mem::take;

/// One case of one run. Text is as the file has it: whoever prints it must clean it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// [`Run::id`].
    pub run_id: String,
    /// `None` if unknown.
    pub started_unix_s: Option<i64>,
    /// Whether the run came to its end.
    pub complete: bool,
    pub machine: Machine,
    /// Name and version of what measured.
    pub tool: String,
    pub labels: BTreeMap<String, String>,
    pub role: &'static str,
    /// Id of the operation, text of the snippet, or name of the derived row.
    pub operation: String,
    /// The name given by a study; empty if there is none.
    pub name: String,
    /// `depth=4 size=4096`: all parameters by name, defaults included; empty for none.
    pub params: String,
    pub environment: String,
    /// Language of a snippet; empty for an operation.
    pub language: String,
    /// `openat x1 close x1`; `None` if they are not known.
    pub entries: Option<String>,
    pub entries_total: Option<f64>,
    /// What the figures are: `ns`, `instructions` or `ratio`.
    pub unit: &'static str,
    /// In that unit; `None` without a result.
    pub figures: Figures,
    /// Median of each time block that the result is from, at the run's usual speed; `None` without samples.
    pub block_ns: Option<Vec<f64>>,
    /// `ok`, `published`, or the kind of the failure.
    pub status: &'static str,
    /// Why there is no result.
    pub reason: Option<String>,
    /// Kinds of the row's and the run's warnings, each once.
    pub warnings: String,
}

impl Row {
    /// The cost of a case in nanoseconds: neither instructions nor the difference of two times.
    pub fn median_ns(&self) -> Option<f64> {
        self.figures.value.filter(|ns| ns.is_finite() && self.unit == NANOSECONDS && self.role != DERIVED)
    }
}

/// The figures of a row, in its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The median; of a derived row its value.
    pub value: Option<f64>,
    /// 95% interval of the median within the run; of instructions the smallest and the largest repeat.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The smallest sample.
    pub best: Option<f64>,
    /// Less the empty loop.
    pub net: Option<f64>,
}

pub const NANOSECONDS: &str = "ns";
const INSTRUCTIONS: &str = "instructions";
const RATIO: &str = "ratio";
/// The role of rows that a study derives from two others.
pub const DERIVED: &str = "derived";

/// The rows of `run` and of its repeats: what was asked for, what its study derives, then the baselines that nobody asked for.
pub fn rows(mut run: Run) -> Vec<Row> {
    let repeats = take(&mut run.repeats);
    let (study, labels, source) = (run.study.clone(), run.labels.clone(), run.source.clone());
    let whole = |one: Run| Run { study: study.clone(), labels: labels.clone(), source: source.clone(), ..one };
    std::iter::once(run).chain(repeats).flat_map(|one| rows_of(&whole(one))).collect()
}

fn rows_of(run: &Run) -> Vec<Row> {
    let summary = summarize(run);
    let source = Source::new(run, &summary);
    let asked = run.records.iter().filter(|record| record.role == Role::Asked).zip(&summary.rows);
    let baselines = run.records.iter().filter(|record| summary::is_shown_as_baseline(record)).zip(&summary.baselines);
    let baselines = baselines.filter(|(record, _)| record.role == Role::Baseline);
    let asked = asked.map(|(record, row)| source.row(record, row));
    let derived = summary.derived.iter().map(|row| source.derived(row));
    asked.chain(derived).chain(baselines.map(|(record, row)| source.row(record, row))).collect()
}

/// What the rows of one run have in common.
struct Source<'a> {
    run: &'a Run,
    summary: &'a Summary,
    id: String,
    tool: String,
    warnings: Vec<&'static str>,
    panel: Panel<'a>,
}

impl<'a> Source<'a> {
    fn new(run: &'a Run, summary: &'a Summary) -> Source<'a> {
        let panel = Panel::of(run, &summary::steady_range(run).0);
        let tool = format!("{} {}", run.tool.name, run.tool.version);
        Source {
            run,
            summary,
            id: run.id(),
            tool,
            warnings: summary.warnings.iter().map(RunWarning::kind).collect(),
            panel,
        }
    }

    /// A row of `environment` with nothing about its case but its entries.
    fn empty(&self, environment: &str, entries: Option<&Entries>) -> Row {
        Row {
            entries: entries.map(ToString::to_string),
            entries_total: entries.map(Entries::total),
            run_id: self.id.clone(),
            started_unix_s: i64::try_from(self.run.started_unix_s).ok().filter(|seconds| *seconds > 0),
            complete: self.run.complete,
            machine: Machine::for_environment(self.run, environment),
            tool: self.tool.clone(),
            labels: self.run.labels.clone(),
            environment: environment.to_string(),
            ..Row::default()
        }
    }

    fn row(&self, record: &Record, row: &summary::Row) -> Row {
        let case = &row.case;
        Row {
            role: if record.role == Role::Asked { "asked" } else { "baseline" },
            operation: case.operation.clone(),
            name: case.name.clone().unwrap_or_default(),
            params: params(&case.effective_params()),
            language: case.language.clone().unwrap_or_default(),
            unit: if self.summary.unit(&case.environment) == Unit::Instructions { INSTRUCTIONS } else { NANOSECONDS },
            figures: row.figure.as_ref().map_or_else(|_| Figures::default(), figures),
            block_ns: row.cost().and_then(|_| self.blocks(record)),
            status: status(record, row),
            reason: row.failure().map(|failure| failure.message.clone()),
            warnings: kinds(self.warnings.iter().copied().chain(row.warnings.iter().map(Warning::kind))),
            ..self.empty(&case.environment, row.entries.as_ref())
        }
    }

    fn derived(&self, row: &DerivedRow) -> Row {
        let value = row.value.as_ref().ok();
        Row {
            role: DERIVED,
            operation: row.name.clone(),
            params: params(&row.params),
            unit: match (row.combination, row.unit) {
                (Combination::Ratio, _) => RATIO,
                (Combination::Difference, Unit::Instructions) => INSTRUCTIONS,
                (Combination::Difference, Unit::Nanoseconds) => NANOSECONDS,
            },
            figures: Figures {
                value: value.map(|value| value.value),
                low: value.and_then(|value| Some(value.low_high?.0)),
                high: value.and_then(|value| Some(value.low_high?.1)),
                ..Figures::default()
            },
            status: if value.is_some() { "ok" } else { kind(FailureKind::Failed) },
            reason: row.value.as_ref().err().cloned(),
            warnings: kinds(self.warnings.iter().copied()),
            ..self.empty(&row.environment, row.entries.as_ref())
        }
    }

    /// The blocks that the estimate uses: those of the steady range or, if this case has no sample in them, all.
    fn blocks(&self, record: &Record) -> Option<Vec<f64>> {
        let Outcome::Measured(measurement) = &record.outcome else { return None };
        let medians = stats::steady_block_medians(measurement, &self.panel.speed);
        let range = self.panel.range();
        let sampled = |blocks: &[f64]| blocks.iter().copied().filter(|ns| ns.is_finite()).collect::<Vec<f64>>();
        let steady = medians.get(range.start..range.end.min(medians.len())).map(sampled).unwrap_or_default();
        Some(if steady.is_empty() { sampled(&medians) } else { steady })
    }
}

fn figures(figure: &RowFigure) -> Figures {
    match figure {
        RowFigure::Time(cost) => Figures {
            value: Some(cost.median.0),
            low: cost.interval.map(|interval| interval.low),
            high: cost.interval.map(|interval| interval.high),
            best: cost.best.map(|best| best.0),
            net: cost.net.map(|net| net.0),
        },
        RowFigure::Instructions(counted) => Figures {
            value: Some(counted.per_operation),
            low: Some(counted.low),
            high: Some(counted.high),
            best: None,
            net: counted.net,
        },
    }
}

fn status(record: &Record, row: &summary::Row) -> &'static str {
    match (row.failure(), &record.outcome) {
        (Some(failure), _) => kind(failure.kind),
        (None, Outcome::Published(_)) => "published",
        (None, _) => "ok",
    }
}

/// As result files spell it.
fn kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unsupported => "unsupported",
        FailureKind::Failed => "failed",
        FailureKind::Timeout => "timeout",
        FailureKind::Crashed => "crashed",
        FailureKind::Start => "start",
        FailureKind::Interrupted => "interrupted",
    }
}

fn params(params: &BTreeMap<String, u64>) -> String {
    params.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Each kind once, in order.
fn kinds(all: impl Iterator<Item = &'static str>) -> String {
    let mut found: Vec<&str> = Vec::new();
    all.for_each(|kind| {
        if !found.contains(&kind) {
            found.push(kind);
        }
    });
    found.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{emulated, entering, instructions, named, published, record, run, varying};
    use crate::model::{Derived, Failure, Host, StudyView};

    fn find<'a>(rows: &'a [Row], operation: &str) -> &'a Row {
        rows.iter().find(|row| row.operation == operation).unwrap_or_else(|| panic!("{operation}: {rows:?}"))
    }

    #[test]
    fn a_row_says_what_the_summary_says() {
        let mut whole = run(vec![entering("file.stat", 500, &[("newfstatat", 1.0)]), record("call.empty_loop", 1)]);
        whole.records[1].role = Role::Baseline;
        whole.records[0].case.params.insert("depth".into(), 4);
        whole.labels.insert("pool".into(), "a\"'\nb".into());
        whole.host.name = Some("n1".into());
        let all = rows(whole);
        let row = find(&all, "file.stat");
        let ns =
            Figures { value: Some(500.0), low: Some(500.0), high: Some(500.0), best: Some(500.0), net: Some(499.0) };
        assert_eq!((row.figures, row.unit, row.status, row.role), (ns, "ns", "ok", "asked"));
        assert_eq!((row.entries.as_deref(), row.entries_total), (Some("newfstatat x1"), Some(1.0)));
        assert_eq!((row.params.as_str(), row.run_id.as_str(), row.labels["pool"].len()), ("depth=4", "n1-0-1", 5));
        assert_eq!((row.block_ns.as_deref(), row.started_unix_s), (Some(&[500.0; 12][..]), None));
        assert_eq!((all.len(), find(&all, "call.empty_loop").role), (2, "baseline"));
    }

    #[test]
    fn what_a_change_of_state_left_out_is_not_in_the_blocks() {
        let jump = |i| if i < 7 { 100 } else { 180 };
        let all = rows(run(vec![varying("id.getppid", jump), record("call.spin", 80)]));
        let row = find(&all, "id.getppid");
        assert_eq!((row.figures.value, row.block_ns.as_deref()), (Some(100.0), Some(&[100.0; 7][..])));
        assert!(row.warnings.contains("state_changed"), "{}", row.warnings);
    }

    #[test]
    fn instructions_are_of_the_machine_that_was_emulated_and_no_times() {
        let mut whole = run(vec![instructions("file.stat", "linux-6.1", &[1000, 1004]), record("file.stat", 300)]);
        whole.environments = vec![emulated("linux-6.1", "6.1.0-9")];
        let text = |text: &str| Some(text.to_string());
        whole.host = Host { kernel: text("6.18"), cpu: text("Xeon"), libc: text("glibc"), ..Host::default() };
        let all = rows(whole);
        let (guest, native) = (&all[0], &all[1]);
        assert_eq!((guest.unit, guest.figures.value, guest.block_ns.is_none()), ("instructions", Some(1004.0), true));
        assert_eq!((guest.machine.kernel.as_deref(), &guest.machine.cpu), (Some("6.1.0-9"), &None));
        assert_eq!(guest.machine.hypervisor.as_deref(), Some("qemu-system-x86_64 7.2"));
        let machine = (&native.machine.kernel, &native.machine.cpu, &native.machine.libc);
        assert_eq!((native.unit, machine), ("ns", (&text("6.18"), &text("Xeon"), &text("glibc"))));
    }

    #[test]
    fn failures_and_what_was_published_say_so() {
        let mut failed = record("file.stat", 1);
        failed.outcome = Outcome::Failed(Failure::new(FailureKind::Timeout, "no answer"));
        let all = rows(run(vec![failed, published("file.lstat", 7.0)]));
        let row = find(&all, "file.stat");
        assert_eq!(
            (row.status, row.reason.as_deref(), row.figures),
            ("timeout", Some("no answer"), Figures::default())
        );
        assert_eq!((find(&all, "file.lstat").status, find(&all, "file.lstat").figures.value), ("published", Some(7.0)));
    }

    #[test]
    fn each_run_of_a_file_has_its_rows_and_derived_ones() {
        let derived =
            |name: &str, combination| Derived { name: name.into(), combination, of: ["a".into(), "b".into()] };
        let derived = vec![derived("more", Combination::Difference), derived("times", Combination::Ratio)];
        let one = |ns, seed| Run { seed, ..run(vec![named("a", "file.stat", ns), named("b", "id.getppid", 100)]) };
        let study = Some(StudyView { derived, ..StudyView::default() });
        let all = rows(Run { study, repeats: vec![one(400, 2)], ..one(300, 1) });
        let of = |name: &str| -> Vec<_> {
            all.iter()
                .filter(|row| row.operation == name)
                .map(|row| (row.unit, row.role, row.figures.value.map(f64::round)))
                .collect()
        };
        assert_eq!(of("more"), [("ns", "derived", Some(200.0)), ("ns", "derived", Some(300.0))]);
        assert_eq!(of("times"), [("ratio", "derived", Some(3.0)), ("ratio", "derived", Some(4.0))]);
        assert_eq!(all.len(), 8);
        assert_ne!(all[0].run_id, all[4].run_id);
    }
}
