use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The last result of each system call by its name, as the kernel returns it: a negative errno if it failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Returned(
    #[schemars(with = "std::collections::BTreeMap<String, i64>")] IndexMap<String, i64>,
);

impl Returned {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn insert(&mut self, call: String, result: i64) {
        self.0.insert(call, result);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, result)| (name.as_str(), *result))
    }

    pub fn subset<'a>(&self, names: impl Iterator<Item = &'a str>) -> Returned {
        names
            .filter_map(|name| Some((name.to_string(), *self.0.get(name)?)))
            .collect()
    }
}

impl FromIterator<(String, i64)> for Returned {
    fn from_iter<I: IntoIterator<Item = (String, i64)>>(pairs: I) -> Self {
        Returned(pairs.into_iter().collect())
    }
}
