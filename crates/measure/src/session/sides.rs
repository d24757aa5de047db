//! Sides in the same rounds: another probe beside the embedded one, or several directories to work
//! in. Each has a name, which stands for an environment's.

use crate::runner::{Environment, NATIVE, RunDirectory, Workers, free_name};
use anyhow::{Context, Result, anyhow};
use model::{CONTROL, Case, EMPTY_LOOP};
use std::path::{Path, PathBuf};

#[derive(Clone, Default)]
pub enum Sides {
    #[default]
    One,
    Probe(PathBuf),
    /// A single one only takes the place of TMPDIR.
    Directories(Vec<PathBuf>),
    Commands(Vec<String>, Vec<Environment>),
}

impl Sides {
    /// The names of the sides, all different; empty for one side.
    pub fn names(&self) -> Vec<String> {
        match self {
            Sides::One => Vec::new(),
            Sides::Directories(paths) if paths.len() == 1 => Vec::new(),
            Sides::Probe(path) => {
                let name = path
                    .file_name()
                    .map_or("other".into(), |name| name.to_string_lossy());
                // A probe called `static` must not get that environment's build.
                let taken = Environment::names().contains(&name.as_ref());
                vec![
                    NATIVE.to_string(),
                    if taken {
                        format!("other {name}")
                    } else {
                        name.into_owned()
                    },
                ]
            }
            Sides::Directories(paths) => {
                let mut names: Vec<String> = Vec::new();
                for path in paths {
                    names.push(free_name(directory_name(path), |name| names.contains(name)));
                }
                names
            }
            Sides::Commands(shipped, environments) => shipped
                .iter()
                .chain(environments.iter().map(|environment| &environment.name))
                .cloned()
                .collect(),
        }
    }

    pub fn environments(&self) -> &[Environment] {
        if let Sides::Commands(_, environments) = self {
            environments
        } else {
            &[]
        }
    }

    /// Whether the sides are variants of the native environment: another probe or other directories.
    pub fn are_variants(&self) -> bool {
        !matches!(self, Sides::Commands(..)) && !self.names().is_empty()
    }

    /// Whether all cases run on one other machine, or several, and none on this one.
    pub fn is_all_elsewhere(&self) -> bool {
        let environments = self.environments();
        !environments.is_empty()
            && self.names().len() == environments.len()
            && environments.iter().all(Environment::is_elsewhere)
    }

    pub(super) fn directory(&self) -> Result<RunDirectory> {
        match self {
            Sides::Directories(paths) if !paths.is_empty() => {
                RunDirectory::create_below(&paths[0], true)
            }
            _ => RunDirectory::create(),
        }
    }

    pub(super) fn add_to(&self, workers: &mut Workers) -> Result<()> {
        // For all sides: the control is a native case in processes of its own.
        workers.add_directory(CONTROL, None);
        let names = self.names();
        match self {
            Sides::One => Ok(()),
            Sides::Commands(_, environments) => {
                environments
                    .iter()
                    .cloned()
                    .for_each(|environment| workers.add_environment(environment));
                Ok(())
            }
            Sides::Probe(path) => add_probe(workers, &names[1], path)
                .map_err(|error| anyhow!("--versus-probe {}: {error:#}", path.display())),
            Sides::Directories(paths) => {
                for (i, (name, path)) in names.iter().zip(paths).enumerate() {
                    let other = if i > 0 {
                        Some(RunDirectory::create_below(path, false))
                    } else {
                        None
                    };
                    workers.add_directory(name, other.transpose()?);
                }
                Ok(())
            }
        }
    }
}

/// A name that cannot be that of an environment, because it has a slash.
fn directory_name(path: &Path) -> String {
    let name = path.to_string_lossy().into_owned();
    if name.contains('/') {
        name
    } else {
        format!("./{name}")
    }
}

fn add_probe(workers: &mut Workers, name: &str, path: &Path) -> Result<()> {
    workers.add_probe(name, path)?;
    let case = Case::native(EMPTY_LOOP).in_environment(name);
    workers
        .start_ready(&case, 0)
        .map(drop)
        .context("it does not speak the probe's protocol")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_have_different_names_and_none_of_an_environment() {
        fn directories(paths: &[&str]) -> Vec<String> {
            Sides::Directories(paths.iter().map(PathBuf::from).collect()).names()
        }

        assert_eq!(
            directories(&["/tmp", "static", "/tmp"]),
            ["/tmp", "./static", "/tmp #2"]
        );
        assert_eq!(
            Sides::Probe("a/probe-O3".into()).names(),
            ["native", "probe-O3"]
        );
        assert_eq!(
            Sides::Probe("a/native".into()).names(),
            ["native", "other native"]
        );
        assert!(Sides::One.names().is_empty() && directories(&["/tmp"]).is_empty());
    }
}
