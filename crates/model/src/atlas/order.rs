//! How releases follow each other: by series, by the distribution's release that they were built for, by version.

use super::AtlasKernel;
use crate::release::newest_first;
use std::cmp::Ordering;

/// `6.12` of `6.12.118+deb13-cloud-amd64`
pub fn series(release: &str) -> &str {
    let mut ends = release
        .char_indices()
        .filter(|(_, c)| !c.is_ascii_digit())
        .map(|(index, _)| index);
    ends.nth(1).map_or(release, |end| &release[..end])
}

/// `deb13` of `6.12.118+deb13.1-cloud-amd64`; the same kernel built for another release has another compiler. May be empty.
fn build(release: &str) -> &str {
    fn is_digit(c: char) -> bool {
        c.is_ascii_digit()
    }

    let Some(start) = release.find("deb") else {
        return "";
    };
    let end = release[start + 3..]
        .find(|c| !is_digit(c))
        .map_or(release.len(), |end| start + 3 + end);
    &release[start..end]
}

/// Kernels of one series and build are beside each other; builds without such a word are the distribution's own, and the last.
pub fn oldest_first(a: &str, b: &str) -> Ordering {
    fn by_build(release: &str) -> (bool, usize, &str) {
        (
            build(release).is_empty(),
            build(release).len(),
            build(release),
        )
    }

    newest_first(series(b), series(a))
        .then_with(|| by_build(a).cmp(&by_build(b)))
        .then_with(|| newest_first(b, a))
}

pub fn are_alike(a: &str, b: &str) -> bool {
    (series(a), build(a)) == (series(b), build(b))
}

/// The kernel of each series that stands for it, of kernels in order: the newest that is built like that of the next series, or
/// else the last.
pub fn ends<'a>(kernels: &[&'a AtlasKernel]) -> Vec<&'a AtlasKernel> {
    let mut ends: Vec<&AtlasKernel> = Vec::new();
    for of_series in kernels
        .chunk_by(|a, b| series(&a.release) == series(&b.release))
        // From the newest series backwards, because each end depends on that of the next series.
        .rev()
    {
        ends.extend(
            of_series
                .iter()
                .rfind(|kernel| {
                    ends.last()
                        .is_some_and(|end| build(&end.release) == build(&kernel.release))
                })
                .or(of_series.last()),
        );
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_the_first_two_numbers() {
        let all = [
            "6.12.118+deb13-cloud-amd64",
            "6.1.0-56-cloud-amd64",
            "6.1",
            "6",
        ]
        .map(series);
        assert_eq!(all, ["6.12", "6.1", "6.1", "6"]);
        let all = [
            "6.12.115+deb13.1-cloud-amd64",
            "6.1.0-0.deb11.52-cloud-amd64",
            "6.1.0-56",
            "5+deb9",
        ]
        .map(build);
        assert_eq!(all, ["deb13", "deb11", "", "deb9"]);
    }

    #[test]
    fn the_end_of_a_series_is_built_like_that_of_the_next() {
        let mut all = [
            "7.2.13+deb14",
            "6.1.0-56",
            "7.2.12+deb13",
            "6.12.9+deb12",
            "7.2.6+deb13",
            "7.3.4+deb13",
            "6.1.0-0.deb11.52",
            "6.12.11+deb12",
            "6.12.10+deb13",
        ];
        all.sort_by(|a, b| oldest_first(a, b));
        let kernels = all.map(|release| AtlasKernel {
            release: release.into(),
            ..AtlasKernel::default()
        });
        let ends: Vec<&str> = ends(&kernels.iter().collect::<Vec<_>>())
            .iter()
            .map(|end| end.release.as_str())
            .collect();
        assert_eq!(
            ends,
            ["6.1.0-56", "6.12.10+deb13", "7.2.12+deb13", "7.3.4+deb13"]
        );
        assert_eq!(
            all[..4],
            [
                "6.1.0-0.deb11.52",
                "6.1.0-56",
                "6.12.9+deb12",
                "6.12.11+deb12"
            ]
        );
    }
}
