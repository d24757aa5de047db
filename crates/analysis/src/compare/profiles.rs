//! Profiles of traced programs side by side, and whether growth passes a limit.
//!
//! Counts are compared by their ranges over the runs of each side: they repeat exactly in most programs; if they do not, the
//! ranges show how much they vary. Times are shown and never judged: those of one run predict little of the next.

mod row;

pub use row::{
    CountKind, Counts, Part, ProfileComparison, ProfileGated, ProfileGatedRow, ProfileInfo,
    ProfileRow, ProfileVerdict, Span,
};

use super::gate::Gate;
use model::{CallCount, Class, Profile, Section, Usage};
use std::collections::{BTreeMap, BTreeSet};

// More do not fit on a line of the table.
const MOST_PARTS: usize = 3;
// Chosen with bench/sections: a call that happens in most iterations counts as one in each.
/// Counts per iteration are whole numbers if they are closer to one than this.
const CLOSE: f64 = 0.25;
pub const TOTAL: &str = "total";

#[derive(Clone)]
pub struct ProfileColumn {
    pub info: ProfileInfo,
    runs: Vec<Rows>,
    usage: Vec<Usage>,
    sections: BTreeSet<String>,
    section_runs: Vec<Rows>,
}

impl ProfileColumn {
    pub fn new(label: &str, profile: &Profile) -> ProfileColumn {
        let usage = profile.repeats.iter().map(|run| &run.usage);
        let sections = profile.repeats.iter().map(|run| &run.sections);
        let sections = [&profile.sections].into_iter().chain(sections);
        let names = sections
            .clone()
            .map(|run| run.iter().map(|section| section.name.clone()).collect())
            .reduce(|all: BTreeSet<_>, run| &all & &run);
        let info = ProfileInfo {
            label: label.to_string(),
            command: profile.command.clone(),
            tracer: profile.tracer.kind.clone(),
            complete: profile.complete && profile.tracer.lost == 0,
            runs: 1 + profile.repeats.len(),
            sections: Vec::new(),
            host: profile.host.name.clone(),
        };
        ProfileColumn {
            info,
            runs: profile.runs_by_class(),
            usage: [&profile.usage].into_iter().chain(usage).cloned().collect(),
            sections: names.unwrap_or_default(),
            section_runs: sections.clone().flat_map(|run| rates(run)).collect(),
        }
    }

    /// The same by section and per iteration: a row is `section: call`. `None` if the program marked none.
    pub fn by_section(&self) -> Option<ProfileColumn> {
        let info = ProfileInfo {
            sections: self.sections.iter().cloned().collect(),
            ..self.info.clone()
        };
        if self.sections.is_empty() {
            return None;
        }
        Some(ProfileColumn {
            info,
            runs: self.section_runs.clone(),
            ..self.clone()
        })
    }

    /// The runs of several files as one column, which is complete if all of them are; `None` without columns.
    pub fn group(label: &str, columns: Vec<ProfileColumn>) -> Option<ProfileColumn> {
        let mut columns = columns.into_iter();
        let mut all = columns.next()?;
        for column in columns {
            all.info.complete &= column.info.complete;
            all.info.runs += column.info.runs;
            all.sections
                .retain(|section| column.sections.contains(section));
            all.section_runs.extend(column.section_runs);
            all.runs.extend(column.runs);
            all.usage.extend(column.usage);
        }
        all.info.label = label.to_string();
        Some(all)
    }

    fn has(&self, section: &str) -> bool {
        self.info.sections.is_empty() || self.sections.contains(section)
    }

    /// The sum, without `call`.
    pub(super) fn counts(&self, call: Option<&str>, takes: impl Fn(&str) -> bool) -> Counts {
        Counts::over_runs(
            &self
                .runs
                .iter()
                .map(|run| {
                    rows_of(run, call)
                        .filter(|((name, _), _)| call.is_some() || takes(name))
                        .map(|(_, count)| count)
                        .sum()
                })
                .collect::<Vec<_>>(),
        )
    }

