//! An archive that a kernel unpacks as its first file system: cpio in the "newc" format, uncompressed (the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst). Pure. Called by `machine`.

/// Modes with the type of file.
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CONSOLE: u32 = 0o020_600;

/// An archive with what a kernel needs to start `/init`: directories to mount on, and the console, which the kernel opens.
pub struct Initramfs {
    bytes: Vec<u8>,
    entries: u32,
}

impl Initramfs {
    /// One without programs.
    pub fn new() -> Initramfs {
        let mut new = Initramfs { bytes: Vec::new(), entries: 0 };
        for directory in ["dev", "proc", "sys", "tmp", "run"] {
            new.add(directory, DIRECTORY, (0, 0), &[]);
        }
        new.add("dev/console", CONSOLE, (5, 1), &[]);
        new
    }

    /// Adds a program in the root directory.
    pub fn program(&mut self, name: &str, contents: &[u8]) {
        self.add(name, PROGRAM, (0, 0), contents);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    /// Magic, 13 numbers of 8 hexadecimal digits, the name with a zero byte, the contents; both padded to 4 bytes.
    fn add(&mut self, name: &str, mode: u32, (major, minor): (u32, u32), contents: &[u8]) {
        self.entries += 1;
        let (size, name_size) = (contents.len() as u32, name.len() as u32 + 1);
        let (owner, links, time, check) = (0, 1, 0, 0);
        let numbers = [self.entries, mode, owner, owner, links, time, size, 0, 0, major, minor, name_size, check]
            .map(|n| format!("{n:08X}"));
        self.bytes.extend_from_slice(format!("070701{}{name}\0", numbers.concat()).as_bytes());
        self.pad();
        self.bytes.extend_from_slice(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_end_with_the_trailer() {
        let mut archive = Initramfs::new();
        archive.program("init", b"12345");
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(bytes.len() % 4, 0);
        let starts: Vec<usize> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(starts.len(), 8);
        assert!(starts.iter().all(|at| at % 4 == 0));
        let init = &text[starts[6]..starts[7]];
        assert!(init.starts_with("07070100000007000081ED000000000000000000000001000000000000000500000000"), "{init}");
        assert!(init.ends_with("init\0\x0012345\0\0\0"), "{init:?}");
        assert!(text[starts[7]..].contains("TRAILER!!!\0"));
    }
}
