//! The place for a run while it is made: a file, a new file of a folder that many hosts may share, or none.

use model::Run;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use store::StoreError;

#[derive(Default)]
pub enum Keep {
    #[default]
    Nowhere,
    File(PathBuf),
    /// Named after the run; set once it is written.
    Folder(PathBuf, OnceCell<PathBuf>),
}

impl Keep {
    /// The file is replaced; without a path, nothing is kept.
    pub fn in_file(path: Option<&Path>) -> Keep {
        path.map_or(Keep::Nowhere, |path| Keep::File(path.to_path_buf()))
    }

    pub fn in_folder(folder: &Path) -> Keep {
        Keep::Folder(folder.to_path_buf(), OnceCell::new())
    }

    pub fn chosen(&self) -> Option<&Path> {
        if let Keep::Folder(_, chosen) = self {
            chosen.get().map(PathBuf::as_path)
        } else {
            None
        }
    }

    /// The run so far.
    ///
    /// # Errors
    /// The file or folder cannot be written.
    pub fn write(&self, run: &Run) -> Result<(), StoreError> {
        let (folder, chosen) = match self {
            Keep::Nowhere => return Ok(()),
            Keep::File(path) => return store::write(run, path),
            Keep::Folder(folder, chosen) => (folder, chosen),
        };
        if let Some(path) = chosen.get() {
            return store::write_again(run, path);
        }
        let path = store::write_new(run, folder, &run.stem())?;
        // Only this function sets it, so this cannot fail.
        let _ = chosen.set(path);
        Ok(())
    }
}
