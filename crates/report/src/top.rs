//! Rates as they change: a table for people, lines of a live screen, JSON documents, and metrics
//! for a collector.

mod document;
mod metrics;
mod screen;
mod table;

pub use document::TopDocument;
pub use metrics::Series;
pub use screen::{Look, Screen, Span, drawn, help, is_wide};
pub use table::{headline, rates_table};