    /// Processes or programs that were started, over the runs; 0 if that is not known.
    pub(super) fn started(&self, number: fn(&Usage) -> Option<u64>) -> Span {
        Span::from_values(
            self.usage
                .iter()
                .map(|usage| number(usage).unwrap_or(0))
                .collect(),
        )
    }

    pub(super) fn largest(&self, call: Option<&str>, errors: bool) -> Vec<Part> {
        let mut parts = self.parts(call);
        parts.retain(|(_, _, error), _| !errors || error.is_some());
        grown_parts(&parts, &Parts::new(), &|_: &str| true)
    }

    fn parts(&self, call: Option<&str>) -> Parts {
        let mut each: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for (index, run) in self.runs.iter().enumerate() {
            for ((name, class), count) in rows_of(run, call) {
                let by_class = ((name.clone(), class.clone(), None), count.calls);
                let by_error = count.errors.iter().map(|(error, calls)| {
                    (
                        (name.clone(), Class::default(), Some(error.clone())),
                        *calls,
                    )
                });
                for (key, calls) in by_error.chain([by_class]) {
                    let counts = each.entry(key).or_insert_with(|| vec![0; self.runs.len()]);
                    counts[index] = counts[index].saturating_add(calls);
                }
            }
        }
        each.into_iter()
            .map(|(key, counts)| (key, Span::from_values(counts).median))
            .collect()
    }
}

/// Compares profiles call by call: by section if all columns have sections, else by call alone. `takes` selects the calls.
pub fn compare_profiles(
    columns: &[ProfileColumn],
    baseline: usize,
    takes: impl Fn(&str) -> bool,
) -> ProfileComparison {
    let by_section: Option<Vec<_>> = columns.iter().map(ProfileColumn::by_section).collect();
    let columns = by_section.as_deref().unwrap_or(columns);
    let names = columns
        .iter()
        .flat_map(|column| column.runs.iter().flat_map(|run| run.keys()));
    // A section that is not in all columns has not grown.
    let calls: BTreeSet<&str> = names
        .map(|(call, _)| call.as_str())
        .filter(|call| {
            let section = section_of(call);
            takes(call)
                && section.is_none_or(|section| columns.iter().all(|column| column.has(section)))
        })
        .collect();
    let mut rows: Vec<ProfileRow> = calls
        .into_iter()
        .map(|call| row(columns, baseline, Some(call), &takes))
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.change(baseline), row.most_calls())));
    ProfileComparison {
        columns: columns.iter().map(|column| column.info.clone()).collect(),
        baseline,
        total: if by_section.is_none() {
            Some(row(columns, baseline, None, &takes))
        } else {
            None
        },
        rows,
        left_out: 0,
        gate: None,
    }
}

pub const PROCESSES: &str = "processes";
pub const PROGRAMS: &str = "programs";

/// Not judged by section: how often they are made depends on what ran before in the same process.
pub const MEMORY: [&str; 6] = ["brk", "madvise", "mmap", "mprotect", "mremap", "munmap"];

pub fn section_row(section: &str, call: &str) -> String {
    format!("{section}: {call}")
}

pub(super) fn section_of(row: &str) -> Option<&str> {
    row.rsplit_once(": ").map(|(section, _)| section)
}

/// Counts per iteration, twice: rounded down and up if they are not close to a whole number: such calls do not happen in each
/// iteration, and one more of them may fall into a run.
fn rates(sections: &[Section]) -> [Rows; 2] {
    [false, true].map(|up| {
        sections
            .iter()
            .flat_map(|section| section_rates(section, up))
            .collect()
    })
}

