//! What an instruction does to the flow of control.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: Kind,
    /// The address behind it.
    pub next: u64,
    /// Where it goes if it does: to itself if it repeats. `None` if its bytes do not say.
    pub target: Option<u64>,
}

/// How control leaves an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To the next one, or to itself if it repeats.
    Next,
    /// There or to the next one.
    Branch,
    Jump,
    /// Calls a function or the kernel.
    Call,
    /// Returns from a function or from the kernel.
    Return,
}
