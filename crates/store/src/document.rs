use super::error::FileKind;
use super::rules::Checked;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub trait Document: Serialize + DeserializeOwned {
    const KIND: &'static FileKind;

    /// What a file has in another shape than the model.
    type Head: Head;

    fn head(&self) -> Self::Head {
        Self::Head::default()
    }

    fn complete(&mut self, _: Self::Head) -> Checked {
        Ok(())
    }

    /// Refuses values that have the right type and make no sense.
    fn check(&self) -> Checked;
}

pub trait Head: Default + Serialize + DeserializeOwned {
    fn schema(&self) -> &str;
}
