//! The files of a machine.

use crate::runner::Workers;
use anyhow::Result;
use std::ffi::OsStr;
use std::path::PathBuf;
use sys::private;

/// Its kernel, and a directory of its own: others of the run start at the same time.
pub(super) struct Files {
    pub directory: PathBuf,
    pub kernel: PathBuf,
}

impl Files {
    pub fn new(kernel: PathBuf, workers: &Workers) -> Result<Files> {
        let directory = private::temporary(&workers.directory(), "machine-")?.keep();
        Ok(Files { directory, kernel })
    }

    pub fn initramfs(&self) -> PathBuf {
        self.directory.join("initramfs")
    }

    /// A word of a command as it is in every run.
    pub fn anywhere(&self, word: &OsStr) -> String {
        let directory = self.directory.to_string_lossy();
        word.to_string_lossy().replace(&*directory, "{run}")
    }
}
