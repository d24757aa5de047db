//! How a command ended, as an exit status.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exit {
    Success,
    /// A cost grew by more than the user allows, or a count is another one.
    CostGrown,
    SomeFailed,
    Interrupted,
    Command(u8),
}

impl From<()> for Exit {
    fn from(_: ()) -> Exit {
        Exit::Success
    }
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
