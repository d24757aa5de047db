//! Explanations of operations: in words with the disassembly, or the variants of one family side by side.

mod kernel;
mod text;
mod variants;

pub use kernel::{
    COUNTS, KernelView, heading, instructions, kernel_flame, kernel_functions, kernel_groups, versus_functions,
    versus_groups, write_kernel, write_kernel_versus,
};
pub use text::write_explanation;
pub use variants::{variant_table, variants_answer};
