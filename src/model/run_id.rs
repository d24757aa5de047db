//! What distinguishes one run from another, and the name of its file among those of many hosts. Pure.

use super::Run;

const LONGEST: usize = 64;

/// Stands for a host that is not named.
const UNKNOWN: &str = "anonymous";

impl Run {
    /// `HOST-START-SEED`. A run of an unknown host has the microseconds that it took as well, since many hosts may start at
    /// the same second with the same seed.
    pub fn id(&self) -> String {
        match (&self.host.name, &self.source) {
            (None, None) => format!("{}-{:.0}", self.stem(), self.elapsed_s * 1e6),
            _ => self.stem(),
        }
    }

    /// `HOST-START-SEED`: a file's name without its extension, harmless in every shell. Not unique for unknown hosts.
    pub fn stem(&self) -> String {
        let title = || self.source.as_ref().map(|source| &source.title);
        let host = self.host.name.as_ref().or_else(title).filter(|name| !name.is_empty());
        format!("{}-{}-{}", host.map_or(UNKNOWN.to_string(), |name| harmless(name)), self.started_unix_s, self.seed)
    }
}

/// The name in letters, digits, `.`, `_` and `-` of ASCII, `_` in place of others; never hidden, never an option.
fn harmless(name: &str) -> String {
    let kept = |(i, c): (usize, char)| match c {
        '.' | '-' if i == 0 => '_',
        c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => c,
        _ => '_',
    };
    name.chars().take(LONGEST).enumerate().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Host, Source};

    fn run(host: Option<&str>) -> Run {
        let host = Host { name: host.map(str::to_string), ..Host::default() };
        Run { host, started_unix_s: 17, seed: 5, elapsed_s: 2.5, ..Run::default() }
    }

    #[test]
    fn names_of_hosts_are_made_harmless() {
        let stem = |name: &str| run(Some(name)).stem();
        assert_eq!(stem("node-7.example"), "node-7.example-17-5");
        assert_eq!(stem("../a b\n'\"$(x)ü"), "_._a_b_____x__-17-5");
        assert_eq!((stem("-rf"), stem("")), ("_rf-17-5".into(), "anonymous-17-5".into()));
        assert_eq!(stem(&"h".repeat(300)).len(), 64 + 5);
    }

    #[test]
    fn unknown_hosts_are_told_apart_by_what_their_runs_took() {
        assert_eq!([run(None).id(), run(Some("a")).id()], ["anonymous-17-5-2500000", "a-17-5"]);
        let source = Source { title: "An article".into(), note: String::new() };
        assert_eq!(Run { source: Some(source), ..run(None) }.id(), "An_article-17-5");
    }
}
