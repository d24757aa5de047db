//! The table of a run in several environments: one row per case, with the figures of each environment in columns. Where the
//! screen is too narrow for all of them, environments are rows, or stand in blocks of columns.

use crate::comparison::row::number as ratio_number;
use crate::numbers::{nanoseconds, per_operation, signed, three_figures};
use crate::run::columns::{Line, environments, is_judged};
use crate::run::names::anywhere;
use crate::run::start_up;
use crate::study::Scaled;
use crate::{Cell, Columns, Style, Table};
use analysis::summary::{Row, Summary, Versus};
use document::write::text_width;
use itertools::Itertools;
use model::prose::few;
use model::{Case, REFERENCE, Unit, grouped};

/// With more, each record has its own row.
pub const MOST_ENVIRONMENTS: usize = 32;

/// One case or derived row in all environments.
type Group<'a> = Vec<&'a Line<'a>>;

#[derive(Clone, Copy)]
struct EnvironmentColumns<'a> {
    name: &'a str,
    unit: Unit,
    base: Option<&'a str>,
}

fn places(summary: &Summary) -> Vec<EnvironmentColumns<'_>> {
    environments(summary)
        .into_iter()
        .map(|name| EnvironmentColumns {
            name,
            unit: summary.unit(name),
            base: base(summary, name),
        })
        .collect()
}

/// The environment that the rows of `name` are compared with.
fn base<'a>(summary: &'a Summary, name: &str) -> Option<&'a str> {
    let mut rows = summary
        .rows
        .iter()
        .filter(|row| row.case.environment == name);
    let versus = rows.find_map(|row| row.versus.as_ref())?;
    Some(&versus.environment)
}

impl EnvironmentColumns<'_> {
    fn cell(&self, group: &Group, cell: impl Fn(&Line) -> Cell) -> Cell {
        group
            .iter()
            .find(|line| line.environment == self.name)
            .map(|line| cell(line))
            .into()
    }

    /// The columns are too narrow for the reason, which is in the notes.
    fn figure(&self, group: &Group) -> Cell {
        self.cell(group, |line| match line.failure() {
            Some(_) => Cell::styled("failed", Style::Bad),
            None => line.figure_in(self.unit),
        })
    }
}

/// A row per case, with columns for each environment.
pub fn environment_table(summary: &Summary, lines: &[Line]) -> Table {
    let scaled = Scaled::new(summary);
    let groups = by_case_or_name(lines);
    let mut columns = Columns::new(&groups).left("operation", name);
    for place in places(summary) {
        let heading = format!("{} {}", place.name, per_operation(place.unit));
        columns = columns.right(&heading, |group| place.figure(group));
        let timed = place.unit == Unit::Nanoseconds;
        columns = if timed {
            columns
                .right("±", |group| place.cell(group, precision))
                .expendable(2)
                .left("verdict", |group| {
                    place.cell(group, |line| line.verdict.clone())
                })
                .shown_if(is_judged(summary))
        } else {
            let repeats = |group: &Group| place.cell(group, |line| line.count_range());
            let differ = groups.iter().any(|group| !repeats(group).text.is_empty());
            columns
                .right("repeats", repeats)
                .expendable(2)
                .shown_if(differ)
        };
        if let Some(base) = place.base {
            columns = columns
                .right(&format!("/ {base}"), |group| place.cell(group, versus))
                .right("interval", |group| {
                    place.cell(group, |line| line.row.map(versus_interval).into())
                })
                .expendable(1)
                .shown_if(timed);
        }
        if let Some(scaled) = scaled.as_ref()
            && timed
        {
            let heading = format!("{} {}", place.name, scaled.heading());
            columns = columns
                .right(&heading, |group| {
                    place.cell(group, |line| scaled.cell(line.scale, line.time()))
                })
                .expendable(1);
        }
    }
    columns
        .left("kernel entries", entries_cell)
        .wrapping()
        .table()
}