fn section_rates(section: &Section, up: bool) -> Rows {
    let started = [(PROCESSES, section.processes), (PROGRAMS, section.programs)];
    let started = started.map(|(name, calls)| CallCount {
        call: name.to_string(),
        calls,
        ..CallCount::default()
    });
    let started = started.iter().filter(|count| count.calls > 0);
    let mut rows: Rows = BTreeMap::new();
    for count in section.calls.iter().chain(started) {
        let call = section_row(&section.name, &count.call);
        let row = rows.entry((call.clone(), Class::default())).or_default();
        row.add(&CallCount {
            calls: count.calls,
            errors: count.errors.clone(),
            ..CallCount::default()
        });
        row.call = call;
    }
    for row in rows.values_mut() {
        row.calls = rounded(row.calls, section.iterations.max(1), up);
        for calls in row.errors.values_mut() {
            *calls = rounded(*calls, section.iterations.max(1), up);
        }
    }
    rows
}

fn rounded(count: u64, iterations: u64, up: bool) -> u64 {
    let (whole, rest) = (count / iterations, count % iterations);
    let share = rest as f64 / iterations as f64;
    whole + u64::from(share > 1.0 - CLOSE || (up && share >= CLOSE))
}

fn row(
    columns: &[ProfileColumn],
    baseline: usize,
    call: Option<&str>,
    takes: &impl Fn(&str) -> bool,
) -> ProfileRow {
    let is_it = |name: &str| call.map_or_else(|| takes(name), |call| call == name);
    let parts: Vec<_> = columns.iter().map(|column| column.parts(call)).collect();
    ProfileRow {
        call: call.unwrap_or(TOTAL).to_string(),
        counts: columns
            .iter()
            .map(|column| column.counts(call, takes))
            .collect(),
        grew: parts
            .iter()
            .map(|column_parts| grown_parts(column_parts, &parts[baseline], &is_it))
            .collect(),
        fell: parts
            .iter()
            .map(|column_parts| {
                grown_parts(&parts[baseline], column_parts, &is_it)
                    .into_iter()
                    .map(Part::reversed)
                    .collect()
            })
            .collect(),
    }
}

fn rows_of<'r>(
    run: &'r Rows,
    call: Option<&'r str>,
) -> impl Iterator<Item = (&'r (String, Class), &'r CallCount)> {
    let first = (call.unwrap_or_default().to_string(), Class::default());
    run.range(first..)
        // Rows are sorted by call, so those of one call are neighbours.
        .take_while(move |((name, _), _)| call.is_none_or(|call| call == name))
}

type Rows = BTreeMap<(String, Class), CallCount>;
type PartKey = (String, Class, Option<String>);
type Parts = BTreeMap<PartKey, u64>;

fn grown_parts(parts: &Parts, base: &Parts, is_it: &impl Fn(&str) -> bool) -> Vec<Part> {
    let grown = parts
        .iter()
        .map(|(key, calls)| {
            let (call, class, error) = key.clone();
            Part {
                call,
                class,
                error,
                calls: *calls,
                baseline_calls: base.get(key).copied().unwrap_or(0),
            }
        })
        .filter(|part| part.calls > part.baseline_calls && is_it(&part.call));
    let mut grown: Vec<Part> = grown.collect();
    // The sort is stable and classes come before errors, so a class comes before an error that grew as much.
    grown.sort_by_key(|part| std::cmp::Reverse(part.calls - part.baseline_calls));
    grown.truncate(MOST_PARTS);
    grown
}

impl ProfileRow {
    fn change(&self, baseline: usize) -> u64 {
        let base = self.counts[baseline].calls.median;
        self.counts
            .iter()
            .map(|counts| counts.calls.median.abs_diff(base))
            .max()
            .unwrap_or(0)
    }

    fn most_calls(&self) -> u64 {
        self.counts
            .iter()
            .map(|counts| counts.calls.most)
            .max()
            .unwrap_or(0)
    }

    fn differs(&self, baseline: usize, margin: f64) -> bool {
        let mut columns = 0..self.counts.len();
        columns.any(|column| {
            self.pairs(column, baseline)
                .into_iter()
                .any(|(_, span, base)| {
                    span.least as f64 > base.allowed(margin)
                        || base.least as f64 > span.allowed(margin)
                })
        })
    }

