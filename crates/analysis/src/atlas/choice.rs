//! Which releases an atlas is made of.

use fast_glob::glob_match;

pub struct Releases(pub Vec<String>);

/// In the names of kernels for virtual machines, which are taken by default.
const CLOUD: &str = "-cloud-";

impl Releases {
    /// A glob that matches all of a release, or the version of a kernel for virtual machines; without globs, a kernel for virtual
    /// machines.
    pub fn have(&self, release: &str) -> bool {
        let is_cloud = release.contains(CLOUD);
        if self.0.is_empty() {
            return is_cloud;
        }
        let version = release
            .split_once(CLOUD)
            .map_or(release, |(version, _)| version);
        // `6.12` means all of that series, as `kernel fetch` has it.
        self.0.iter().any(|glob| {
            let series = version
                .strip_prefix(glob.as_str())
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
            // Other builds have to be named in full, so that `6.*` does not take each of a series.
            glob_match(glob, release) && (is_cloud || glob == release)
                || is_cloud && (glob_match(glob, version) || series)
        })
    }

    /// The globs that match none of these releases.
    pub fn unmatched<'a>(&'a self, releases: &[String]) -> Vec<&'a str> {
        self.0
            .iter()
            .filter(|glob| {
                !releases
                    .iter()
                    .any(|release| Releases(vec![glob.to_string()]).have(release))
            })
            .map(String::as_str)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_on_versions_and_releases() {
        fn have(globs: &[&str], release: &str) -> bool {
            Releases(globs.iter().map(ToString::to_string).collect()).have(release)
        }

        let (new, old) = ("6.12.118+deb13-cloud-amd64", "6.1.0-56-cloud-amd64");
        assert!(have(&[], new) && !have(&[], "6.1.0-56-amd64"));
        assert!(
            have(&["6.*"], new)
                && have(&["6.*"], old)
                && have(&["6.12.*"], new)
                && !have(&["6.12.*"], old)
        );
        assert!(
            have(&["6.1"], old)
                && !have(&["6.1"], new)
                && have(&["*-cloud-amd64"], old)
                && have(&[old], old)
        );
        assert!(!have(&["6.*"], "6.1.0-56-amd64") && have(&["6.1.0-56-amd64"], "6.1.0-56-amd64"));
        let asked = Releases(vec!["6.1".into(), "4.*".into()]);
        assert_eq!(asked.unmatched(&[old.to_string()]), ["4.*"]);
    }
}