/// Environments are rows if there are more of them than cases. Each table has the figures of one
/// unit.
pub fn narrow_tables(summary: &Summary, lines: &[Line], width: u16) -> Vec<Table> {
    let (groups, mut places) = (by_case_or_name(lines), places(summary));
    places.sort_by_key(|place| place.unit);
    let units: Vec<&[EnvironmentColumns]> = places.chunk_by(|a, b| a.unit == b.unit).collect();
    let tables = units.iter().enumerate().flat_map(|(i, places)| {
        if groups.len() < places.len() || !summary.start_ups.is_empty() {
            by_environment(summary, &groups, places, width)
        } else {
            by_case(&groups, places, i + 1 == units.len(), width)
        }
    });
    tables.collect()
}

/// `instr/op, and the ratio to linux-5.10`
fn title(places: &[EnvironmentColumns]) -> String {
    let unit = places
        .first()
        .map_or(String::new(), |place| per_operation(place.unit));
    let base = places.iter().find_map(|place| place.base);
    base.map_or(unit.clone(), |base| {
        format!("{unit}, and the ratio to {base}")
    })
}

fn by_environment(
    summary: &Summary,
    groups: &[Group],
    places: &[EnvironmentColumns],
    width: u16,
) -> Vec<Table> {
    let columns = Columns::new(places).left("environment", |place| place.name);
    let mut columns = start_up::columns(columns, summary, |place| place.name);
    let has_start_up = !summary.start_ups.is_empty();
    for group in groups {
        let ratio = |place: &EnvironmentColumns| place.cell(group, doubted_versus);
        let has_ratio = places.iter().any(|place| !ratio(place).text.is_empty());
        columns = columns
            .right(&name(group).text, |place| place.figure(group))
            .right("ratio", ratio)
            .shown_if(has_ratio);
    }
    let proven = groups.iter().filter(|group| {
        group
            .iter()
            .any(|line| line.failure().is_none() && line.is_proven())
    });
    let notes = proven.map(|group| {
        format!(
            "kernel entries of {}: {}",
            name(group).text,
            entries_cell(group).text
        )
    });
    let start_up = has_start_up.then(|| start_up::NOTE.to_string());
    let notes = start_up.into_iter().chain(doubt_note(groups)).chain(notes);
    let whole = columns.table().titled(title(places)).noted(notes);
    split(&whole, width)
}

fn by_case(
    groups: &[Group],
    places: &[EnvironmentColumns],
    with_entries: bool,
    width: u16,
) -> Vec<Table> {
    let mut columns = Columns::new(groups).left("operation", name);
    for place in places {
        columns = columns
            .right(place.name, |group| place.figure(group))
            .right("ratio", |group| place.cell(group, doubted_versus))
            .shown_if(place.base.is_some());
    }
    if with_entries {
        columns = columns.left("kernel entries", entries_cell).wrapping();
    }
    let whole = columns.table().titled(title(places));
    split(&whole.noted(doubt_note(groups)), width)
}

/// Columns that stay with the one before them.
const BESIDE: [&str; 2] = ["ratio", "MB"];

/// Each with the first column and as many of the others as fit.
fn split(whole: &Table, width: u16) -> Vec<Table> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for (i, column) in whole.columns().iter().enumerate().skip(1) {
        match parts.last_mut() {
            Some(part) if BESIDE.contains(&column.title.as_str()) => part.push(i),
            _ => parts.push(vec![i]),
        }
    }
    let mut kept: Vec<Vec<usize>> = Vec::new();
    for part in parts {
        match kept
            .last_mut()
            .filter(|last| text_width(&whole.select(&[last, &part[..]].concat())) <= width.into())
        {
            Some(last) => last.extend(part),
            None => kept.push(std::iter::once(0).chain(part).collect()),
        }
    }
    let mut tables: Vec<Table> = kept
        .iter()
        .map(|columns| whole.select(columns).noted([""; 0]))
        .collect();
    if let Some(last) = tables.last_mut() {
        last.notes = whole.notes.clone();
    }
    tables
}

fn name(group: &Group) -> Cell {
    group.first().map(|line| &line.name).into()
}

fn by_case_or_name<'a>(lines: &'a [Line<'a>]) -> Vec<Group<'a>> {
    grouped(lines.iter().map(|line| (key(line), line)))
        .into_values()
        .collect()
}

fn key<'a>(line: &'a Line) -> (&'a str, Case) {
    let case = line.row.map_or_else(
        || Case {
            name: Some(line.label.to_string()),
            params: line.params.clone(),
            ..Case::native("")
        },
        |row| row.case.clone(),
    );
    (&line.kind, anywhere(&case))
}

