//! Explanations of operations: in words with the disassembly, or the variants of one family side by side.

mod text;
mod variants;

pub use text::write_explanation;
pub use variants::{variant_table, variants_answer};
