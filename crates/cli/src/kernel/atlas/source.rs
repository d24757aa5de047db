//! Where the kernels of an atlas come from: images that were fetched before, and the mirror. What is fetched for an atlas only
//! is removed again when this is dropped.

use crate::messages::Notes;
use analysis::atlas::Releases;
use anyhow::{Context, Result};
use measure::guest::images::{Architecture, Facts, Image, Images, Mirror, Package};
use measure::runner::Interrupt;
use model::release::newest_first;
use std::cell::RefCell;
use std::collections::BTreeSet;

pub struct Source<'a> {
    images: &'a Images,
    mirrors: Vec<(Architecture, Mirror<'a>)>,
    fetched: RefCell<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offered {
    pub release: String,
    pub architecture: String,
}

impl<'a> Source<'a> {
    /// Only what was fetched before.
    pub fn fetched(images: &'a Images) -> Source<'a> {
        Source {
            images,
            mirrors: Vec::new(),
            fetched: RefCell::default(),
        }
    }

    /// Also what the mirror serves for `architectures`, where it can be read; else a note says why not.
    pub fn open(
        images: &'a Images,
        architectures: &[Architecture],
        (interrupt, notes): (&Interrupt, Notes),
        tell: &'a dyn Fn(&str),
    ) -> Source<'a> {
        let mut source = Source::fetched(images);
        for architecture in architectures {
            let opened = Mirror::open(images, *architecture, interrupt, tell);
            match opened.and_then(|mut mirror| mirror.all().map(drop).map(|()| mirror)) {
                Ok(mirror) => {
                    mirror
                        .unread()
                        .iter()
                        .for_each(|why| notes.tell(&format_args!("not read: {why}")));
                    source.mirrors.push((*architecture, mirror));
                }
                Err(_) if interrupt.is_set() => {}
                Err(why) => notes.tell(&format_args!(
                    "only kernels that were fetched already are used: {why:#}"
                )),
            }
        }
        source
    }

    /// The kernels for `architectures` that `releases` ask for, the oldest first.
    pub fn offered(&mut self, architectures: &[Architecture], releases: &Releases) -> Vec<Offered> {
        let mut all: BTreeSet<Offered> = BTreeSet::new();
        for Image { facts, .. } in self.images.all() {
            all.insert(Offered {
                release: facts.release,
                architecture: facts.architecture,
            });
        }
        for (architecture, mirror) in &mut self.mirrors {
            let machine = architecture.machine.to_string();
            let packages = mirror.all().unwrap_or_default().iter();
            all.extend(packages.map(|p| Offered {
                release: p.release.clone(),
                architecture: machine.clone(),
            }));
        }
        let is_for = |kernel: &Offered| {
            architectures
                .iter()
                .any(|one| one.machine == kernel.architecture)
        };
        let mut all: Vec<Offered> = all
            .into_iter()
            .filter(|kernel| is_for(kernel) && releases.have(&kernel.release))
            .collect();
        all.sort_by(|a, b| newest_first(&b.release, &a.release).then_with(|| a.cmp(b)));
        all
    }

    /// The facts about the image of `release`, which is fetched if it is not here.
    pub fn get(&self, release: &str) -> Result<Facts> {
        if let Some(facts) = self.facts(release) {
            return Ok(facts);
        }
        let served = |(_, mirror): &(Architecture, Mirror<'a>)| {
            Some(
                mirror
                    .packages()
                    .iter()
                    .find(|package| package.release == release)?
                    .clone(),
            )
        };
        let found: Option<(&Mirror, Package)> = self
            .mirrors
            .iter()
            .find_map(|one| served(one).map(|package| (&one.1, package)));
        let (mirror, package) =
            found.context("it has not been fetched, and the mirror does not have it")?;
        mirror.fetch(&package)?;
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
