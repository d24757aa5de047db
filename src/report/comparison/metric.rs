//! The output of `compare --metric`: counts side by side, with ratios and verdicts.

use crate::compare::{MetricComparison, MetricMark, MetricRow, MetricVerdict};
use crate::prose::some;
use crate::report::comparison::gate;
use crate::report::comparison::row::share;
use crate::report::numbers::{count, three_figures};
use crate::report::table::spec::{Records, params};
use crate::report::{Cell, Format, Screen, Spec, Style, Table, write_table};
use anyhow::Result;
use indexmap::IndexMap;
use std::io::Write;

/// Maximum number of names in a note.
const MOST_NAMES: usize = 6;

/// Writes a comparison by a metric as a table; JSON has its own function.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_metric(comparison: &MetricComparison, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    write_table(&table(comparison), format, screen, out)
}

fn table(comparison: &MetricComparison) -> Table {
    let others = || (0..comparison.columns.len()).filter(|column| *column != comparison.baseline);
    let label = |column: usize| comparison.columns[column].label.as_str();
    let several = comparison.columns.len() > 2;
    let environments: std::collections::BTreeSet<&str> =
        comparison.rows.iter().map(|row| row.key.environment.as_str()).collect();
    let mut specs = vec![
        Spec::left("operation", |row: &MetricRow| Cell::from(row.key.to_string())).wrapping(),
        Spec::left("environment", |row: &MetricRow| Cell::styled(row.key.environment.clone(), Style::Faint))
            .shown_if(environments.len() > 1),
    ];
    specs.extend(
        std::iter::once(comparison.baseline)
            .chain(others())
            .map(|column| Spec::right(label(column), move |row: &MetricRow| count_cell(row, column)).yielding(1)),
    );
    for column in others() {
        let title = |what: &str| if several { format!("{} {what}", label(column)) } else { what.to_string() };
        specs.push(Spec::right(&title("ratio"), move |row: &MetricRow| ratio(&row.verdicts[column])));
        specs.push(
            Spec::right(&title("95% interval"), move |row: &MetricRow| interval(&row.verdicts[column])).expendable(1),
        );
        specs.push(Spec::left(&title("verdict"), move |row: &MetricRow| mark(&row.verdicts[column])));
    }
    Table::of(&specs, &comparison.rows)
        .with_records(records(comparison))
        .titled(format!("{} per iteration", comparison.metric))
        .noted(notes(comparison))
}

fn count_cell(row: &MetricRow, column: usize) -> Cell {
    match row.counts[column].as_ref().map(|cell| &cell.count) {
        None => Cell::default(),
        Some(Err(_)) => Cell::styled("-", Style::Faint),
        Some(Ok(found)) => Cell::number(count(found.value), found.value),
    }
}

/// Four decimals below 10, as half a percent is much for a count.
fn number(ratio: f64) -> String {
    if ratio < 9.99995 { format!("{ratio:.4}") } else { three_figures(ratio) }
}

fn ratio(verdict: &MetricVerdict) -> Cell {
    verdict.ratio().map_or(Cell::default(), |ratio| Cell::number(number(ratio.ratio), ratio.ratio))
}

fn interval(verdict: &MetricVerdict) -> Cell {
    verdict.ratio().map_or(Cell::default(), |r| Cell::from(format!("{} .. {}", number(r.low), number(r.high))))
}

fn mark(verdict: &MetricVerdict) -> Cell {
    match verdict {
        MetricVerdict::Baseline | MetricVerdict::Missing => Cell::default(),
        MetricVerdict::TooFew => Cell::styled("too few", Style::Faint),
        MetricVerdict::DifferentWork(_) => Cell::styled("other work", Style::Warning),
        MetricVerdict::Ratio(ratio) => Cell::styled(
            word(verdict),
            match ratio.mark {
                MetricMark::Unchanged | MetricMark::Inconclusive => Style::Faint,
                MetricMark::Fewer => Style::Good,
                MetricMark::More => Style::Bad,
            },
        ),
    }
}

