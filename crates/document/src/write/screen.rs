//! Formats of tables, and what they are shown on.

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for a terminal.
    #[default]
    Text,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values, one header line, raw numbers.
    Csv,
    /// One JSON document; see FORMAT.md.
    Json,
}

/// What the output is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns; `None` for no limit.
    pub width: Option<u16>,
    pub colour: bool,
    /// Whether plots are drawn.
    pub plots: bool,
}

impl Screen {
    /// A file: unlimited width, no colour, no plots.
    pub const PLAIN: Screen = Screen {
        width: None,
        colour: false,
        plots: false,
    };
}
