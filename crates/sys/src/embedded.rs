//! Programs that this one brings as bytes, as files that can be executed.

use nix::sys::memfd::{MFdFlags, memfd_create};
use std::ffi::CStr;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempPath;

pub enum Embedded {
    Memory(File),
    File(TempPath),
}

impl Embedded {
    /// In memory, so that nothing is left behind if this process is killed. Not all systems can execute that.
    pub fn in_memory(name: &CStr, program: &[u8]) -> io::Result<Embedded> {
        let mut file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?);
        file.write_all(program)?;
        Ok(Embedded::Memory(file))
    }

    /// In a file of `directory` that only this user may read or execute, removed when this is dropped.
    pub fn in_file(name: &CStr, program: &[u8], directory: &Path) -> io::Result<Embedded> {
        let (prefix, private) = (
            format!("{}-", name.to_string_lossy()),
            Permissions::from_mode(0o700),
        );
        let mut file = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(private.clone())
            .tempfile_in(directory)?;
        // Once more: the umask may have taken the right to execute.
        file.as_file().set_permissions(private)?;
        file.write_all(program)?;
        Ok(Embedded::File(file.into_temp_path()))
    }

    /// The path to execute, as long as this lives.
    pub fn path(&self) -> PathBuf {
        match self {
            Embedded::Memory(file) => PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
            Embedded::File(path) => path.to_path_buf(),
        }
    }
}
