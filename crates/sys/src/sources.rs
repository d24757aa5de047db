//! Where facts are read: files below one root, so that tests can lay out a machine in a directory.
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
    /// Nothing comes from this process's environment.
    pub fn below(root: impl Into<PathBuf>) -> Sources {
        Sources {
            root: root.into(),
            container: None,
        }
    }

    pub fn container_variable(&self) -> Option<&str> {
        self.container.as_deref().filter(|name| !name.is_empty())
    }

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
        fs::read(self.at(path)).ok()
    }

    pub fn number(&self, path: &str) -> Option<f64> {
        self.text(path)?.parse().ok()
    }

    pub fn flag(&self, path: &str) -> Option<bool> {
        match self.text(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    pub fn status(&self, field: &str) -> Option<String> {
        self.field("proc/self/status", &format!("{field}:"))
    }

    /// What follows `start` in the first line that begins with it.
    pub fn field(&self, path: &str, start: &str) -> Option<String> {
        let text = self.text(path)?;
        let rest = text.lines().find_map(|line| line.strip_prefix(start))?;
        Some(rest.trim().to_string())
    }

    pub fn cpus(&self, path: &str) -> Option<Vec<u32>> {
        cpu_list(&self.text(path)?)
    }

    pub fn has(&self, capability: u32) -> bool {
        let held = self
            .status("CapEff")
            .and_then(|held| u64::from_str_radix(&held, 16).ok())
            .unwrap_or(0);
        held >> capability & 1 == 1
    }

    pub fn exists(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    pub fn list(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.at(path)) else {
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
        Some(
            fs::read_link(self.at(path))
                .ok()?
                .to_string_lossy()
                .into_owned(),
        )
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(Path::new(path.trim_start_matches('/')))
    }
}

pub mod capability {
    pub const SYS_ADMIN: u32 = 21;
    pub const PERFMON: u32 = 38;
    pub const BPF: u32 = 39;
}

/// `0-2,5`
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