/// The verdict for programs.
fn word(verdict: &MetricVerdict) -> &'static str {
    match verdict {
        MetricVerdict::Baseline => "baseline",
        MetricVerdict::Missing => "missing",
        MetricVerdict::TooFew => "too_few",
        MetricVerdict::DifferentWork(_) => "different_work",
        MetricVerdict::Ratio(ratio) => match ratio.mark {
            MetricMark::Unchanged => "unchanged",
            MetricMark::Inconclusive => "inconclusive",
            MetricMark::Fewer => "fewer",
            MetricMark::More => "more",
        },
    }
}

fn notes(comparison: &MetricComparison) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(gate::headlines(comparison.gate.as_ref()));
    notes.push(format!(
        "intervals are over launches, and {} is assumed for what differs between runs; unchanged is within {}",
        share(comparison.assumed_between_runs),
        share(comparison.margin)
    ));
    notes.extend((comparison.left_out > 0).then(|| format!("{} rows do not certainly differ", comparison.left_out)));
    notes.extend(failures(comparison));
    notes
}

/// Why rows have no counts, one line for each reason.
fn failures(comparison: &MetricComparison) -> Vec<String> {
    let mut by_text: IndexMap<(String, String), Vec<String>> = IndexMap::new();
    for row in &comparison.rows {
        for (column, cell) in row.counts.iter().enumerate() {
            if let Some(Err(failure)) = cell.as_ref().map(|cell| &cell.count) {
                let place = (comparison.columns[column].label.clone(), failure.to_string());
                by_text.entry(place).or_default().push(row.key.to_string());
            }
        }
    }
    let line = |((label, failure), names): ((String, String), Vec<String>)| {
        format!("no count in {label}: {}: {failure}", some(&names, MOST_NAMES))
    };
    by_text.into_iter().map(line).collect()
}

