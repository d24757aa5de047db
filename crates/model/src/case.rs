//! Cases: the rows of tables.

use super::parameter_value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// An operation (or, with a language, a snippet) in an environment with its parameters.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Case {
    /// The operation's id, e.g. `file.lstat`; for a snippet its source text, which may be empty.
    pub operation: String,
    /// The name that a study or the command line gives the case; tables show it instead of the id.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The language of a snippet; null for an operation of the native probe.
    #[schemars(length(min = 1))]
    pub language: Option<String>,
    /// A snippet's code at file scope; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prelude: String,
    /// A snippet's untimed set-up; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub setup: String,
    /// How the probe is built and started, e.g. `native`; with `--versus-probe` the other probe's file, with `--tmpdir` the directory.
    #[schemars(length(min = 1))]
    pub environment: String,
    /// The parameters that were asked for.
    #[serde(default)]
    pub params: BTreeMap<String, u64>,
    /// The parameters that were left out, with the operation's defaults.
    #[serde(default)]
    pub defaults: BTreeMap<String, u64>,
}

/// A case in documents.
#[derive(Serialize, JsonSchema)]
#[serde(remote = "Case")]
pub struct ShownCase {
    /// Id of the operation, or text of the snippet.
    operation: String,
    /// The name given by a study or on the command line.
    name: Option<String>,
    /// Language of a snippet.
    language: Option<String>,
    /// How the probe is built and started.
    environment: String,
    /// All parameters, defaults included.
    #[serde(getter = "Case::effective_params")]
    params: BTreeMap<String, u64>,
}

/// A loop without a body. Every run measures this and the three operations below as baselines.
pub const EMPTY_LOOP: &str = "call.empty_loop";
/// A call of an empty function.
pub const EMPTY_CALL: &str = "call.direct";
/// The reference system call: it does the least, on every system.
pub const REFERENCE: &str = "id.getppid";
/// The environment of programs that are built and started as the tool's own.
pub const NATIVE: &str = "native";
/// The environment of native cases that are measured once more, as the control of other environments.
pub const CONTROL: &str = "native (again)";
/// Work in user mode only, about as long as a system call.
pub const SPIN: &str = "call.spin";

/// Cheap operations that every run measures, half in user mode and half in the kernel: what they all share is the machine's
/// speed. They need no set-up and no device.
pub const PANEL: [&str; 12] = [
    // In user mode.
    EMPTY_LOOP,
    EMPTY_CALL,
    SPIN,
    "sync.mutex",
    // In the kernel.
    REFERENCE,
    "id.umask",
    "id.uname",
    "file.lstat",
    "fd.dup_close",
    "io.read_zero",
    "time.clock_gettime_raw",
    "signal.sigprocmask",
];
/// The first ones stay in user mode.
pub const PANEL_IN_USER_MODE: usize = 4;

/// How many threads or processes run an operation at the same time: a parameter of each.
pub const THREADS: &str = "threads";
/// Whether they all use the same objects.
pub const SHARED: &str = "shared";
/// How many bytes of other work displace what a call left in the caches, before each call. Calls are then timed one by one; 0
/// displaces nothing.
pub const COLD: &str = "cold";

impl Case {
    /// An operation in the native environment, with its default parameters.
    pub fn native(operation: &str) -> Case {
        Case {
            operation: operation.to_string(),
            environment: "native".to_string(),
            ..Case::default()
        }
    }

    pub fn snippet(language: &str, body: &str) -> Case {
        Case {
            language: Some(language.to_string()),
            ..Case::native(body)
        }
    }

    pub fn in_environment(&self, environment: &str) -> Case {
        Case {
            environment: environment.to_string(),
            ..self.clone()
        }
    }

    /// Whether its code, or its operation's name, contains a text.
    pub fn code_contains(&self, text: &str) -> bool {
        [&self.operation, &self.setup, &self.prelude]
            .iter()
            .any(|code| code.contains(text))
    }

    pub fn is_plain(&self, operation: &str) -> bool {
        self.operation == operation && self.params.is_empty() && self.language.is_none()
    }

    pub fn is_in_panel(&self) -> bool {
        PANEL.iter().any(|operation| self.is_plain(operation))
    }

    /// Without the name given by a study.
    pub fn nameless(&self) -> Case {
        Case {
            name: None,
            ..self.clone()
        }
    }

    pub fn same_work(&self, other: &Case) -> bool {
        self.nameless() == other.nameless()
    }

    /// Its calls find caches without what they used before.
    pub fn is_displaced(&self) -> bool {
        self.cold() > Some(0)
    }

    /// Neither threads nor single calls change which system calls are made.
    pub fn alone(&self) -> Case {
        let mut case = self.warm();
        case.params
            .retain(|name, _| name != THREADS && name != SHARED);
        case
    }

    /// Bytes; `None` if calls are timed in batches, warm.
    pub fn cold(&self) -> Option<u64> {
        if self.language.is_some() {
            return None;
        }
        self.params.get(COLD).copied()
    }

    /// Whether it is the empty loop of a language or of the probe, warm or cold.
    pub fn is_empty_loop(&self) -> bool {
        match self.language {
            Some(_) => self.operation.is_empty(),
            None => self.operation == EMPTY_LOOP && self.params.keys().all(|name| name == COLD),
        }
    }

    pub fn warm(&self) -> Case {
        let mut case = self.clone();
        case.params
            // In a snippet, `cold` is a parameter of its own: snippets have no cold calls.
            .retain(|name, _| name != COLD || self.language.is_some());
        case
    }

    pub fn effective_params(&self) -> BTreeMap<String, u64> {
        self.all_params()
            .map(|(name, value)| (name.to_string(), value))
            .collect()
    }

    /// Each parameter once, in no particular order. If a parameter is both given and a default, the default wins.
    pub fn all_params(&self) -> impl Iterator<Item = (&str, u64)> + Clone {
        self.params
            .iter()
            .filter(|(name, _)| !self.defaults.contains_key(*name))
            .chain(&self.defaults)
            .map(|(name, value)| (name.as_str(), *value))
    }
}

/// `file.lstat depth=4`
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.language) {
            (Some(name), _) => write!(f, "{name}")?,
            (None, None) => write!(f, "{}", self.operation)?,
            (None, Some(language)) => write!(f, "{language}:{}", one_line(&self.operation))?,
        }
        for (name, value) in &self.params {
            write!(f, " {name}={}", parameter_value(name, *value))?;
        }
        Ok(())
    }
}

/// The first line, followed by `...` if there are more.
fn one_line(body: &str) -> String {
    let body = body.trim();
    match body.split_once('\n') {
        Some((first, _)) => format!("{} ...", first.trim_end()),
        None => body.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shortened_only_where_exact() {
        let mut case = Case::native("io.read_zero");
        for (value, text) in [
            (4096, "4K"),
            (1 << 20, "1M"),
            (1000, "1000"),
            (0, "0"),
            (1, "1"),
        ] {
            case.params.insert("size".into(), value);
            assert_eq!(case.to_string(), format!("io.read_zero size={text}"));
        }
        case.params = [("rss".into(), 4096), ("size".into(), 4096)].into();
        assert_eq!(
            case.to_string(),
            "io.read_zero rss=4096 size=4K",
            "4096 MiB are not 4 KiB"
        );
    }
}
