//! What can stand beside the native environment in the same rounds without being one of `environments/`: another probe, or
//! another directory to work in.

use super::RunDirectory;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// How workers of a variant differ from native ones.
#[derive(Default)]
pub struct Variant {
    /// The probe of its operations, if it is not the embedded one.
    pub probe: Option<PathBuf>,
    /// Where its workers run, if not in the run's own directory.
    pub directory: Option<Rc<RefCell<RunDirectory>>>,
}

impl Variant {
    /// Native workers that run in `directory`.
    pub fn within(directory: RunDirectory) -> Variant {
        Variant { probe: None, directory: Some(Rc::new(RefCell::new(directory))) }
    }
}
