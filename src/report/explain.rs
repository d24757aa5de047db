//! Explanations of operations: in words with the disassembly, or the variants of one family side by side.

mod kernel;
mod program;
mod returned;
mod text;
mod variants;

pub use kernel::{
    COUNTS, KernelView, folded as kernel_stacks, heading, instructions, kernel_difference, kernel_document,
    kernel_flame, kernel_functions, kernel_groups, kernel_versus_document, versus_functions, versus_groups,
};
pub use program::program_document;
pub use text::explanation_document;
pub use variants::{variant_table, variants_answer};
