//! The table of a run.

use crate::comparison::notes::verdicts;
use crate::comparison::row::number;
use crate::numbers::{half_width, nanoseconds, percent, significant};
use crate::run::environments::{
    MOST_ENVIRONMENTS, environment_table, failures, narrow_tables, overheads,
};
use crate::run::{columns, instructions, warnings};
use crate::{Table, conditions, study};
use analysis::compare::MARGIN;
use analysis::summary::{Row, RowCost, RunWarning, Summary, Warning};
use document::write::fits;
use indexmap::IndexSet;
use itertools::Itertools;
use model::prose::{counted, few_of, note_on};
use model::{Host, THREADS, Tax, grouped};
use stats::{BETWEEN_RUNS, FEWEST_REPEATED, Quantity};

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
pub enum Sort {
    /// As requested.
    #[default]
    Asked,
    /// By name.
    Name,
    /// The fastest first; failures last.
    Cost,
}

/// People get one row per case if there are several environments. Unless it is `wide`, it has few
/// notes.
pub fn summary_table(summary: &Summary, host: &Host, sort: Sort, wide: bool) -> Table {
    let rows = sorted(&summary.rows, sort);
    let environments = columns::environments(summary).len();
    let lines = columns::lines(summary, &rows);
    let columns = columns::columns(summary, &lines);
    let failures = failures(&rows, environments > 1);
    let table = if (2..=MOST_ENVIRONMENTS).contains(&environments) {
        environment_table(summary, &lines).with_records(columns.records())
    } else {
        columns.table()
    };
    let (marks, warned) = warned(summary, environments);
    let labels = conditions::labels(&summary.labels).map(|labels| format!("labels: {labels}"));
    let cells = failures
        .into_iter()
        .chain(marks)
        .chain(next_run(summary))
        .chain(per_unit(summary.rows.iter()))
        .chain(pointers(summary))
        .chain(hidden(summary, host));
    let about_cells = study::notes(summary)
        .into_iter()
        .chain(cells)
        .chain(labels)
        .collect();
    let about_run = too_many(environments)
        .into_iter()
        .chain(warned)
        .chain(notes(summary))
        .collect();
    let notes = if wide {
        [about_cells, about_run].concat()
    } else {
        brief(about_cells, about_run)
    };
    let cautions = cautions(summary, host)
        .into_iter()
        .chain(overheads(summary));
    table
        .titled(study::title(summary, title(summary, host)))
        .cautioned(cautions)
        .noted(notes)
}

/// Several tables if the environments do not fit side by side.
pub fn summary_tables(
    summary: &Summary,
    table: Table,
    sort: Sort,
    width: Option<u16>,
) -> Vec<Table> {
    let environments = columns::environments(summary).len();
    let has_several = (2..=MOST_ENVIRONMENTS).contains(&environments);
    // Start-up belongs to an environment, not to a case.
    let narrow = if summary.start_ups.is_empty() {
        width.filter(|width| has_several && !fits(&table, *width))
    } else {
        has_several.then(|| width.unwrap_or(u16::MAX))
    };
    let Some(width) = narrow else {
        return vec![table];
    };
    let lines = columns::lines(summary, &sorted(&summary.rows, sort));
    let mut parts = narrow_tables(summary, &lines, width);
    let notes_of_parts = parts
        .iter_mut()
        .flat_map(|part| std::mem::take(&mut part.notes))
        .collect::<IndexSet<String>>();
    if let Some(first) = parts.first_mut() {
        let unit = std::mem::replace(&mut first.title, table.title);
        first.cautions = table.cautions.into_iter().chain([unit]).collect();
    }
    if let Some(last) = parts.last_mut() {
        last.notes = notes_of_parts.into_iter().chain(table.notes).collect();
    }
    parts
}

fn too_many(environments: usize) -> Option<String> {
    let text = format!(
        "{environments} environments are too many to show side by side (at most {MOST_ENVIRONMENTS}): each record has a row"
    );
    (environments > MOST_ENVIRONMENTS).then_some(text)
}

fn sorted(rows: &[Row], sort: Sort) -> Vec<&Row> {
    let mut rows: Vec<&Row> = rows.iter().collect();
    match sort {
        Sort::Asked => {}
        Sort::Name => rows.sort_by_cached_key(|row| row.case.to_string()),
        Sort::Cost => rows.sort_by(|a, b| Quantity::ascending(a.quantity(), b.quantity())),
    }
    rows
}

