//! What calibrations found, kept in the user's private directory until the machine reboots: a file of numbers for each tracer and
//! what it records. A file that is not of this boot, kernel and version, or that holds anything but sane numbers, is none.

use crate::kernel::temporary::{self, Temporary};
use crate::kernel::{Sources, open, private};
use crate::runner::state_directory;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;

const LARGEST: u64 = 4096;
/// No calibration finds more nanoseconds than a second.
const MOST: f64 = 1e9;

/// Where the numbers of one calibration are kept.
pub struct Kept {
    file: PathBuf,
    /// The first line of the file: what the numbers are true for.
    head: String,
}

impl Kept {
    /// `what` names the tracer and what it records, `build` what it consists of. `None` where there is no private directory.
    pub fn of(what: &str, build: &[u8]) -> Option<Kept> {
        let boot = Sources::default().text("proc/sys/kernel/random/boot_id")?;
        let kernel = Sources::default().text("proc/sys/kernel/version")?;
        let directory = state_directory()?.join("tracers");
        private::make(&directory).ok()?;
        let mut hasher = DefaultHasher::new();
        // The calls of a calibration are slower without optimization.
        (build, cfg!(debug_assertions)).hash(&mut hasher);
        let version = env!("CARGO_PKG_VERSION");
        let head = format!("{} {version} {:016x} {}", boot.trim(), hasher.finish(), kernel.trim());
        Some(Kept { file: directory.join(what), head })
    }

    pub fn numbers(&self) -> Option<Vec<f64>> {
        let text = String::from_utf8(open::bytes(&self.file, LARGEST).ok()?).ok()?;
        let (head, numbers) = text.split_once('\n')?;
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.abs() <= MOST);
        if head == self.head { numbers.split_ascii_whitespace().map(number).collect() } else { None }
    }

    /// If that fails, the next trace calibrates again.
    pub fn keep(&self, numbers: &[f64]) {
        let Some(directory) = self.file.parent() else { return };
        temporary::sweep(directory);
        let Ok(new) = Temporary::beside(directory, 0o600) else { return };
        let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
        // Whatever lies there is replaced and not opened.
        if writeln!(new.file(), "{}\n{}", self.head, words.join(" ")).is_ok() {
            let _ = new.become_file(&self.file, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn numbers_of_this_boot_are_found_again_and_no_others() {
        let top = tempfile::tempdir().unwrap();
        let kept = Kept { file: top.path().join("bpf"), head: "boot 1".to_string() };
        assert_eq!(kept.numbers(), None);
        kept.keep(&[1.5, -2.0, 1e-3]);
        assert_eq!(kept.numbers(), Some(vec![1.5, -2.0, 1e-3]));
        assert_eq!(Kept { head: "boot 2".to_string(), ..kept }.numbers(), None);
        let file = top.path().join("bpf");
        for damaged in ["", "boot 1", "boot 1\n1 x", "boot 1\nNaN", "boot 1\n1e300", "boot 1\ninf"] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(Kept { file: file.clone(), head: "boot 1".to_string() }.numbers(), None, "{damaged}");
        }
        fs::remove_file(&file).unwrap();
        crate::kernel::process::make_fifo(&file).unwrap();
        assert_eq!(Kept { file, head: "boot 1".to_string() }.numbers(), None);
    }
}
