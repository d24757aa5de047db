//! Facts that make a comparison unfair or that must be known to interpret it, the most important first. Columns are indices.

use super::column::{Column, ColumnInfo};
use super::conditions::{CONDITIONS, Known};
use super::row::ComparedRow;
use super::same_work::{Work, work};
use super::verdict::{Ratio, Verdict};
use indexmap::{IndexMap, IndexSet};
use model::EnvironmentFacts;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// A fact that makes a comparison unfair or that must be known to interpret it.
#[derive(Serialize, JsonSchema)]
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
    MixedSide {
        columns: Vec<(usize, Vec<&'static str>)>,
    },
    /// The runs were interrupted.
    Incomplete { columns: Vec<usize> },
    /// The runs were disturbed all the time, each by about this much in percent: its rows have no verdict.
    Disturbed { columns: Vec<(usize, f64)> },
    /// The kinds of taxes on every system call, by column.
    TaxesDiffer { kinds: Vec<BTreeSet<String>> },
    /// The cost of the reference call differs from the baseline's.
    ReferenceMoved { moved: Vec<Moved> },
    /// A condition that differs between columns; `None` if it is unknown.
    FactDiffers {
        fact: &'static str,
        values: Vec<Option<Known>>,
    },
    /// Environments with the same name in which a fact differs: a kernel or an emulator, by column; `None` if a column
    /// lacks the environment or the fact is unknown.
    EnvironmentDiffers {
        environment: String,
        fact: &'static str,
        values: Vec<Option<String>>,
    },
    /// Mitigations of each column that some other column lacks; published runs are left out.
    Mitigations {
        #[serde(rename = "own")]
        unshared: Vec<(usize, Vec<String>)>,
    },
    /// Number of rows with a ratio although the kernel entries of one or both are unknown, and the columns that lack
    /// them.
    EntriesUnknown { rows: usize, columns: Vec<usize> },
    /// Snippets with the same name whose code differs.
    OtherCode { titles: Vec<String> },
    /// Rows that are times in some columns and numbers of instructions in others: these have no ratio.
    OtherUnit { rows: Vec<String> },
    /// Number of records that were not matched because more than `most` rows were candidates.
    Unsought { records: usize, most: usize },
}

/// How much the cost of the reference call differs in one column.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub struct Moved {
    /// Which one.
    pub column: usize,
    pub ratio: Ratio,
    /// The ratio of work in user mode, which distinguishes a slower machine from a slower kernel. `None` if either run
    /// lacks it.
    pub user_mode: Option<f64>,
}

/// The most important first.
pub fn cautions(
    columns: &[Column],
    rows: &[ComparedRow],
    baseline: usize,
    reference: &[Verdict],
) -> Vec<Caution> {
    let infos: Vec<&ColumnInfo> = columns.iter().map(|column| &column.info).collect();
    let mut cautions = Vec::new();
    // A wrong choice of files first, then what distorts all rows, then single rows.
    cautions.extend(same_run(&infos));
    cautions.extend(mixed(&infos));
    cautions.extend(incomplete(&infos));
    cautions.extend(disturbed(&infos, rows));
    cautions.extend(taxes(&infos));
    cautions.extend(reference_moved(columns, baseline, reference));
    cautions.extend(facts(&infos));
    cautions.extend(environments(&infos));
    cautions.extend(mitigations(&infos));
    cautions.extend(unproven(infos.len(), rows, baseline));
    cautions.extend(other_code(rows));
    cautions.extend(other_unit(rows));
    cautions
}

fn unless_empty<T>(values: Vec<T>) -> Option<Vec<T>> {
    (!values.is_empty()).then_some(values)
}

fn same_run(infos: &[&ColumnInfo]) -> Option<Caution> {
    let mut runs: IndexMap<(u64, u64, Option<&String>), Vec<usize>> = IndexMap::new();
    for (column, info) in infos
        .iter()
        .enumerate()
        .filter(|(_, info)| info.is_measured())
    {
        for (started, seed) in info.starts.iter().filter(|(started, _)| *started > 0) {
            runs.entry((*started, *seed, info.host.name.as_ref()))
                .or_default()
                .push(column);
        }
    }
    let mut copies = unless_empty(
        runs.into_values()
            .filter(|columns| columns.len() > 1)
            .collect(),
    )?;
    copies.sort();
    copies.dedup();
    Some(Caution::SameRun { copies })
}

fn mixed(infos: &[&ColumnInfo]) -> Option<Caution> {
    let numbered = infos.iter().enumerate();
    let mixed = numbered.map(|(column, info)| (column, info.mixed.clone()));
    let columns = unless_empty(mixed.filter(|(_, facts)| !facts.is_empty()).collect())?;
    Some(Caution::MixedSide { columns })
}

fn incomplete(infos: &[&ColumnInfo]) -> Option<Caution> {
    let columns = (0..infos.len()).filter(|column| !infos[*column].complete);
    unless_empty(columns.collect()).map(|columns| Caution::Incomplete { columns })
}

fn disturbed(infos: &[&ColumnInfo], rows: &[ComparedRow]) -> Option<Caution> {
    let mut verdicts = rows.iter().flat_map(|row| &row.verdicts);
    if !verdicts.any(|verdict| matches!(verdict, Verdict::Disturbed(_))) {
        return None;
    }
    let columns = infos.iter().enumerate();
    let columns = columns.filter_map(|(column, info)| Some((column, info.disturbed_percent()?)));
    Some(Caution::Disturbed {
        columns: columns.collect(),
    })
}

