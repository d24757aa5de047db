//! Parts of a whole as one bar.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    pub parts: Vec<Share>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    pub kind: ShareKind,
    pub label: String,
    pub words: String,
    pub share: f64,
}

/// In the order of the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShareKind {
    User,
    Calls,
    Kernel,
    /// Ready to run, but on no CPU.
    Waiting,
    Blocked,
    Unknown,
}
