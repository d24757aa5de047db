//! Several runs side by side: which costs differ, by how much, and what makes the comparison unfair. The input is a [`Column`] per run,
//! without samples so that many files fit into memory; the output is a [`Comparison`].
//!
//! Its files are layers: what runs are condensed to (`column`, `conditions`, `group`), the parts of a comparison (`verdict`, `row`), which
//! records form one row (`select`, `places`, `index`, `matching`), whether they did the same work (`same_work`), the verdicts (`judge`),
//! and what follows from them (`onset`, `areas`, `derived`, `gate`, `cautions`).

mod areas;
mod budget;
mod cautions;
mod cell;
mod column;
mod conditions;
mod derived;
mod gate;
mod group;
mod index;
mod judge;
mod machine;
mod matching;
mod onset;
mod places;
mod profiles;
mod race;
mod row;
mod same_work;
mod select;
#[cfg(test)]
pub mod synthetic;
mod verdict;
mod within;

pub use areas::AreaMean;
pub use budget::{Budget, Budgets, Exceeded};
pub use cautions::{Caution, Moved};
pub use cell::Cell;
pub use column::{Column, ColumnInfo};
pub use conditions::Known;
pub use derived::ComparedDerived;
pub use gate::{EntriesRule, Gate, GateVerdict, Gated, GatedRow, NotJudged};
pub use machine::MachineChange;
pub use profiles::{
    CountKind, Counts, MEMORY, Part, ProfileColumn, ProfileComparison, ProfileGatedRow,
    ProfileInfo, ProfileRow, ProfileVerdict, Span, compare_profiles,
};
pub use race::{Cause, CauseOf, Changed, InsideResult, RaceFound, RaceResult, Versus, race};
pub use row::{ComparedRow, Key, area};
pub use select::{Order, Selection, StudyCases};
pub use verdict::{Difference, Mark, PlainRatio, Ratio, RatioOf, Verdict};
pub use within::within;

use judge::{RowVisibility, visibility};
use machine::Sides;
use model::{JsonDocument, StudyView};
use schemars::JsonSchema;
use serde::Serialize;

// Changes of less than a percent are too small to matter, and few machines can show them.
pub const MARGIN: f64 = 0.01;

#[derive(Clone)]
pub struct Options {
    pub baseline: usize,
    /// As a share: figures within `1 / (1 + margin) .. 1 + margin` of each other are equal.
    pub margin: f64,
    pub selection: Selection,
    pub order: Order,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            baseline: 0,
            margin: MARGIN,
            selection: Selection::default(),
            order: Order::default(),
        }
    }
}

/// The output of `syscost compare FILE FILE...`: costs of several runs side by side. Lists with one element per column are in their order, and
/// a `column` is an index in it.
#[derive(Default, Serialize, JsonSchema)]
pub struct Comparison {
    /// The files.
    pub columns: Vec<ColumnInfo>,
    /// Index of the column that the others are divided by: as requested, or 0 if that column does not exist.
    pub baseline: usize,
    /// Costs, and numbers of instructions, within this share of each other are equal.
    pub margin: f64,
    /// One for each case.
    pub rows: Vec<ComparedRow>,
    /// The study's derived rows; empty without a study.
    pub derived: Vec<ComparedDerived>,
    /// Geometric means of the ratios by area, in the order of the rows; the last one is over all rows. They are of times if there are
    /// any, else of numbers of instructions.
    #[serde(rename = "means")]
    pub areas: Vec<AreaMean>,
    /// The reference system call, `id.getppid`, compared with the baseline's.
    pub reference: Vec<Verdict>,
    /// The machine as a whole compared with the baseline's; `None` for the baseline, other machines and runs without a panel.
    pub machine: Vec<Option<MachineChange>>,
    /// Facts that make the comparison unfair or that must be known to interpret it; the most important first.
    pub cautions: Vec<Caution>,
    /// The verdicts of `--fail-over` and `--fail-on-entries`; absent without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gated>,
    /// The study that selected the rows, with its scales; `None` without one.
    pub study: Option<StudyView>,
    /// Rows that `--threshold` left out.
    pub left_out: LeftOut,
}

impl JsonDocument for Comparison {
    const SCHEMA: &'static str = "syscost.comparison/2";
}

/// How many rows a comparison does not show.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Certainly within the margin in every column; published values are taken as exact.
    pub equal: usize,
    /// Without a certain difference of more than the margin in any column.
    pub not_known: usize,
}

impl Comparison {
    /// Empty if it does not exist.
    pub fn label(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |column| &column.label)
    }

    pub fn others(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let baseline = self.baseline;
        (0..self.columns.len()).filter(move |column| *column != baseline)
    }

    /// The environment of each column, if rows match although it differs.
    pub fn environments(&self) -> Option<&[String]> {
        self.cautions.iter().find_map(|caution| match caution {
            Caution::OtherEnvironment { environments } => Some(&environments[..]),
            _ => None,
        })
    }

    pub fn environment<'a>(&'a self, environment: &'a str, column: usize) -> &'a str {
        self.environments().map_or(environment, |all| &all[column])
    }

    pub fn gate(&mut self, gate: &Gate) {
        self.gate = Some(gate.judge(&self.rows, self.baseline));
    }

    /// Rows without a ratio and rows whose work differs stay. Means and cautions are of all rows.
    pub fn keep_differing(&mut self) {
        let margin = self.margin;
        let left_out = &mut self.left_out;
        self.rows.retain(|row| match visibility(row, margin) {
            RowVisibility::Equal => {
                left_out.equal += 1;
                false
            }
            RowVisibility::NotKnown => {
                left_out.not_known += 1;
                false
            }
            RowVisibility::Shown => true,
        });
    }
}

/// A baseline that is out of range is column 0.
pub fn compare(columns: &[Column], options: &Options) -> Comparison {
    let baseline = if options.baseline < columns.len() {
        options.baseline
    } else {
        0
    };
    let apart = places::apart(columns, &options.selection);
    let matching::Matched { mut rows, unsought } =
        matching::matched(columns, &options.selection, apart.is_some());
    let sides: Vec<Sides> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let is_elsewhere = apart
                .as_ref()
                .is_some_and(|all| all[index] != all[baseline]);
            Sides::new(column, &columns[baseline], is_elsewhere)
        })
        .collect();
    let reference = judge::reference(&sides, columns, baseline, options.margin);
    judge::judge(&mut rows, &sides, columns, baseline, options.margin);
    if baseline == 0 && apart.is_none() {
        onset::find(&mut rows, columns, options.margin);
    }
    let areas = areas::means(&rows, columns.len(), baseline);
    let derived = derived::beside(columns, &options.selection, apart.is_some());
    let mut cautions = cautions::cautions(columns, &rows, baseline, &reference);
    // First, because it changes the meaning of every row.
    cautions.splice(
        0..0,
        apart.map(|environments| Caution::OtherEnvironment { environments }),
    );
    cautions.extend((unsought > 0).then_some(Caution::Unsought {
        records: unsought,
        most: index::MOST_CANDIDATES,
    }));
    select::sort(&mut rows, options.order, baseline);
    Comparison {
        columns: columns.iter().map(|column| column.info.clone()).collect(),
        baseline,
        margin: options.margin,
        rows,
        derived,
        areas,
        reference,
        machine: sides
            .iter()
            .enumerate()
            .map(|(i, sides)| if i != baseline { sides.change } else { None })
            .collect(),
        cautions,
        study: options
            .selection
            .study
            .as_ref()
            .map(|study| study.view.clone()),
        ..Comparison::default()
    }
}
