//! A cpio archive in the "newc" format, uncompressed, that a kernel unpacks as its first file
//! system (Documentation/driver-api/early-userspace/buffer-format.rst). Pure.

use std::ffi::OsStr;
use std::io::{Result, Write};
use std::os::unix::ffi::OsStrExt;

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_777;
const CONSOLE: u32 = 0o020_600;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    pub mode: u32,
    pub owner: (u32, u32),
    pub modified_s: u32,
}

pub(super) const PROGRAM: Facts = Facts {
    mode: 0o755,
    owner: (0, 0),
    modified_s: 0,
};

const FILES: [(&str, &str); 2] = [
    ("etc/hosts", "127.0.0.1 localhost\n"),
    (
        "etc/passwd",
        "root:x:0:0:root:/:/init\nnobody:x:65534:65534:nobody:/:/init\n",
    ),
];

/// It begins with what a kernel needs to start `/init`: directories to mount on, the console, and a
/// few files.
pub struct Initramfs<W: Write> {
    out: W,
    written: u64,
    entries: u32,
}

impl<W: Write> Initramfs<W> {
    pub fn new(out: W) -> Result<Initramfs<W>> {
        let mut new = Initramfs {
            out,
            written: 0,
            entries: 0,
        };
        for directory in ["dev", "etc", "proc", "sys", "tmp", "run"] {
            new.directory(directory, PROGRAM)?;
        }
        new.add("dev/console", CONSOLE, Facts::default(), (5, 1), &[])?;
        for (path, contents) in FILES {
            new.file(
                path,
                Facts {
                    mode: 0o644,
                    ..PROGRAM
                },
                contents.as_bytes(),
            )?;
        }
        Ok(new)
    }

    /// The path's directory must be there already.
    pub fn directory(&mut self, path: impl AsRef<OsStr>, facts: Facts) -> Result<()> {
        self.add(path, DIRECTORY | facts.mode, facts, (0, 0), &[])
    }

    pub fn file(&mut self, path: impl AsRef<OsStr>, facts: Facts, contents: &[u8]) -> Result<()> {
        self.add(path, FILE | facts.mode, facts, (0, 0), contents)
    }

    pub fn link(&mut self, path: impl AsRef<OsStr>, facts: Facts, target: &OsStr) -> Result<()> {
        self.add(path, LINK, facts, (0, 0), target.as_bytes())
    }

    pub fn finish(mut self) -> Result<W> {
        self.add("TRAILER!!!", 0, Facts::default(), (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Magic, 13 numbers of 8 hexadecimal digits, the name with a zero byte, the contents; both padded to 4 bytes.
    fn add(
        &mut self,
        path: impl AsRef<OsStr>,
        mode: u32,
        facts: Facts,
        device: (u32, u32),
        contents: &[u8],
    ) -> Result<()> {
        self.entries += 1;
        let name = path.as_ref().as_bytes();
        let ((user, group), links, check) = (facts.owner, 1, 0);
        let (size, name_size) = (contents.len() as u32, name.len() as u32 + 1);
        let numbers = [
            self.entries,
            mode,
            user,
            group,
            links,
            facts.modified_s,
            size,
            0,
            0,
            device.0,
            device.1,
            name_size,
            check,
        ]
        .map(|n| format!("{n:08X}"));
        self.put(format!("070701{}", numbers.concat()).as_bytes())?;
        self.put(name)?;
        self.put(&[0])?;
        self.pad()?;
        self.put(contents)?;
        self.pad()
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn pad(&mut self) -> Result<()> {
        let missing = self.written.next_multiple_of(4) - self.written;
        self.put(&[0; 4][..missing as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(add: impl FnOnce(&mut Initramfs<Vec<u8>>) -> Result<()>) -> String {
        let mut archive = Initramfs::new(Vec::new()).unwrap();
        add(&mut archive).unwrap();
        String::from_utf8(archive.finish().unwrap()).unwrap()
    }

    #[test]
    fn entries_are_aligned_and_end_with_the_trailer() {
        let text = text(|archive| archive.file("init", PROGRAM, b"12345"));
        assert_eq!(text.len() % 4, 0);
        let starts: Vec<usize> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(starts.len(), 11);
        assert!(starts.iter().all(|at| at % 4 == 0));
        let init = &text[starts[9]..starts[10]];
        assert!(
            init.starts_with(
                "0707010000000A000081ED000000000000000000000001000000000000000500000000"
            ),
            "{init}"
        );
        assert!(init.ends_with("init\0\x0012345\0\0\0"), "{init:?}");
        assert!(text[starts[10]..].contains("TRAILER!!!\0"));
    }

    #[test]
    fn files_keep_their_owners_and_times() {
        let facts = Facts {
            mode: 0o640,
            owner: (1000, 10),
            modified_s: 0x6000_0000,
        };
        let text = text(|archive| {
            archive.link("way", facts, OsStr::new("to/it"))?;
            archive.file("file", facts, b"x")
        });
        for expected in [
            "0000A1FF000003E80000000A000000016000000000000005",
            "way\0\0\0to/it\0",
            "000081A0000003E80000000A000000016000000000000001",
        ] {
            assert!(text.contains(expected), "{text:?}");
        }
    }
}
