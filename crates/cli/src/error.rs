//! Usage errors, which the user can fix by changing the command line: exit status 2.

use measure::session::Refused;
use model::{Failure, FailureKind};
use std::io;

#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct UsageError(pub anyhow::Error);

macro_rules! usage_error {
    ($($message:tt)*) => {
        anyhow::Error::from($crate::error::UsageError(anyhow::anyhow!($($message)*)))
    };
}

macro_rules! bail_usage {
    ($($message:tt)*) => {
        return Err($crate::error::usage_error!($($message)*))
    };
}

pub(crate) use {bail_usage, usage_error};

/// A consequence of ^C or another signal, not a failure.
pub fn is_interrupt(error: &anyhow::Error) -> bool {
    error
        .downcast_ref()
        .is_some_and(|failure: &Failure| failure.kind == FailureKind::Interrupted)
        || error
            .chain()
            .filter_map(|cause| cause.downcast_ref())
            .any(|error: &io::Error| error.kind() == io::ErrorKind::Interrupted)
}

/// Interrupts stay interrupts.
pub fn usage<T>(result: anyhow::Result<T>) -> anyhow::Result<T> {
    result.map_err(|error| {
        if is_interrupt(&error) {
            error
        } else {
            UsageError(error).into()
        }
    })
}

/// Usually one; refused files have a line each.
pub fn lines(error: &anyhow::Error) -> Vec<String> {
    let inner = error
        .downcast_ref::<UsageError>()
        .map_or(error, |usage| &usage.0);
    inner
        .downcast_ref::<Refused>()
        .map_or_else(|| vec![format!("{error:#}")], |refused| refused.0.clone())
}