fn paired(summary: &Summary) -> Option<String> {
    let timed = summary.rows.iter().filter(|row| row.cost().is_some());
    let versus = timed.filter_map(|row| row.versus.as_ref()).next()?;
    let (first, by_run) = (&versus.environment, summary.runs() >= FEWEST_REPEATED);
    let interval = if by_run {
        "95% interval over the runs"
    } else {
        "interval over launches (about 93%; --runs 3 or more for 95%)"
    };
    let control = summary.control.map_or_else(String::new, |control| {
        format!(
            "; widened by the control, {first} against itself in the same rounds, {} .. {}",
            number(control.least),
            number(control.most)
        )
    });
    Some(format!(
        "'/ {first}': the cost divided by that in {first}, with its {interval}, paired round by round{control}"
    ))
}

/// The words in the column of verdicts.
fn judged(summary: &Summary) -> Option<String> {
    if !columns::is_judged(summary) {
        return None;
    }
    Some(format!(
        "ratios are paired, round by round; {}",
        verdicts(MARGIN)
    ))
}

fn over_runs(summary: &Summary) -> Option<String> {
    let runs = summary.runs();
    match runs {
        0 | 1 => None,
        2 => Some("2 runs: ns/op is their mean".to_string()),
        _ => Some(format!(
            "{runs} runs: ns/op is the mean over the runs; kernel entries and modes are from the first run"
        )),
    }
}

/// `None` for a single run.
pub fn first_run_note(summary: &Summary) -> Option<String> {
    let runs = summary.runs();
    if runs > 1 {
        Some(format!(
            "plots, fits and comparisons of samples use the first of {runs} runs"
        ))
    } else {
        None
    }
}

fn per_thread(summary: &Summary) -> Option<String> {
    let note = "threads=N: ns/op and calls/s are for one thread while the others do the same";
    let threads = |row: &Row| row.case.params.get(THREADS).copied();
    let several = summary.rows.iter().any(|row| threads(row) > Some(1));
    if several { Some(note.into()) } else { None }
}

/// Parameters that divide an operation, what they count, and the greatest value whose row shows the cost of one well enough.
const DIVISIBLE: [(&str, &str, u64); 2] = [("batch", "requests", 1), ("size", "bytes", PAGE)];
const PAGE: u64 = 4096;

/// `size=N: a time is that of N bytes; each takes 0.0312 ns (128.0 ns for 4K) in io.pread size=64K`; not of cases with three or more values,
/// which have a table by parameter.
pub fn per_unit<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Vec<String> {
    let values = rows
        .clone()
        .counts_by(|row| (row.case.label(), &row.case.environment));
    let few_values = rows.filter(|row| values[&(row.case.label(), &row.case.environment)] < 3);
    let notes = DIVISIBLE.into_iter().filter_map(|(name, units, least)| {
        let text = format!("{name}=N: a time is that of N {units}; each takes");
        let costs = few_values.clone().filter_map(|row| each(row, name, least));
        Some(note_on(&text, costs)?.replacen("takes:", "takes", 1))
    });
    notes.collect()
}

fn each(row: &Row, name: &str, least: u64) -> Option<String> {
    let mut case = row.case.clone();
    let value = *case.params.get(name).or(case.defaults.get(name))?;
    if value <= least || case.all_params().any(|(other, _)| other == "iovcnt") {
        return None;
    }
    case.params.insert(name.to_string(), value);
    let ns = row.cost()?.median.0 / value as f64;
    let page = match least {
        PAGE => format!(" ({} ns for 4K)", nanoseconds(ns * PAGE as f64)),
        _ => String::new(),
    };
    Some(format!("{} ns{page} in {case}", significant(ns)))
}

fn cold(summary: &Summary) -> Option<String> {
    let note = "cold=SIZE: single calls, each after SIZE of memory and 128K of code displaced the caches (0: no displacement). ns/op includes the timer; net and 'cold / warm' subtract call.empty_loop measured the same way";
    if !columns::has_cold(summary) {
        return None;
    }
    Some(note.to_string())
}

/// `AMD EPYC, Linux 6.18, measured on CPU 1`
fn title(summary: &Summary, host: &Host) -> String {
    let cpu = if summary.is_counted() {
        None
    } else {
        host.measuring_cpu
            .map(|cpu| format!("measured on CPU {cpu}"))
    };
    let parts = [
        host.cpu.clone(),
        conditions::kernel(host),
        host.hypervisor.clone(),
        cpu,
    ];
    parts.into_iter().flatten().join(", ")
}

