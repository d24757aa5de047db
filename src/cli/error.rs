//! Usage errors, which the user can fix by changing the command line: exit status 2.

use crate::model::{Failure, FailureKind};

#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct UsageError(anyhow::Error);

/// Whether the user ended the command, rather than a mistake.
pub fn is_interrupt(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Failure>().is_some_and(|failure| failure.kind == FailureKind::Interrupted)
}

/// Marks an error as a usage error, other than an interrupt. Errors: that of `result`, marked.
pub fn usage<T>(result: anyhow::Result<T>) -> anyhow::Result<T> {
    result.map_err(|error| if is_interrupt(&error) { error } else { UsageError(error).into() })
}
