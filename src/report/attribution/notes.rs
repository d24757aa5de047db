//! The values of an attribution in words: seconds with their range, and what a call was priced by.

use crate::attribute::costs::{Basis, Interpolation};
use crate::attribute::seconds::Seconds;
use crate::model::parameter_value;
use crate::report::numbers::{significant, thousands};

/// Seconds with enough decimals to show what there is: `4.55`, `0.0312`, `0.000152`.
pub fn seconds(value: f64) -> String {
    match value.abs() {
        // Thirty thousand years: its digits would fill the screen.
        v if v >= 1e12 => format!("{value:.2e}"),
        v if v >= 1000.0 => thousands(value),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.01 => format!("{value:.4}"),
        _ => significant(value),
    }
}

/// `2.28 to 9.10`; empty where the value is known exactly, or as exactly as it is shown.
pub fn range(time: Seconds) -> String {
    let (low, high) = (seconds(time.low), seconds(time.high));
    if low == high { String::new() } else { format!("{low} to {high}") }
}

/// `io.read_file size=4K`, `nearest io.read_zero size=1`, `file.open_close depth=2 (depth=1 to 8) less fd.close`.
pub fn basis(basis: &Basis) -> String {
    let mut text = basis.operation.clone();
    if let Some(Interpolation { parameter, value, low, high }) = basis.at {
        let [at, first, last] = [value, low, high].map(|value| parameter_value(parameter, value));
        text = match low == high {
            true if value != low => format!("nearest {text} {parameter}={first}"),
            true => format!("{text} {parameter}={first}"),
            false => format!("{text} {parameter}={at} ({parameter}={first} to {last})"),
        };
    }
    if basis.less.is_empty() { text } else { format!("{text} less {}", basis.less.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_shown_where_they_have_a_width() {
        assert_eq!(range(Seconds { value: 3.0, low: 3.0, high: 3.0 }), "");
        assert_eq!(range(Seconds { value: 4.552, low: 2.276, high: 9.104 }), "2.28 to 9.10");
        assert_eq!([4.552, 0.03125, 0.0, 12345.0].map(seconds), ["4.55", "0.0312", "0.00", "12,345"]);
    }

    #[test]
    fn a_basis_names_operation_parameter_and_what_is_subtracted() {
        let of = |at, less| basis(&Basis { operation: "io.read_zero".into(), at, less });
        assert_eq!(of(None, &["fd.close", "fd.lseek"]), "io.read_zero less fd.close, fd.lseek");
        let at = |value, low, high| of(Some(Interpolation { parameter: "size", value, low, high }), &[]);
        assert_eq!(at(4096, 4096, 4096), "io.read_zero size=4K");
        assert_eq!(at(0, 1, 1), "nearest io.read_zero size=1");
        assert_eq!(at(512, 64, 4096), "io.read_zero size=512 (size=64 to 4K)");
    }
}
