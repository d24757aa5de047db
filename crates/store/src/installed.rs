//! Published figures and the atlas of kernels, which are embedded in the program. Their paths are those of the source tree, and apply
//! if the working directory has no such directory.

use assets::{ATLAS, PUBLISHED};
use include_dir::Dir;
use std::path::{Path, PathBuf};

fn directory(path: &Path) -> Option<(&'static Dir<'static>, &Path)> {
    [("published", &PUBLISHED), ("atlas", &ATLAS)]
        .into_iter()
        .find_map(|(name, directory)| {
            let rest = path.strip_prefix(name).ok()?;
            // A directory that cannot be examined counts as present, so that reading it reports the reason.
            let is_present = Path::new(name).try_exists().unwrap_or(true);
            (!is_present).then_some((directory, rest))
        })
}

/// `None` if the working directory has a directory of that name.
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
        // Tests run in the crate, which has no such directories.
        fn is_installed(path: &str) -> bool {
            directory(Path::new(path)).is_some()
        }

        assert!(is_installed("published/perl-5.10.1-i686.json") && is_installed("atlas/steps"));
        assert!(!is_installed("results/none") && !is_installed("src/published/none"));
        assert!(file(Path::new("published/perl-5.10.1-i686.json")).is_some());
        assert!(files(Path::new("atlas/steps")).is_some_and(|files| !files.is_empty()));
    }
}
