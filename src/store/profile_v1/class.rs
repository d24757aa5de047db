//! Version 1 of the profile: what drives the cost of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What drives the cost of a call. What does not apply or is not known is left out.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Class {
    /// Kind of the descriptor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<Descriptor>,
    /// Bytes moved or mapped, rounded down to a power of two; 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Names in the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// What an argument selects: a futex operation, `create` for an open with O_CREAT, the request of an ioctl.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Descriptors in a poll set, rounded down to a power of two; 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<u64>,
}

impl Class {
    pub fn is_unknown(&self) -> bool {
        let numbers = [self.size, self.depth, self.set];
        self.descriptor.is_none() && self.operation.is_none() && numbers.iter().all(Option::is_none)
    }
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Descriptor {
    File,
    Directory,
    Pipe,
    Socket,
    Terminal,
    /// A character or block device that is no terminal.
    Device,
    /// eventfd, timerfd, signalfd, epoll, inotify.
    Event,
    /// Not open.
    None,
}

/// Whether a number can be left out.
pub fn is_zero(number: &u64) -> bool {
    *number == 0
}
