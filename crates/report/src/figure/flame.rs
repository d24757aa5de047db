//! A flame graph without pixels: frames with their places.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    pub frames: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub name: String,
    /// Name, weight and share.
    pub words: String,
    pub kind: FrameKind,
    /// From -2, much less, to 2, much more.
    pub change: Option<i8>,
    /// 0 for processes.
    pub depth: usize,
    /// Where it begins and how wide it is, as shares of the whole.
    pub left: f64,
    pub share: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameKind {
    Process,
    Function,
    Call,
}
