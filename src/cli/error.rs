//! Errors that the user can mend by asking differently: exit status 2.

/// What is wrong with the question.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct UsageError(anyhow::Error);

/// Marks an error as the user's to mend.
pub fn usage<T>(result: anyhow::Result<T>) -> anyhow::Result<T> {
    result.map_err(|error| UsageError(error).into())
}
