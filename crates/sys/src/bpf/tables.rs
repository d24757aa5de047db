//! The maps of the programs.

use super::config::GroupBy;
use super::events::Python;
use super::events::RING_BYTES;
use super::layout::{
    Counted, Details, DurationKey, Globals, GroupKey, Key, Live, LockKey, LockWait, Name,
    ObjectKey, Place, PolledKey, RingKey, RingSum, SECTIONS, Section, Served, ServedKey, Settings,
    StackKey, WaitKey, Window,
};
use super::maps::{self, MAPPABLE, Map, MapSpec, Plain, READ_ONLY};
use super::object::Object;
use super::relocate::MapReference;
use super::ring::Ring;
use super::sys;
use crate::Sources;
use crate::usage::Used;
use anyhow::{Context, Result, ensure};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

const PAGE: usize = 4096;
pub const ONLY: u32 = 0;
/// The number of places from which calls are made; and the same if only the stacks of waits are wanted.
const SITES: u32 = 65_536;
const WAITING_SITES: u32 = 8192;
const WAITING_RING_BYTES: usize = 8 << 20;
/// The number of classes of calls, if these are counted by process.
const CALLS_BY_PROCESS: u32 = 1 << 18;

pub struct Tables {
    pub windows: Map<u32, Window>,
    /// Only programs read these.
    tasks: OwnedFd,
    samples: OwnedFd,
    scripts: OwnedFd,
    pub pythons: Map<u32, Python>,
    /// By process file descriptor.
    pub marks: Map<i32, u64>,
    pub calls: Map<Key, Counted>,
    pub durations: Map<DurationKey, u64>,
    pub groups: Map<GroupKey, u64>,
    pub usage: Map<u64, Used>,
    pub started: Map<u64, u64>,
    pub sections: Map<u64, Section>,
    pub objects: Map<ObjectKey, Counted>,
    pub waits: Map<WaitKey, Counted>,
    pub polled: Map<PolledKey, u64>,
    pub ended_tasks: Map<u64, Live>,
    pub next: OwnedFd,
    connections: OwnedFd,
    ring_requests: OwnedFd,
    pub served: Map<ServedKey, Served>,
    pub rings: Map<RingKey, RingSum>,
    pub locks: Map<LockKey, LockWait>,
    pub names: Map<u64, Name>,
    pub stack_counts: Map<StackKey, Counted>,
    pub events: Ring,
    pub details: Map<u32, Details>,
    pub places: Map<Place, u64>,
    pub globals: Map<u32, Globals>,
    /// When tracing ended, by the clock of the programs.
    pub ended: Map<u32, u64>,
    pub settings: Map<u32, Settings>,
}

/// The number of entries in a map's definition if it is needed, else one.
fn unless(is_needed: bool) -> Option<u32> {
    if is_needed { None } else { Some(1) }
}

impl Tables {
    /// Room only for what `settings` ask for. A map that is not needed has one entry: programs refer to it in any case, but it takes no memory.
    pub fn create(object: &Object, settings: &Settings) -> Result<Tables> {
        let types = sys::load_btf(&storage_btf())
            .context("the kernel refuses the types of task storage")?;
        let marks = MapSpec {
            types: Some((types.as_fd(), 1, 2)),
            ..defined(object, "marks", Some(0))?
        };
        let cpus = Some(possible_cpus()?);
        let (samplers, sites, ring_bytes) = match settings.stacks {
            0 => (Some(1), 1, PAGE),
            1 => (cpus, SITES, RING_BYTES),
            _ => (cpus, WAITING_SITES, WAITING_RING_BYTES),
        };
        let has_objects = settings.paths + settings.descriptors > 0;
        let waits = unless(settings.waits > 0);
        let by_tree = settings.group_by == GroupBy::Tree as u8;
        let tables = Tables {
            windows: map(object, "windows", cpus)?,
            tasks: unread(object, "tasks", Some(settings.task_mask + 1))?,
            marks: create(object, &marks)?,
            calls: map(object, "calls", calls(settings))?,
            durations: map(object, "durations", None)?,
            groups: map(object, "groups", None)?,
            usage: map(object, "usage", None)?,
            started: map(object, "started", unless(by_tree))?,
            sections: map(object, "sections", unless(by_tree))?,
            objects: map(object, "objects", unless(has_objects))?,
            waits: map(object, "waits", waits)?,
            locks: map(object, "locks", waits)?,
            polled: map(object, "polled", waits)?,
            ended_tasks: map(object, "ended_tasks", waits)?,
            next: unread(object, "next", None)?,
            connections: unread(object, "connections", waits)?,
            ring_requests: unread(object, "ring_requests", waits)?,
            rings: map(object, "rings", waits)?,
            served: map(object, "served", waits)?,
            names: map(
                object,
                "names",
                names(has_objects || waits.is_none(), by_tree),
            )?,
            stack_counts: map(object, "stack_counts", Some(sites))?,
            samples: unread(object, "samples", samplers)?,
            scripts: unread(object, "scripts", None)?,
            pythons: map(object, "pythons", None)?,
            events: Ring::create("events", ring_bytes)?,
            details: map(object, "details", cpus)?,
            places: map(object, "places", unless(settings.times > 0))?,
            globals: Map::create(&array("globals", MAPPABLE))?,
            ended: Map::create(&array("ended", 0))?,
            settings: Map::create(&array("config", READ_ONLY))?,
        };
        // Frozen before the programs are loaded: the verifier then drops branches that the settings exclude.
        tables.settings.set(&ONLY, settings)?;
        tables.settings.freeze()?;
        Ok(tables)
    }

