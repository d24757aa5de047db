use std::collections::{BTreeMap, BTreeSet};

/// A call that is interrupted again and again does not grow without end.
const MOST_TEXT: usize = 1 << 16;

#[derive(Default)]
pub struct Pending {
    texts: BTreeMap<u64, String>,
    /// The threads by the name of their call.
    named: BTreeMap<String, BTreeSet<u64>>,
}

impl Pending {
    pub fn insert(&mut self, thread: u64, text: String) -> Option<String> {
        let before = self.remove(thread);
        self.named
            .entry(name(&text).to_string())
            .or_default()
            .insert(thread);
        self.texts.insert(thread, text);
        before
    }

    /// Returns its text.
    pub fn remove(&mut self, thread: u64) -> Option<String> {
        let text = self.texts.remove(&thread)?;
        if let Some(threads) = self.named.get_mut(name(&text)) {
            threads.remove(&thread);
        }
        Some(text)
    }

    /// Under another number, in place of what that had begun.
    pub fn rename(&mut self, from: u64, to: u64) {
        if let Some(text) = self.remove(from) {
            self.insert(to, text);
        }
    }

    pub fn has(&self, thread: u64) -> bool {
        self.texts.contains_key(&thread)
    }

    pub fn is_in(&self, thread: u64, call: &str) -> bool {
        self.texts
            .get(&thread)
            .is_some_and(|text| name(text) == call)
    }

    pub fn only(&self, call: &str) -> Option<u64> {
        let threads = self.named.get(call).filter(|threads| threads.len() == 1)?;
        threads.first().copied()
    }

    /// The begin of the call that goes on here; if that is not known, only its name.
    pub fn resumed(&mut self, thread: Option<u64>, call: &str) -> String {
        let begun = thread.and_then(|thread| self.remove(thread));
        begun
            // Beyond the limit the arguments are given up, not the call.
            .filter(|text| text.len() < MOST_TEXT)
            .unwrap_or_else(|| format!("{call}("))
    }

    /// Removes all unfinished calls, at the end of the log.
    pub fn take(&mut self) -> BTreeMap<u64, String> {
        std::mem::take(self).texts
    }
}

fn name(text: &str) -> &str {
    text.split('(').next().unwrap_or_default()
}
