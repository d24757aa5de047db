//! Published figures and the atlas of kernels, which the program brings along. They have the names of the source tree where the
//! working directory has no such directory.

use assets::{ATLAS, PUBLISHED};
use include_dir::Dir;
use std::path::{Path, PathBuf};

fn directory(path: &Path) -> Option<(&'static Dir<'static>, &Path)> {
    // One that cannot be looked at exists: reading it tells why.
    fn is_there(name: &str) -> bool {
        Path::new(name).try_exists().unwrap_or(true)
    }

    let of = |name, directory| {
        if is_there(name) {
            None
        } else {
            Some((directory, path.strip_prefix(name).ok()?))
        }
    };
    of("published", &PUBLISHED).or_else(|| of("atlas", &ATLAS))
}

pub fn file(path: &Path) -> Option<&'static [u8]> {
    let (directory, rest) = directory(path)?;
    directory.get_file(rest).map(|file| file.contents())
}

/// Not those in directories below it.
pub fn files(path: &Path) -> Option<Vec<PathBuf>> {
    let (directory, rest) = directory(path)?;
    let inner = if rest == Path::new("") {
        Some(directory)
    } else {
        directory.get_dir(rest)
    };
    inner.map(|inner| {
        inner
            .files()
            .map(|file| path.join(file.path().file_name().unwrap_or_default()))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_directories_are_found_by_name() {
        // Tests run in the crate, where no such directories are.
        fn found(path: &str) -> bool {
            directory(Path::new(path)).is_some()
        }

        assert!(found("published/perl-5.10.1-i686.json") && found("atlas/steps"));
        assert!(!found("results/none") && !found("src/published/none"));
        assert!(file(Path::new("published/perl-5.10.1-i686.json")).is_some());
        assert!(files(Path::new("atlas/steps")).is_some_and(|files| !files.is_empty()));
    }
}
