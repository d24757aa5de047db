//! The dynamic loader that a program needs before its first instruction, and that a bare root file system does not have. The kernel
//! then returns ENOENT, as if the program itself was missing.

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The loader in PT_INTERP (elf(5)), if there is no such file here.
pub fn missing_loader(image: &[u8]) -> Option<PathBuf> {
    let wide = ElfFile::<FileHeader64<Endianness>>::parse(image).map(|elf| loader(&elf));
    wide.or_else(|_| ElfFile::<FileHeader32<Endianness>>::parse(image).map(|elf| loader(&elf)))
        .ok()
        .flatten()
        .filter(|path| !path.exists())
}

/// The text to append to an error of starting `path`; empty unless its loader is missing.
pub fn advice(error: &io::Error, path: &Path) -> String {
    if error.kind() != io::ErrorKind::NotFound {
        return String::new();
    }
    fs::read(path)
        .ok()
        .and_then(|image| missing_loader(&image))
        .map_or_else(String::new, |loader| format!(": {}", lacks(&loader)))
}

pub fn lacks(loader: &Path) -> String {
    format!(
        "it is linked dynamically, and its loader {} is not on this system",
        loader.display()
    )
}

fn loader<H: FileHeader<Endian = Endianness>>(elf: &ElfFile<'_, H>) -> Option<PathBuf> {
    let mut headers = elf.elf_program_headers().iter();
    let text =
        headers.find_map(|header| header.interpreter(elf.endian(), elf.data()).ok().flatten())?;
    Some(PathBuf::from(OsStr::from_bytes(text)))
}

/// Lets a static program look up users in /etc/passwd and /etc/group alone. Other sources in nsswitch.conf(5) are shared
/// libraries, which glibc would load even into a static program, and which must then be of its own version.
#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
#[allow(unsafe_code)]
pub fn look_up_users_in_files() {
    unsafe extern "C" {
        // glibc, <nss.h>.
        fn __nss_configure_lookup(
            database: *const libc::c_char,
            services: *const libc::c_char,
        ) -> libc::c_int;
    }
    for database in [c"passwd", c"group", c"initgroups"] {
        // SAFETY: both are strings that end with a zero byte, and no other thread has been started yet.
        unsafe { __nss_configure_lookup(database.as_ptr(), c"files".as_ptr()) };
    }
}

/// Nothing to do: a dynamic program finds the libraries that nsswitch.conf(5) asks for.
#[cfg(not(all(target_env = "gnu", target_feature = "crt-static")))]
pub fn look_up_users_in_files() {}
