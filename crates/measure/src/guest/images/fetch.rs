//! Gets kernels from Debian packages: which package, from which suite, and the kernel out of it.

use super::apt::Apt;
use super::packages::{Package, from_madison, has_kernel, meant, series};
use super::sources::Suites;
use super::{Facts, Image, Images};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use sys::lock::Locked;
use tempfile::TempDir;

#[derive(Clone, Copy)]
pub struct Architecture {
    pub debian: &'static str,
    pub machine: &'static str,
}

pub const ARCHITECTURES: [Architecture; 2] = [
    Architecture {
        debian: "amd64",
        machine: "x86_64",
    },
    Architecture {
        debian: "arm64",
        machine: "aarch64",
    },
];

impl Architecture {
    pub fn find(name: &str) -> Option<Architecture> {
        ARCHITECTURES
            .into_iter()
            .find(|one| one.debian == name || one.machine == name)
    }
}

pub struct Mirror<'a> {
    images: &'a Images,
    architecture: Architecture,
    apt: Apt,
    pub packages: Vec<Package>,
    pub unread: Vec<String>,
    has_all: bool,
    tell: &'a dyn Fn(&str),
    /// The lock is released after the directory is removed.
    _directory: TempDir,
    _lock: Option<Locked>,
}

impl<'a> Mirror<'a> {
    /// `tell` gets what is being done.
    pub fn open(
        images: &'a Images,
        architecture: Architecture,
        tell: &'a dyn Fn(&str),
    ) -> Result<Mirror<'a>> {
        let (directory, lock) = images.begin()?;
        let apt = Apt::new(directory.path(), architecture.debian)?;
        let mut mirror = Mirror {
            images,
            architecture,
            apt,
            packages: Vec::new(),
            unread: Vec::new(),

            has_all: false,
            tell,
            _directory: directory,
            _lock: lock,
        };
        mirror.read(Suites::Small)?;
        Ok(mirror)
    }

    fn read(&mut self, suites: Suites) -> Result<()> {
        (self.tell)(match suites {
            Suites::Small => "reading package lists: security, backports, experimental",
            Suites::Large => "reading package lists: releases (about 10 MB each)",
        });
        self.unread = self.apt.update(suites)?;
        let pattern = format!(
            "^linux-(image|binary)-[0-9].*{}(-unsigned)?$",
            self.architecture.debian
        );
        let names = self.apt.query(&["search", "--names-only", &pattern])?;
        let names: Vec<&str> = names
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| has_kernel(name, self.architecture.debian))
            .collect();
        self.has_all = suites == Suites::Large;
        if !names.is_empty() {
            let listed = self.apt.query(&[&["madison"], names.as_slice()].concat())?;
            self.packages = from_madison(&listed, self.architecture.debian);
        }
        Ok(())
    }

    pub fn all(&mut self) -> Result<&[Package]> {
        if !self.has_all {
            self.read(Suites::Large)?;
        }
        let none = || {
            format!(
                "the mirror has no kernel for {}: {}",
                self.architecture.debian,
                self.unread.join("; ")
            )
        };
        ensure!(!self.packages.is_empty(), none());
        Ok(&self.packages)
    }

    pub fn find(&mut self, wanted: &str) -> Result<Option<Package>> {
        let debian = self.architecture.debian;
        if meant(&self.packages, wanted, debian).is_none() {
            self.all()?;
        }
        Ok(meant(&self.packages, wanted, debian).cloned())
    }

    pub fn served(&self) -> String {
        series(&self.packages).join(", ")
    }

    pub fn fetch(&self, package: &Package) -> Result<Image> {
        if let Some(image) = self.images.unchanged(&package.release) {
            (self.tell)(&format!("{} is already here", package.release));
            return Ok(image);
        }
        (self.tell)(&format!(
            "getting {} {} from {}",
            package.name, package.version, package.suite
        ));
        let files = self
            .apt
            .unpack(&package.name, &package.version, &PATTERNS)?;
        let kernel = kernel(&files, &package.release)
            .with_context(|| format!("{} has no kernel", package.name))?;
        let facts = Facts {
            release: package.release.clone(),
            architecture: self.architecture.machine.to_string(),
            package: package.name.clone(),
            version: package.version.clone(),
            suite: package.suite.clone(),
            ..Facts::default()
        };
        let image = self.images.keep(&kernel, facts)?;
        fs::remove_file(kernel)?;
        Ok(image)
    }
}

const PATTERNS: [&str; 2] = ["./boot/vmlinuz-*", "./usr/lib/modules/*/vmlinuz"];

fn kernel(files: &Path, release: &str) -> Option<PathBuf> {
    [
        format!("boot/vmlinuz-{release}"),
        format!("usr/lib/modules/{release}/vmlinuz"),
    ]
    .iter()
    .map(|place| files.join(place))
    .find(|path| path.is_file())
}
