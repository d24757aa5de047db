//! Parts of a whole as one bar.

/// A whole and its parts, in the order of the bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    pub parts: Vec<Share>,
}

/// A part.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    pub kind: ShareKind,
    pub label: String,
    /// Its size in words.
    pub words: String,
    /// 0 to 1.
    pub share: f64,
}

/// What a part of a workload's time is, in the order of the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShareKind {
    User,
    Calls,
    /// The kernel outside of system calls.
    Kernel,
    /// Ready to run, but on no CPU.
    Waiting,
    Blocked,
    Unknown,
}
