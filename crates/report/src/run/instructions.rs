//! What must be known of numbers of instructions, said once wherever they are shown, and what is known of the environments.

use analysis::summary::{Row, Summary};
use model::clean::cut;
use model::prose::{few, some};
use model::{EnvironmentFacts, grouped};

pub const NOT_TIME: &str = "instr/op: instructions that an emulated machine executed, in user and kernel mode; exact if repeats agree, but not time: caches, TLB misses, page-table switches and the pipeline are not modelled";

const MOST_KERNELS: usize = 12;
const COMMAND: usize = 100;

/// Notes on rows that count instructions, and on environments; empty without such rows.
pub fn notes(summary: &Summary) -> Vec<String> {
    let rows = summary.rows.iter();
    let counted: Vec<&Row> = rows.filter(|row| row.instructions().is_some()).collect();
    let base = counted
        .iter()
        .find_map(|row| row.versus.as_ref())
        .map(|versus| &versus.environment);
    let ratio = base.map(|base| format!("'/ {base}': instr/op divided by that in {base}"));
    let repeats = counted
        .iter()
        .filter_map(|row| row.instructions())
        .any(|count| !count.is_exact());
    let repeats = if repeats {
        Some("repeats: the smallest and the largest, if they differ".to_string())
    } else {
        None
    };
    counted
        .first()
        .map(|_| NOT_TIME.to_string())
        .into_iter()
        .chain(ratio)
        .chain(repeats)
        .chain(environments(&summary.environments))
        .collect()
}

/// One line for each that is started by a command, one for each emulator, and what misleads.
fn environments(all: &[EnvironmentFacts]) -> Vec<String> {
    let started = all
        .iter()
        .filter(|facts| !facts.started_with.is_empty() && facts.emulator.is_none());
    let lines = started.map(|facts| {
        format!(
            "{}{}: started with '{}'",
            facts.name,
            kernel(facts),
            command(facts)
        )
    });
    let emulators =
        grouped(all.iter().filter_map(|facts| {
            Some((facts.emulator.clone()?, facts.name.clone() + &kernel(facts)))
        }));
    let notes = grouped(all.iter().flat_map(|facts| {
        facts
            .notes
            .iter()
            .map(|note| (note.clone(), facts.name.clone()))
            .collect::<Vec<_>>()
    }));
    let emulated = emulators
        .iter()
        .map(|(emulator, names)| format!("{}: in {emulator}", some(names, MOST_KERNELS)));
    let misleads = notes
        .iter()
        .map(|(note, names)| format!("{}: {note}", few(names)));
    lines.chain(emulated).chain(misleads).collect()
}

/// ` (kernel 6.1.0-28-amd64)`
fn kernel(facts: &EnvironmentFacts) -> String {
    facts
        .kernel
        .as_ref()
        .map_or(String::new(), |release| format!(" (kernel {release})"))
}

/// The command that starts programs there, cut to the length of a note.
pub fn command(facts: &EnvironmentFacts) -> String {
    cut(&facts.started_with.join(" "), COMMAND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::emulated;

    #[test]
    fn environments_that_share_something_stand_in_one_line() {
        let slow = "its clock has two speeds".to_string();
        let boxed = |name: &str| EnvironmentFacts {
            name: name.into(),
            started_with: ["runsc", "do", "{program}"].map(str::to_string).to_vec(),
            notes: vec![slow.clone()],
            ..EnvironmentFacts::default()
        };
        let all = [
            emulated("linux-a", "6.1"),
            boxed("gvisor"),
            boxed("gvisor-ptrace"),
            emulated("linux-b", "6.12"),
        ];
        assert_eq!(
            environments(&all),
            [
                "gvisor: started with 'runsc do {program}'",
                "gvisor-ptrace: started with 'runsc do {program}'",
                "linux-a (kernel 6.1), linux-b (kernel 6.12): in qemu-system-x86_64 7.2",
                "gvisor, gvisor-ptrace: its clock has two speeds",
            ]
        );
    }
}
