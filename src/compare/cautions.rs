//! What makes a comparison unfair, or must be known to read it: one line each, what weighs most first. Facts that are
//! the same everywhere are not mentioned.

use super::column::{Column, ColumnInfo};
use super::facts::{FACTS, measured, shortened};
use super::index::MOST_CANDIDATES;
use super::rows::ComparedRow;
use super::verdict::{Mark, Verdict};
use super::work::{Work, work};
use crate::model::Host;
use indexmap::IndexMap;
use std::collections::BTreeSet;

/// The cautions of a comparison.
pub fn cautions(columns: &[Column], rows: &[ComparedRow], baseline: usize, reference: &[Verdict]) -> Vec<String> {
    let infos: Vec<&ColumnInfo> = columns.iter().map(|column| &column.info).collect();
    let mut lines = Vec::new();
    lines.extend(twice(&infos));
    lines.extend(incomplete(&infos));
    lines.extend(taxes(&infos));
    lines.extend(reference_moved(columns, baseline, reference));
    lines.extend(changed_within(&infos));
    lines.extend(facts(&infos));
    lines.extend(mitigations(&infos));
    lines.extend(unproven(&infos, rows, baseline));
    lines.extend(other_code(rows));
    lines.extend(one_launch(&infos, rows));
    lines.extend(lonely(&infos, rows));
    lines
}

/// Names of columns that one line concerns; of many the first few.
fn some(labels: &[&str]) -> String {
    const MOST: usize = 5;
    match labels.len() {
        count if count > MOST + 1 => format!("{} and {} more", labels[..MOST].join(", "), count - MOST),
        _ => labels.join(", "),
    }
}

fn labels<'a>(infos: &[&'a ColumnInfo], concerned: impl Fn(&ColumnInfo) -> bool) -> Vec<&'a str> {
    infos.iter().filter(|info| concerned(info)).map(|info| info.label.as_str()).collect()
}

/// Files that are copies of one run.
fn twice(infos: &[&ColumnInfo]) -> Option<String> {
    let mut runs: IndexMap<(u64, u64, Option<&String>), Vec<&str>> = IndexMap::new();
    for info in infos.iter().filter(|info| info.source.is_none() && info.started_unix_s > 0) {
        runs.entry((info.started_unix_s, info.seed, info.host.name.as_ref())).or_default().push(&info.label);
    }
    let copies: Vec<String> = runs.values().filter(|labels| labels.len() > 1).map(|labels| some(labels)).collect();
    (!copies.is_empty()).then(|| format!("the same run, not another: {}", copies.join("; ")))
}

fn incomplete(infos: &[&ColumnInfo]) -> Option<String> {
    let labels = labels(infos, |info| !info.complete);
    (!labels.is_empty()).then(|| format!("interrupted, so that figures rest on less: {}", some(&labels)))
}

/// What makes each system call dearer: unfair even where all have it, as it need not weigh the same.
fn taxes(infos: &[&ColumnInfo]) -> Option<String> {
    let of = |host: &Host| host.taxes.iter().map(|tax| tax.kind.clone()).collect::<BTreeSet<_>>();
    let kinds: Vec<BTreeSet<String>> = infos.iter().map(|info| of(&info.host)).collect();
    let joined = |kinds: &BTreeSet<String>| kinds.iter().cloned().collect::<Vec<_>>().join(", ");
    let all = kinds.iter().all(|own| *own == kinds[0]);
    (!all).then(|| {
        let texts = infos.iter().zip(&kinds).map(|(info, kinds)| (info.label.as_str(), Some(joined(kinds))));
        format!("what makes every system call dearer differs: {}", grouped(texts, "nothing"))
    })
}

/// Whether the reference call moved, and how to read the ratios then. Work in user mode beside it tells a slower machine
/// from a dearer kernel.
fn reference_moved(columns: &[Column], baseline: usize, reference: &[Verdict]) -> Option<String> {
    let base = columns.get(baseline)?;
    let spin = |column: &Column| Some(column.spin()?.cost_ns()? / base.spin()?.cost_ns()?);
    let moved = columns.iter().zip(reference).filter_map(|(column, verdict)| match verdict {
        Verdict::Ratio(r) if matches!(r.mark, Mark::Faster | Mark::Slower) => {
            let user = spin(column).map_or(String::new(), |ratio| format!(", work in user mode x{ratio:.2},"));
            Some(format!("x{:.3} ({:.2} .. {:.2}){user} in {}", r.ratio, r.low, r.high, column.info.label))
        }
        _ => None,
    });
    let moved: Vec<String> = moved.collect();
    (!moved.is_empty()).then(|| {
        format!(
            "the reference call id.getppid itself costs {} against {}: entering the kernel costs something else there, \
             whatever is called ('/getppid', and a column of CSV and JSON, have the ratios relative to it)",
            moved.join("; "),
            base.info.label
        )
    })
}

