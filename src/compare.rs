//! Several runs side by side: which costs differ, by how much, and what makes the comparison unfair. Pure: a run goes in as
//! a [`Column`], which holds figures and no samples, so that many files fit into memory; out comes a [`Comparison`].
//!
//! The `compare` command calls it, and the HTML report for its ratios. Not here: reading files and exit status
//! (`cli::compare`), tables (`report`), the statistics themselves (`stats`).

mod areas;
mod cautions;
mod column;
mod derived;
mod facts;
pub mod history;
mod index;
mod rows;
mod select;
#[cfg(test)]
pub mod synthetic;
mod verdict;
mod work;

pub use areas::AreaMean;
pub use column::{Column, ColumnInfo, ColumnRow};
pub use derived::ComparedDerived;
pub use rows::{Cell, ComparedRow, Key, area};
pub use select::{Order, Selection, StudyCases};
pub use verdict::{Mark, Ratio, Verdict};

use crate::model::StudyView;
use rows::Standing;

/// What is asked of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// The column that the others are divided by.
    pub baseline: usize,
    /// Costs within `1 / (1 + margin) .. 1 + margin` of each other are the same; as a share, 0.01 for 1%.
    pub margin: f64,
    pub selection: Selection,
    pub order: Order,
}

/// Costs within this share of each other are the same, unless said otherwise.
pub const MARGIN: f64 = 0.01;

impl Default for Options {
    fn default() -> Options {
        Options { baseline: 0, margin: MARGIN, selection: Selection::default(), order: Order::default() }
    }
}

/// Runs side by side. In each list over columns, the index is that of the column.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub columns: Vec<ColumnInfo>,
    /// Index of the column that the others are divided by; as asked for, or 0 where there is no such column.
    pub baseline: usize,
    /// Costs within this share of each other are the same.
    pub margin: f64,
    pub rows: Vec<ComparedRow>,
    /// What the study makes of two rows each; empty without one.
    pub derived: Vec<ComparedDerived>,
    /// Geometric means of the ratios, by area in the order of the rows; the last one is over all rows.
    pub areas: Vec<AreaMean>,
    /// The reference system call (id.getppid) against the baseline's.
    pub reference: Vec<Verdict>,
    /// What makes the comparison unfair or must be known to read it; one line each, of little weight last.
    pub cautions: Vec<String>,
    /// The study that selected the rows, with its scales; `None` without one.
    pub study: Option<StudyView>,
    /// Rows that [`Comparison::keep_differing`] left out.
    pub left_out: LeftOut,
}

/// How many rows a comparison does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Surely within the margin in every column; published figures, as they stand.
    pub same: usize,
    /// Not surely outside the margin in any column.
    pub unresolved: usize,
}

impl Comparison {
    /// Leaves out the rows that do not surely differ by more than the margin in any column. Rows without any ratio stay, and
    /// those whose work differs. Means and cautions stay those of all rows.
    pub fn keep_differing(&mut self) {
        let margin = self.margin;
        let left_out = &mut self.left_out;
        self.rows.retain(|row| match row.standing(margin) {
            Standing::Same => {
                left_out.same += 1;
                false
            }
            Standing::Unresolved => {
                left_out.unresolved += 1;
                false
            }
            Standing::Shown => true,
        });
    }
}

/// Compares `columns`. Of no column the comparison is empty.
pub fn compare(columns: &[Column], options: &Options) -> Comparison {
    let baseline = if options.baseline < columns.len() { options.baseline } else { 0 };
    let rows::Matched { mut rows, unsought } = rows::matched(columns, &options.selection);
    let reference = verdict::reference(columns, baseline, options.margin);
    verdict::judge(&mut rows, columns, baseline, options.margin);
    let areas = areas::means(&rows, columns.len(), baseline);
    let mut cautions = cautions::cautions(columns, &rows, baseline, &reference);
    cautions.extend(cautions::unsought(unsought));
    select::sort(&mut rows, options.order, baseline);
    Comparison {
        columns: columns.iter().map(|column| column.info.clone()).collect(),
        baseline,
        margin: options.margin,
        rows,
        derived: derived::beside(columns, &options.selection),
        areas,
        reference,
        cautions,
        study: options.selection.study.as_ref().map(|study| study.view.clone()),
        left_out: LeftOut::default(),
    }
}
