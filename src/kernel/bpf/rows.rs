//! What the programs counted, as typed rows: values of the maps in, rows out. Pure. Read by `trace::bpf`.

use super::layout::{CallKey, Counted, Globals, NAME_BYTES, Window, key};
use crate::kernel::usage::Used;
use std::collections::BTreeMap;

/// A process name, terminated by 0 unless it fills the field.
pub type NameBytes = [u8; NAME_BYTES as usize];

/// Everything that was counted.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// A key may occur more than once.
    pub calls: Vec<(CallKey, Counted)>,
    /// A call and bucket may occur more than once.
    pub durations: Vec<Durations>,
    /// Process names by number.
    pub names: BTreeMap<u32, String>,
    /// By number of name.
    pub usage: Vec<(u32, Used)>,
    pub peak_pages: u64,
    pub globals: Globals,
}

/// How many calls of one kind took a time within one bucket of `model::Histogram`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    pub call: CallKey,
    pub bucket: u16,
    pub calls: u64,
}

impl Raw {
    /// Adds the entries of one CPU's window that were not flushed to the shared maps.
    pub(super) fn add_window(&mut self, window: &Window) {
        for entry in window.cache.iter().filter(|entry| entry.key != 0) {
            self.add_call(entry.key, entry.counted);
        }
        for duration in window.durations.iter().filter(|duration| duration.key != 0) {
            self.add_durations(duration.key, duration.calls);
        }
        self.peak_pages = self.peak_pages.max(window.peak_pages);
    }

    pub(super) fn add_call(&mut self, packed: u64, counted: Counted) {
        self.calls.push((CallKey::unpack(packed), counted));
    }

    pub(super) fn add_durations(&mut self, packed: u64, calls: u64) {
        let bucket = (packed & ((1 << key::BUCKET_BITS) - 1)) as u16;
        let call = CallKey::unpack((packed & !key::SET) >> key::BUCKET_BITS);
        self.durations.push(Durations { call, bucket, calls });
    }
}

/// A name up to its 0.
pub(super) fn process_name(bytes: &NameBytes) -> String {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::bpf::layout::{CallEntry, DurationEntry};
    use zerocopy::FromZeros;

    #[test]
    fn windows_of_all_processors_are_added() {
        let mut window = Window::new_zeroed();
        let counted = Counted { calls: 5, unfinished: 1, on_cpu_ns: 10, blocked_ns: 20, preempted_ns: 30, bytes: 40 };
        window.cache[3] = CallEntry { key: 77, counted, unused: 0 };
        window.durations[9] = DurationEntry { key: key::SET | 88 << key::BUCKET_BITS | 26, calls: 4 };
        window.peak_pages = 12;
        let mut raw = Raw::default();
        raw.add_window(&window);
        raw.add_window(&window);
        assert_eq!(raw.calls, [(CallKey::unpack(77), counted); 2]);
        assert_eq!(raw.durations, [Durations { call: CallKey::unpack(88), bucket: 26, calls: 4 }; 2]);
        assert_eq!(raw.peak_pages, 12);
    }

    #[test]
    fn a_name_ends_at_its_zero_or_with_its_field() {
        assert_eq!(process_name(b"sh\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "sh");
        assert_eq!(process_name(b"sixteen letters."), "sixteen letters.");
    }
}
