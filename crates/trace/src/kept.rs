//! Calibrations, kept in the user's private directory until the machine reboots: a file for each tracer and what it records. A file
//! of another boot, kernel or version is not used.

use measure::runner::state_directory;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use sys::temporary::{self, Temporary};
use sys::{Sources, open, private};

const LARGEST: u64 = 4096;

pub struct Kept {
    file: PathBuf,
    head: String,
}

impl Kept {
    /// `what` names the tracer and what it records, `build` is its code. `None` where there is no private directory.
    pub fn of(what: &str, build: &[u8]) -> Option<Kept> {
        let boot = Sources::default().text("proc/sys/kernel/random/boot_id")?;
        let kernel = Sources::default().text("proc/sys/kernel/version")?;
        let directory = state_directory()?.join("tracers");
        private::make(&directory).ok()?;
        let mut hasher = DefaultHasher::new();
        // The calls of a calibration are slower without optimization.
        (build, cfg!(debug_assertions)).hash(&mut hasher);
        let version = env!("CARGO_PKG_VERSION");
        let head = format!(
            "{} {version} {:016x} {}",
            boot.trim(),
            hasher.finish(),
            kernel.trim()
        );
        Some(Kept {
            file: directory.join(what),
            head,
        })
    }

    pub fn found<T: DeserializeOwned>(&self) -> Option<T> {
        let bytes = open::bytes(&self.file, LARGEST).ok()?;
        let found = bytes
            .strip_prefix(self.head.as_bytes())?
            .strip_prefix(b"\n")?;
        serde_json::from_slice(found).ok()
    }

    pub fn keep(&self, found: &impl Serialize) {
        let Some(directory) = self.file.parent() else {
            return;
        };
        temporary::sweep(directory);
        let (Ok(new), Ok(text)) = (
            Temporary::beside(directory, 0o600),
            serde_json::to_string(found),
        ) else {
            return;
        };
        // Whatever lies there is replaced and not opened.
        if writeln!(new.file(), "{}\n{text}", self.head).is_ok() {
            let _ = new.become_file(&self.file, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_found_in_this_boot_is_found_again_and_nothing_else() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("bpf");
        let of = |head: &str| Kept {
            file: file.clone(),
            head: head.to_string(),
        };
        let kept = of("boot 1");
        assert_eq!(kept.found::<Vec<f64>>(), None);
        kept.keep(&[1.5, -2.0, 1e-3]);
        assert_eq!(
            (kept.found(), of("boot 2").found::<Vec<f64>>()),
            (Some(vec![1.5, -2.0, 1e-3]), None)
        );
        for damaged in [
            "",
            "boot 1",
            "boot 1\n1 x",
            "boot 1\n[NaN]",
            "boot 1\n[1e999]",
            "boot 11\n[1.0]",
        ] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(kept.found::<Vec<f64>>(), None, "{damaged}");
        }
        fs::remove_file(&file).unwrap();
        sys::process::make_fifo(&file).unwrap();
        assert_eq!(kept.found::<Vec<f64>>(), None);
    }
}
