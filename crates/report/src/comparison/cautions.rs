//! The text of cautions. `compare` finds them.

use crate::conditions::{known, shortened};
use analysis::compare::{Caution, Comparison, Moved};
use itertools::Itertools;
use model::grouped;
use model::prose::{counted, few};

/// One line per caution, in the order in which `compare` found them.
pub fn lines(comparison: &Comparison) -> Vec<String> {
    let all = comparison.cautions.iter();
    all.map(|caution| line(comparison, caution)).collect()
}

const RELATIVE: &str = " ('/getppid', also a column of CSV and JSON, is relative to it)";

const OTHER_UNIT: &str = "a time and an instruction count cannot be compared";

fn line(comparison: &Comparison, caution: &Caution) -> String {
    match caution {
        Caution::OtherEnvironment { environments } => other_environment(comparison, environments),
        Caution::SameRounds => {
            "both were measured in the same rounds; ratios are paired, round by round".to_string()
        }
        Caution::SameRun { copies } => {
            let mut copies = copies.iter().map(|columns| labels(comparison, columns));
            format!("the same run under several names: {}", copies.join("; "))
        }
        Caution::MixedSide { columns } => mixed_sides(comparison, columns),
        Caution::Incomplete { columns } => format!(
            "interrupted, with fewer samples: {}",
            labels(comparison, columns)
        ),
        Caution::Disturbed { columns } => {
            let columns = columns.iter().map(|(column, percent)| {
                format!(
                    "{} (about {percent:.0}% above this machine's fastest known run)",
                    comparison.label(*column)
                )
            });
            format!(
                "disturbed all the time, so there is no verdict: {}",
                few(columns)
            )
        }
        Caution::ReferenceMoved { moved } => reference_moved(comparison, moved),
        Caution::EntriesUnknown { rows, columns } => format!(
            "kernel entries are unverified (?) for {} ({}): they may not do the same work",
            counted(*rows, "row"),
            labels(comparison, columns)
        ),
        Caution::OtherCode { titles } => {
            format!("the code differs between the files: {}", few(titles))
        }
        Caution::OtherUnit { rows } => format!("{OTHER_UNIT}: {}", few(rows)),
        Caution::Unsought { records, most } => format!(
            "{} with parameters that some files lack are not matched: more than {most} rows have one name, too many to search",
            counted(*records, "row")
        ),
        Caution::TaxesDiffer { .. }
        | Caution::FactDiffers { .. }
        | Caution::EnvironmentDiffers { .. }
        | Caution::Mitigations { .. } => differing_fact(comparison, caution),
    }
}

/// `preemption: none (a); lazy (b)`
fn differing_fact(comparison: &Comparison, caution: &Caution) -> String {
    let (fact, texts): (String, Vec<(usize, String)>) = match caution {
        Caution::TaxesDiffer { kinds } => (
            "overhead on every system call".to_string(),
            kinds
                .iter()
                .zip(&comparison.columns)
                .map(
                    |(kinds, column)| match kinds.is_empty() && column.host.hides_tracers() {
                        true => "not visible".to_string(),
                        false => joined(kinds),
                    },
                )
                .enumerate()
                .collect(),
        ),
        Caution::FactDiffers { fact, values } => (
            fact.to_string(),
            values
                .iter()
                .map(|value| known(value.as_ref()))
                .enumerate()
                .collect(),
        ),
        Caution::EnvironmentDiffers {
            environment,
            fact,
            values,
        } => (
            format!("{fact} of {environment}"),
            values
                .iter()
                .enumerate()
                .filter_map(|(column, value)| Some((column, value.clone()?)))
                .collect(),
        ),
        Caution::Mitigations { unshared } => (
            "mitigations that differ".to_string(),
            unshared
                .iter()
                .map(|(column, names)| (*column, joined(names)))
                .collect(),
        ),
        _ => return String::new(),
    };
    format!("{fact}: {}", by_file(comparison, texts))
}

/// `environment: linux-6.1, kernel 6.1.0-54 (a); native (b); ...`
fn other_environment(comparison: &Comparison, environments: &[String]) -> String {
    let texts = environments
        .iter()
        .enumerate()
        .map(|(column, name)| {
            let known = comparison.columns[column]
                .environments
                .iter()
                .find(|facts| facts.name == *name);
            let kernel = known
                .and_then(|facts| facts.kernel.as_ref())
                .map_or(String::new(), |release| format!(", kernel {release}"));
            (column, format!("{name}{kernel}"))
        })
        .collect();
    format!(
        "environment: {}; rows are matched by operation and parameters",
        by_file(comparison, texts)
    )
}

fn mixed_sides(comparison: &Comparison, columns: &[(usize, Vec<&str>)]) -> String {
    let columns = columns.iter();
    let columns =
        columns.map(|(column, facts)| format!("{} ({})", comparison.label(*column), few(facts)));
    format!(
        "the files of one side differ but are averaged: {}",
        few(columns)
    )
}

fn reference_moved(comparison: &Comparison, moved: &[Moved]) -> String {
    let mut ratios = moved.iter().map(|moved| {
        let user = moved.user_mode.map_or(String::new(), |ratio| {
            format!(", work in user mode x{ratio:.2},")
        });
        let (ratio, label) = (moved.ratio, comparison.label(moved.column));
        format!(
            "x{:.3} ({:.2} .. {:.2}){user} in {label}",
            ratio.ratio, ratio.low, ratio.high
        )
    });
    format!(
        "the reference call id.getppid costs {} compared with {}: entering the kernel has a different cost there, for every call",
        ratios.join("; "),
        comparison.label(comparison.baseline)
    ) + RELATIVE
}

