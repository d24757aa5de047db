//! Calls of a command that an environment forbids: they fail there and not natively.

use model::{Contender, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Errors by which filters, namespaces, capabilities and read-only file systems refuse a call.
const REFUSALS: [&str; 5] = ["EPERM", "EACCES", "ENOSYS", "EROFS", "ENETUNREACH"];

/// Calls that an environment refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// The call's name.
    pub call: String,
    /// Why it failed, as the name of an errno.
    pub error: String,
    /// How many of them failed so. None did natively.
    pub calls: u64,
}

/// The most frequent first; none if calls were not counted in both. Programs that start the environment are not the command's.
pub fn refused(base: &Contender, there: &Contender) -> Vec<Refused> {
    let (Ok(base), Ok(there)) = (&base.counted, &there.counted) else {
        return Vec::new();
    };
    let natively = refusals(base, base);
    let mut all: Vec<Refused> = refusals(there, base)
        .into_iter()
        // No second native run was counted: where a call fails so natively too, the number says nothing.
        .filter(|(key, _)| !natively.contains_key(key))
        .map(|((call, error), calls)| Refused {
            call: call.to_string(),
            error: error.to_string(),
            calls,
        })
        .collect();
    all.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.call.cmp(&b.call)));
    all
}

/// By call and errno, of programs that `base` has too.
fn refusals<'a>(profile: &'a Profile, base: &Profile) -> BTreeMap<(&'a str, &'a str), u64> {
    let mut all = BTreeMap::new();
    let groups = profile
        .groups
        .iter()
        .filter(|group| base.groups.iter().any(|other| other.name == group.name));
    for count in groups.flat_map(|group| &group.calls) {
        for (error, calls) in &count.errors {
            if REFUSALS.contains(&error.as_str()) {
                *all.entry((count.call.as_str(), error.as_str()))
                    .or_default() += calls;
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CallCount, ProcessGroup};

    fn contender(groups: &[(&str, &str, &str, u64)]) -> Contender {
        let group = |(name, call, error, calls): &(&str, &str, &str, u64)| ProcessGroup {
            name: name.to_string(),
            calls: vec![CallCount {
                call: call.to_string(),
                calls: *calls,
                errors: BTreeMap::from([(error.to_string(), *calls)]),
                ..CallCount::default()
            }],
            ..ProcessGroup::default()
        };
        Contender {
            command: String::new(),
            parameters: BTreeMap::new(),
            base: None,
            is_control: false,
            environment: None,
            runs: Vec::new(),
            counted: Ok(Profile {
                groups: groups.iter().map(group).collect(),
                ..Profile::default()
            }),
            left_running: Default::default(),
        }
    }

    #[test]
    fn refused_is_what_fails_there_alone() {
        let native = contender(&[("app", "openat", "EACCES", 2), ("app", "stat", "ENOENT", 1)]);
        let boxed = contender(&[
            ("app", "openat", "EACCES", 5),
            ("app", "stat", "ENOENT", 9),
            ("app", "mount", "EPERM", 1),
            ("bwrap", "mount", "EPERM", 7),
        ]);
        let refused_calls = refused(&native, &boxed);
        let shown: Vec<_> = refused_calls
            .iter()
            .map(|one| (one.call.as_str(), one.error.as_str(), one.calls))
            .collect();
        assert_eq!(shown, [("mount", "EPERM", 1)]);
        assert!(refused(&native, &native).is_empty());
    }
}
