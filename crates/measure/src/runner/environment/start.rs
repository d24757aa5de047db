//! The commands that start programs in an environment: the probe and snippets, or a command of the
//! user's, which cannot be built for it.

use super::super::holes::{command, replaced};
use super::{Environment, PROGRAM};
use anyhow::{Result, bail};
use assets::CONFINE;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// Copied to an environment with a file system of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Files {
    Below,
    Inside,
}

/// Ways of our launcher that make a file system in its working directory.
const OWN_FILES: [(&str, Files); 5] = [
    ("overlay", Files::Below),
    ("fuse", Files::Below),
    ("tmpfs", Files::Inside),
    ("loop", Files::Inside),
    ("idmapped", Files::Inside),
];

pub const FILES_DIRECTORY: &str = "files";

pub struct Places<'a> {
    pub run: &'a Path,
    pub cache: &'a Path,
    pub directory: &'a Path,
    pub work: &'a Path,
    pub measuring: Option<u32>,
}

impl Environment {
    pub fn started(&self, program: Command, places: &Places) -> Command {
        self.filled(&self.run, program, places)
    }

    /// The command that starts a user's program, which stays in the directory `work` and is not built for the environment.
    pub fn started_command(
        &self,
        program: Command,
        run: &Path,
        directory: &Path,
        work: &Path,
    ) -> Command {
        let words = self.command.as_ref().unwrap_or(&self.run);
        self.filled(
            words,
            program,
            &Places {
                run,
                cache: run,
                directory,
                work,
                measuring: None,
            },
        )
    }

    /// None if its files are the host's.
    pub fn files(&self) -> Option<Files> {
        if !self.is_launched() {
            return None;
        }
        let way = self.run.get(1)?;
        OWN_FILES
            .iter()
            .find(|(name, _)| name == way)
            .map(|(_, files)| *files)
    }

    /// Started in it and timed, without being built for it.
    ///
    /// # Errors
    /// The reason if it cannot.
    pub fn check_starts_commands(&self) -> Result<()> {
        let name = &self.name;
        if self.is_guest {
            bail!(
                "environment {name}: a command in an emulated machine cannot be timed against others"
            );
        }
        if self.relays {
            bail!(
                "environment {name}: it slows the machine only during requests to the probe, so it has no effect on a command"
            );
        }
        let is_other_build = !self.is_built_natively() || self.is_dynamic;
        if self.command.is_none() && is_other_build {
            bail!(
                "environment {name}: it is a different build of the probe, and does not apply to other commands"
            );
        }
        Ok(())
    }

    fn filled(&self, words: &[String], program: Command, places: &Places) -> Command {
        if words == [PROGRAM] {
            return program;
        }
        let confine = places.run.join(CONFINE);
        let measuring = places
            .measuring
            .map_or("none".to_string(), |cpu| cpu.to_string());
        let holes = [
            ("{dir}", places.directory.as_os_str()),
            ("{work}", places.work.as_os_str()),
            ("{run}", places.run.as_os_str()),
            ("{cache}", places.cache.as_os_str()),
            ("{confine}", confine.as_os_str()),
            ("{measuring}", measuring.as_ref()),
            // Within a word, for a shell there: without arguments, which a word cannot hold.
            (PROGRAM, program.get_program()),
        ];
        let words: Vec<OsString> = words
            .iter()
            .flat_map(|word| match word.as_str() {
                PROGRAM => std::iter::once(program.get_program())
                    .chain(program.get_args())
                    .map(OsStr::to_owned)
                    .collect(),
                word => vec![replaced(word, &holes)],
            })
            .collect();
        command(&words)
    }
}

#[cfg(test)]
mod tests {
    use super::super::NATIVE;
    use super::*;

    #[test]
    fn a_starter_is_put_before_the_program_with_its_arguments() {
        let words = "box --bind={dir} {run} {cache} {confine} {measuring} {program} --end";
        let environment = Environment {
            run: words.split(' ').map(str::to_string).collect(),
            ..Environment::find(NATIVE).unwrap()
        };
        let mut program = Command::new("/r/probe");
        program.args(["--launch", "{dir}"]);
        let at = Path::new("/r/w1");
        let places = Places {
            run: Path::new("/r"),
            cache: Path::new("/c"),
            directory: at,
            work: at,
            measuring: Some(3),
        };
        let command = environment.started(program, &places);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
        assert_eq!(
            words.join(" "),
            "box --bind=/r/w1 /r /c /r/confine 3 /r/probe --launch {dir} --end"
        );
    }

    #[test]
    fn a_command_is_started_where_its_environment_can_start_one() {
        fn files(name: &str) -> Option<Files> {
            find(name).files()
        }

        fn find(name: &str) -> Environment {
            Environment::find(name).unwrap()
        }

        for name in [
            "native",
            "seccomp-docker",
            "bwrap",
            "podman",
            "gvisor",
            "overlay",
            "strace",
            "qemu-x86_64",
        ] {
            assert!(find(name).check_starts_commands().is_ok(), "{name}");
        }
        assert_eq!(["overlay", "fuse"].map(files), [Some(Files::Below); 2]);
        assert_eq!(["tmpfs", "loop-xfs"].map(files), [Some(Files::Inside); 2]);
        assert_eq!(
            ["native", "seccomp", "bwrap", "namespaces"].map(files),
            [None; 4]
        );
        let [run, directory, work] = ["/r", "/r/w1", "/home"].map(Path::new);
        let command = find("bwrap").started_command(Command::new("ls"), run, directory, work);
        let words: Vec<&str> = command.get_args().filter_map(OsStr::to_str).collect();
        assert_eq!(words[words.len() - 3..], ["--chdir", "/home", "ls"]);
    }
}
