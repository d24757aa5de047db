//! Which package has the kernel of which release. Pure.
//!
//! Debian's names: `linux-image-RELEASE`, from 6.19 on `linux-binary-RELEASE` with the kernel and `linux-image-RELEASE` that only
//! depends on it; `-unsigned` before it is signed for Secure Boot, which adds a signature and changes nothing else. Packages
//! whose version has no third part (`linux-image-6.1-amd64`) hold nothing.

use itertools::Itertools;
use model::release::{is_meant, newest_first};
use regex_lite::Regex;
use std::collections::BTreeMap;

#[derive(Clone)]
pub struct Package {
    pub name: String,
    pub release: String,
    pub version: String,
    pub suite: String,
}

/// The place of its form among the others, the best first, and its release.
fn kernel_of<'a>(name: &'a str, architecture: &str) -> Option<(usize, &'a str)> {
    let pattern = format!(
        r"^linux-(binary|image)-((\d[^.]*\.\d+(?:[.+]|-rc).*?)-(?:cloud-)?{architecture})(-unsigned)?$"
    );
    let parts = Regex::new(&pattern).ok()?.captures(name)?;
    let form = 2 * usize::from(&parts[1] == "image") + usize::from(parts.get(4).is_some());
    let release = parts.get(2)?.as_str();
    (!parts[3].ends_with("-rt")).then_some((form, release))
}

pub fn has_kernel(name: &str, architecture: &str) -> bool {
    kernel_of(name, architecture).is_some()
}

/// From lines `NAME | VERSION | URI SUITE/COMPONENT ARCHITECTURE Packages` of `apt-cache madison`:
/// one package for each release, the newest first.
pub fn from_madison(text: &str, architecture: &str) -> Vec<Package> {
    let mut best: BTreeMap<String, (usize, Package)> = BTreeMap::new();
    for (form, package) in text
        .lines()
        .filter_map(|line| from_line(line, architecture))
    {
        let better = best
            .get(&package.release)
            .is_none_or(|(other, _)| form < *other);
        if better {
            best.insert(package.release.clone(), (form, package));
        }
    }
    let mut all: Vec<Package> = best.into_values().map(|(_, package)| package).collect();
    all.sort_by(|a, b| newest_first(&a.release, &b.release));
    all
}

fn from_line(line: &str, architecture: &str) -> Option<(usize, Package)> {
    let mut columns = line.split('|').map(str::trim);
    let (name, version, place) = (columns.next()?, columns.next()?, columns.next()?);
    let suite = place.split_whitespace().nth(1)?.rsplit_once('/')?.0;
    let (form, release) = kernel_of(name, architecture)?;
    let [name, release, version, suite] = [name, release, version, suite].map(str::to_string);
    Some((
        form,
        Package {
            name,
            release,
            version,
            suite,
        },
    ))
}

/// The release of that name, else the newest for virtual machines, else the newest.
pub fn meant<'a>(packages: &'a [Package], wanted: &str, architecture: &str) -> Option<&'a Package> {
    let cloud = format!("-cloud-{architecture}");
    let meant: Vec<&Package> = packages
        .iter()
        .filter(|package| is_meant(wanted, &package.release))
        .collect();
    let exact = meant.iter().find(|package| package.release == wanted);
    exact
        .or_else(|| {
            meant
                .iter()
                .find(|package| package.release.ends_with(&cloud))
        })
        .or(meant.first())
        .copied()
}

pub fn series(packages: &[Package]) -> Vec<String> {
    let mut all: Vec<String> = packages
        .iter()
        .map(|package| package.release.split(['.', '-', '+']).take(2).join("."))
        .collect();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> String {
        let lines = [
            (
                "linux-image-6.1.0-56-cloud-amd64-unsigned",
                "bookworm-security",
            ),
            ("linux-image-6.1.0-56-cloud-amd64", "bookworm-security"),
            ("linux-image-6.1.0-56-amd64", "bookworm-security"),
            ("linux-image-6.1.0-56-rt-amd64", "bookworm-security"),
            ("linux-image-6.1.0-57-amd64-dbg", "bookworm-security"),
            ("linux-image-6.1-cloud-amd64", "bookworm-backports"),
            ("linux-image-6.1.0-58-amd64", "bookworm-security"),
            ("linux-image-7.3.4+deb13-cloud-amd64", "trixie-backports"),
            ("linux-binary-7.3.4+deb13-cloud-amd64", "trixie-backports"),
            ("linux-image-7.4-rc2-cloud-amd64-unsigned", "experimental"),
            ("linux-image-cloud-amd64", "bookworm"),
        ];
        lines
            .map(|(name, suite)| {
                format!("{name} | 1-1 | http://m/debian {suite}/main amd64 Packages\n")
            })
            .concat()
            + "nonsense | x\n"
    }

    #[test]
    fn each_release_has_the_package_that_holds_its_kernel() {
        let all = from_madison(&listed(), "amd64");
        let names: Vec<&str> = all.iter().map(|package| package.name.as_str()).collect();
        let expected = [
            "linux-image-7.4-rc2-cloud-amd64-unsigned",
            "linux-binary-7.3.4+deb13-cloud-amd64",
            "linux-image-6.1.0-58-amd64",
            "linux-image-6.1.0-56-cloud-amd64",
            "linux-image-6.1.0-56-amd64",
        ];
        assert_eq!(names, expected);
        assert_eq!(
            (all[1].suite.as_str(), all[1].version.as_str()),
            ("trixie-backports", "1-1")
        );
        assert_eq!(series(&all), ["7.4", "7.3", "6.1"]);
    }

    #[test]
    fn those_for_virtual_machines_are_preferred() {
        let all = from_madison(&listed(), "amd64");
        let release =
            |wanted: &str| meant(&all, wanted, "amd64").map(|package| package.release.as_str());
        assert_eq!(release("6.1"), Some("6.1.0-56-cloud-amd64"));
        assert_eq!(release("6.1.0-58"), Some("6.1.0-58-amd64"));
        assert_eq!(release("6.1.0-56-amd64"), Some("6.1.0-56-amd64"));
        assert_eq!(release("5.10"), None);
        assert!(from_madison(&listed(), "arm64").is_empty());
    }
}
