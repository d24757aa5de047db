//! Whether columns differ in the environment of their rows.

use super::column::Column;
use super::select::Selection;
use std::collections::BTreeSet;

/// `None` if a column has several, or all have the same.
pub fn apart(columns: &[Column], selection: &Selection) -> Option<Vec<String>> {
    let environments: Vec<String> = columns
        .iter()
        .map(|column| {
            let rows = column
                .rows
                .iter()
                .filter(|row| row.asked && selection.takes(&row.case));
            let names: BTreeSet<&String> = rows.map(|row| &row.case.environment).collect();
            if names.len() == 1 {
                names.first().map(ToString::to_string)
            } else {
                None
            }
        })
        .collect::<Option<_>>()?;
    environments
        .iter()
        .any(|environment| *environment != environments[0])
        .then_some(environments)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::column;
    use super::super::{Comparison, MachineChange, Options, compare};
    use model::fixtures::{in_environment, record};
    use model::{PANEL, Record, Role};

    fn beside(files: Vec<Vec<Record>>) -> Comparison {
        let columns: Vec<_> = files
            .into_iter()
            .map(|records| column("", records))
            .collect();
        compare(&columns, &Options::default())
    }

    fn within(environment: &str, ns: u64) -> Record {
        in_environment(environment, record("file.stat", ns))
    }

    fn rows(comparison: &Comparison) -> Vec<usize> {
        comparison
            .rows
            .iter()
            .map(|row| row.cells.iter().flatten().count())
            .collect()
    }

    #[test]
    fn what_stands_in_one_file_is_not_mixed() {
        fn both() -> Vec<Record> {
            vec![within("native", 100), within("seccomp", 200)]
        }

        assert_eq!(
            rows(&beside(vec![both(), vec![within("m32", 100)]])),
            [1, 1, 1]
        );
        let same = beside(vec![both(), both()]);
        assert!(rows(&same) == [2, 2] && same.environments().is_none());
    }

    /// An environment's cost for every system call is in the panel too, and must not pass for the machine's speed.
    #[test]
    fn the_machine_is_not_told_from_what_the_environment_adds() {
        fn change(environment: &str) -> Option<MachineChange> {
            beside(vec![file("native", 100_000), file(environment, 120_000)]).machine[1]
        }

        fn file(environment: &str, ns: u64) -> Vec<Record> {
            let panel = PANEL.iter().map(|id| Record {
                role: Role::Baseline,
                ..in_environment(environment, record(id, ns))
            });
            panel.chain([within(environment, ns)]).collect()
        }

        assert!(change("native").is_some() && change("seccomp").is_none());
    }
}
