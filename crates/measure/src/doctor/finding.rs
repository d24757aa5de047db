//! What a look found, and how serious it is.

use model::Host;

/// In the order in which findings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Problem,
    /// Something that measuring uses is not permitted here.
    Forbidden,
    Notice,
    Good,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Problem => "problem",
            State::Forbidden => "forbidden",
            State::Notice => "notice",
            State::Good => "good",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub subject: String,
    pub state: State,
    pub found: String,
    /// Empty if nothing needs doing.
    pub advice: String,
}

impl Finding {
    pub fn good(found: impl Into<String>) -> Option<Finding> {
        Finding::new(State::Good, found, "")
    }

    pub fn notice(found: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
        Finding::new(State::Notice, found, advice)
    }

    pub fn problem(found: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
        Finding::new(State::Problem, found, advice)
    }

    pub fn forbidden(found: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
        Finding::new(State::Forbidden, found, advice)
    }

    fn new(state: State, found: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
        Some(Finding {
            subject: String::new(),
            state,
            found: found.into(),
            advice: advice.into(),
        })
    }
}

pub fn is_virtual(host: &Host) -> bool {
    host.hypervisor
        .as_deref()
        .is_some_and(|name| name != "none")
}