fn labels(comparison: &Comparison, columns: &[usize]) -> String {
    let labels = columns.iter().map(|column| comparison.label(*column));
    few(labels)
}

/// `a, b`; `none` for an empty list.
fn joined(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    match texts
        .into_iter()
        .map(|text| text.as_ref().to_string())
        .join(", ")
    {
        all if all.is_empty() => "none".to_string(),
        all => shortened(&all),
    }
}

/// `6.18.4 (a, b); 2.6.32 (c); unknown (d)`
fn by_file(comparison: &Comparison, texts: Vec<(usize, String)>) -> String {
    let texts = texts.into_iter().map(|(column, text)| (text, column));
    grouped(texts)
        .into_iter()
        .map(|(text, columns)| format!("{text} ({})", labels(comparison, &columns)))
        .join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::compare::{Column, Options, compare};
    use model::fixtures::{emulated, entering, named, record, run};
    use model::{Host, Run, Tax};
    use snapbox::{assert_data_eq, str};

    /// The cautions on runs called `a`, `b` and so on.
    fn shown(runs: &[Run]) -> String {
        let columns: Vec<Column> = runs
            .iter()
            .zip(["a", "b", "c"])
            .map(|(run, label)| Column::new(label, run))
            .collect();
        lines(&compare(&columns, &Options::default())).join("\n") + "\n"
    }

    fn on(host: Host) -> Run {
        Run {
            host,
            ..run(vec![entering("id.umask", 100, &[("umask", 1.0)])])
        }
    }

    #[test]
    fn the_state_of_kernels_that_differ_is_named() {
        let shown = shown(&[("none", None), ("lazy", Some("2-3"))].map(
            |(preemption, isolated_cpus)| {
                on(Host {
                    preemption: Some(preemption.into()),
                    tick_hz: Some(250),
                    isolated_cpus: isolated_cpus.map(str::to_string),
                    ..Host::default()
                })
            },
        ));
        assert_data_eq!(
            shown,
            str![[r#"
preemption: none (a); lazy (b)
isolated CPUs: none (a); 2-3 (b)

"#]]
        );
    }

    #[test]
    fn a_tracer_that_a_user_could_not_see_is_not_absent() {
        let traced = Host {
            taxes: vec![Tax {
                kind: "BPF programs".into(),
                ..Tax::default()
            }],
            ..Host::default()
        };
        let user = Host {
            user: Some("user".into()),
            ..Host::default()
        };
        let all = [traced, user, Host::default()];
        let overhead =
            "overhead on every system call: BPF programs (a); not visible (b); none (c)\n";
        assert!(shown(&all.map(on)).starts_with(overhead));
    }

    #[test]
    fn environments_are_told_with_their_kernels() {
        fn booted(release: &str) -> Run {
            Run {
                environments: vec![emulated("linux-6.1", release)],
                ..on(Host::default())
            }
        }

        let releases = ["6.1.0-54", "6.1.0-56", "6.1.0-54"];
        assert_data_eq!(
            shown(&releases.map(booted)),
            str![[r#"
kernel of linux-6.1: 6.1.0-54 (a, c); 6.1.0-56 (b)

"#]]
        );
        assert_data_eq!(
            shown(&["6.1.0-54"; 2].map(booted)),
            str![[r#"


"#]]
        );
        let mut emulated = booted("6.1.0-54");
        emulated.records[0].case.environment = "linux-6.1".to_string();
        assert_data_eq!(
            shown(&[emulated, on(Host::default())]),
            str![[r#"
environment: linux-6.1, kernel 6.1.0-54 (a); native (b); rows are matched by operation and parameters

"#]]
        );
    }

    #[test]
    fn copies_interruptions_and_moved_references_are_told() {
        fn referred(ns: u64) -> Run {
            Run {
                started_unix_s: 9,
                ..run(vec![
                    record("id.getppid", ns),
                    named("n", "id.umask", 100),
                    record("call.spin", 200),
                ])
            }
        }

        let interrupted = Run {
            complete: false,
            ..referred(150)
        };
        assert_data_eq!(
            shown(&[referred(100), interrupted]),
            str![[r#"
the same run under several names: a, b
interrupted, with fewer samples: b
the reference call id.getppid costs x1.500 (1.42 .. 1.59), work in user mode x1.00, in b compared with a: entering the kernel has a different cost there, for every call ('/getppid', also a column of CSV and JSON, is relative to it)
kernel entries are unverified (?) for 3 rows (a, b): they may not do the same work

"#]]
        );
    }

    #[test]
    fn other_code_under_one_name_is_told() {
        fn coded(body: &str) -> Run {
            let mut record = named("work", body, 100);
            record.case.language = Some("c".into());
            run(vec![entering("id.umask", 100, &[]), record])
        }

        assert_data_eq!(
            shown(&[coded("f();"), coded("g();")]),
            str![[r#"
kernel entries are unverified (?) for 1 row (a, b): they may not do the same work
the code differs between the files: work

"#]]
        );
    }
}
