//! Where a run is kept while it is made: in a file, in a new file of a folder that many hosts may share, or nowhere.

use model::Run;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use store::StoreError;

#[derive(Default)]
pub enum Keep {
    #[default]
    Nowhere,
    File(PathBuf),
    /// A new file in the folder, named after the run; set once it is written.
    Folder(PathBuf, OnceCell<PathBuf>),
}

impl Keep {
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
        // Nobody else sets it.
        let _ = chosen.set(path);
        Ok(())
    }
}
