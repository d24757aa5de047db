//! The states of machines in the cache of builds, a directory each.

pub use crate::runner::MACHINE as BEGINNING;
use crate::runner::cache_directory;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub const MEMORY: &str = "memory";
const MOST_BYTES: u64 = 4 << 30;

/// Removes those that were not used for longest if all together are too large.
pub fn forget_oldest(newest: &Path) -> io::Result<()> {
    forget_above(newest, MOST_BYTES)
}

fn forget_above(newest: &Path, most_bytes: u64) -> io::Result<()> {
    let mut states = states(newest.parent().unwrap_or(newest), BEGINNING)?;
    states.sort();
    let mut bytes: u64 = states.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, own, path) in states {
        if bytes <= most_bytes || path == newest {
            break;
        }
        // Another run may have removed it already. One that is about to open it fails, and says which file is missing.
        let _ = fs::remove_dir_all(path);
        bytes -= own;
    }
    Ok(())
}

pub fn forget(kernel: &str) -> io::Result<()> {
    let beginning = format!("{BEGINNING}{kernel}");
    let Some(root) = cache_directory() else {
        return Ok(());
    };
    for (_, _, path) in states(&root, &beginning)? {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

/// When each was used last, the bytes of its memory, and where it is. The names of functions are among them, without memory.
fn states(root: &Path, beginning: &str) -> io::Result<Vec<(SystemTime, u64, PathBuf)>> {
    let mut states = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        let is_state = path
            .file_name()
            .is_some_and(|name| name.as_bytes().starts_with(beginning.as_bytes()));
        if is_state {
            let memory = fs::symlink_metadata(path.join(MEMORY));
            let bytes = memory.map_or(0, |facts| facts.blocks() * 512);
            states.push((fs::metadata(&path)?.modified()?, bytes, path));
        }
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::Duration;

    #[test]
    fn the_states_that_were_not_used_for_longest_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let all =
            ["machine-c", "machine-b", "machine-a", "probe"].map(|name| root.path().join(name));
        for (age, path) in (0..).zip(&all) {
            fs::create_dir(path).unwrap();
            fs::write(path.join(MEMORY), [1; 1 << 16]).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            File::open(path).unwrap().set_modified(then).unwrap();
        }
        let left = |most_bytes| {
            forget_above(&all[0], most_bytes).unwrap();
            all.each_ref().map(|path| path.exists())
        };
        assert_eq!(left(3 << 16), [true; 4]);
        assert_eq!(left(2 << 16), [true, true, false, true]);
        assert_eq!(left(0), [true, false, false, true]);
    }
}
