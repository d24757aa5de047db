use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// The values by key; keys are in the order of their first value.
pub fn grouped<K: Hash + Eq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> IndexMap<K, Vec<V>> {
    let mut groups: IndexMap<K, Vec<V>> = IndexMap::new();
    pairs
        .into_iter()
        .for_each(|(key, value)| groups.entry(key).or_default().push(value));
    groups
}

/// The sum by key, at most `u64::MAX`: counts in files may be hostile.
pub fn sum_by_key<K: Ord>(pairs: impl IntoIterator<Item = (K, u64)>) -> BTreeMap<K, u64> {
    let mut sums = BTreeMap::new();
    for (key, number) in pairs {
        let sum: &mut u64 = sums.entry(key).or_default();
        *sum = sum.saturating_add(number);
    }
    sums
}
