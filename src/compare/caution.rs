//! Cautions as plain data. `cautions` finds them, `report::comparison::cautions` has the text. Columns are indices.

use super::conditions::Known;
use super::verdict::Ratio;
use crate::summary::StateChange;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// What makes a comparison unfair or must be known to interpret it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Caution {
    /// Each column has another environment, by column: rows match by operation and parameters, and ratios show what the
    /// environments differ in.
    OtherEnvironment { environments: Vec<String> },
    /// Both columns are of one run: ratios are paired, round by round.
    SameRounds,
    /// Columns that are copies of the same run, by run.
    SameRun { copies: Vec<Vec<usize>> },
    /// Facts that differ between the files of one column.
    MixedSide { columns: Vec<(usize, Vec<&'static str>)> },
    /// The runs were interrupted.
    Incomplete { columns: Vec<usize> },
    /// The kinds of taxes on every system call, by column.
    TaxesDiffer { kinds: Vec<BTreeSet<String>> },
    /// The cost of the reference call differs from the baseline's.
    ReferenceMoved { moved: Vec<Moved> },
    /// The kernel's state changed during these runs, and how.
    StateChanged { changes: Vec<(usize, StateChange)> },
    /// A condition that differs between columns; `None` if it is unknown.
    FactDiffers { fact: &'static str, values: Vec<Option<Known>> },
    /// What environments of one name have in common by name only: a kernel or an emulator, by column; `None` where a column
    /// lacks the environment or does not know.
    EnvironmentDiffers { environment: String, fact: &'static str, values: Vec<Option<String>> },
    /// Mitigations that some columns lack, by column; published runs are left out.
    Mitigations { own: Vec<(usize, Vec<String>)> },
    /// Number of rows with a ratio although the kernel entries of one or both are unknown, and the columns that lack
    /// them.
    EntriesUnknown { rows: usize, columns: Vec<usize> },
    /// Number of rows whose kernel entries have the same counts under other names.
    Renamed { rows: usize },
    /// Snippets with the same name whose code differs.
    OtherCode { titles: Vec<String> },
    /// Rows that are times in some columns and numbers of instructions in others: these have no ratio.
    OtherUnit { rows: Vec<String> },
    /// One launch only: the variation between launches is unknown.
    OneLaunch { columns: Vec<usize> },
    /// Number of rows that some column lacks.
    NotInAll { rows: usize, of: usize },
    /// Number of records that were not matched because more than `most` rows were candidates.
    Unsought { records: usize, most: usize },
}

/// How much the cost of the reference call differs in one column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Moved {
    pub column: usize,
    pub ratio: Ratio,
    /// The ratio of work in user mode, which distinguishes a slower machine from a slower kernel. `None` if either run
    /// lacks it.
    pub user_mode: Option<f64>,
}