fn versus(line: &Line) -> Cell {
    line.row.map(versus_ratio).into()
}

/// For tables without its interval: `~0.94` if no difference is known.
fn doubted_versus(line: &Line) -> Cell {
    let mut cell = versus(line);
    if is_doubted(line) {
        cell.text.insert(0, '~');
    }
    cell
}

/// The note on ratios that are marked so.
pub const INDISTINGUISHABLE: &str =
    "~: not distinguishable: the 95% interval of the ratio includes 1";

fn is_doubted(line: &Line) -> bool {
    let ratio = line.row.and_then(|row| Some(row.versus.as_ref()?.ratio));
    ratio.is_some_and(|ratio| ratio.low_high.is_some_and(is_unknown))
}

fn doubt_note(groups: &[Group]) -> Option<String> {
    let is_any = groups.iter().flatten().any(|line| is_doubted(line));
    is_any.then(|| INDISTINGUISHABLE.to_string())
}

/// The cost divided by that in the first environment.
pub fn versus_ratio(row: &Row) -> Cell {
    let ratio = row.versus.as_ref().map(|versus| versus.ratio.value);
    Cell::known(ratio, ratio_number)
}

/// The interval of that ratio.
pub fn versus_interval(row: &Row) -> Cell {
    let ends = row.versus.as_ref().and_then(|versus| versus.ratio.low_high);
    ends.map(|(low, high)| format!("{} .. {}", ratio_number(low), ratio_number(high)))
        .into()
}

fn precision(line: &Line) -> Cell {
    line.failure()
        .map_or_else(|| line.precision.clone(), |_| Cell::default())
}

/// Once if they are the same in all environments.
fn entries_cell(group: &Group) -> Cell {
    let counted = group.iter().filter(|line| line.failure().is_none());
    let counted: Vec<&&Line> = counted.collect();
    let proven = counted.iter().filter(|line| line.is_proven());
    // Processes of one iteration may run in either order.
    let places = grouped(proven.map(|line| (in_any_order(&line.entries.text), **line)));
    let unproven = counted.iter().any(|line| !line.is_proven());
    match counted.first() {
        None => Cell::default(),
        Some(first) if places.len() + usize::from(unproven) == 1 => first.entries.clone(),
        Some(_) => {
            let mut parts = Vec::new();
            for lines in places.values() {
                let names = few(lines.iter().map(|line| line.environment));
                parts.push(format!("{names}: {}", lines[0].entries.text));
            }
            if unproven {
                parts.push("elsewhere unverified".to_string());
            }
            Cell::from(parts.join("; "))
        }
    }
}

/// The calls of a text such as `clone x1 wait4 x1`, sorted.
fn in_any_order(entries: &str) -> Vec<String> {
    let words: Vec<&str> = entries.split(' ').collect();
    let mut calls: Vec<String> = words.chunks(2).map(|call| call.join(" ")).collect();
    calls.sort();
    calls
}

/// A line per reason, with all cases that failed so in the same environments.
pub fn failures(rows: &[&Row], several: bool) -> Vec<String> {
    let failed = rows
        .iter()
        .filter_map(|row| Some((row.case.to_string(), row.failure()?.message.as_str(), row)));
    let places =
        grouped(failed.map(|(case, why, row)| ((case, why), row.case.environment.as_str())));
    let cases = places
        .into_iter()
        .map(|((case, why), places)| ((places, why), case));
    grouped(cases)
        .iter()
        .map(|((places, why), cases)| {
            let places = if several {
                format!(" in {}", few(places))
            } else {
                String::new()
            };
            format!("failed: {}{places}: {why}", few(cases))
        })
        .collect()
}

/// `None` without a second environment that was timed in the same rounds.
pub fn overheads(summary: &Summary) -> Option<String> {
    let calls = reference_calls(summary);
    let paired = calls
        .iter()
        .filter_map(|row| Some((row.case.environment.as_str(), row.versus.as_ref()?)));
    let first = paired.clone().next()?.1.environment.as_str();
    let bare = calls.iter().find(|row| row.case.environment == first)?;
    let cost = bare.cost()?.median.0;
    let mut added = paired.map(|(name, versus)| format!("{name} {}", added(cost, versus)));
    Some(format!(
        "{REFERENCE} takes {} ns in {first}; {}",
        nanoseconds(cost),
        added.join(", ")
    ))
}

