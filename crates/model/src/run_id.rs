use super::Run;

// File names have 255 bytes at most, and the start, the seed and an ending follow.
const LONGEST: usize = 64;

const UNKNOWN: &str = "unknown";

impl Run {
    /// `HOST-START-SEED`, harmless in every shell.
    pub fn stem(&self) -> String {
        let host = self.host.name.as_ref().filter(|name| !name.is_empty());
        format!(
            "{}-{}-{}",
            host.map_or(UNKNOWN.to_string(), |name| harmless(name)),
            self.started_unix_s,
            self.plan.seed
        )
    }
}

/// Letters, digits, `.`, `_` and `-` of ASCII; never hidden, never an option.
fn harmless(name: &str) -> String {
    name.chars()
        .take(LONGEST)
        .enumerate()
        .map(|(i, c)| match c {
            '.' | '-' if i == 0 => '_',
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => c,
            _ => '_',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Host, Plan};

    fn run(host: Option<&str>) -> Run {
        let host = Host {
            name: host.map(str::to_string),
            ..Host::default()
        };
        Run {
            host,
            started_unix_s: 17,
            plan: Plan {
                seed: 5,
                ..Plan::default()
            },
            ..Run::default()
        }
    }

    #[test]
    fn names_of_hosts_are_made_harmless() {
        fn stem(name: &str) -> String {
            run(Some(name)).stem()
        }

        assert_eq!(stem("node-7.example"), "node-7.example-17-5");
        assert_eq!(stem("../a b\n'\"$(x)ü"), "_._a_b_____x__-17-5");
        assert_eq!(
            (stem("-rf"), stem("")),
            ("_rf-17-5".into(), "unknown-17-5".into())
        );
        assert_eq!(stem(&"h".repeat(300)).len(), 64 + 5);
    }
}
