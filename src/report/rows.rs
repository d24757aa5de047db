//! Flat rows for engines that gather runs: the table of columns, which every format and the schema follow.
//!
//! Rules of the columns, so that every engine infers the same types: each row has all of them, null where unknown; values are
//! text, flags, doubles, 64-bit integers with a sign, and lists of doubles. No map, and nothing unsigned, which some engines
//! read as a decimal. Columns are only added within a version.

mod columns;
mod json;
#[cfg(feature = "parquet")]
mod parquet;

pub use columns::{Column, Kind, Value, columns};
pub use json::{schema, write_row};
#[cfg(feature = "parquet")]
pub use parquet::ParquetRows;

/// Name and version of the rows.
pub const SCHEMA: &str = "syscost.row/1";
