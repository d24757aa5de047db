//! What an instruction does to the flow of control.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub kind: Kind,
    pub next: u64,
    /// Where it goes if it does: to itself if it repeats. `None` if its bytes do not say.
    pub target: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// To the next one, or to itself if it repeats.
    Next,
    Branch,
    Jump,
    Call,
    Return,
}
