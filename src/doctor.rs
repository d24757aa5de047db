//! What the host's facts and the checks mean for measuring, and what the user can do about it.
//!
//! Pure: facts in, findings out. Nothing here reads the system, and nothing changes it. Called by the `doctor` command.
//! Each subject is one row of `LOOKS`, whose function judges it in a few lines.

mod finding;
mod machine;
mod noise;
mod permission;
mod tax;

pub use finding::{Finding, State};

use crate::kernel::checks::Checks;
use crate::model::Host;
use crate::prose::counted;
use finding::Answer;

/// Judges one subject; `None` if there is nothing to say.
type Look = fn(&Host, &Checks) -> Option<Answer>;

const LOOKS: &[(&str, Look)] = &[
    ("kernel entries", permission::ptrace),
    ("hardware counters", permission::counters),
    ("load", noise::load),
    ("stolen time", noise::steal),
    ("CPU quota", noise::quota),
    ("processors", noise::processors),
    ("SMT", noise::smt),
    ("frequency", noise::frequency),
    ("governor", noise::governor),
    ("turbo", noise::turbo),
    ("autogroup", noise::autogroup),
    ("clock source", machine::clock_source),
    ("clock reading", machine::clock_reading),
    ("hypervisor", machine::hypervisor),
    ("container", machine::container),
    ("mitigations", machine::mitigations),
    ("file system", machine::file_system),
    ("limits", machine::limits),
    ("C compiler", permission::compiler),
    ("32-bit programs", permission::m32),
    ("taxes", tax::none),
];

/// All findings, the most serious first.
pub fn findings(host: &Host, checks: &Checks) -> Vec<Finding> {
    let taxes = host.taxes.iter().map(tax::finding);
    let looks = LOOKS.iter().filter_map(|(subject, look)| Some(look(host, checks)?.about(subject)));
    let mut all: Vec<Finding> = taxes.chain(looks).collect();
    all.sort_by_key(|finding| finding.state);
    all
}

/// The findings in a sentence.
pub fn verdict(findings: &[Finding]) -> String {
    let count = |state: State| findings.iter().filter(|finding| finding.state == state).count();
    let spoils = match count(State::Spoils) {
        0 => "Nothing seen here spoils measurements".to_string(),
        1 => "1 thing spoils measurements here".to_string(),
        n => format!("{n} things spoil measurements here"),
    };
    let forbidden = match count(State::Forbidden) {
        0 => "",
        n => &format!("; {n} not permitted"),
    };
    let notice = match count(State::Notice) {
        0 => "",
        n => &format!("; {}", counted(n, "notice")),
    };
    format!("{spoils}{forbidden}{notice}.")
}

#[cfg(test)]
mod fake;

#[cfg(test)]
mod tests {
    use super::fake::{hardware, permitted};
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn subjects_are_unique() {
        let subjects: HashSet<&str> = LOOKS.iter().map(|(subject, _)| *subject).collect();
        assert_eq!(subjects.len(), LOOKS.len());
    }

    #[test]
    fn a_quiet_machine_has_only_good_findings() {
        let all = findings(&hardware(), &permitted());
        let others: Vec<_> = all.iter().filter(|finding| finding.state != State::Good).collect();
        assert!(others.is_empty(), "{others:?}");
        assert_eq!(verdict(&all), "Nothing seen here spoils measurements.");
    }

    #[test]
    fn what_is_not_good_has_advice_and_comes_first() {
        let all = findings(&Host::default(), &permitted());
        assert!(all.is_sorted_by_key(|finding| finding.state));
        assert!(all.iter().all(|finding| (finding.state == State::Good) == finding.advice.is_empty()), "{all:?}");
    }

    #[test]
    fn the_verdict_counts() {
        let finding = |state| Finding { subject: "x".into(), state, found: "y".into(), advice: "z".into() };
        let states = [State::Spoils, State::Spoils, State::Forbidden, State::Notice, State::Good];
        let said = verdict(&states.map(finding));
        assert_eq!(said, "2 things spoil measurements here; 1 not permitted; 1 notice.");
    }
}
