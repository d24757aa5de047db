//! The kernels of an atlas: images that were fetched before, and those of the mirror. Images that are fetched only for an atlas are
//! removed when this is dropped.

use crate::kernel::note_unread;
use crate::messages::note;
use analysis::atlas::Releases;
use anyhow::{Context, Result};
use measure::guest::images::{Architecture, Facts, Image, Images, Mirror};
use measure::runner::Interrupt;
use model::release::newest_first;
use std::cell::RefCell;
use std::collections::BTreeSet;

pub struct Source<'a> {
    images: &'a Images,
    mirrors: Vec<(Architecture, Mirror<'a>)>,
    fetched: RefCell<Vec<String>>,
}

impl<'a> Source<'a> {
    /// Images that were fetched before and, unless `is_local`, those that the mirror serves for `architectures`. If the mirror cannot
    /// be read, prints a note with the reason.
    pub fn open(
        images: &'a Images,
        architectures: &[Architecture],
        interrupt: &Interrupt,
        is_local: bool,
    ) -> Source<'a> {
        let mut mirrors = Vec::new();
        let remote = if is_local { &[] } else { architectures };
        for architecture in remote {
            let opened = Mirror::open(images, *architecture, &note::<str>);
            match opened.and_then(|mut mirror| mirror.all().map(drop).map(|()| mirror)) {
                Ok(mirror) => {
                    note_unread(&mirror);
                    mirrors.push((*architecture, mirror));
                }
                Err(_) if interrupt.is_set() => {}
                Err(why) => note(&format_args!(
                    "only kernels that were fetched already are used: {why:#}"
                )),
            }
        }
        Source {
            images,
            mirrors,
            fetched: RefCell::default(),
        }
    }

    /// Newest first.
    pub fn offered(&mut self, architectures: &[Architecture], releases: &Releases) -> Vec<String> {
        let mut all = BTreeSet::new();
        for Image { facts, .. } in self.images.all() {
            all.insert((facts.release, facts.architecture));
        }
        for (architecture, mirror) in &mut self.mirrors {
            for package in mirror.all().unwrap_or_default() {
                all.insert((package.release.clone(), architecture.machine.to_string()));
            }
        }
        let mut all: Vec<String> = all
            .into_iter()
            .filter(|(release, machine)| {
                architectures.iter().any(|one| one.machine == *machine) && releases.have(release)
            })
            .map(|(release, _)| release)
            .collect();
        all.sort_by(|a, b| newest_first(b, a).then_with(|| a.cmp(b)));
        all
    }

    /// Fetched if it is not here.
    pub fn get(&self, release: &str) -> Result<Facts> {
        if let Some(facts) = self.facts(release) {
            return Ok(facts);
        }
        let offer = self.mirrors.iter().find_map(|(_, mirror)| {
            let mut packages = mirror.packages.iter();
            Some((mirror, packages.find(|one| one.release == release)?))
        });
        let (mirror, package) =
            offer.context("it has not been fetched, and the mirror does not have it")?;
        mirror.fetch(package)?;
        self.fetched.borrow_mut().push(release.to_string());
        self.facts(release)
            .context("it was fetched, but is gone now")
    }

    fn facts(&self, release: &str) -> Option<Facts> {
        self.images
            .all()
            .into_iter()
            .map(|image| image.facts)
            .find(|facts| facts.release == release)
    }
}

impl Drop for Source<'_> {
    fn drop(&mut self) {
        for release in self.fetched.borrow().iter() {
            // One that cannot be removed is listed by `kernel list`.
            let _ = self.images.remove(release);
        }
    }
}
