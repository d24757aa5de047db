//! A run as the matrix of Perl's Benchmark::cmpthese, in its format: rates and percentages, the slowest case first. Cases without
//! a time stand above it with the reason.
//!
//! Additions: a mark for pairs of cases that the data do not distinguish, and one matrix per set of parameters if the same names
//! were measured with several.

mod group;
mod matrix;

use crate::run::warnings::of_run;
use analysis::summary::Summary;
use document::Block;
use document::write::text::LONGEST_NOTE;
use group::{Group, Timing, groups};
use matrix::Marks;
use model::clean::cut;
use model::{Outcome, Run};

/// How a run is shown.
#[derive(Clone, Copy, Default, PartialEq, clap::ValueEnum)]
pub enum ViewKind {
    /// One row per case, with ± and kernel entries.
    #[default]
    Table,
    /// The same with all columns: net cost, best sample, rate, user and system time.
    Wide,
    /// The matrix of Perl's Benchmark::cmpthese, the slowest first.
    Cmpthese,
    /// Hardware and software events per iteration (run counts them for this view).
    Counters,
    /// Percentiles of calls that were timed one by one (needs 'run --latency', which this implies); for a profile, those of
    /// its calls.
    Latency,
    /// For a profile: the slowest calls, one by one.
    Slowest,
    /// For a profile: the callers, as folded stacks for flame graphs.
    Stacks,
}

impl ViewKind {
    /// Whether only profiles have this view.
    pub fn is_of_profiles(self) -> bool {
        matches!(self, ViewKind::Slowest | ViewKind::Stacks)
    }
}

/// `summary` must be that of `run`.
pub fn cmpthese_blocks(run: &Run, summary: &Summary) -> Vec<Block> {
    let groups = groups(run, summary);
    let matrices = in_matrices(&groups);
    let marks = Marks::new(&matrices);
    let mut all: Vec<Vec<String>> = groups
        .iter()
        .zip(&matrices)
        .map(|(group, matrix)| lines(group, matrix, &marks))
        .collect();
    let notes = left_out(&groups, &matrices)
        .into_iter()
        .chain(notes(run, summary, &marks))
        .map(|note| cut(&note, LONGEST_NOTE));
    match all.last_mut() {
        Some(last) => last.extend(notes),
        None => all.push(notes.collect()),
    }
    all.into_iter().map(Block::drawn).collect()
}

/// Cells, tests and time grow with its square.
const MOST_IN_MATRICES: usize = 250;

/// Up to [`MOST_IN_MATRICES`] in total.
fn in_matrices<'a, 'b>(groups: &'a [Group<'b>]) -> Vec<&'a [Timing<'b>]> {
    let mut room = MOST_IN_MATRICES;
    groups
        .iter()
        .map(|group| {
            let taken = &group.timings[..group.timings.len().min(room)];
            room -= taken.len();
            taken
        })
        .collect()
}

fn left_out(groups: &[Group], matrices: &[&[Timing]]) -> Option<String> {
    let all: usize = groups.iter().map(|group| group.timings.len()).sum();
    let shown: usize = matrices.iter().map(|matrix| matrix.len()).sum();
    if shown < all {
        let rest = all - shown;
        Some(format!(
            "note: {rest} of {all} cases are not in a matrix, which has {MOST_IN_MATRICES} at most: run or show fewer"
        ))
    } else {
        None
    }
}

fn lines(group: &Group, matrix: &[Timing], marks: &Marks) -> Vec<String> {
    let mut lines = Vec::new();
    if !group.heading.is_empty() {
        lines.push(format!("{}:", group.heading));
    }
    lines.extend(
        group
            .others
            .iter()
            .map(|(name, why)| format!("{name}: {why}")),
    );
    lines.extend(matrix::lines(matrix, marks));
    lines
}

fn notes(run: &Run, summary: &Summary, marks: &Marks) -> Vec<String> {
    let mut notes = marks.legend();
    if run
        .records
        .iter()
        .any(|r| matches!(r.outcome, Outcome::Published(_)))
    {
        notes
            .push("note: published figures have no samples, so no pair is tested or marked".into());
    }
    notes.extend(
        summary
            .warnings
            .iter()
            .map(|w| format!("warning: {}", of_run(w))),
    );
    notes.extend(
        run.source
            .iter()
            .map(|source| format!("source: {}", source.title)),
    );
    notes
}
