//! The environment of a seccomp profile: what its file says, and the filter of the profile that its name has, `seccomp:FILE`.

use super::Environment;
use crate::kernel::host::release;
use crate::kernel::{Sources, open};
use crate::seccomp::{Filter, Machine, compile};
use anyhow::{Context, Result};
use std::io::Read;
use std::path::Path;

/// Bytes of a profile; Docker's has some 15 KB.
const LONGEST: u64 = 1 << 20;

impl Environment {
    /// Whether its name says which file's kernel it boots, or which profile's filter it installs.
    pub(super) fn takes_file(&self) -> bool {
        self.run.iter().any(|word| ["{kernel}", "{filter}"].iter().any(|hole| word.contains(hole)))
    }

    /// The environment that the file in a name makes of this one: a profile's, or that of a kernel image.
    pub(super) fn for_file(self, path: &Path) -> Result<Environment> {
        let Some(of) = self.of_profile.clone() else { return self.for_image(path) };
        let filter = filter(path).with_context(|| path.display().to_string())?;
        let about = format!("The filter of {} has {}.", path.display(), filter.about);
        let misleads = of.misleads.into_iter().chain([about]).collect();
        Ok(Environment { title: of.title, what: of.what, run: of.run, misleads, filter: Some(filter), ..self })
    }

    /// The filter for the launcher, in the hole `{filter}`.
    pub(super) fn filter_argument(&self) -> String {
        self.filter.as_ref().map(|filter| format!("program={}", filter.hex())).unwrap_or_default()
    }

    /// Why a program could not be started, with the calls that a filter takes from it.
    pub fn explained(&self, why: String) -> String {
        let refused = self.filter.as_ref().map(Filter::refused).unwrap_or_default();
        match refused.is_empty() {
            true => why,
            false => format!("{why} (the filter does not allow {}, which the probe needs)", refused.join(", ")),
        }
    }
}

fn filter(path: &Path) -> Result<Filter> {
    let mut text = String::new();
    open::regular(path)?.take(LONGEST).read_to_string(&mut text)?;
    compile(&text, Machine { architecture: std::env::consts::ARCH, kernel: kernel() })
}

/// The first two numbers of this kernel's version.
fn kernel() -> (u32, u32) {
    let release = release(&Sources::default()).unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::NATIVE;
    use super::*;
    use std::fs;

    fn find(text: &str) -> Result<Environment> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile.json");
        fs::write(&path, text).unwrap();
        Environment::find(&format!("seccomp:{}", path.display()))
    }

    #[test]
    fn a_profile_in_the_name_becomes_the_filter() {
        let plain = Environment::find("seccomp").unwrap();
        assert_eq!((&plain.filter, plain.explained("no".into()).as_str()), (&None, "no"));
        let found = find(r#"{"defaultAction": "SCMP_ACT_ALLOW"}"#).unwrap();
        assert!(found.run.contains(&"{filter}".to_string()) && found.what != plain.what);
        assert!(found.filter_argument().starts_with("program="), "{}", found.filter_argument());
        assert!(found.misleads.last().unwrap().contains("profile.json has "), "{:?}", found.misleads);
        assert_eq!(found.explained("no".into()), "no");
        let strict = find(r#"{"defaultAction": "SCMP_ACT_ERRNO"}"#).unwrap().explained("no".into());
        assert!(strict.starts_with("no (the filter does not allow execve, "), "{strict}");
    }

    #[test]
    fn what_is_no_profile_and_what_takes_none_says_so() {
        let error = |found: Result<Environment>| format!("{:#}", found.unwrap_err());
        assert!(error(find("[]")).ends_with("profile.json: it is no seccomp profile: it has no 'defaultAction'"));
        assert!(error(Environment::find("seccomp:/no/such")).contains("/no/such: No such file"));
        assert!(error(Environment::find(&format!("{NATIVE}:/x"))).starts_with("there is no environment"));
    }
}
