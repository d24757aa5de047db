//! The header of a kernel image: which architecture it is for, and its release where the header has it.
//!
//! Sources: Documentation/arch/x86/boot.rst (The Linux/x86 Boot Protocol), Documentation/arch/arm64/booting.rst; the compressed
//! EFI image is laid out in drivers/firmware/efi/libstub/zboot-header.S, of which only the mark is looked at.

use crate::kernel::open;
use anyhow::{Context, Result};
use std::io::Read;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// As `uname -m` shows it: `x86_64`, `i686` or `aarch64`.
    pub architecture: &'static str,
    /// `None` where the header does not have it.
    pub release: Option<String>,
}

/// Bytes that are read: x86's version is a string in the first setup sectors, at most 32 KiB long.
const LONGEST: u64 = 64 * 1024;

impl Header {
    /// Reads the file's.
    ///
    /// # Errors
    /// If it cannot be read, or is not a kernel image for x86 or arm64.
    pub fn read(path: &Path) -> Result<Header> {
        let mut bytes = Vec::new();
        let file = open::regular(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
        file.with_context(|| format!("cannot read {}", path.display()))?;
        let not_one = || format!("{} is not a kernel image (bzImage, or Image for arm64)", path.display());
        Header::of(&bytes).with_context(not_one)
    }

    fn of(bytes: &[u8]) -> Option<Header> {
        let has = |at: usize, mark: &[u8]| bytes.get(at..at + mark.len()) == Some(mark);
        if has(0x1fe, &[0x55, 0xaa]) && has(0x202, b"HdrS") {
            // Bit 0 of `xloadflags`: it has a 64-bit entry point.
            let architecture = if bytes.get(0x236)? & 1 == 1 { "x86_64" } else { "i686" };
            return Some(Header { architecture, release: x86_release(bytes) });
        }
        // The second is a compressed image that unpacks itself as an EFI program; of the two only arm64 makes it.
        let arm64 = has(0x38, b"ARM\x64") || has(0, b"MZ") && has(4, b"zimg");
        arm64.then_some(Header { architecture: "aarch64", release: None })
    }

    /// The least that has the header of an image for `architecture`.
    #[cfg(test)]
    pub fn least_for(architecture: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
        match architecture {
            "x86_64" => {
                put(0x1fe, &[0x55, 0xaa]);
                put(0x202, b"HdrS");
                put(0x20e, &0x100u16.to_le_bytes());
                put(0x236, &[1]);
                put(0x300, b"9.9.9-test (someone) #1 SMP\0");
            }
            _ => put(0x38, b"ARM\x64"),
        }
        bytes
    }
}

/// The first word of the version, whose place is in `kernel_version` (offset 0x20e), relative to the second sector.
fn x86_release(bytes: &[u8]) -> Option<String> {
    let place = u16::from_le_bytes(bytes.get(0x20e..0x210)?.try_into().ok()?);
    let version = bytes.get(0x200 + usize::from(place)..).filter(|_| place != 0)?;
    let word: Vec<u8> = version.iter().copied().take_while(u8::is_ascii_graphic).collect();
    String::from_utf8(word).ok().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_architecture_and_release() {
        let x86 = Header::of(&Header::least_for("x86_64")).unwrap();
        assert_eq!((x86.architecture, x86.release.as_deref()), ("x86_64", Some("9.9.9-test")));
        assert_eq!(Header::of(&Header::least_for("aarch64")).unwrap().architecture, "aarch64");
    }

    #[test]
    fn damaged_headers_give_what_is_left_or_nothing() {
        let whole = Header::least_for("x86_64");
        for length in 0..whole.len() {
            assert_eq!(Header::of(&whole[..length]).is_some(), length > 0x236, "{length}");
        }
        let mut far = whole.clone();
        far[0x20e..0x210].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(Header::of(&far).unwrap().release, None);
    }
}
