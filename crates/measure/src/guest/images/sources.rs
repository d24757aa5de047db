//! The machine's package sources of Debian's archive, to ask the same mirror for other suites.
//! Pure. sources.list(5) documents both formats.

use itertools::Itertools;

#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    options: Vec<(String, String)>,
}

const RELEASES: [&str; 4] = ["bullseye", "bookworm", "trixie", "forky"];
const ALIASES: [&str; 6] = [
    "oldoldstable",
    "oldstable",
    "stable",
    "testing",
    "unstable",
    "sid",
];
const ADDITIONS: [&str; 5] = [
    "-security",
    "/updates",
    "-updates",
    "-backports",
    "-proposed-updates",
];
const SECURITY: [&str; 2] = ["-security", "/updates"];
const REPLACED: [&str; 11] = [
    "types",
    "uris",
    "suites",
    "components",
    "architectures",
    "arch",
    "languages",
    "lang",
    "targets",
    "target",
    "enabled",
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Suites {
    /// Security, backports and experimental: a few hundred kB each, with most kernels.
    Small,
    Large,
}

impl Suites {
    fn names(self) -> (Vec<String>, Vec<String>) {
        fn with(addition: &str) -> Vec<String> {
            RELEASES
                .iter()
                .map(move |release| format!("{release}{addition}"))
                .collect()
        }

        match self {
            Suites::Small => (
                [with("-backports"), vec!["experimental".into()]].concat(),
                with("-security"),
            ),
            Suites::Large => ([with(""), vec!["sid".into()]].concat(), Vec::new()),
        }
    }
}

impl Source {
    /// Those of Debian's archive in a file, whose ending gives its format.
    pub fn all(name: &str, text: &str) -> Vec<Source> {
        let all = if name.ends_with(".sources") {
            stanzas(text)
        } else {
            text.lines().filter_map(of_line).collect()
        };
        all.into_iter()
            .filter_map(source)
            .filter(Source::is_debian)
            .collect()
    }

    fn is_debian(&self) -> bool {
        self.components.iter().any(|component| component == "main")
            && self.suites.iter().any(|suite| {
                let base = ADDITIONS
                    .iter()
                    .find_map(|addition| suite.strip_suffix(addition))
                    .unwrap_or(suite);
                RELEASES.contains(&base) || ALIASES.contains(&base)
            })
    }

    /// `None` if this archive has none of `suites`.
    pub fn stanza(&self, suites: Suites, architecture: &str) -> Option<String> {
        fn is_security(suite: &str) -> bool {
            SECURITY.iter().any(|addition| suite.ends_with(addition))
        }

        let (archive, security) = suites.names();
        let serves = |kind: bool| self.suites.iter().any(|suite| is_security(suite) == kind);
        let asked = [
            serves(false).then_some(archive),
            serves(true).then_some(security),
        ]
        .into_iter()
        .flatten()
        .flatten()
        .join(" ");
        if asked.is_empty() {
            return None;
        }
        let mut stanza = format!(
            "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\nArchitectures: {architecture}\n",
            self.uris.join(" "),
            asked
        );
        self.options
            .iter()
            .for_each(|(name, value)| stanza += &format!("{name}: {value}\n"));
        Some(stanza + "\n")
    }
}

fn is_kept(name: &str) -> bool {
    !REPLACED.contains(&name.to_ascii_lowercase().as_str())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_string).collect()
}

type Field = (String, String);

/// `deb [NAME=VALUE ...] URI SUITE COMPONENT...`
fn of_line(line: &str) -> Option<Vec<Field>> {
    let rest = line
        .split('#')
        .next()?
        .trim()
        .strip_prefix("deb")?
        .strip_prefix(char::is_whitespace)?
        .trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => ("", rest),
    };
    let (uri, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let (suite, components) = rest
        .trim_start()
        .split_once(char::is_whitespace)
        .unwrap_or((rest, ""));
    let own = [
        ("types", "deb"),
        ("uris", uri),
        ("suites", suite),
        ("components", components),
    ];
    let options = options
        .split_whitespace()
        .filter_map(|option| option.split_once('='));
    // A list is separated by commas here and by spaces in the other format.
    Some(
        own.into_iter()
            .chain(options)
            .map(|(name, value)| (name.into(), value.replace(',', " ")))
            .collect(),
    )
}

