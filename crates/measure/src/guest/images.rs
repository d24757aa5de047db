//! Kernel images that `syscost kernel fetch` got: where they are kept, and which of them a version
//! means.
//!
//! An image is a directory of the user's state directory, `kernels/<release>`, made under another
//! name and renamed when it is complete. One that lacks a part or has another length than noted is
//! named as damaged, and fetching it again replaces it. One with another digest than when it was
//! fetched is not booted.

mod apt;
mod fetch;
mod packages;
mod sources;

use super::states;
use crate::runner::{digest, image_architecture, state_directory};
use anyhow::{Context, Result, bail, ensure};
use itertools::Itertools;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use sys::{lock, open, private};
use tempfile::TempDir;

pub use fetch::{ARCHITECTURES, Architecture, Mirror};
use model::release::{is_meant, newest_first};
pub use packages::Package;

const KERNEL: &str = "vmlinuz";
const FACTS: &str = "image.json";
const MOST_FACTS: u64 = 1 << 16;
/// Of directories that are being filled; who fills one holds a lock on it.
const UNFINISHED: &str = ".fetching-";

#[derive(Debug, PartialEq)]
pub struct Image {
    pub path: PathBuf,
    pub facts: Facts,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub release: String,
    /// `x86_64` or `aarch64`, as `uname -m` shows it.
    pub architecture: String,
    pub package: String,
    pub version: String,
    pub suite: String,
    pub bytes: u64,
    /// Of the kernel as unpacked; the archive's signed lists have that of the package.
    pub sha256: String,
}

pub struct Images {
    root: PathBuf,
}

/// A release, the beginning of one (`6.1`: the newest), or that and how it ends (`6.1-amd64`).
pub fn find(wanted: &str, architecture: &str) -> Result<Image> {
    Images::open()?.find(wanted, architecture)
}

impl Images {
    pub fn open() -> Result<Images> {
        let state = state_directory();
        let state = state.context(
            "no private directory for kernel images: set XDG_STATE_HOME to a directory of yours",
        )?;
        Images::at(state.join("kernels"))
    }

    fn at(root: PathBuf) -> Result<Images> {
        private::make(&root)?;
        Ok(Images { root })
    }

    pub fn all(&self) -> Vec<Image> {
        let mut all: Vec<_> = self
            .names()
            .iter()
            .filter_map(|name| self.image(name))
            .collect();
        all.sort_by(|a, b| newest_first(&a.facts.release, &b.facts.release));
        all
    }

    pub fn damaged(&self) -> Vec<String> {
        self.names()
            .into_iter()
            .filter(|name| self.image(name).is_none())
            .collect()
    }

    fn names(&self) -> Vec<String> {
        fs::read_dir(&self.root)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.'))
            .collect()
    }

    fn image(&self, release: &str) -> Option<Image> {
        let directory = self.root.join(release);
        let facts: Facts =
            serde_json::from_slice(&open::bytes(&directory.join(FACTS), MOST_FACTS).ok()?).ok()?;
        let path = directory.join(KERNEL);
        let whole = facts.release == release
            && fs::symlink_metadata(&path)
                .is_ok_and(|metadata| metadata.is_file() && metadata.len() == facts.bytes);
        whole.then_some(Image { path, facts })
    }

    fn unchanged(&self, release: &str) -> Option<Image> {
        let image = self.image(release)?;
        digest(&image.path)
            .is_ok_and(|digest| digest == image.facts.sha256)
            .then_some(image)
    }

    fn find(&self, wanted: &str, architecture: &str) -> Result<Image> {
        let meant: Vec<Image> = self
            .all()
            .into_iter()
            .filter(|image| {
                image.facts.architecture == architecture && is_meant(wanted, &image.facts.release)
            })
            .collect();
        let meant = meant
            .iter()
            .find(|image| image.facts.release == wanted)
            .or(meant.first())
            .with_context(|| self.not_fetched(wanted, architecture))?;
        let release = &meant.facts.release;
        self.unchanged(release).with_context(|| format!("{} was changed after it was fetched: get it again with 'syscost kernel fetch {release}'", meant.path.display()))
    }

