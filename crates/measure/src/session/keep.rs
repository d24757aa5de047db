//! Where a run is kept while it is made: in a file, in a new file of a folder that many hosts may share, or nowhere.

use model::Run;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use store::StoreError;

#[derive(Debug, Default)]
pub struct Keep {
    place: Place,
    /// The new file of the folder, once there is one.
    chosen: OnceCell<PathBuf>,
}

#[derive(Debug, Default)]
enum Place {
    #[default]
    Nowhere,
    File(PathBuf),
    Folder(PathBuf),
}

impl Keep {
    pub fn in_file(path: Option<&Path>) -> Keep {
        Keep {
            place: path.map_or(Place::Nowhere, |path| Place::File(path.to_path_buf())),
            ..Keep::default()
        }
    }

    /// In a new file, called after the run.
    pub fn in_folder(folder: &Path) -> Keep {
        Keep {
            place: Place::Folder(folder.to_path_buf()),
            ..Keep::default()
        }
    }

    pub fn chosen(&self) -> Option<&Path> {
        self.chosen.get().map(PathBuf::as_path)
    }

    /// Replaces what was written before.
    pub fn write(&self, run: &Run) -> Result<(), StoreError> {
        match (&self.place, self.chosen.get()) {
            (Place::Nowhere, _) => Ok(()),
            (Place::File(path), _) => store::write(run, path),
            (Place::Folder(_), Some(path)) => store::write_again(run, path),
            (Place::Folder(folder), None) => {
                let path = store::write_new(run, folder, &run.stem())?;
                // Nobody else sets it.
                let _ = self.chosen.set(path);
                Ok(())
            }
        }
    }
}
