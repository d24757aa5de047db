//! How a command ended, as an exit status.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// A cost grew by more than the user allows.
    CostGrown,
    /// Some cases failed; their rows say why.
    SomeFailed,
    Interrupted,
    /// Nodes of a fleet are missing, or their runs cannot stand beside the others.
    NodesMissing,
    /// A kernel costs what a bad one does.
    Bad,
    /// A kernel cannot be counted: git bisect should skip it.
    NotCounted,
    /// git bisect should stop.
    NoBisection,
    Command(u8),
}

impl Exit {
    /// A failure, where the command itself had none.
    pub fn or_failed(self) -> Exit {
        if self.status() == 0 { Exit::CostGrown } else { self }
    }

    pub fn status(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::CostGrown | Exit::Bad | Exit::NodesMissing => 1,
            Exit::SomeFailed => 3,
            Exit::NotCounted => 125,
            Exit::NoBisection => 255,
            Exit::Interrupted => 130,
            Exit::Command(status) => status,
        }
    }
}
