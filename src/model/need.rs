//! What is to be measured so that a profile can be priced: between `attribute`, which knows which operation is like a call,
//! and `plan`, which makes cases.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    pub operation: String,
    /// Those that are given; the others have their defaults.
    pub params: BTreeMap<String, u64>,
    /// Share of the profile's calls that it prices, by their time where that is known; `None` for what no call is priced by.
    pub share: Option<f64>,
}
