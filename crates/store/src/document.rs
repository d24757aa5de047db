use super::error::FileKind;
use super::rules::Checked;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub trait Document: Serialize + DeserializeOwned {
    const KIND: &'static FileKind;

    /// The fields whose form in a file differs from the model.
    type Head: Default + Serialize + DeserializeOwned;

    fn head(&self) -> Self::Head {
        Self::Head::default()
    }

    /// `schema` is that of the file, which may be of an earlier version.
    fn complete(&mut self, _: Self::Head, _schema: &str) -> Checked {
        Ok(())
    }

    /// Refuses values that have the right type and make no sense.
    fn check(&self) -> Checked;
}