fn taxes(infos: &[&ColumnInfo]) -> Option<Caution> {
    let kinds: Vec<BTreeSet<String>> = infos
        .iter()
        .map(|info| info.host.taxes.iter().map(|tax| tax.kind.clone()).collect())
        .collect();
    let differ = kinds.iter().any(|set| *set != kinds[0]);
    differ.then_some(Caution::TaxesDiffer { kinds })
}

fn reference_moved(columns: &[Column], baseline: usize, reference: &[Verdict]) -> Option<Caution> {
    let base = columns.get(baseline)?;
    let moved = reference
        .iter()
        .enumerate()
        .filter_map(|(column, verdict)| match verdict {
            Verdict::Ratio(ratio) if ratio.mark.is_change() => Some(Moved {
                column,
                ratio: *ratio,
                user_mode: user_mode_ratio(&columns[column], base),
            }),
            _ => None,
        });
    unless_empty(moved.collect()).map(|moved| Caution::ReferenceMoved { moved })
}

fn user_mode_ratio(column: &Column, base: &Column) -> Option<f64> {
    Some(column.spin()?.cost_ns()? / base.spin()?.cost_ns()?)
}

/// A fact that an article leaves out is not a difference.
fn facts(infos: &[&ColumnInfo]) -> Vec<Caution> {
    let mut cautions = Vec::new();
    for (fact, value_in) in CONDITIONS {
        let values: Vec<Option<Known>> = infos.iter().map(|info| value_in(info)).collect();
        let Some(first) = values.iter().flatten().next() else {
            continue;
        };
        let differ = values.iter().flatten().any(|value| value != first);
        let unknown_here = infos
            .iter()
            .zip(&values)
            .any(|(info, value)| value.is_none() && info.is_measured());
        if differ || unknown_here {
            cautions.push(Caution::FactDiffers { fact, values });
        }
    }
    cautions
}

type EnvironmentFact = (&'static str, fn(&EnvironmentFacts) -> Option<String>);

const ENVIRONMENT_FACTS: [EnvironmentFact; 2] = [
    ("kernel", |facts| facts.kernel.clone()),
    ("emulator", |facts| facts.emulator.clone()),
];

fn environments(infos: &[&ColumnInfo]) -> Vec<Caution> {
    let names: IndexSet<&String> = infos
        .iter()
        .flat_map(|info| info.environments.iter().map(|facts| &facts.name))
        .collect();
    let mut cautions = Vec::new();
    for name in names {
        for (fact, value_in) in ENVIRONMENT_FACTS {
            let values: Vec<Option<String>> = infos
                .iter()
                .map(|info| {
                    info.environments
                        .iter()
                        .find(|facts| facts.name == *name)
                        .and_then(value_in)
                })
                .collect();
            let known: BTreeSet<&String> = values.iter().flatten().collect();
            if known.len() > 1 {
                cautions.push(Caution::EnvironmentDiffers {
                    environment: name.clone(),
                    fact,
                    values,
                });
            }
        }
    }
    cautions
}

fn mitigations(infos: &[&ColumnInfo]) -> Option<Caution> {
    let measured = infos.iter().enumerate();
    let measured: Vec<(usize, BTreeSet<&String>)> = measured
        .filter(|(_, info)| info.is_measured())
        .map(|(column, info)| (column, info.host.mitigations.iter().collect()))
        .collect();
    let unshared: Vec<(usize, Vec<String>)> = measured
        .iter()
        .map(|(column, mitigations)| {
            let lacking = mitigations
                .iter()
                .filter(|one| !measured.iter().all(|(_, others)| others.contains(*one)));
            (*column, lacking.map(ToString::to_string).collect())
        })
        .collect();
    let differ = unshared
        .iter()
        .any(|(_, mitigations)| !mitigations.is_empty());
    differ.then_some(Caution::Mitigations { unshared })
}

fn unproven(columns: usize, rows: &[ComparedRow], baseline: usize) -> Option<Caution> {
    let unknown = rows
        .iter()
        .filter(|row| {
            let verdicts = row.verdicts.iter().enumerate();
            let mut compared = verdicts.filter(|(_, verdict)| verdict.ratio().is_some());
            compared.any(|(i, _)| {
                let both = row.cells[i].as_ref().zip(row.cells[baseline].as_ref());
                both.is_some_and(|(cell, base)| work(cell, base) == Work::Unknown)
            })
        })
        .count();
    if unknown > 0 {
        Some(Caution::EntriesUnknown {
            rows: unknown,
            columns: without_entries(columns, rows),
        })
    } else {
        None
    }
}

fn without_entries(columns: usize, rows: &[ComparedRow]) -> Vec<usize> {
    (0..columns)
        .filter(|column| {
            let mut cells = rows.iter().filter_map(|row| row.cells[*column].as_ref());
            cells.any(|cell| {
                cell.entries.is_none()
                    && (cell.cost_ns().is_some() || cell.instructions().is_some())
            })
        })
        .collect()
}

fn other_code(rows: &[ComparedRow]) -> Option<Caution> {
    let titles = rows
        .iter()
        .filter(|row| row.other_code)
        .map(|row| row.key.title.clone());
    unless_empty(titles.collect()).map(|titles| Caution::OtherCode { titles })
}

fn other_unit(rows: &[ComparedRow]) -> Option<Caution> {
    let mixed = rows
        .iter()
        .filter(|row| row.verdicts.contains(&Verdict::OtherUnit));
    unless_empty(
        mixed
            .map(|row| format!("{} ({})", row.key, row.key.environment))
            .collect(),
    )
    .map(|rows| Caution::OtherUnit { rows })
}
