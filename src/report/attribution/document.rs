//! An attribution as a JSON document.

use crate::attribute::Attribution;
use crate::write::JsonDocument;
use schemars::JsonSchema;
use serde::Serialize;

/// An attribution with its command.
#[derive(Serialize, JsonSchema)]
pub struct AttributionDocument<'a> {
    /// The profile's command; empty if it is not known.
    pub command: &'a [String],
    #[serde(flatten)]
    pub found: &'a Attribution,
}

impl JsonDocument for AttributionDocument<'_> {
    const SCHEMA: &'static str = "syscost.why/1";
}
