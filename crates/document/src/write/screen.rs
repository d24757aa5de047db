//! Formats of tables, and what they are shown on.

#[derive(Clone, Copy, Default, PartialEq, clap::ValueEnum)]
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

#[derive(Clone, Copy)]
pub struct Screen {
    /// Columns; `None` for no limit.
    pub width: Option<u16>,
    pub colour: bool,
    pub plots: bool,
    /// Whether its character set has nothing but ASCII.
    pub ascii: bool,
}

impl Screen {
    /// For files: any width, no colours, no plots.
    pub const PLAIN: Screen = Screen {
        width: None,
        colour: false,
        plots: false,
        ascii: false,
    };
}
