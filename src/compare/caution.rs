//! What makes a comparison unfair, or must be known to read it, as values. Plain data; `cautions` finds them, and
//! `report::comparison::cautions` has the words. Columns are indices.

use super::conditions::Known;
use super::verdict::Ratio;
use crate::summary::StateChange;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Caution {
    /// Columns that are copies of one run, by run.
    SameRun { copies: Vec<Vec<usize>> },
    /// The runs were interrupted.
    Incomplete { columns: Vec<usize> },
    /// The kinds of taxes on every system call, by column.
    TaxesDiffer { kinds: Vec<BTreeSet<String>> },
    /// The reference call itself costs something else than in the baseline.
    ReferenceMoved { moved: Vec<Moved> },
    /// The kernel's state changed during these runs, and how.
    StateChanged { changes: Vec<(usize, StateChange)> },
    /// A condition that is not the same in all columns; `None` where it is unknown.
    FactDiffers { fact: &'static str, values: Vec<Option<Known>> },
    /// Mitigations that not all have, by column; published runs are left out.
    Mitigations { own: Vec<(usize, Vec<String>)> },
    /// Rows with a ratio although the kernel entries of one or both are unknown, and the columns that lack them.
    EntriesUnknown { rows: usize, columns: Vec<usize> },
    /// Rows of as many kernel entries by other names.
    Renamed { rows: usize },
    /// Snippets of one name whose code differs.
    OtherCode { titles: Vec<String> },
    /// The scatter between launches is not known.
    OneLaunch { columns: Vec<usize> },
    /// Rows that some column does not have.
    NotInAll { rows: usize, of: usize },
    /// Records for which a row was not looked for among more than `most` candidates.
    Unsought { records: usize, most: usize },
}

/// By how much the reference call moved in one column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Moved {
    pub column: usize,
    pub ratio: Ratio,
    /// The ratio of work in user mode: it tells a slower machine from a slower kernel. `None` where either run lacks it.
    pub user_mode: Option<f64>,
}