/// Runs during which the kernel's state changed: they say so themselves.
fn changed_within(infos: &[&ColumnInfo]) -> Option<String> {
    let changed = |info: &ColumnInfo| info.warnings.iter().any(|text| text.contains("state changed during the run"));
    let labels = labels(infos, changed);
    (!labels.is_empty()).then(|| {
        format!("the kernel's state changed during the run, of which the longer stretch counts: {}", some(&labels))
    })
}

/// One line for each fact that differs. What an article does not tell is no difference by itself.
fn facts(infos: &[&ColumnInfo]) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, fact) in FACTS {
        let values: Vec<Option<String>> = infos.iter().map(|info| fact(info)).collect();
        let known: BTreeSet<&String> = values.iter().flatten().collect();
        let unknown_here = infos.iter().zip(&values).any(|(info, value)| value.is_none() && measured(info));
        if known.len() > 1 || (known.len() == 1 && unknown_here) {
            let texts = infos.iter().zip(&values).map(|(info, value)| (info.label.as_str(), value.clone()));
            lines.push(format!("{name}: {}", grouped(texts, "none")));
        }
    }
    lines
}

/// `6.18.4 (a, b); 2.6.32 (c); unknown (d)`
fn grouped<'a>(texts: impl Iterator<Item = (&'a str, Option<String>)>, empty: &str) -> String {
    let mut by_text: IndexMap<String, Vec<&str>> = IndexMap::new();
    for (label, text) in texts {
        let text = text.map_or("unknown".to_string(), |text| if text.is_empty() { empty.to_string() } else { text });
        by_text.entry(shortened(&text)).or_default().push(label);
    }
    let groups: Vec<String> = by_text.iter().map(|(text, labels)| format!("{text} ({})", some(labels))).collect();
    groups.join("; ")
}

/// Of mitigations, those that not all have.
fn mitigations(infos: &[&ColumnInfo]) -> Option<String> {
    let told: Vec<(&str, BTreeSet<&str>)> = infos
        .iter()
        .filter(|info| measured(info))
        .map(|info| (info.label.as_str(), info.host.mitigations.iter().map(String::as_str).collect()))
        .collect();
    let all: BTreeSet<&str> = told.iter().flat_map(|(_, own)| own.iter().copied()).collect();
    let everywhere = |mitigation: &str| told.iter().all(|(_, own)| own.contains(mitigation));
    let texts: Vec<(&str, Option<String>)> = told
        .iter()
        .map(|(label, own)| {
            let own: Vec<&str> = own.iter().copied().filter(|mitigation| !everywhere(mitigation)).collect();
            (*label, Some(own.join(", ")))
        })
        .collect();
    let differ = all.iter().any(|mitigation| !everywhere(mitigation));
    differ.then(|| format!("mitigations, those that not all have: {}", grouped(texts.into_iter(), "none")))
}

