//! What the programs counted, as typed rows.

use super::layout::{
    Counted, DurationKey, Globals, GroupKey, Key, Live, LockKey, LockWait, NUMBERS, Name,
    ObjectKey, Place, RingKey, RingSum, Section, Served, ServedKey, Slow, StackKey, WaitKey,
    Window,
};
use crate::usage::Used;
use std::collections::BTreeMap;

/// Names that the programs nest.
const MOST_NESTED: usize = 64;

#[derive(Clone, Default)]
pub struct Raw {
    /// A key may occur more than once.
    pub calls: Vec<(Key, Counted)>,
    /// A call and bucket may occur more than once.
    pub durations: Vec<(DurationKey, u64)>,
    pub groups: BTreeMap<u32, Group>,
    pub usage: Vec<(u32, Used)>,
    /// By number of group: processes that have had its name, but for those that have it now.
    pub started: BTreeMap<u32, u64>,
    /// By number of group.
    pub sections: BTreeMap<u32, Section>,
    pub live: Vec<Live>,
    /// Some of those that have ended.
    pub ended: Vec<Live>,
    pub objects: Vec<(ObjectKey, Counted)>,
    pub waits: Vec<(WaitKey, Counted)>,
    pub served: Vec<(ServedKey, Served)>,
    pub rings: Vec<(RingKey, RingSum)>,
    pub locks: Vec<(LockKey, LockWait)>,
    /// Of objects, by their hash.
    pub names: BTreeMap<u64, Name>,
    pub stack_counts: Vec<(StackKey, Counted)>,
    pub slowest: Vec<Slow>,
    /// Beside the counting of calls, outside of them.
    pub places: Vec<(Place, u64)>,
    pub peak_pages: u64,
    /// Calls moved between the maps while they were read: some may be here twice or not at all.
    pub torn: bool,
    pub globals: Globals,
    /// Now, by the clock of the BPF programs.
    pub now_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub name: String,
    /// A PID, the ID of a cgroup, or the number of the group that started it; 0 if groups are by name alone.
    pub id: u64,
}

impl Raw {
    /// What one CPU has not handed to the shared maps.
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

    /// Groups of one name have the number of the first of them.
    pub fn by_name(&self) -> Raw {
        let mut raw = self.clone();
        let mut first: BTreeMap<&str, u32> = BTreeMap::new();
        for (number, group) in &self.groups {
            first.entry(&group.name).or_insert(*number);
        }
        let of = |number: u32| {
            self.groups
                .get(&number)
                .map_or(number, |group| first[group.name.as_str()])
        };
        raw.groups.retain(|number, _| of(*number) == *number);
        raw.groups.values_mut().for_each(|group| group.id = 0);
        raw.calls
            .iter_mut()
            .for_each(|(key, _)| key.group = of(key.group));
        raw.live
            .iter_mut()
            .for_each(|task| task.key.group = of(task.key.group));
        raw.usage
            .iter_mut()
            .for_each(|(number, _)| *number = of(*number));
        raw
    }

    pub(super) fn add_group(&mut self, key: &GroupKey, number: u64) {
        let name = key.name.split(|byte| *byte == 0).next().unwrap_or_default();
        self.groups.insert(
            number as u32,
            Group {
                name: String::from_utf8_lossy(name).into_owned(),
                id: key.id,
            },
        );
    }

    /// The groups of sections have the name of the processes in them.
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