    fn pairs(&self, column: usize, baseline: usize) -> Vec<(CountKind, Span, Span)> {
        let (span, base) = (self.counts[column], self.counts[baseline]);
        let mut pairs = vec![
            (CountKind::Calls, span.calls, base.calls),
            (CountKind::Errors, span.errors, base.errors),
        ];
        let bytes = span.bytes.zip(base.bytes);
        pairs.extend(bytes.map(|(bytes, base)| (CountKind::Bytes, bytes, base)));
        pairs
    }

    /// Without a limit, only calls are judged, and none may be added.
    fn verdict(&self, column: usize, baseline: usize, limit: Option<f64>) -> ProfileVerdict {
        let mut all = self.pairs(column, baseline);
        all.retain(|(kind, ..)| limit.is_some() || *kind == CountKind::Calls);
        let limit = limit.unwrap_or(0.0);
        let over = |value: u64, base: Span| value as f64 > base.allowed(limit);
        if let Some((count_kind, span, base)) = all
            .iter()
            .copied()
            .find(|(_, span, base)| over(span.least, *base))
        {
            return ProfileVerdict::Grown {
                count_kind,
                span,
                base,
            };
        }
        match all
            .into_iter()
            .find(|(_, span, base)| over(span.most, *base))
        {
            Some((count_kind, span, base)) => ProfileVerdict::Unclear {
                count_kind,
                span,
                base,
            },
            None => ProfileVerdict::Passed,
        }
    }
}

impl ProfileComparison {
    /// With a rule about entries alone, no call may be added, and errors and bytes are not judged.
    pub fn gate(&mut self, gate: &Gate) {
        let columns: Vec<usize> = (0..self.columns.len())
            .filter(|column| *column != self.baseline)
            .collect();
        let rows = self
            .all_rows()
            .filter(|row| {
                let section_and_call = row.call.rsplit_once(": ");
                section_and_call.is_none_or(|(_, call)| !MEMORY.contains(&call))
            })
            .flat_map(|row: &ProfileRow| -> Vec<ProfileGatedRow> {
                columns
                    .iter()
                    .map(|column| ProfileGatedRow {
                        call: row.call.clone(),
                        column: *column,
                        verdict: row.verdict(*column, self.baseline, gate.limit),
                    })
                    .collect()
            })
            .collect();
        let limit = gate.limit.unwrap_or(0.0);
        self.gate = Some(ProfileGated { limit, rows });
    }

    /// `margin` is a share.
    pub fn keep_differing(&mut self, margin: f64, keeps: impl Fn(&ProfileRow) -> bool) {
        let (before, baseline) = (self.rows.len(), self.baseline);
        self.rows
            .retain(|row| row.differs(baseline, margin) || keeps(row));
        self.left_out += before - self.rows.len();
    }

    /// The row of one call, or that of all calls by the name `total`.
    pub fn row(&self, call: &str) -> Option<&ProfileRow> {
        self.all_rows().find(|row| row.call == call)
    }