    /// The map that instructions refer to by `name`; `None` if there is none.
    pub fn place(&self, name: &str) -> Option<MapReference> {
        macro_rules! descriptor_of {
            ($($map:ident)*) => {
                match name {
                    $(stringify!($map) => self.$map.as_raw_fd(),)*
                    "config" => self.settings.as_raw_fd(),
                    _ => return None,
                }
            };
        }
        Some(MapReference {
            descriptor: descriptor_of!(
                windows tasks marks calls durations groups usage started sections objects waits locks polled served rings ended_tasks names stack_counts events details places globals ended pythons samples scripts next connections ring_requests
            ),
            value: matches!(name, "globals" | "config" | "ended"),
        })
    }
}

fn calls(settings: &Settings) -> Option<u32> {
    if settings.group_by == GroupBy::Process as u8 {
        Some(CALLS_BY_PROCESS)
    } else {
        None
    }
}

fn names(is_wanted: bool, by_tree: bool) -> Option<u32> {
    match (is_wanted, by_tree) {
        (true, _) => None,
        (false, true) => Some(SECTIONS),
        (false, false) => Some(1),
    }
}

fn array(name: &str, flags: u32) -> MapSpec<'_> {
    MapSpec {
        name,
        kind: maps::ARRAY,
        max_entries: 1,
        flags,
        types: None,
    }
}

/// Hashes are preallocated: inserting at a tracepoint never allocates memory. `entries` replaces the number in the definition.
fn defined<'a>(object: &Object, name: &'a str, entries: Option<u32>) -> Result<MapSpec<'a>> {
    let map = object
        .map(name)
        .with_context(|| format!("there is no BPF map '{name}'"))?;
    Ok(MapSpec {
        name,
        kind: map.kind,
        max_entries: entries.unwrap_or(map.entries),
        flags: map.flags,
        types: None,
    })
}

fn map<K: Plain, V: Plain>(object: &Object, name: &str, entries: Option<u32>) -> Result<Map<K, V>> {
    create(object, &defined(object, name, entries)?)
}

/// Keys and values must be as long as the programs define them.
fn create<K: Plain, V: Plain>(object: &Object, spec: &MapSpec) -> Result<Map<K, V>> {
    let defined = object
        .map(spec.name)
        .map(|map| (map.key_bytes as usize, map.value_bytes as usize));
    ensure!(
        defined == Some((size_of::<K>(), size_of::<V>())),
        "BPF map '{}' has other types",
        spec.name
    );
    Map::create(spec)
}

fn unread(object: &Object, name: &str, entries: Option<u32>) -> Result<OwnedFd> {
    let spec = defined(object, name, entries)?;
    let bytes = object.map(name).map(|map| (map.key_bytes, map.value_bytes));
    let (key, value) = bytes.unwrap_or_default();
    maps::create(&spec, key, value).with_context(|| format!("the kernel refuses BPF map '{name}'"))
}

fn possible_cpus() -> Result<u32> {
    const FILE: &str = "sys/devices/system/cpu/possible";
    let last = Sources::default()
        .cpus(FILE)
        .and_then(|cpus| cpus.into_iter().max());
    Ok(last.with_context(|| format!("/{FILE} cannot be read"))? + 1)
}

/// Task storage requires types of key and value, in the kernel's format: 1 a signed int, 2 a 64-bit int.
fn storage_btf() -> Vec<u8> {
    const INT: u32 = 1 << 24;
    let names = b"\0int\0u64\0";
    let types: [u32; 8] = [1, INT, 4, 1 << 24 | 32, 5, INT, 8, 64];
    let length = types.len() as u32 * 4;
    let header: [u32; 6] = [0xeb9f | 1 << 16, 24, 0, length, length, names.len() as u32];
    header
        .iter()
        .chain(&types)
        .flat_map(|word| word.to_ne_bytes())
        .chain(names.iter().copied())
        .collect()
}