fn stanzas(text: &str) -> Vec<Vec<Field>> {
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    text.split(|line| line.trim().is_empty())
        .filter_map(of_stanza)
        .collect()
}

fn of_stanza(lines: &[&str]) -> Option<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    for line in lines {
        match (line.starts_with(char::is_whitespace), fields.last_mut()) {
            (true, Some((_, value))) => *value += &format!("\n{line}"),
            _ => {
                let (name, value) = line.split_once(':')?;
                fields.push((name.trim().to_string(), value.trim().to_string()));
            }
        }
    }
    Some(fields)
}

fn source(mut fields: Vec<Field>) -> Option<Source> {
    let field = |name: &str| {
        fields
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
    };
    let list = |name: &str| {
        field(name)
            .map(|(_, value)| words(value))
            .unwrap_or_default()
    };
    let off = field("enabled").is_some_and(|(_, value)| {
        ["no", "false", "0"].contains(&value.to_ascii_lowercase().as_str())
    });
    let is_binary = list("types").iter().any(|kind| kind == "deb") && !off;
    let (uris, suites, components) = (list("uris"), list("suites"), list("components"));
    fields.retain(|(name, _)| is_kept(name));
    (is_binary && !uris.is_empty()).then_some(Source {
        uris,
        suites,
        components,
        options: fields,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read() {
        let of_lines = Source::all(
            "sources.list",
            "# a comment\n\
             deb http://mirror.test/debian bookworm main contrib # mine\n\
             deb-src http://mirror.test/debian bookworm main\n\
             deb [arch=amd64 signed-by=/k.gpg check-valid-until=no] http://mirror.test/security stable-security main\n\
             deb http://other.test/apt bookworm-pgdg main\n\
             deb http://other.test/linux/debian bookworm stable\n\
             deb\n deb [broken http://x y z\n",
        );
        let of_stanzas = Source::all(
            "debian.sources",
            "Types: deb deb-src\n# a comment\nURIs: http://mirror.test/debian\nSuites: bookworm\n bookworm-updates\n\
             Components: main contrib\n\n\n\
             Types: deb\nURIs: http://mirror.test/security\nSuites: stable-security\nComponents: main\nArchitectures: i386\n\
             signed-by:\n -----BEGIN KEY-----\n .\n abc\nCheck-Valid-Until: no\n\n\
             Enabled: no\nTypes: deb\nURIs: http://off.test/debian\nSuites: sid\nComponents: main\n\n\
             Types: deb\nURIs: http://other.test\nSuites: nodistro\nComponents: main\n",
        );
        for all in [&of_lines, &of_stanzas] {
            let uris = all.iter().flat_map(|source| source.uris.clone());
            assert_eq!(
                uris.collect::<Vec<_>>(),
                ["http://mirror.test/debian", "http://mirror.test/security"]
            );
        }
        let large = of_lines[0].stanza(Suites::Large, "arm64").unwrap();
        let expected = "Types: deb\nURIs: http://mirror.test/debian\nSuites: bullseye bookworm trixie forky sid\n\
                        Components: main\nArchitectures: arm64\n\n";
        assert_eq!(large, expected);
        assert_eq!(
            of_stanzas[0].stanza(Suites::Large, "arm64").unwrap(),
            expected
        );
        assert_eq!(of_lines[1].stanza(Suites::Large, "amd64"), None);
        let security = of_stanzas[1].stanza(Suites::Small, "amd64").unwrap();
        assert!(
            security.contains("Suites: bullseye-security bookworm-security trixie-security"),
            "{security}"
        );
        assert!(
            security.ends_with(
                "signed-by: \n -----BEGIN KEY-----\n .\n abc\nCheck-Valid-Until: no\n\n"
            ),
            "{security}"
        );
        let options = of_lines[1].stanza(Suites::Small, "amd64").unwrap();
        assert!(
            options.ends_with("Architectures: amd64\nsigned-by: /k.gpg\ncheck-valid-until: no\n\n"),
            "{options}"
        );
    }

    #[test]
    fn one_archive_may_serve_both() {
        let both =
            "Types: deb\nURIs: http://m/d\nSuites: trixie trixie-security\nComponents: main\n";
        let stanza = Source::all("x.sources", both)[0]
            .stanza(Suites::Small, "amd64")
            .unwrap();
        assert!(
            stanza.contains("trixie-backports forky-backports experimental bullseye-security"),
            "{stanza}"
        );
    }
}
