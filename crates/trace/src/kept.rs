//! Calibrations, kept in the user's private directory until the machine reboots: a file for each tracer and set of details. A file of
//! another boot, kernel or version is not used.

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
    /// The file of a tracer: `what` names it and the details that it records, `build` is its code. `None` without a private directory.
    pub fn for_tracer(what: &str, build: &[u8]) -> Option<Kept> {
        let boot = Sources::default().text("proc/sys/kernel/random/boot_id")?;
        let kernel = Sources::default().text("proc/sys/kernel/version")?;
        let directory = state_directory()?.join("tracers");
        private::make(&directory).ok()?;
        let mut hasher = DefaultHasher::new();
        // In a build without optimization, the calls of a calibration are slower.
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

    /// The calibration of this boot and build; `None` if there is none or the file is damaged.
    pub fn load<T: DeserializeOwned>(&self) -> Option<T> {
        let bytes = open::bytes(&self.file, LARGEST).ok()?;
        let json = bytes
            .strip_prefix(self.head.as_bytes())?
            .strip_prefix(b"\n")?;
        serde_json::from_slice(json).ok()
    }

    /// Errors are ignored: the next trace measures again.
    pub fn save(&self, calibration: &impl Serialize) {
        let Some(directory) = self.file.parent() else {
            return;
        };
        temporary::sweep(directory);
        let (Ok(new), Ok(text)) = (
            Temporary::beside(directory, 0o600),
            serde_json::to_string(calibration),
        ) else {
            return;
        };
        // An existing file is replaced, not opened: it may be a pipe.
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
    fn only_a_calibration_of_this_boot_is_loaded() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("bpf");
        let [kept, of_other_boot] = ["boot 1", "boot 2"].map(|head| Kept {
            file: file.clone(),
            head: head.to_string(),
        });
        assert_eq!(kept.load::<Vec<f64>>(), None);
        kept.save(&[1.5, -2.0, 1e-3]);
        assert_eq!(
            (kept.load(), of_other_boot.load::<Vec<f64>>()),
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
            assert_eq!(kept.load::<Vec<f64>>(), None, "{damaged}");
        }
        fs::remove_file(&file).unwrap();
        sys::process::make_fifo(&file).unwrap();
        assert_eq!(kept.load::<Vec<f64>>(), None);
    }
}
