//! Reads a kernel image's architecture from its header: Documentation/arch/x86/boot.rst,
//! Documentation/arch/arm64/booting.rst, and the mark in
//! drivers/firmware/efi/libstub/zboot-header.S.

use anyhow::{Context, Result};
use std::io::Read;
use std::path::Path;
use sys::open;

const LONGEST: u64 = 1024;

/// `x86_64`, `i686` or `aarch64`, as `uname -m` shows it.
///
/// # Errors
/// The file cannot be read, or is not a kernel image.
pub fn image_architecture(path: &Path) -> Result<&'static str> {
    let mut bytes = Vec::new();
    open::regular(path)
        .and_then(|file| file.take(LONGEST).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", path.display()))?;
    architecture(&bytes).with_context(|| {
        format!(
            "{} is not a kernel image (bzImage, or Image for arm64)",
            path.display()
        )
    })
}

fn architecture(bytes: &[u8]) -> Option<&'static str> {
    fn has(bytes: &[u8], offset: usize, mark: &[u8]) -> bool {
        bytes.get(offset..offset + mark.len()) == Some(mark)
    }

    if has(bytes, 0x1fe, &[0x55, 0xaa]) && has(bytes, 0x202, b"HdrS") {
        // Bit 0 of `xloadflags`: it has a 64-bit entry point.
        return Some(if bytes.get(0x236)? & 1 == 1 {
            "x86_64"
        } else {
            "i686"
        });
    }
    // The second is a compressed image that unpacks itself as an EFI program; of the two only arm64 makes it.
    let arm64 = has(bytes, 0x38, b"ARM\x64") || has(bytes, 0, b"MZ") && has(bytes, 4, b"zimg");
    arm64.then_some("aarch64")
}

/// The shortest that is taken for a kernel.
#[cfg(test)]
pub fn least_image(architecture: &str) -> Vec<u8> {
    let mut bytes = vec![0; 0x400];
    let marks: &[(usize, &[u8])] = match architecture {
        "x86_64" => &[(0x1fe, &[0x55, 0xaa]), (0x202, b"HdrS"), (0x236, &[1])],
        _ => &[(0x38, b"ARM\x64")],
    };
    for (offset, mark) in marks {
        bytes[*offset..offset + mark.len()].copy_from_slice(mark);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_the_architecture_unless_it_is_damaged() {
        assert_eq!(architecture(&least_image("aarch64")), Some("aarch64"));
        let whole = least_image("x86_64");
        for length in 0..=whole.len() {
            assert_eq!(
                architecture(&whole[..length]),
                (length > 0x236).then_some("x86_64"),
                "{length}"
            );
        }
    }
}
