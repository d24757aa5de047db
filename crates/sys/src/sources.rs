//! The files from which facts are read, below one root, so that tests can lay out a machine in a directory.
//!
//! A file that is missing, unreadable or empty is `None`: an unknown fact is an answer, never an error.

use std::fs;
use std::path::{Path, PathBuf};

pub struct Sources {
    root: PathBuf,
    /// `$container`, which container managers set for what they start.
    container: Option<String>,
}

impl Default for Sources {
    fn default() -> Sources {
        Sources {
            root: PathBuf::from("/"),
            container: std::env::var("container").ok(),
        }
    }
}

impl Sources {
    /// A machine in a directory, for tests; nothing comes from this process's environment.
    pub fn below(root: impl Into<PathBuf>) -> Sources {
        Sources {
            root: root.into(),
            container: None,
        }
    }

    /// `None` if `$container` is unset or empty.
    pub fn container_variable(&self) -> Option<&str> {
        self.container.as_deref().filter(|name| !name.is_empty())
    }

    /// A file as text, without blanks and NUL at its ends: files of the device tree end with one.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if text.is_empty() {
            return None;
        }
        Some(text.to_string())
    }

    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.resolve(path)).ok()
    }

    /// The number that is all there is in a file, as in sysfs.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.text(path)?.parse().ok()
    }

    /// `None` if it holds neither 0 nor 1.
    pub fn flag(&self, path: &str) -> Option<bool> {
        match self.text(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// A field of this process's status file, such as `CapEff`.
    pub fn status(&self, field: &str) -> Option<String> {
        self.field("proc/self/status", &format!("{field}:"))
    }

    /// The rest of the first line that begins with `start`.
    pub fn field(&self, path: &str, start: &str) -> Option<String> {
        let text = self.text(path)?;
        let rest = text.lines().find_map(|line| line.strip_prefix(start))?;
        Some(rest.trim().to_string())
    }

    /// The list of CPUs in a file, as `cpu_list` reads it.
    pub fn cpus(&self, path: &str) -> Option<Vec<u32>> {
        cpu_list(&self.text(path)?)
    }

    /// Whether this process has a capability in effect; false if that is not known.
    pub fn has(&self, capability: u32) -> bool {
        let held = self
            .status("CapEff")
            .and_then(|held| u64::from_str_radix(&held, 16).ok())
            .unwrap_or(0);
        held >> capability & 1 == 1
    }

    /// False also if links do not lead to one.
    pub fn exists(&self, path: &str) -> bool {
        self.resolve(path).exists()
    }

    /// The sorted names in a directory; empty if it cannot be read.
    pub fn list(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.resolve(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub fn link(&self, path: &str) -> Option<String> {
        match fs::read_link(self.resolve(path)) {
            Ok(target) => Some(target.to_string_lossy().into_owned()),
            // Another machine's links came as text.
            Err(_) => self.text(path),
        }
    }

    fn resolve(&self, path: &str) -> PathBuf {
        self.root.join(Path::new(path.trim_start_matches('/')))
    }
}

pub mod capability {
    pub const SYS_ADMIN: u32 = 21;
    pub const PERFMON: u32 = 38;
    pub const BPF: u32 = 39;
}

/// Such as `0-2,5`; `None` if it is malformed or empty.
pub fn cpu_list(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        cpus.extend((first <= last).then_some(first..=last)?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::cpu_list;
    use crate::fake::tree;

    #[test]
    fn cpu_lists_have_ranges() {
        assert_eq!(cpu_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(["", "3-1", "x-y", "0,"].map(cpu_list), [const { None }; 4]);
    }

    #[test]
    fn blanks_and_nul_are_cut_and_empty_is_unknown() {
        let (_keep, sources) = tree(&[
            ("a", " x y \n\0"),
            ("b", "\n"),
            ("c", "1\n"),
            ("d", "maybe"),
        ]);
        assert_eq!(sources.text("/a").as_deref(), Some("x y"));
        assert_eq!(sources.text("b"), None);
        assert_eq!(
            (sources.flag("c"), sources.flag("d"), sources.flag("e")),
            (Some(true), None, None)
        );
    }
}
