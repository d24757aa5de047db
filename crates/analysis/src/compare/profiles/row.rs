//! The results of comparing profiles.

use model::{CallCount, Class, JsonDocument};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts about a side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileInfo {
    /// The heading of the column.
    pub label: String,
    /// The command with its arguments; empty if something that was already running was followed.
    pub command: Vec<String>,
    /// Which tracer counted.
    pub tracer: String,
    /// False if a run was not traced to its end, or data was lost.
    pub complete: bool,
    /// Number of runs.
    pub runs: usize,
    /// The sections that the program marked, if these are compared: then all counts are per iteration, and a row is `SECTION: CALL`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    #[serde(skip)]
    pub host: Option<String>,
}

/// The output of `syscost compare PROFILE PROFILE...`: what traced programs call, side by side. Lists with one element per column are in their
/// order. A row is over a limit if the least of its runs is over the most of the baseline's, plus as much as these differ, by more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileComparison {
    /// The files or sides.
    pub columns: Vec<ProfileInfo>,
    /// Index of the column that the others are compared with.
    pub baseline: usize,
    /// The sum over all calls; null if sections are compared.
    pub total: Option<ProfileRow>,
    /// One for each system call, or those of each section that is in all columns, those whose number changed most first.
    pub rows: Vec<ProfileRow>,
    /// Rows that `--threshold` left out.
    pub left_out: usize,
    /// The verdicts of `--fail-over` and `--fail-on-entries`; null without them.
    pub gate: Option<ProfileGated>,
}

impl JsonDocument for ProfileComparison {
    const SCHEMA: &'static str = "syscost.profile-comparison/1";
}

/// One system call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileRow {
    /// The call's name; `total` for the sum over all.
    pub call: String,
    /// Its counts, by column.
    pub counts: Vec<Counts>,
    /// By column, up to three classes and errors with more calls than the baseline, those with most more first.
    pub grew: Vec<Vec<Part>>,
    /// The same with fewer.
    pub fell: Vec<Vec<Part>>,
}

/// The counts of one call on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Calls.
    pub calls: Span,
    /// Calls that failed.
    pub errors: Span,
    /// Bytes moved; null if the call moves none, or that is not known.
    pub bytes: Option<Span>,
    /// Time on a CPU, in nanoseconds; null if it is not known.
    pub on_cpu_ns: Option<Span>,
    /// Time blocked while all threads were: wall time; null if it is not known.
    pub stalled_ns: Option<Span>,
}

/// A number over the runs of a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The least.
    pub least: u64,
    /// The median; the lower of the two middle values if there are two.
    pub median: u64,
    /// The most.
    pub most: u64,
}

/// A part of a call's change: one of its classes, or one of its errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The call, in the row of all.
    pub call: String,
    /// The arguments that drive the call's cost; empty if its calls have none, or for an error.
    pub class: Class,
    /// The error; null for a class.
    pub error: Option<String>,
    /// The median over the runs.
    pub calls: u64,
    /// The same of the baseline.
    pub baseline_calls: u64,
}

/// The verdicts of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileGated {
    /// As a share.
    pub limit: f64,
    /// One for each call and column but the baseline's.
    pub rows: Vec<ProfileGatedRow>,
}

/// One call in one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileGatedRow {
    /// The call.
    pub call: String,
    /// Which column.
    pub column: usize,
    #[serde(flatten)]
    pub verdict: ProfileVerdict,
}

/// The verdict on one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "gate", rename_all = "snake_case")]
pub enum ProfileVerdict {
    Passed,
    /// Over the limit in some runs, not in all.
    Unclear {
        #[serde(rename = "of")]
        count_kind: CountKind,
        #[serde(rename = "own")]
        span: Span,
        base: Span,
    },
    /// Over the limit in every run.
    Grown {
        #[serde(rename = "of")]
        count_kind: CountKind,
        #[serde(rename = "own")]
        span: Span,
        base: Span,
    },
}

/// The number that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountKind {
    Calls,
    Errors,
    Bytes,
}

impl Part {
    pub(super) fn reversed(self) -> Part {
        Part {
            calls: self.baseline_calls,
            baseline_calls: self.calls,
            ..self
        }
    }
}

impl Counts {
    /// The ranges over runs, each of which is one element of `sums`. A number that some runs lack counts as 0 in them.
    pub fn over_runs(sums: &[CallCount]) -> Counts {
        Counts {
            calls: span(sums, |sum| sum.calls),
            errors: span(sums, CallCount::failures),
            bytes: known_span(sums, |sum| sum.bytes),
            on_cpu_ns: known_span(sums, |sum| sum.on_cpu_ns),
            stalled_ns: known_span(sums, |sum| sum.stalled_ns),
        }
    }
}

fn span(sums: &[CallCount], number: fn(&CallCount) -> u64) -> Span {
    Span::from_values(sums.iter().map(number).collect())
}

fn known_span(sums: &[CallCount], number: fn(&CallCount) -> Option<u64>) -> Option<Span> {
    if sums.iter().all(|sum| number(sum).is_none()) {
        return None;
    }
    let values = sums.iter().map(|sum| number(sum).unwrap_or(0));
    Some(Span::from_values(values.collect()))
}

impl Span {
    pub fn from_values(mut values: Vec<u64>) -> Span {
        values.sort_unstable();
        let middle = values.len().saturating_sub(1) / 2;
        let at = |index: usize| values.get(index).copied().unwrap_or(0);
        Span {
            least: at(0),
            median: at(middle),
            most: at(values.len().saturating_sub(1)),
        }
    }

    /// The most that another run of the same program may have and still be within `limit`: if the runs of this side differ,
    /// as much again as they do. Few runs do not show the whole range.
    pub fn allowed(self, limit: f64) -> f64 {
        (self.most as f64 + (self.most - self.least) as f64) * (1.0 + limit)
    }
}
