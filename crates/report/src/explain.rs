//! Explanations of operations in words, with the disassembly.

mod kernel;
mod program;
mod text;

pub use kernel::{
    KernelView, SMALL as SMALL_CALLS, folded as kernel_stacks, kernel_diff_document,
    kernel_difference, kernel_document, kernel_flame, kernel_functions, kernel_versus_document,
};
pub use program::program_document;
pub use text::explanation_document;

use itertools::Itertools;
use model::Returned;
use model::syscall_names::errno;

/// Minus the largest errno (linux/err.h).
const LEAST_ERRNO: i64 = -4095;
/// Above it, a result is an address.
const MOST_NUMBER: i64 = 1 << 32;

/// The return values of calls as a fact of the explanation; `None` if none were recorded.
pub fn returned(calls: &Returned) -> Option<(&'static str, String)> {
    let each = calls
        .iter()
        .map(|(name, result)| format!("{name} {}", format_result(result)))
        .join(", ");
    (!each.is_empty()).then_some(("Returned", each))
}

fn format_result(result: i64) -> String {
    match result {
        LEAST_ERRNO..0 => errno::name(-result as i32),
        address if address > MOST_NUMBER => format!("{address:#x}"),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_numbers_errors_or_addresses() {
        fn text(calls: &Returned) -> Option<String> {
            returned(calls).map(|(_, text)| text)
        }

        let results = [
            ("openat", 3),
            ("access", -2),
            ("read", -512),
            ("mmap", 0x7f00_0000_1000),
        ];
        let calls: Returned = results
            .map(|(name, result)| (name.to_string(), result))
            .into_iter()
            .collect();
        assert_eq!(
            text(&calls).unwrap(),
            "openat 3, access ENOENT, read ERESTARTSYS, mmap 0x7f0000001000"
        );
        assert_eq!(
            text(&calls.subset(["access", "close"].into_iter())).unwrap(),
            "access ENOENT"
        );
        assert_eq!(text(&Returned::default()), None);
    }
}