/// One record for each row and file.
fn records(comparison: &MetricComparison) -> Records {
    let lines: Vec<(&MetricRow, usize)> = comparison
        .rows
        .iter()
        .flat_map(|row| (0..row.counts.len()).map(move |column| (row, column)))
        .filter(|(row, column)| row.counts[*column].is_some())
        .collect();
    let found = |(row, column): &(&MetricRow, usize)| row.counts[*column].as_ref()?.count.as_ref().ok().copied();
    let ratio = |(row, column): &(&MetricRow, usize)| row.verdicts[*column].ratio().copied();
    let specs = [
        Spec::hidden()
            .text("metric", |_: &(&MetricRow, usize)| comparison.metric.clone())
            .text("name", |(row, _)| row.key.label.clone())
            .text("language", |(row, _)| row.key.language.clone())
            .text("environment", |(row, _)| row.key.environment.clone())
            .text("params", |(row, _)| params(&row.key.asked))
            .text("file", |(_, column)| comparison.columns[*column].label.clone()),
        Spec::hidden()
            .number("count", move |line: &(&MetricRow, usize)| found(line).map(|found| found.value))
            .number("ci_low", move |line| Some(found(line)?.low_high?.0))
            .number("ci_high", move |line| Some(found(line)?.low_high?.1)),
        Spec::hidden()
            .number("ratio", move |line: &(&MetricRow, usize)| ratio(line).map(|ratio| ratio.ratio))
            .number("ratio_low", move |line| ratio(line).map(|ratio| ratio.low))
            .number("ratio_high", move |line| ratio(line).map(|ratio| ratio.high))
            .text("verdict", |(row, column)| word(&row.verdicts[*column]).to_string())
            .text("error", |(row, column)| {
                row.counts[*column].as_ref()?.count.as_ref().err().map(|failure| failure.message.clone())
            }),
    ];
    Records::of(&specs, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Gate;
    use crate::compare::{Metric, MetricColumn, MetricOptions, compare_metric};
    use crate::model::fixtures::{counted, record, run};
    use crate::model::{Counters, Record};
    use crate::report::failed_lines;

    fn with(record: Record, event: &str, count: f64) -> Record {
        let launches = (0..5).map(|i| vec![count + 0.01 * f64::from(i)]).collect();
        let counted = [(event.to_string(), launches)].into_iter().collect();
        Record { counters: Some(Counters { counted, ..Counters::default() }), ..record }
    }

    fn comparison(metric: &str, old: f64, new: f64) -> MetricComparison {
        let metric = Metric::find(metric).unwrap().unwrap();
        let file = |count| {
            let same = with(counted(record("id.umask", 100), &[("umask", 1.0)]), &metric.name, 100.0);
            let records = vec![with(record("id.getppid", 100), &metric.name, count), same, record("file.stat", 9)];
            MetricColumn::new(&metric, &run(records))
        };
        let mut columns = [file(old), file(new)];
        columns.iter_mut().zip(["old", "new"]).for_each(|(column, label)| column.info().label = label.to_string());
        compare_metric(&metric, &columns, &MetricOptions::default())
    }

    fn text(comparison: &MetricComparison, format: Format) -> String {
        let mut out = Vec::new();
        write_metric(comparison, format, Screen::PLAIN, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn half_a_percent_of_instructions_is_more() {
        let mut found = comparison("instructions:k", 274.6, 276.0);
        found.gate(&Gate { limit: Some(0.003), entries: None });
        let lines = failed_lines(&gate::metric_findings(&found));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("id.getppid has x1.0051 instructions:k (1.00"), "{}", lines[0]);
        let text = text(&found, Format::Text);
        let row = text.lines().find(|line| line.starts_with("id.getppid")).unwrap();
        assert!(row.contains("274.6") && row.contains("1.0051") && row.ends_with("more"), "{row}");
        assert!(text.lines().any(|line| line.starts_with("id.umask") && line.ends_with("unchanged")), "{text}");
        assert!(
            text.contains("no count in old: file.stat: not counted in this run: measure with --counters"),
            "{text}"
        );
        assert!(text.contains("failed: 1 row certainly grew by more than 0.3%"), "{text}");
        found.keep_differing();
        assert_eq!((found.rows.len(), found.left_out), (2, 1), "what has no ratio stays");
    }

    #[test]
    fn half_a_percent_of_cycles_is_nothing_certain() {
        let mut found = comparison("cycles:k", 274.6, 276.0);
        found.gate(&Gate { limit: Some(0.0), entries: None });
        assert_eq!(failed_lines(&gate::metric_findings(&found)), Vec::<String>::new());
    }

    #[test]
    fn programs_get_a_line_for_each_row_and_file() {
        let csv = text(&comparison("page-faults", 1.0, 2.0), Format::Csv);
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].starts_with("metric,name,language,environment,params,file,count,ci_low,"), "{}", lines[0]);
        assert!(lines[2].starts_with("page-faults,id.getppid,,native,,new,2.02,") && lines[2].contains(",more,"));
        assert_eq!(lines.len(), 7);
    }

    #[test]
    fn names_of_metrics_are_those_of_perf() {
        assert_eq!(Metric::find("ns"), Ok(None));
        assert!(Metric::find("branch-misses:u").is_ok());
        let error = Metric::find("instructions").unwrap_err();
        assert!(error.starts_with("'instructions' is not a metric: choose ns, instructions:k, "), "{error}");
    }

    #[test]
    fn a_file_without_the_metric_says_so() {
        let metric = Metric::find("instructions:k").unwrap().unwrap();
        let other = run(vec![with(record("id.getppid", 100), "page-faults", 1.0)]);
        assert!(MetricColumn::new(&metric, &other).missing().unwrap().1.starts_with("this machine does not count it"));
        let user = Metric::find("page-faults:u").unwrap().unwrap();
        assert_eq!(MetricColumn::new(&user, &other).missing().unwrap().1, "counted is only page-faults");
    }
}
