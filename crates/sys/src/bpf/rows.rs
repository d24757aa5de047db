//! The programs' counts, as typed rows.

use super::layout::{
    Counted, DurationKey, Globals, GroupKey, Key, Live, LockKey, LockWait, NUMBERS, Name,
    ObjectKey, Place, RingKey, RingSum, Section, Served, ServedKey, Slow, StackKey, WaitKey,
    Window,
};
use crate::usage::Used;
use std::borrow::Cow;
use std::collections::BTreeMap;

const MOST_NESTED: usize = 64;

#[derive(Clone, Default)]
pub struct Raw {
    /// A key may occur more than once.
    pub calls: Vec<(Key, Counted)>,
    /// A call and bucket may occur more than once.
    pub durations: Vec<(DurationKey, u64)>,
    pub groups: BTreeMap<u32, Group>,
    pub usage: Vec<(u32, Used)>,
    /// By number of group: processes that have had its name, except those that have it now.
    pub started: BTreeMap<u32, u64>,
    pub sections: BTreeMap<u32, Section>,
    pub live: Vec<Live>,
    pub ended: Vec<Live>,
    pub objects: Vec<(ObjectKey, Counted)>,
    pub waits: Vec<(WaitKey, Counted)>,
    pub served: Vec<(ServedKey, Served)>,
    pub rings: Vec<(RingKey, RingSum)>,
    pub locks: Vec<(LockKey, LockWait)>,
    pub names: BTreeMap<u64, Name>,
    pub stack_counts: Vec<(StackKey, Counted)>,
    pub slowest: Vec<Slow>,
    /// Beside the counting of calls, outside of calls.
    pub places: Vec<(Place, u64)>,
    pub peak_pages: u64,
    /// Calls moved between the maps while they were read: some may be here twice or not at all.
    pub torn: bool,
    pub globals: Globals,
    /// Now, by the clock of the BPF programs.
    pub now_ns: u64,
}

/// A name from a program, which ends with its first zero byte.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub name: String,
    /// A PID, the ID of a cgroup, or the number of the group that started it; 0 if groups are by name alone.
    pub id: u64,
}

impl Raw {
    /// Adds the counts that one CPU has not handed to the shared maps yet.
    pub(super) fn add_window(&mut self, window: &Window) {
        self.calls.extend(
            window
                .entries
                .iter()
                .filter(|entry| entry.counted.calls + entry.counted.unfinished > 0)
                .map(|entry| (entry.key, entry.counted)),
        );
        for (at, histogram) in window.histogram_of.iter().enumerate() {
            let (number, gate) = ((at % NUMBERS) as u16, (at / NUMBERS) as u16);
            // Zero stands for a call that was not made on this CPU.
            let counts = usize::from(*histogram)
                .checked_sub(1)
                .and_then(|index| window.histograms.get(index))
                .into_iter()
                .flatten()
                .enumerate()
                .filter(|(_, calls)| **calls > 0);
            self.durations.extend(counts.map(|(bucket, calls)| {
                let key = DurationKey {
                    number,
                    gate,
                    bucket: bucket as u32,
                };
                (key, u64::from(*calls))
            }));
        }
        self.peak_pages = self.peak_pages.max(window.peak_pages);
    }

    /// Merged under the number of the first group of the name.
    pub fn by_name(&self) -> Raw {
        let mut raw = self.clone();
        let mut first: BTreeMap<&str, u32> = BTreeMap::new();
        for (number, group) in &self.groups {
            first.entry(&group.name).or_insert(*number);
        }
        raw.groups
            .retain(|number, group| first[group.name.as_str()] == *number);
        raw.groups.values_mut().for_each(|group| group.id = 0);
        let calls = raw.calls.iter_mut().map(|(key, _)| &mut key.group);
        let tasks = raw.live.iter_mut().map(|task| &mut task.key.group);
        let usage = raw.usage.iter_mut().map(|(number, _)| number);
        for number in calls.chain(tasks).chain(usage) {
            if let Some(group) = self.groups.get(number) {
                *number = first[group.name.as_str()];
            }
        }
        raw
    }

    pub(super) fn add_group(&mut self, key: &GroupKey, number: u64) {
        let (name, id) = (text(&key.name).into_owned(), key.id);
        self.groups.insert(number as u32, Group { name, id });
    }

    /// Gives the groups of sections the name of the processes in them: the programs store the section's hash there.
    pub(super) fn name_sections(&mut self) {
        for number in self.sections.keys() {
            let outwards =
                std::iter::successors(Some(*number), |at| Some(self.sections.get(at)?.group));
            let owner = outwards.take(MOST_NESTED).last();
            let name = owner
                .and_then(|owner| self.groups.get(&owner))
                .map_or_else(String::new, |group| group.name.clone());
            if let Some(group) = self.groups.get_mut(number) {
                group.name = name;
            }
        }
    }
}
