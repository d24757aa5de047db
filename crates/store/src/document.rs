//! What a kind of file has to say of itself.

use super::error::FileKind;
use super::rules::Checked;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a file can hold.
pub trait Document: Serialize + DeserializeOwned {
    /// How messages describe such files.
    const KIND: &'static FileKind;

    /// What of a file is not as in the model.
    type Head: Head;

    fn head(&self) -> Self::Head {
        Self::Head::default()
    }

    /// Takes over what was read beside it.
    ///
    /// # Errors
    /// The first value that makes no sense.
    fn complete(&mut self, _: Self::Head) -> Checked {
        Ok(())
    }

    /// Refuses values that have the right type and make no sense.
    ///
    /// # Errors
    /// The first such value.
    fn check(&self) -> Checked;
}

pub trait Head: Default + Serialize + DeserializeOwned {
    /// What the file says it is.
    fn schema(&self) -> &str;
}
