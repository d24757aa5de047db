//! Names of rows and cases.

use analysis::summary::Row;
use model::Case;

/// As [`case_name`].
pub fn name(row: &Row) -> String {
    case_name(&row.case)
}

/// The case without its environment: the key that joins rows of all environments.
pub fn anywhere(case: &Case) -> Case {
    case.in_environment("")
}

/// Includes the environment unless it is `native`.
pub fn case_name(case: &Case) -> String {
    match case.environment.as_str() {
        "native" => case.to_string(),
        other => format!("{case} ({other})"),
    }
}
