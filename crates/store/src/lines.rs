//! What runs leave for later runs: one line of JSON each, in the user's state directory. Losing it costs no result, so errors are
//! ignored.

use serde::{Serialize, de::DeserializeOwned};
use std::io::{Read, Write};
use std::path::Path;
use sys::{open, temporary};

/// More than twice the lines that are kept.
const MOST_BYTES: u64 = 4 << 20;

pub trait Line: Clone + Serialize + DeserializeOwned {
    const FILE: &'static str;
    /// The file is shortened to this many lines when it has twice as many.
    const KEPT: usize;

    fn is_sound(&self) -> bool;
}

/// The oldest first. Lines that are not understood are left out.
pub fn read<L: Line>(directory: &Path) -> Vec<L> {
    let mut text = Vec::new();
    let file = open::trusted(&directory.join(L::FILE));
    if file.is_ok_and(|file| file.take(MOST_BYTES).read_to_end(&mut text).is_err()) {
        return Vec::new();
    }
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .filter(L::is_sound)
        .collect()
}

/// One write, so that concurrent runs do not mix theirs. At twice the kept number, the file is replaced by its last lines.
pub fn add<L: Line>(directory: &Path, new: &[L]) -> std::io::Result<()> {
    let path = directory.join(L::FILE);
    let earlier = read(directory);
    if earlier.len() + new.len() < 2 * L::KEPT {
        // At the start of a line, even after one that a killed run left unfinished.
        return open::to_append(&path)?.write_all(&[b"\n", &text(new)?[..]].concat());
    }
    let all = [earlier.as_slice(), new].concat();
    // Rewriting costs a rename, so it is done once in KEPT runs and not in each.
    temporary::put(
        &path,
        0o600,
        &text(&all[all.len().saturating_sub(L::KEPT)..])?,
    )
}

fn text<L: Line>(lines: &[L]) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::fs;

    #[derive(Clone, Serialize, Deserialize)]
    struct Number(f64);

    impl Line for Number {
        const FILE: &'static str = "numbers.jsonl";
        const KEPT: usize = 64;

        fn is_sound(&self) -> bool {
            self.0 > 0.0
        }
    }

    fn kept(directory: &tempfile::TempDir) -> Vec<f64> {
        read::<Number>(directory.path())
            .into_iter()
            .map(|number| number.0)
            .collect()
    }

    #[test]
    fn lines_are_read_as_they_were_added() {
        let directory = tempfile::tempdir().unwrap();
        assert!(kept(&directory).is_empty());
        add(directory.path(), &[Number(1.5), Number(2.0)]).unwrap();
        add(directory.path(), &[Number(3.0)]).unwrap();
        assert_eq!(kept(&directory), [1.5, 2.0, 3.0]);
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(
            directory.path().join(Number::FILE),
            "nonsense\n{}\n-1.0\n\u{0}\n4.5\n[4.",
        )
        .unwrap();
        assert_eq!(kept(&directory), [4.5]);
        add(directory.path(), &[Number(6.0)]).unwrap();
        assert_eq!(kept(&directory), [4.5, 6.0], "behind an unfinished line");
    }

    #[test]
    fn a_pipe_in_its_place_neither_blocks_nor_is_read() {
        let directory = tempfile::tempdir().unwrap();
        sys::process::make_fifo(&directory.path().join(Number::FILE)).unwrap();
        assert!(kept(&directory).is_empty());
        assert!(add(directory.path(), &[Number(1.0)]).is_err());
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let many: Vec<Number> = (1..2 * Number::KEPT).map(|i| Number(i as f64)).collect();
        add(directory.path(), &many).unwrap();
        assert_eq!(kept(&directory).len(), many.len());
        add(directory.path(), &[Number(9999.0)]).unwrap();
        assert_eq!(
            (kept(&directory).len(), kept(&directory).last()),
            (Number::KEPT, Some(&9999.0))
        );
    }
}