/// Rows with a ratio although nobody counted the kernel entries of one or both.
fn unproven(infos: &[&ColumnInfo], rows: &[ComparedRow], baseline: usize) -> Option<String> {
    let (mut unknown, mut renamed) = (0, 0);
    for row in rows {
        let compared = row.verdicts.iter().enumerate().filter(|(_, verdict)| verdict.ratio().is_some());
        let works = compared.filter_map(|(i, _)| Some((row.cells[i].as_ref()?, row.cells[baseline].as_ref()?)));
        let works: Vec<Work> = works.map(|(cell, base)| work(cell, "", base, "")).collect();
        unknown += usize::from(works.contains(&Work::Unknown));
        renamed += usize::from(works.contains(&Work::Renamed));
    }
    let rest = (unknown > 0).then(|| {
        let not = labels_without_entries(infos, rows);
        format!(
            "kernel entries are not known for {} ({not}): that these do the same work is not proven",
            some_rows(unknown)
        )
    });
    let renamed =
        (renamed > 0).then(|| format!("kernel entries have other names, as many of each, in {}", some_rows(renamed)));
    let lines: Vec<String> = rest.into_iter().chain(renamed).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

fn some_rows(count: usize) -> String {
    format!("{count} row{}", if count == 1 { "" } else { "s" })
}

fn labels_without_entries(infos: &[&ColumnInfo], rows: &[ComparedRow]) -> String {
    let lacks = |i: usize| {
        let mut cells = rows.iter().filter_map(|row| row.cells[i].as_ref());
        cells.any(|cell| cell.entries.is_none() && cell.cost_ns().is_some())
    };
    let labels: Vec<&str> = (0..infos.len()).filter(|i| lacks(*i)).map(|i| infos[i].label.as_str()).collect();
    some(&labels)
}

/// Snippets of one name whose code differs.
fn other_code(rows: &[ComparedRow]) -> Option<String> {
    let names: Vec<&str> = rows.iter().filter(|row| row.other_code).map(|row| row.key.title.as_str()).collect();
    (!names.is_empty()).then(|| format!("the code is not the same in all files: {}", some(&names)))
}

/// Runs of one launch: their scatter is a guess.
fn one_launch(infos: &[&ColumnInfo], rows: &[ComparedRow]) -> Option<String> {
    let lone = |i: usize| {
        let mut launches = rows.iter().filter_map(|row| row.cells[i].as_ref()?.launches.as_ref());
        launches.any(|launches| launches.medians_ns.len() == 1)
    };
    let labels: Vec<&str> = (0..infos.len()).filter(|i| lone(*i)).map(|i| infos[i].label.as_str()).collect();
    (!labels.is_empty()).then(|| format!("one launch only, so that intervals rest on a guess: {}", some(&labels)))
}

/// Rows that cannot be compared because other files do not have them.
fn lonely(infos: &[&ColumnInfo], rows: &[ComparedRow]) -> Option<String> {
    let lone = rows.iter().filter(|row| row.cells.iter().flatten().count() < infos.len()).count();
    (lone > 0).then(|| format!("not in all files, by operation or parameters: {lone} of {}", some_rows(rows.len())))
}

/// Records that stand alone because a row for them was not looked for.
pub fn unsought(count: usize) -> Option<String> {
    (count > 0).then(|| {
        format!(
            "{}, each of a file whose parameters others do not have all, stand alone: a row to put them beside is not \
             looked for among more than {MOST_CANDIDATES} of one name",
            some_rows(count)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{entering, named, published, record, run};
    use super::super::{Column, Options, compare};
    use crate::model::{Host, Run, Source, Tax};

    fn lines(runs: &[(&str, Run)]) -> Vec<String> {
        let columns: Vec<Column> = runs.iter().map(|(label, run)| Column::new(label, run)).collect();
        compare(&columns, &Options::default()).cautions
    }

    fn counted(host: Host) -> Run {
        Run { host, ..run(vec![entering("id.umask", 100, &[("umask", 1.0)])]) }
    }

    #[test]
    fn equal_hosts_need_no_caution() {
        assert_eq!(lines(&[("a", counted(Host::default())), ("b", counted(Host::default()))]), Vec::<String>::new());
    }

    #[test]
    fn only_what_differs_is_told_and_equals_stand_together() {
        let host = |kernel: &str, mitigations: &[&str], tax: Option<&str>| Host {
            system: Some("Linux".into()),
            kernel: Some(kernel.into()),
            cpu: Some("EPYC".into()),
            mitigations: mitigations.iter().map(ToString::to_string).collect(),
            taxes: tax.map(|kind| Tax { kind: kind.into(), detail: "x".into() }).into_iter().collect(),
            ..Host::default()
        };
        let told = lines(&[
            ("a", counted(host("6.1", &["x: on", "y: on"], None))),
            ("b", counted(host("6.1", &["x: on"], None))),
            ("c", counted(host("6.18", &["x: on"], Some("audit rules")))),
        ]);
        let expected = [
            "what makes every system call dearer differs: nothing (a, b); audit rules (c)",
            "kernel: Linux 6.1 (a, b); Linux 6.18 (c)",
            "mitigations, those that not all have: y: on (a); none (b, c)",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn copies_interruptions_and_moved_references_are_told() {
        let of = |ns: u64| Run {
            started_unix_s: 9,
            ..run(vec![record("id.getppid", ns), named("n", "id.umask", 100), record("call.spin", 200)])
        };
        let told = lines(&[("a", of(100)), ("b", Run { complete: false, ..of(150) })]);
        assert_eq!(told[0], "the same run, not another: a, b");
        assert_eq!(told[1], "interrupted, so that figures rest on less: b");
        let moved = "the reference call id.getppid itself costs x1.500 (1.44 .. 1.56), work in user mode x1.00, in b";
        assert!(told[2].starts_with(moved), "{told:?}");
        assert!(told[3].starts_with("kernel entries are not known for 3 rows (a, b)"), "{told:?}");
    }

    #[test]
    fn code_that_differs_under_one_name_is_told() {
        let of = |body: &str| {
            let mut record = named("work", body, 100);
            record.case.language = Some("c".into());
            run(vec![entering("id.umask", 100, &[]), record])
        };
        let told = lines(&[("a", of("f();")), ("b", of("g();"))]);
        assert!(told.iter().any(|line| line == "the code is not the same in all files: work"), "{told:?}");
        assert!(!lines(&[("a", of("f();")), ("b", of("f();"))]).iter().any(|line| line.contains("code")));
    }

    #[test]
    fn articles_leave_open_what_they_do_not_tell() {
        let source = Some(Source { title: "An article".into(), note: String::new() });
        let article = Run { source, ..run(vec![published("id.umask", 50.0), published("id.getuid", 50.0)]) };
        let told = lines(&[("a", counted(Host { cpu: Some("EPYC".into()), ..Host::default() })), ("old", article)]);
        assert_eq!(told[0], "measured by: syscost 0 (a); others, as they published it (old)");
        assert!(told[1].contains("not proven") && told[2].ends_with("parameters: 1 of 2 rows"), "{told:?}");
        assert_eq!(told.len(), 3);
    }
}