    fn all_rows(&self) -> impl Iterator<Item = &ProfileRow> {
        self.total.iter().chain(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ProfileRun;
    use model::fixtures::{called, profile};

    fn counted(call: &str, depth: u64, calls: u64, errors: u64) -> CallCount {
        let mut count = called(call, calls);
        count.class.depth = Some(depth);
        if errors > 0 {
            count.errors.insert("ENOENT".to_string(), errors);
        }
        count
    }

    fn column(runs: &[&[CallCount]]) -> ProfileColumn {
        let mut profile = profile(runs[0].to_vec());
        let repeats = runs[1..].iter().map(|calls| ProfileRun {
            calls: calls.to_vec(),
            ..ProfileRun::default()
        });
        profile.repeats = repeats.collect();
        ProfileColumn::new("x", &profile)
    }

    fn gated(columns: &[ProfileColumn], limit: f64) -> Vec<bool> {
        let mut comparison = compare_profiles(columns, 0, |_| true);
        comparison.gate(&Gate {
            limit: Some(limit),
            entries: None,
        });
        let rows = comparison.gate.unwrap().rows.into_iter();
        rows.map(|row| matches!(row.verdict, ProfileVerdict::Grown { .. }))
            .collect()
    }

    #[test]
    fn growth_is_named_by_call_and_by_its_classes_and_errors() {
        let old = column(&[&[
            counted("openat", 1, 100, 0),
            counted("openat", 3, 100, 2),
            counted("read", 0, 50, 0),
        ]]);
        let new = column(&[&[
            counted("openat", 1, 101, 0),
            counted("openat", 3, 280, 120),
            counted("close", 0, 3, 0),
        ]]);
        let comparison = compare_profiles(&[old.clone(), new.clone()], 0, |_| true);
        let names = comparison.rows.iter().map(|row| row.call.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["openat", "read", "close"]);
        let open = &comparison.rows[0];
        assert_eq!(open.counts[1].calls, Span::from_values(vec![381]));
        let grew = open.grew[1].iter().map(|part| {
            let more = part.calls - part.baseline_calls;
            (part.class.depth, part.error.as_deref(), more)
        });
        let expected = [
            (Some(3), None, 180),
            (None, Some("ENOENT"), 118),
            (Some(1), None, 1),
        ];
        assert_eq!(grew.collect::<Vec<_>>(), expected);
        assert_eq!(
            comparison.rows[2].counts[0].calls.most, 0,
            "not made is 0, not unknown"
        );
        let both = [old, new];
        let failed = |limit| gated(&both, limit).iter().filter(|failed| **failed).count();
        assert_eq!(
            (failed(0.1), failed(100.0)),
            (3, 1),
            "total, openat and close; a new call is infinite growth"
        );
    }

    #[test]
    fn a_rule_about_entries_judges_neither_errors_nor_bytes() {
        let with_bytes = |bytes: u64, calls: u64, errors: u64| {
            let mut count = counted("getdents64", 0, calls, errors);
            count.bytes = Some(bytes);
            column(&[&[count]])
        };
        let failed = |limit: Option<f64>, calls: u64| {
            let columns = [with_bytes(100, 2, 0), with_bytes(200, calls, 1)];
            let mut comparison = compare_profiles(&columns, 0, |_| true);
            let entries = Some(crate::compare::EntriesRule::More);
            comparison.gate(&Gate { limit, entries });
            let mut rows = comparison.gate.unwrap().rows.into_iter();
            rows.any(|row| matches!(row.verdict, ProfileVerdict::Grown { .. }))
        };
        assert_eq!(
            (failed(None, 2), failed(None, 3), failed(Some(0.0), 2)),
            (false, true, true)
        );
    }

    #[test]
    fn counts_that_vary_are_judged_by_their_ranges() {
        fn failed(old: &[u64], new: &[u64]) -> bool {
            gated(&[column_with(old), column_with(new)], 0.0).contains(&true)
        }

        fn column_with(each: &[u64]) -> ProfileColumn {
            let runs: Vec<[CallCount; 1]> =
                each.iter().map(|calls| [called("futex", *calls)]).collect();
            column(&runs.iter().map(|run| &run[..]).collect::<Vec<_>>())
        }

        assert!(!failed(&[10, 14, 12], &[13, 16, 17]), "they overlap");
        assert!(
            !failed(&[10, 14, 12], &[17, 18, 18]),
            "as far above as the runs of one side differ"
        );
        assert!(failed(&[10, 14, 12], &[19, 20, 22]));
        assert!(failed(&[10, 10, 10], &[11, 11, 11]) && !failed(&[10, 10, 10], &[11, 11, 10]));
    }
}