fn cautions(summary: &Summary, host: &Host) -> Vec<String> {
    fn disturbs(warning: &&RunWarning) -> bool {
        matches!(warning, RunWarning::Busy { .. } | RunWarning::Stolen { .. })
    }

    // Neither what else runs here nor a tax of this kernel changes the instructions of an emulated machine.
    let is_timed = !summary.is_counted();
    let taxes = host.taxes.iter().filter(|_| is_timed).map(conditions::tax);
    let warnings = summary
        .warnings
        .iter()
        .filter(|warning| is_timed || !disturbs(warning))
        .map(warnings::of_run);
    taxes
        .chain(warnings)
        .map(|text| format!("warning: {text}"))
        .collect()
}

/// Those that explain marks in cells, and the others.
fn warned(summary: &Summary, environments: usize) -> (Vec<String>, Vec<String>) {
    let mut all = Vec::new();
    for row in &summary.rows {
        for warning in &row.warnings {
            let mut name = format!("{}{}", row.case, place(environments, row));
            let detail = warnings::detail(warning);
            if !detail.is_empty() {
                name += &format!(" ({detail})");
            }
            all.push((marked(row, warning), name));
        }
    }
    let by_text = grouped(all);
    let rows = summary.rows.len();
    let lines = by_text
        .into_iter()
        .map(|(text, names)| format!("{text}: {}", few_of(names, rows)));
    lines.partition(|note| note.starts_with(['~', '*', '?']))
}

fn notes(summary: &Summary) -> Vec<String> {
    let all = paired(summary)
        .into_iter()
        .chain(judged(summary))
        .chain(instructions::notes(summary))
        .chain(over_runs(summary));
    all.chain(per_thread(summary))
        .chain(cold(summary))
        .chain(yardsticks(summary))
        .collect()
}

/// Notes on operations that leave out what others do, and the studies that measure the whole.
const POINTERS: [&str; 4] = [
    "io.mmap_read: copies from pages that are mapped already: 'run --study io-strategies' adds open, mmap and page faults",
    "io.sendfile: to /dev/null, so no byte is copied, unlike by read and write",
    "io.splice: through a pipe to /dev/null, so no byte is copied, unlike by read and write",
    "event.uring_read: 'run --study uring-reads' finds the number of reads from which on io_uring is faster than pread",
];

fn pointers(summary: &Summary) -> Vec<String> {
    let rows = summary.rows.iter();
    let operations: Vec<&str> = rows.map(|row| row.case.operation.as_str()).collect();
    if !operations.contains(&"io.read_file") && !operations.contains(&"io.pread") {
        return Vec::new();
    }
    let notes = POINTERS.iter().map(ToString::to_string);
    notes
        .filter(|note| operations.contains(&note.split(':').next().unwrap_or_default()))
        .collect()
}

fn hidden(summary: &Summary, host: &Host) -> Option<String> {
    let is_known = summary.is_counted() || host.taxes.iter().any(Tax::is_tracer);
    let text = "tracing state is hidden here: a tracer that slows system calls has no mark (doctor as root, outside of containers, shows it)";
    (host.hides_tracers() && !is_known).then_some(text.to_string())
}

/// Unless more are needed to explain cells and name labels.
const MOST_NOTES: usize = 2;

fn brief(about_cells: Vec<String>, mut about_run: Vec<String>) -> Vec<String> {
    // Notes that explain marks in cells are never cut.
    let room = MOST_NOTES.saturating_sub(about_cells.len());
    let more = about_run.len().saturating_sub(room);
    about_run.truncate(room);
    let mut notes = [about_cells, about_run].concat();
    if let Some(last) = notes.last_mut()
        && more > 0
    {
        *last += &format!(" ({}: --view wide)", counted(more as u64, "more note"));
    }
    notes
}

/// From this ± in percent on, a row's cost is hardly known.
const WIDE: f64 = 50.0;

/// What is said of the rows and of the rounds, whose shares are those of steady operations: beside wide rows they would be read as theirs.
fn spread(percents: Vec<f64>) -> Option<[String; 2]> {
    let worst = percents.iter().copied().reduce(f64::max)?;
    if worst < WIDE {
        return Some([String::new(), String::new()]);
    }
    let [middle, worst] = [stats::median(percents)?, worst].map(half_width);
    Some([
        format!(" (here {middle} in the middle row and {worst} in the worst)"),
        " (by steady operations; rows with a larger ± varied more)".to_string(),
    ])
}

