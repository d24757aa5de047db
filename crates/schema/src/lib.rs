//! `JsonSchema`: the derive of schemars where a test makes schemas (feature `schema`), one that adds nothing elsewhere.

#[cfg(feature = "schema")]
pub use real::*;
#[cfg(not(feature = "schema"))]
pub use syscost_no_schema::JsonSchema;