    fn not_fetched(&self, wanted: &str, architecture: &str) -> String {
        let all = self
            .all()
            .into_iter()
            .map(|image| image.facts.release)
            .join(", ");
        let fetched = if all.is_empty() {
            String::new()
        } else {
            format!(" (fetched: {all})")
        };
        if !wanted.starts_with(|first: char| first.is_ascii_digit()) {
            return format!("'{wanted}' is not a kernel version, such as 6.1{fetched}");
        }
        let other = if architecture != std::env::consts::ARCH {
            Architecture::find(architecture)
        } else {
            None
        };
        let arch = other
            .map(|other| format!(" --arch {}", other.debian))
            .unwrap_or_default();
        format!(
            "no kernel image '{wanted}' for {architecture} was fetched{fetched}: get one with 'syscost kernel fetch {wanted}{arch}'"
        )
    }

    /// Keeps the kernel at `file`, unless its release is here and complete. `facts` may lack length
    /// and digest.
    pub fn keep(&self, file: &Path, facts: Facts) -> Result<Image> {
        ensure!(
            !facts.release.is_empty()
                && !facts.release.starts_with('.')
                && !facts.release.contains('/'),
            "no release"
        );
        let architecture = image_architecture(file)?;
        ensure!(
            architecture == facts.architecture,
            "the kernel is for {architecture}"
        );
        let (fresh, _lock) = self.begin()?;
        let bytes = fs::copy(file, fresh.path().join(KERNEL)).context("cannot copy the kernel")?;
        File::open(fresh.path().join(KERNEL))?.sync_all()?;
        let sha256 = digest(&fresh.path().join(KERNEL))?;
        let facts = Facts {
            bytes,
            sha256,
            ..facts
        };
        fs::write(fresh.path().join(FACTS), serde_json::to_vec_pretty(&facts)?)?;
        let target = self.root.join(&facts.release);
        if self.unchanged(&facts.release).is_none() {
            let _ = fs::remove_dir_all(&target);
        }
        // Another fetch of the same release may have been faster.
        let renamed = fs::rename(fresh.path(), &target);
        let cannot = || format!("cannot keep {}", target.display());
        match self.unchanged(&facts.release) {
            Some(image) => Ok(image),
            None => {
                renamed.with_context(cannot)?;
                bail!("{}: it was changed", cannot())
            }
        }
    }

    pub fn remove(&self, release: &str) -> Result<bool> {
        if !self.names().iter().any(|name| name == release) {
            return Ok(false);
        }
        let path = self.root.join(release);
        if let Some(image) = self.unchanged(release) {
            states::forget(&image.facts.sha256)
                .context("cannot remove the states of its machines")?;
        }
        // Renamed first, so that nobody finds half of it.
        let (aside, _lock) = self.begin()?;
        let moved = fs::rename(&path, aside.path().join(KERNEL));
        moved.with_context(|| format!("cannot remove {}", path.display()))?;
        aside
            .close()
            .with_context(|| format!("cannot remove {}", path.display()))?;
        Ok(true)
    }

