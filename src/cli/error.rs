//! Usage errors, which the user can fix by changing the command line: exit status 2.

/// What is wrong with the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct UsageError(anyhow::Error);

/// Marks an error as a usage error.
///
/// # Errors
/// That of `result`, marked.
pub fn usage<T>(result: anyhow::Result<T>) -> anyhow::Result<T> {
    result.map_err(|error| UsageError(error).into())
}
