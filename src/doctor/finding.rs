//! A finding, the answer of a look about its subject, and how serious it is.

use crate::model::Host;

/// What a finding means for measuring, in the order in which findings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It distorts results.
    Spoils,
    /// Something that measuring uses is not permitted here.
    Forbidden,
    /// Must be known to interpret the results.
    Notice,
    Good,
}

impl State {
    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            State::Spoils => "spoils",
            State::Forbidden => "forbidden",
            State::Notice => "notice",
            State::Good => "good",
        }
    }
}

/// One subject that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was checked, e.g. `clock source`.
    pub subject: String,
    pub state: State,
    /// What was seen.
    pub found: String,
    /// What it means or what the user can do; empty if nothing needs doing.
    pub advice: String,
}

/// A finding without its subject.
pub struct Answer {
    pub state: State,
    pub found: String,
    pub advice: String,
}

impl Answer {
    pub fn good(found: impl Into<String>) -> Option<Answer> {
        Answer::new(State::Good, found, "")
    }

    pub fn notice(found: impl Into<String>, advice: impl Into<String>) -> Option<Answer> {
        Answer::new(State::Notice, found, advice)
    }

    pub fn spoils(found: impl Into<String>, advice: impl Into<String>) -> Option<Answer> {
        Answer::new(State::Spoils, found, advice)
    }

    pub fn forbidden(found: impl Into<String>, advice: impl Into<String>) -> Option<Answer> {
        Answer::new(State::Forbidden, found, advice)
    }

    pub fn new(state: State, found: impl Into<String>, advice: impl Into<String>) -> Option<Answer> {
        Some(Answer { state, found: found.into(), advice: advice.into() })
    }

    pub fn about(self, subject: &str) -> Finding {
        Finding { subject: subject.to_string(), state: self.state, found: self.found, advice: self.advice }
    }
}

/// Whether this is a virtual machine, as far as is known.
pub fn is_virtual(host: &Host) -> bool {
    host.hypervisor.as_deref().is_some_and(|name| name != "none")
}