    /// The lock marks it as in use. Directories of killed programs are removed.
    pub fn begin(&self) -> Result<(TempDir, Option<lock::Locked>)> {
        private::sweep(&self.root, UNFINISHED);
        private::begin(&self.root, UNFINISHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::least_image;

    fn images() -> (TempDir, Images) {
        let directory = tempfile::tempdir().unwrap();
        let images = Images::at(directory.path().join("kernels")).unwrap();
        (directory, images)
    }

    fn facts(release: &str, architecture: &str) -> Facts {
        Facts {
            release: release.into(),
            architecture: architecture.into(),
            ..Facts::default()
        }
    }

    fn keep(images: &Images, release: &str, architecture: &str) -> Result<Image> {
        let file = images.root.join(".kernel");
        fs::write(&file, least_image(architecture)).unwrap();
        images.keep(&file, facts(release, architecture))
    }

    fn release(images: &Images, wanted: &str) -> String {
        images.find(wanted, "x86_64").unwrap().facts.release
    }

    #[test]
    fn a_version_means_the_newest_release_that_was_fetched() {
        let (_keep, images) = images();
        for release in [
            "6.1.0-9-cloud-amd64",
            "6.1.0-54-cloud-amd64",
            "6.12.95+deb12-amd64",
            "6.19+deb14-amd64",
        ] {
            keep(&images, release, "x86_64").unwrap();
        }
        keep(&images, "6.1.0-60-cloud-arm64", "aarch64").unwrap();
        assert_eq!(release(&images, "6.1"), "6.1.0-54-cloud-amd64");
        assert_eq!(release(&images, "6.1-amd64"), "6.1.0-54-cloud-amd64");
        keep(&images, "6.1.0-54-amd64", "x86_64").unwrap();
        assert_eq!(release(&images, "6.1.0-54-amd64"), "6.1.0-54-amd64");
        assert_eq!(release(&images, "6.1.0-9"), "6.1.0-9-cloud-amd64");
        assert_eq!(release(&images, "6.19"), "6.19+deb14-amd64");
        assert_eq!(
            images.find("6.1", "aarch64").unwrap().facts.release,
            "6.1.0-60-cloud-arm64"
        );
        let error = |wanted: &str, architecture: &str| {
            images.find(wanted, architecture).unwrap_err().to_string()
        };
        let own = error("5.10", std::env::consts::ARCH);
        assert!(
            own.contains(" was fetched (fetched: 6.19")
                && own.ends_with("get one with 'syscost kernel fetch 5.10'"),
            "{own}"
        );
        let none = error("next", "x86_64");
        assert!(
            none.starts_with("'next' is not a kernel version, such as 6.1 (fetched: 6.19"),
            "{none}"
        );
        let (other, name) = if cfg!(target_arch = "aarch64") {
            ("x86_64", "amd64")
        } else {
            ("aarch64", "arm64")
        };
        let other = error("5.10", other);
        assert!(
            other.ends_with(&format!("'syscost kernel fetch 5.10 --arch {name}'")),
            "{other}"
        );
    }

    #[test]
    fn what_is_damaged_is_no_image_and_is_replaced() {
        let damages: [fn(&Path); 6] = [
            |image| fs::write(image.join(KERNEL), "short").unwrap(),
            |image| fs::remove_file(image.join(KERNEL)).unwrap(),
            |image| fs::write(image.join(FACTS), "{\"release\":").unwrap(),
            |image| fs::remove_file(image.join(FACTS)).unwrap(),
            |image| pipe_at(&image.join(KERNEL)),
            |image| pipe_at(&image.join(FACTS)),
        ];
        for damage in damages {
            let (_keep, images) = images();
            let image = keep(&images, "6.1-amd64", "x86_64").unwrap();
            damage(image.path.parent().unwrap());
            assert!(images.find("6.1", "x86_64").is_err());
            assert_eq!(
                (images.all().len(), images.damaged()),
                (0, vec!["6.1-amd64".to_string()])
            );
            assert_eq!(keep(&images, "6.1-amd64", "x86_64").unwrap(), image);
            assert_eq!((images.all().len(), images.damaged().len()), (1, 0));
        }
    }

    fn pipe_at(path: &Path) {
        fs::remove_file(path).unwrap();
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    }

    #[test]
    fn a_kernel_that_was_changed_is_not_booted_and_is_fetched_again() {
        let (_keep, images) = images();
        let image = keep(&images, "6.1-amd64", "x86_64").unwrap();
        let mut changed = fs::read(&image.path).unwrap();
        *changed.last_mut().unwrap() ^= 1;
        fs::write(&image.path, changed).unwrap();
        let error = images.find("6.1", "x86_64").unwrap_err().to_string();
        assert!(error.ends_with("was changed after it was fetched: get it again with 'syscost kernel fetch 6.1-amd64'"), "{error}");
        assert_eq!(keep(&images, "6.1-amd64", "x86_64").unwrap(), image);
        assert_eq!(images.find("6.1", "x86_64").unwrap(), image);
    }

    #[test]
    fn only_kernels_of_the_architecture_are_kept() {
        let (_keep, images) = images();
        let file = images.root.join(".kernel");
        let error = |contents: &[u8], release: &str| {
            fs::write(&file, contents).unwrap();
            images
                .keep(&file, facts(release, "x86_64"))
                .unwrap_err()
                .to_string()
        };
        let none = error(b"#!/bin/sh\n", "6.1");
        assert!(
            none.ends_with(".kernel is not a kernel image (bzImage, or Image for arm64)"),
            "{none}"
        );
        assert_eq!(
            error(&least_image("aarch64"), "6.1"),
            "the kernel is for aarch64"
        );
        assert_eq!(error(&least_image("x86_64"), "../6.1"), "no release");
        assert!(images.names().is_empty());
    }
}
