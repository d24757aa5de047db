use std::cmp::Ordering;

/// Whether `wanted` names the release: in full, by its beginning up to the end of a number (`6.1` does not name `6.12.3`), or by such a
/// beginning and its end (`6.1-arm64`).
pub fn is_meant(wanted: &str, release: &str) -> bool {
    begins(wanted, release)
        || wanted
            .match_indices('-')
            .any(|(at, _)| begins(&wanted[..at], release) && release.ends_with(&wanted[at..]))
}

fn begins(wanted: &str, release: &str) -> bool {
    fn inside_number(rest: &str) -> bool {
        rest.starts_with(|next: char| next.is_ascii_digit())
    }

    !wanted.is_empty()
        && release
            .strip_prefix(wanted)
            .is_some_and(|rest| !inside_number(rest))
}

/// Numbers by value and the rest as text.
pub fn newest_first(a: &str, b: &str) -> Ordering {
    parts(b).cmp(&parts(a))
}

fn parts(release: &str) -> Vec<(u64, &str)> {
    let mut parts = Vec::new();
    let mut rest = release;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let text = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        parts.push((number.parse().unwrap_or_default(), &after[..text]));
        rest = &after[text..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_where_a_number_ends() {
        let meant = [
            "6.1",
            "6",
            "6.1.0",
            "6.1.0-54",
            "6.1.0-54-cloud-amd64",
            "6.1-amd64",
            "6.1-cloud-amd64",
        ];
        assert!(
            meant
                .iter()
                .all(|wanted| is_meant(wanted, "6.1.0-54-cloud-amd64"))
        );
        let other = [
            "",
            "6.",
            "6.1.0-5",
            "5.10",
            "6.1-arm64",
            "6.1.0-54-cloud-amd64-x",
            "cloud-amd64",
            "-amd64",
        ];
        let wrong: Vec<&&str> = other
            .iter()
            .filter(|wanted| is_meant(wanted, "6.12.0-54-cloud-amd64"))
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(is_meant("6.19", "6.19+deb14-amd64") && !is_meant("6.1", "6.19+deb14-amd64"));
    }

    #[test]
    fn releases_are_ordered_by_their_numbers() {
        let mut all = [
            "6.1.0-9-amd64",
            "6.12.95+deb12-amd64",
            "6.1.0-54-amd64",
            "5.10.0-30-amd64",
            "6.12.95+deb12.1-amd64",
        ];
        all.sort_by(|a, b| newest_first(a, b));
        let expected = [
            "6.12.95+deb12.1-amd64",
            "6.12.95+deb12-amd64",
            "6.1.0-54-amd64",
            "6.1.0-9-amd64",
            "5.10.0-30-amd64",
        ];
        assert_eq!(all, expected);
    }
}
