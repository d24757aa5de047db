//! How cases, groups and days are called on the page.

use crate::fleet::questions::{CaseName, Survey};
use crate::report::numbers::iso_date;
use std::collections::BTreeSet;

/// How rows are named: with their environment if there are several.
pub struct Names {
    environments: bool,
}

impl Names {
    pub fn of(survey: &Survey) -> Names {
        let all: BTreeSet<&str> = survey.cases.iter().map(|row| row.case.environment.as_str()).collect();
        Names { environments: all.len() > 1 }
    }

    /// `file.open depth=4 (gvisor)`, `perl:time()`
    pub fn case(&self, case: &CaseName) -> String {
        let language = if case.language.is_empty() { String::new() } else { format!("{}:", case.language) };
        let params = if case.params.is_empty() { String::new() } else { format!(" {}", case.params) };
        let place = if self.environments { format!(" ({})", case.environment) } else { String::new() };
        format!("{language}{}{params}{place}", case.operation)
    }
}

/// What the operation is part of: its area, or the language of a snippet.
pub fn area(case: &CaseName) -> &str {
    match case.language.as_str() {
        "" => case.operation.split('.').next().unwrap_or_default(),
        language => language,
    }
}

/// `EPYC · 6.1`
pub fn group(values: &[String]) -> String {
    let known = values.iter().map(|value| if value.is_empty() { "unknown" } else { value });
    known.collect::<Vec<_>>().join(" · ")
}

/// `2026-03-01`
pub fn day(unix_s: i64) -> String {
    iso_date(unix_s.max(0).unsigned_abs()).chars().take(10).collect()
}
