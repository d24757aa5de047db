pub trait JsonDocument: serde::Serialize {
    /// Name and version: `syscost.summary/2`.
    const SCHEMA: &'static str;
}
