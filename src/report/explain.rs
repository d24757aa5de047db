//! Explanations of operations: in words with the disassembly, or the variants of one family side by side.

mod kernel;
mod text;
mod variants;

pub use kernel::{KernelView, kernel_flame, write_kernel, write_kernel_versus};
pub use text::write_explanation;
pub use variants::{variant_table, variants_answer};
