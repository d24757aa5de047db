//! Kernel entries: which system calls one iteration makes, and how we know.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// System calls per iteration by name, in the order in which they were first made. A call that the process made by
/// another architecture's gate carries its name behind it: `getpid(i386)`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Entries(
    #[schemars(with = "std::collections::BTreeMap<String, f64>")] IndexMap<String, f64>,
);

impl Entries {
    /// Per iteration.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(0.0)
    }

    /// The names in the order in which the calls were first made.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    pub fn times(&self, factor: f64) -> Entries {
        self.iter()
            .map(|(name, count)| (name.to_string(), count * factor))
            .collect()
    }

    pub fn total(&self) -> f64 {
        // `sum()` of an empty iterator is -0, which would be printed as `-0`.
        self.0.values().fold(0.0, |sum, count| sum + count)
    }
}

/// Whole counts are written as whole numbers.
impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, count) in &self.0 {
            // Beyond 2^53 a double no longer holds every whole number.
            if count.fract() == 0.0 && count.abs() < 2f64.powi(53) {
                map.serialize_entry(name, &(*count as i64))?
            } else {
                map.serialize_entry(name, count)?
            }
        }
        map.end()
    }
}

impl FromIterator<(String, f64)> for Entries {
    fn from_iter<I: IntoIterator<Item = (String, f64)>>(pairs: I) -> Self {
        Entries(
            pairs
                .into_iter()
                .filter(|(_, count)| *count != 0.0)
                .collect(),
        )
    }
}

/// `openat x1 close x1`, or `none`.
impl fmt::Display for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "none");
        }
        for (i, (name, count)) in self.0.iter().enumerate() {
            let space = if i > 0 { " " } else { "" };
            write!(f, "{space}{name} x{}", Count(*count))?;
        }
        Ok(())
    }
}

struct Count(f64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.fract() == 0.0 {
            return write!(f, "{}", self.0);
        }
        // Rare calls, such as those that refill a buffer, are one in N.
        let inverse = 1.0 / self.0;
        if (inverse - inverse.round()).abs() < 1e-6 || inverse > 100.0 {
            return write!(f, "1/{}", inverse.round());
        }
        write!(f, "{:.2}", self.0)
    }
}

/// How the entries of a record are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "entries_status",
    content = "entries_reason",
    rename_all = "snake_case"
)]
pub enum EntriesStatus {
    /// Counted in a separate pass.
    Verified,
    /// Not counted, and why.
    Unverified(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_shown_as_counts_fractions_or_none() {
        let entries: Entries = [
            ("read".to_string(), 1.0 / 64.0),
            ("close".to_string(), 2.0),
            ("futex".to_string(), 0.3),
        ]
        .into_iter()
        .collect();
        assert_eq!(entries.to_string(), "read x1/64 close x2 futex x0.30");
        assert_eq!(Entries::default().to_string(), "none");
    }
}
