//! Formats that every subject is written in, and what the markup of pages and figures has in common.

pub mod csv;
pub mod markdown;
pub mod markup;
pub mod screen;
pub mod text;

pub use screen::{Format, Screen};
pub use text::wrapped;
