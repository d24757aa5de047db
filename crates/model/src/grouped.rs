use indexmap::IndexMap;
use std::hash::Hash;

/// The values by key; keys are in the order of their first value.
pub fn grouped<K: Hash + Eq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> IndexMap<K, Vec<V>> {
    let mut groups: IndexMap<K, Vec<V>> = IndexMap::new();
    pairs
        .into_iter()
        .for_each(|(key, value)| groups.entry(key).or_default().push(value));
    groups
}
