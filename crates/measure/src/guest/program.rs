//! A command of the user's in a guest (`probe/program.c`): the files that it needs there, and its
//! runs.

use super::Channel;
use super::initramfs::{Facts, Initramfs, PROGRAM};
use super::traced::entries;
use crate::runner::failure_in;
use anyhow::{Context, Result};
use model::Failure;
use std::ffi::{CString, OsString};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use sys::open;
use sys::ptrace::Counts;

#[derive(Default)]
pub struct CommandFiles {
    /// The guest's user that the command's root is: [`FIRST_USER`], who has no rights over the guest, or 0 if it must load
    /// programs into the kernel.
    pub first_user: u32,
    pub user: u32,
    pub group: u32,
    pub umask: u32,
    pub directory: PathBuf,
    pub program: PathBuf,
    pub arguments: Vec<CString>,
    pub environment: Vec<CString>,
    pub files: Vec<CommandFile>,
}

/// Absolute and without symbolic links on the way.
pub struct CommandFile {
    pub path: PathBuf,
    pub facts: Facts,
    pub contents: Contents,
    /// Whether each run must begin with what was there.
    pub changed: bool,
}

#[derive(PartialEq)]
pub enum Contents {
    Absent,
    Directory,
    Link(OsString),
    File(PathBuf),
    Empty,
}

const HOME: &str = "program";

/// The command's users are those of the guest from this one on (`probe/program.c`).
pub const FIRST_USER: u32 = 1 << 31;

impl CommandFiles {
    pub(super) fn write<W: Write>(&self, archive: &mut Initramfs<W>) -> Result<()> {
        let home = Path::new(HOME);
        archive.directory(home, PROGRAM)?;
        archive.directory(home.join("root"), self.in_guest(PROGRAM))?;
        archive.directory(home.join("kept"), PROGRAM)?;
        archive.file(home.join("command"), PROGRAM, &self.command())?;
        let mut changed = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let relative = file.path.strip_prefix("/").unwrap_or(&file.path);
            let facts = self.in_guest(file.facts);
            file.write(archive, &home.join("root").join(relative), facts)?;
            if file.changed {
                let number = if file.contents == Contents::Absent {
                    "-".to_string()
                } else {
                    number.to_string()
                };
                file.write(archive, &home.join("kept").join(&number), facts)?;
                changed.extend(
                    [
                        number.as_bytes(),
                        &[0],
                        file.path.as_os_str().as_bytes(),
                        &[0],
                    ]
                    .concat(),
                );
            }
        }
        archive.file(home.join("changed"), PROGRAM, &changed)?;
        Ok(())
    }

    fn in_guest(&self, facts: Facts) -> Facts {
        let (user, group) = facts.owner;
        Facts {
            owner: (user | self.first_user, group | self.first_user),
            ..facts
        }
    }

    fn command(&self) -> Vec<u8> {
        let paths =
            [&self.directory, &self.program].map(|path| path.as_os_str().as_bytes().to_vec());
        let first = [
            self.first_user.to_string(),
            self.user.to_string(),
            self.group.to_string(),
            format!("{:o}", self.umask),
        ]
        .map(String::into_bytes);
        let number = self.arguments.len().to_string().into_bytes();
        let words = self
            .arguments
            .iter()
            .chain(&self.environment)
            .map(|word| word.to_bytes().to_vec());
        first
            .into_iter()
            .chain(paths)
            .chain([number])
            .chain(words)
            .flat_map(|string| [string, vec![0]].concat())
            .collect()
    }
}

impl CommandFile {
    fn write<W: Write>(&self, archive: &mut Initramfs<W>, at: &Path, facts: Facts) -> Result<()> {
        match &self.contents {
            Contents::Absent => {}
            Contents::Directory => archive.directory(at, facts)?,
            Contents::Link(target) => archive.link(at, facts, target)?,
            Contents::Empty => archive.file(at, facts, &[])?,
            Contents::File(path) => archive.file(at, facts, &self.read(path)?)?,
        }
        Ok(())
    }

