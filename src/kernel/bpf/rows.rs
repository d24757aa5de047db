//! What the programs counted, as typed rows: words of the maps in, values out. Pure. Read by `trace::bpf`.

use super::layout::{Key, entry, global, key, usage, window};
use std::collections::BTreeMap;

/// The words of a processor's window, of an entry of map `calls`, and of the values of `usage` and `globals`.
pub type Window = [u64; window::BYTES as usize / 8];
pub type CallWords = [u64; entry::VALUES as usize];
pub type UsageWords = [u64; usage::BYTES as usize / 8];
pub type GlobalWords = [u64; global::BYTES as usize / 8];
/// A process name with its 0.
pub type NameBytes = [u8; super::layout::NAME_BYTES as usize];

/// Everything that was counted.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// A key may occur more than once.
    pub calls: Vec<(Key, Counted)>,
    /// A call and bucket may occur more than once.
    pub durations: Vec<Durations>,
    /// Process names by number.
    pub names: BTreeMap<u32, String>,
    /// By number of name.
    pub usage: Vec<(u32, Used)>,
    pub peak_pages: u64,
    pub globals: Globals,
}

/// Sums over calls of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub calls: u64,
    /// Entered and not left when tracing ended.
    pub unfinished: u64,
    pub on_cpu_ns: u64,
    pub blocked_ns: u64,
    pub preempted_ns: u64,
    pub bytes: u64,
}

/// How many calls of one kind took a time within one bucket of `model::Histogram`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    pub call: Key,
    pub bucket: u16,
    pub calls: u64,
}

/// What the tasks of one process name used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub user_ns: u64,
    pub system_ns: u64,
    pub minor: u64,
    pub major: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    pub ran_ns: u64,
}

/// Counters of `layout::global`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Globals {
    pub lost: u64,
    pub live: u64,
    pub processes: u64,
    pub threads: u64,
    pub nameless: u64,
    pub unseen: u64,
}

impl Raw {
    /// Adds one processor's window: entries that were never moved to the shared maps.
    pub(super) fn add_window(&mut self, window: &Window) {
        let part = |from: i16, bytes: usize| &window[from as usize / 8..][..bytes / 8];
        let cache = part(window::CACHE, (entry::BYTES as usize) << window::CACHE_BITS);
        for cached in cache.chunks(entry::BYTES as usize / 8).filter(|cached| cached[0] != 0) {
            self.add_call(cached[0], &std::array::from_fn(|index| cached[index + 1]));
        }
        let durations = part(window::DURATIONS, 16 << window::DURATION_BITS);
        for pair in durations.chunks(2).filter(|pair| pair[0] != 0) {
            self.add_durations(pair[0], pair[1]);
        }
        self.peak_pages = self.peak_pages.max(window[window::PEAK_PAGES as usize / 8]);
    }

    pub(super) fn add_call(&mut self, packed: u64, words: &CallWords) {
        self.calls.push((Key::unpack(packed), Counted::from(words)));
    }

    pub(super) fn add_durations(&mut self, packed: u64, calls: u64) {
        let bucket = (packed & ((1 << key::BUCKET_BITS) - 1)) as u16;
        let call = Key::unpack((packed & !key::SET) >> key::BUCKET_BITS);
        self.durations.push(Durations { call, bucket, calls });
    }
}

impl From<&CallWords> for Counted {
    fn from(words: &CallWords) -> Counted {
        // The key stands in front of them in a window, not in the map.
        let word = |offset: i16| words[offset as usize / 8 - 1];
        Counted {
            calls: word(entry::CALLS),
            unfinished: word(entry::UNFINISHED),
            on_cpu_ns: word(entry::ON_CPU),
            blocked_ns: word(entry::BLOCKED),
            preempted_ns: word(entry::PREEMPTED),
            bytes: word(entry::MOVED),
        }
    }
}

impl From<&UsageWords> for Used {
    fn from(words: &UsageWords) -> Used {
        let word = |offset: i16| words[offset as usize / 8];
        Used {
            user_ns: word(usage::USER),
            system_ns: word(usage::SYSTEM),
            minor: word(usage::MINOR),
            major: word(usage::MAJOR),
            voluntary: word(usage::VOLUNTARY),
            involuntary: word(usage::INVOLUNTARY),
            ran_ns: word(usage::RAN),
        }
    }
}

impl From<&GlobalWords> for Globals {
    fn from(words: &GlobalWords) -> Globals {
        let word = |offset: i16| words[offset as usize / 8];
        Globals {
            lost: word(global::LOST),
            live: word(global::LIVE),
            processes: word(global::PROCESSES),
            threads: word(global::THREADS),
            nameless: word(global::NAMELESS),
            unseen: word(global::UNSEEN),
        }
    }
}

/// A name up to its 0.
pub(super) fn process_name(bytes: &NameBytes) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn windows_of_all_processors_are_added() {
        let mut window = Window::new_zeroed();
        let entry = window::CACHE as usize / 8 + 8 * 3;
        window[entry..entry + 7].copy_from_slice(&[77, 5, 1, 10, 20, 30, 40]);
        let duration = window::DURATIONS as usize / 8 + 2 * 9;
        window[duration..duration + 2].copy_from_slice(&[key::SET | 88 << key::BUCKET_BITS | 26, 4]);
        window[window::PEAK_PAGES as usize / 8] = 12;
        let mut raw = Raw::default();
        raw.add_window(&window);
        raw.add_window(&window);
        let counted = Counted { calls: 5, unfinished: 1, on_cpu_ns: 10, blocked_ns: 20, preempted_ns: 30, bytes: 40 };
        assert_eq!(raw.calls, [(Key::unpack(77), counted); 2]);
        assert_eq!(raw.durations, [Durations { call: Key::unpack(88), bucket: 26, calls: 4 }; 2]);
        assert_eq!(raw.peak_pages, 12);
    }

    #[test]
    fn a_name_ends_at_its_zero_or_with_its_field() {
        assert_eq!(process_name(b"sh\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "sh");
        assert_eq!(process_name(b"sixteen letters."), "sixteen letters.");
    }
}
