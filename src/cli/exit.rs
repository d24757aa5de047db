//! How a command ended, as an exit status.

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// A cost grew by more than the user allows.
    CostGrown,
    /// Some cases failed; their rows are there.
    SomeFailed,
    Interrupted,
    /// What a traced command ended with.
    Command(u8),
}

impl Exit {
    pub fn status(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::CostGrown => 1,
            Exit::SomeFailed => 3,
            Exit::Interrupted => 130,
            Exit::Command(status) => status,
        }
    }
}
