use serde::Serialize;

pub trait JsonDocument: Serialize {
    /// Name and version: `syscost.summary/2`.
    const SCHEMA: &'static str;
}
