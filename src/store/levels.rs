//! How fast the machine was in earlier runs: one line of JSON a run, in the user's state directory. From it a run learns how
//! much whole runs scatter on this machine. Written at the end of a run; losing it costs no result, so errors are ignored.

use crate::kernel::open;
use crate::kernel::temporary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;

const FILE: &str = "levels.jsonl";
/// The most that is read: twice the runs that are kept, with all operations.
const MOST_BYTES: u64 = 4 << 20;
/// The file is shortened to this many runs when it has twice as many.
const KEPT: usize = 64;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    pub host: String,
    /// The processor's model, and which of them measured: cores differ.
    pub cpu: String,
    pub kernel: String,
    /// Architecture and compiler of the probe: another build has another level, above all one that an emulator translates.
    pub build: String,
    pub started_unix_s: u64,
    /// Geometric mean of what the members of the panel cost, in nanoseconds.
    pub panel_ns: f64,
    pub members: usize,
    /// CPUs that other programs kept busy.
    pub busy_cpus: f64,
    /// What each case cost in units of `panel_ns`.
    #[serde(default)]
    pub cases: BTreeMap<String, f64>,
}

/// The levels kept in `directory`, the oldest first. Lines that are not understood are left out.
pub fn read(directory: &Path) -> Vec<Level> {
    let mut text = Vec::new();
    let file = open::own(&directory.join(FILE));
    if file.is_ok_and(|file| file.take(MOST_BYTES).read_to_end(&mut text).is_err()) {
        return Vec::new();
    }
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Level>(line).ok());
    lines.filter(|level| level.panel_ns.is_finite() && level.panel_ns > 0.0).collect()
}

/// Adds `level` to the `earlier` ones, which were read from `directory`.
///
/// # Errors
/// If the file cannot be written.
pub fn add(directory: &Path, earlier: &[Level], level: &Level) -> std::io::Result<()> {
    let path = directory.join(FILE);
    if earlier.len() < 2 * KEPT {
        return open::to_append(&path)?.write_all(&line(level)?);
    }
    let kept = earlier[earlier.len() - KEPT..].iter().chain([level]);
    temporary::put(&path, 0o600, &kept.map(line).collect::<std::io::Result<Vec<_>>>()?.concat())
}

fn line(level: &Level) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(level)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn level(started_unix_s: u64) -> Level {
        let text = |text: &str| text.to_string();
        let (host, cpu, kernel, build) = (text("here"), text("cpu"), text("6.18"), text("x86_64, cc"));
        Level {
            host,
            cpu,
            kernel,
            build,
            started_unix_s,
            panel_ns: 42.5,
            members: 12,
            busy_cpus: 0.25,
            cases: BTreeMap::new(),
        }
    }

    #[test]
    fn levels_are_read_as_they_were_added() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()), []);
        for i in 0..3 {
            add(directory.path(), &read(directory.path()), &level(i)).unwrap();
        }
        assert_eq!(read(directory.path()), [level(0), level(1), level(2)]);
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let good = serde_json::to_string(&level(1)).unwrap();
        let zero = good.replace("42.5", "0.0");
        fs::write(directory.path().join(FILE), format!("nonsense\n{{}}\n{zero}\n\u{0}\n{good}\n{}", &good[..20]))
            .unwrap();
        assert_eq!(read(directory.path()), [level(1)]);
    }

    #[test]
    fn a_pipe_in_its_place_neither_blocks_nor_is_read() {
        let directory = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&directory.path().join(FILE), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        assert_eq!(read(directory.path()), []);
        assert!(add(directory.path(), &[], &level(1)).is_err());
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let many: Vec<Level> = (0..2 * KEPT as u64).map(level).collect();
        add(directory.path(), &many, &level(9999)).unwrap();
        let kept = read(directory.path());
        assert_eq!((kept.len(), kept.last()), (KEPT + 1, Some(&level(9999))));
    }
}