    /// What this user may not read, the command has not read either.
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        match open::contents(path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
            read => read.with_context(|| {
                format!(
                    "the command needs {}, and it cannot be read",
                    self.path.display()
                )
            }),
        }
    }
}

pub struct Program(pub(super) Channel);

#[derive(Debug, PartialEq)]
pub struct Ran {
    /// 128 + N for signal N.
    pub status: i32,
    /// Counted from the execve on, in user mode and in the kernel.
    pub instructions: u64,
    pub said: Vec<String>,
}

#[derive(Default)]
pub struct Observed {
    pub calls: Counts,
    pub paths: Vec<PathBuf>,
}

impl Program {
    pub fn run(&self) -> Result<Ran, Failure> {
        self.answer("run", &mut Observed::default())
    }

    pub fn run_with_errors(&self) -> Result<Ran, Failure> {
        self.answer("run errors", &mut Observed::default())
    }

    pub fn count(&self) -> Result<Observed, Failure> {
        let mut missed = Observed::default();
        self.answer("count", &mut missed)?;
        Ok(missed)
    }

    fn answer(&self, request: &str, missed: &mut Observed) -> Result<Ran, Failure> {
        self.0.send(request)?;
        let mut said = Vec::new();
        loop {
            let line = self.0.line()?;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match word {
                "said" => said.push(rest.strip_prefix("0 ").unwrap_or(rest).to_string()),
                "missing" => missed.paths.push(rest.into()),
                "entries" => missed.calls = entries(&line)?,
                "ran" => return ran(rest, said).ok_or_else(|| failure_in(&line)),
                "error" => return Err(Failure::failed(format!("in the guest: {rest}"))),
                _ => return Err(failure_in(&line)),
            }
        }
    }
}

fn ran(rest: &str, said: Vec<String>) -> Option<Ran> {
    let (status, instructions) = rest.split_once(' ')?;
    Some(Ran {
        status: status.parse().ok()?,
        instructions: instructions.parse().ok()?,
        said,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_string_by_string() {
        let files = CommandFiles {
            first_user: 5,
            user: 1000,
            group: 10,
            umask: 0o22,
            directory: "/home/a b".into(),
            program: "/bin/sh".into(),
            arguments: vec![c"sh".into(), c"".into()],
            environment: vec![c"A=1".into()],
            files: Vec::new(),
        };
        let text = String::from_utf8(files.command()).unwrap();
        assert_eq!(
            text,
            "5\x001000\x0010\x0022\0/home/a b\0/bin/sh\x002\0sh\0\0A=1\0"
        );
    }

    #[test]
    fn changed_files_are_there_twice() {
        fn file(path: &str, contents: Contents, changed: bool) -> CommandFile {
            CommandFile {
                path: path.into(),
                facts: PROGRAM,
                contents,
                changed,
            }
        }

        let files = vec![
            file("/a", Contents::Directory, false),
            file("/a/new", Contents::Absent, true),
            file("/a/old", Contents::Empty, true),
        ];
        let mut archive = Initramfs::new(Vec::new()).unwrap();
        CommandFiles {
            files,
            ..CommandFiles::default()
        }
        .write(&mut archive)
        .unwrap();
        let text = String::from_utf8_lossy(&archive.finish().unwrap()).into_owned();
        for expected in [
            "program/root/a\0",
            "program/root/a/old\0",
            "program/kept/2\0",
            "-\0/a/new\x002\0/a/old\0",
        ] {
            assert!(text.contains(expected), "{expected:?}");
        }
        assert!(!text.contains("root/a/new"));
    }

    #[test]
    fn answers_are_read() {
        assert_eq!(
            ran("3 42", Vec::new()),
            Some(Ran {
                status: 3,
                instructions: 42,
                said: Vec::new()
            })
        );
        assert_eq!((ran("3", Vec::new()), ran("x 1", Vec::new())), (None, None));
    }
}
