//! Costs that certainly grew by more than a limit.

use super::row::{ComparedRow, Key};
use schemars::JsonSchema;
use serde::Serialize;

/// The rows that grew by more than a limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Growth {
    /// As a share: 0.1 for 10%.
    pub limit: f64,
    pub grown: Vec<Grown>,
}

/// A row whose interval is above the limit in one column.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Grown {
    #[serde(flatten)]
    pub key: Key,
    pub column: usize,
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

/// The rows whose cost grew by more than `limit`, a share: the lower end of the interval is above it.
pub fn beyond(rows: &[ComparedRow], limit: f64) -> Growth {
    let mut grown = Vec::new();
    for row in rows {
        for (column, verdict) in row.verdicts.iter().enumerate() {
            let Some((low, high)) = verdict.low_high().filter(|(low, _)| *low > 1.0 + limit) else { continue };
            grown.push(Grown { key: row.key.clone(), column, ratio: verdict.ratio().unwrap_or(low), low, high });
        }
    }
    Growth { limit, grown }
}