fn next_run(summary: &Summary) -> Option<String> {
    let costs = summary.rows.iter().filter_map(Row::cost);
    let [here, steady] = spread(costs.filter_map(RowCost::relative_percent).collect())?;
    let what = format!("±: 95% interval for the next run's cost{here}");
    let Some(machine) = &summary.machine else {
        let assumed = percent(100.0 * BETWEEN_RUNS.sd);
        return Some(format!(
            "{what}; run-to-run variation is assumed to be {assumed}%"
        ));
    };
    let learned = machine
        .learned_from_runs
        .map_or("assumed".to_string(), |runs| {
            format!("learned from {}", counted(runs, "run"))
        });
    let moves = percent(machine.next_run_percent());
    Some(format!(
        "{what}, not counting speed changes of the whole machine, ±{moves}% ({learned}); {:.0}% of the rounds were near this run's best{steady}",
        machine.undisturbed_percent
    ))
}

/// Preceded by the mark of their cells if they have one.
fn marked(row: &Row, warning: &Warning) -> String {
    let mark = match warning {
        Warning::DependsOnHistory => "~: ",
        Warning::Traced => "*: ",
        Warning::Unverified { .. } if row.cost().is_some() => "?: ",
        _ => "",
    };
    format!("{mark}{}", warnings::text(warning))
}

/// ` in m32` if there are several environments.
fn place(environments: usize, row: &Row) -> String {
    if environments > 1 {
        format!(" in {}", row.case.environment)
    } else {
        String::new()
    }
}

fn yardsticks(summary: &Summary) -> Option<String> {
    let mut all = summary.rows.iter().chain(&summary.baselines);
    let first = all
        .find(|row| row.cost().is_some())?
        .case
        .environment
        .as_str();
    let several = summary
        .baselines
        .iter()
        .any(|row| row.case.environment != first);
    let place = if several {
        format!(" in {first}")
    } else {
        String::new()
    };
    let of_first = summary
        .baselines
        .iter()
        .filter(|row| row.case.environment == first);
    let costs = of_first
        .filter_map(|row| {
            Some(format!(
                "{} {} ns",
                row.case,
                nanoseconds(row.cost()?.median.0)
            ))
        })
        .join(", ");
    if costs.is_empty() {
        return None;
    }
    Some(format!("In the same rounds{place}: {costs}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::summary::summarize;
    use model::fixtures::{pairs, record, run};

    #[test]
    fn an_ordinary_user_is_told_that_tracers_are_not_seen() {
        let mut run = model::fixtures::run(Vec::new());
        let told =
            |run: &model::Run| hidden(&analysis::summary::summarize(run), &run.host).is_some();
        assert!(!told(&run));
        run.host.user = Some("user".into());
        assert!(told(&run));
    }

    #[test]
    fn a_size_by_default_has_a_cost_per_byte_and_several_values_have_a_table() {
        fn notes(sizes: &[u64]) -> Vec<String> {
            let records = sizes.iter().map(|size| {
                let mut record = record("mem.fault_range", 32_768);
                record.case.params = pairs(&[("size", *size)]);
                record
            });
            let mut records: Vec<_> = records.collect();
            if let [one] = &mut records[..] {
                one.case.defaults = std::mem::take(&mut one.case.params);
            }
            per_unit(summarize(&run(records)).rows.iter())
        }

        assert_eq!(
            notes(&[65_536]),
            [
                "size=N: a time is that of N bytes; each takes 0.500 ns (2,048 ns for 4K) in mem.fault_range size=64K"
            ]
        );
        assert!(notes(&[4096]).is_empty() && notes(&[65_536, 131_072, 262_144]).is_empty());
    }

    #[test]
    fn rows_that_are_hardly_known_are_named_with_the_interval() {
        assert_eq!(spread(Vec::new()), None);
        let narrow = spread(vec![3.1, 16.0]).unwrap();
        assert!(narrow.iter().all(String::is_empty));
        let [here, steady] = spread(vec![3.1, 16.0, 2108.0]).unwrap();
        assert_eq!(
            here,
            " (here 16% in the middle row and > 100% in the worst)"
        );
        assert!(steady.contains("steady operations"));
    }
}
