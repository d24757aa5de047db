//! Kernel entries that earlier runs counted: one line of JSON a case, in the user's state directory. `session` decides what a key
//! stands for. Losing the file costs no result, so errors are ignored.

use crate::kernel::open;
use crate::kernel::temporary;
use crate::model::Entries;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;

const FILE: &str = "proofs.jsonl";
/// The most that is read: more than twice the lines that are kept.
const MOST_BYTES: u64 = 4 << 20;
/// The file is shortened to this many lines when it has twice as many.
const KEPT: usize = 4096;

/// The entries of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// What they depend on, as a digest.
    pub key: String,
    pub entries: Entries,
    /// How long a request might last: what enters the kernel more rarely than that was not seen.
    pub request_us: u64,
    /// When they were counted, in seconds since 1970-01-01 UTC.
    pub unix_s: u64,
}

impl Counted {
    fn is_sound(&self) -> bool {
        self.entries.iter().all(|(name, count)| !name.is_empty() && count.is_finite() && count > 0.0)
    }
}

/// What is kept in `directory`, by key; of several lines for one key, the last. Lines that are not understood are left out.
pub fn read(directory: &Path) -> HashMap<String, Counted> {
    lines(directory).into_iter().map(|counted| (counted.key.clone(), counted)).collect()
}

fn lines(directory: &Path) -> Vec<Counted> {
    let mut text = Vec::new();
    let file = open::own(&directory.join(FILE));
    if file.is_ok_and(|file| file.take(MOST_BYTES).read_to_end(&mut text).is_err()) {
        return Vec::new();
    }
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Counted>(line).ok());
    lines.filter(Counted::is_sound).collect()
}

/// Adds what a run counted.
///
/// # Errors
/// If the file cannot be written.
pub fn add(directory: &Path, new: &[Counted]) -> std::io::Result<()> {
    let path = directory.join(FILE);
    let earlier = lines(directory);
    if earlier.len() + new.len() < 2 * KEPT {
        // At the start of a line, even after one that a killed run left unfinished.
        return open::to_append(&path)?.write_all(&[b"\n", &text(new)?[..]].concat());
    }
    let all = [earlier.as_slice(), new].concat();
    temporary::put(&path, 0o600, &text(&all[all.len().saturating_sub(KEPT)..])?)
}

fn text(counted: &[Counted]) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for one in counted {
        serde_json::to_writer(&mut text, one)?;
        text.push(b'\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn counted(key: &str, count: f64) -> Counted {
        let entries = [("read".to_string(), count), ("lseek".to_string(), 1.0 / 1024.0)].into_iter().collect();
        Counted { key: key.to_string(), entries, request_us: 20_000, unix_s: 1 }
    }

    #[test]
    fn the_last_count_of_a_key_holds() {
        let directory = tempfile::tempdir().unwrap();
        assert!(read(directory.path()).is_empty());
        add(directory.path(), &[counted("a", 1.0), counted("b", 1.0)]).unwrap();
        add(directory.path(), &[counted("a", 2.0)]).unwrap();
        let found = read(directory.path());
        assert_eq!((found.len(), &found["a"]), (2, &counted("a", 2.0)));
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let good = serde_json::to_string(&counted("a", 1.0)).unwrap();
        let negative = good.replace("\"read\":1", "\"read\":-1");
        let text = format!("nonsense\n{{}}\n{negative}\n\u{0}\n{good}\n{}", &good[..20]);
        fs::write(directory.path().join(FILE), text).unwrap();
        assert_eq!(read(directory.path()), HashMap::from([("a".to_string(), counted("a", 1.0))]));
        add(directory.path(), &[counted("b", 1.0)]).unwrap();
        assert_eq!(read(directory.path()).len(), 2, "behind an unfinished line");
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let many: Vec<Counted> = (0..2 * KEPT).map(|i| counted(&i.to_string(), 1.0)).collect();
        add(directory.path(), &many).unwrap();
        add(directory.path(), &[counted("last", 1.0)]).unwrap();
        let found = read(directory.path());
        assert!(found.len() <= KEPT + 1 && found.contains_key("last"), "{}", found.len());
    }
}
