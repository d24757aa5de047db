//! Rates as they change: a table for people, lines of a live screen, and JSON documents.

mod document;
mod screen;
mod table;

pub use document::TopDocument;
pub use screen::{Look, Screen, Span, drawn, help};
pub use table::{headline, rates_table};