/// The bare system call in each environment.
pub fn reference_calls(summary: &Summary) -> Vec<&Row> {
    let baselines = summary.baselines.iter();
    baselines
        .filter(|row| row.case.is_plain(REFERENCE) && row.cost().is_some())
        .collect()
}

/// Ratios between these are equality.
const EQUAL: (f64, f64) = (0.99, 1.01);

fn is_equal((low, high): (f64, f64)) -> bool {
    EQUAL.0 <= low && high <= EQUAL.1
}

fn is_unknown((low, high): (f64, f64)) -> bool {
    low <= 1.0 && 1.0 <= high && !is_equal((low, high))
}

/// So much of an effect must be certain, or its interval stands beside it.
const MOSTLY: f64 = 0.5;

/// `+40.2 ns (x 1.49)`, with the interval if an end of it is nearer to 1 than half the effect; `the same` if the whole interval is within 1%;
/// `not known (x 0.98 .. 1.22)` if it otherwise holds 1.
fn added(cost: f64, versus: &Versus) -> String {
    let ratio = versus.ratio;
    let more = signed(cost * (ratio.value - 1.0), nanoseconds);
    let times = three_figures(ratio.value);
    let Some((low, high)) = ratio.low_high else {
        return format!("{more} ns (x {times}), without an interval");
    };
    let ends = format!("{} .. {}", three_figures(low), three_figures(high));
    let least = (low - 1.0).abs().min((high - 1.0).abs());
    if is_equal((low, high)) {
        "the same".to_string()
    } else if is_unknown((low, high)) {
        format!("not known (x {ends})")
    } else if least < MOSTLY * (ratio.value - 1.0).abs() {
        format!("{more} ns (x {times}, {ends})")
    } else {
        format!("{more} ns (x {times})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::summary::summarize;
    use model::fixtures::{entering, in_environment, run};
    use model::{Failure, Outcome};
    use stats::Ranged;

    #[test]
    fn entries_in_another_order_are_the_same() {
        let [one, other, more] = [
            "clone x1 wait4 x1",
            "wait4 x1 clone x1",
            "clone x1 wait4 x2",
        ];
        assert_eq!(in_any_order(one), in_any_order(other));
        assert_ne!(in_any_order(one), in_any_order(more));
    }

    #[test]
    fn an_environment_that_cannot_start_is_one_line() {
        let refused = Failure::unsupported("EPERM: prctl");
        let records = ["native", "box"].map(|environment| {
            ["id.getppid", "file.stat"].map(|id| {
                let case = Case::native(id).in_environment(environment);
                let outcome = Outcome::Failed(refused.clone());
                if environment == "box" {
                    model::Record::new(case, outcome)
                } else {
                    entering(id, 100, &[])
                }
            })
        });
        let summary = summarize(&run(records.concat()));
        let rows: Vec<&Row> = summary.rows.iter().collect();
        let line = "failed: id.getppid, file.stat in box: EPERM: prctl";
        assert_eq!(failures(&rows, true), [line]);
    }

    #[test]
    fn each_environment_is_a_tax_on_the_reference_call() {
        fn call(environment: &str, ns: u64) -> model::Record {
            in_environment(environment, entering(REFERENCE, ns, &[]))
        }

        let all = summarize(&run(vec![
            call("native", 100),
            call("filter", 150),
            call("box", 100),
        ]));
        let expected =
            "id.getppid takes 100.0 ns in native; filter +50.0 ns (x 1.50), box the same";
        assert_eq!(overheads(&all).as_deref(), Some(expected));
        let added = |low_high| {
            let ratio = Ranged {
                value: 1.1,
                low_high,
            };
            let environment = "native".to_string();
            added(100.0, &Versus { environment, ratio })
        };
        assert_eq!(added(Some((0.98, 1.22))), "not known (x 0.98 .. 1.22)");
        assert_eq!(added(Some((1.05, 1.22))), "+10.0 ns (x 1.10)");
        assert_eq!(added(Some((1.01, 1.1))), "+10.0 ns (x 1.10, 1.01 .. 1.10)");
        assert_eq!(overheads(&summarize(&run(vec![call("native", 100)]))), None);
    }
}
