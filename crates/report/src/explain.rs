//! Explanations of operations: in words with the disassembly, or the variants of one family side by side.

mod kernel;
mod program;
mod returned;
mod text;
mod variants;

pub use kernel::{
    KernelView, SMALL as SMALL_CALLS, folded as kernel_stacks, heading, kernel_difference,
    kernel_document, kernel_flame, kernel_functions, kernel_versus_document,
};
pub use program::program_document;
pub use text::explanation_document;
pub use variants::{variant_table, variants_answer};
