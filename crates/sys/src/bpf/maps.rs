//! Maps: memory shared with the programs. Key and value types determine the lengths that the kernel copies, so that no
//! buffer passed to it can be too short. Source: bpf(2), kernel/bpf/syscall.c.

#![allow(unsafe_code)]

use super::sys;
use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};
use zerocopy::{FromBytes, Immutable, IntoBytes};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_FREEZE: i32 = 22;
const MAP_LOOKUP_BATCH: i32 = 24;
const MAP_LOOKUP_AND_DELETE_BATCH: i32 = 25;

/// Update flags: create or overwrite; create only.
const ANY: u64 = 0;
const NOEXIST: u64 = 1;

/// Plain bytes: no padding, no pointers, every bit pattern valid.
pub trait Plain: FromBytes + IntoBytes + Immutable + Copy {}
impl<T: FromBytes + IntoBytes + Immutable + Copy> Plain for T {}

/// Kinds of maps whose elements have one value, of the length that the map is created with. Those of kinds by CPU have one for each
/// CPU, longer than a buffer for one.
pub const HASH: u32 = 1;
const STACK_TRACE: u32 = 7;
const TASK_STORAGE: u32 = 29;
const ONE_VALUE: [u32; 4] = [HASH, ARRAY, STACK_TRACE, TASK_STORAGE];
/// The kind of an array, and flags for it: read-only for programs, and that user space may map it.
pub const ARRAY: u32 = 2;
pub const READ_ONLY: u32 = 1 << 7;
pub const MAPPABLE: u32 = 1 << 10;

/// Source of kinds and flags: linux/bpf.h.
#[derive(Clone, Copy)]
pub struct MapSpec<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub max_entries: u32,
    pub flags: u32,
    /// BTF and the type IDs of key and value, for kinds of maps that require them.
    pub types: Option<(BorrowedFd<'a>, u32, u32)>,
}

/// Only `create` makes one, with exactly these lengths.
pub struct Map<K, V> {
    fd: OwnedFd,
    name: String,
    entries: usize,
    types: PhantomData<(K, V)>,
}

#[repr(C)]
#[derive(Default)]
struct Create {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    map_name: [u8; 16],
    map_ifindex: u32,
    btf_fd: u32,
    btf_key_type_id: u32,
    btf_value_type_id: u32,
}

#[repr(C)]
struct Element {
    map_fd: u64,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct Batch {
    from: u64,
    to: u64,
    keys: u64,
    values: u64,
    count: u32,
    map_fd: u32,
    elem_flags: u64,
    flags: u64,
}

impl<K: Plain, V: Plain> Map<K, V> {
    /// # Errors
    /// A kind with several values to an element, or the kernel's refusal.
    pub fn create(spec: &MapSpec) -> Result<Map<K, V>> {
        // The values of an array are 8 bytes apart, or a multiple.
        const { assert!(size_of::<V>().is_multiple_of(8)) };
        ensure!(
            ONE_VALUE.contains(&spec.kind),
            "BPF map '{}' is of kind {}, which is not read",
            spec.name,
            spec.kind
        );
        let fd = create(spec, size_of::<K>() as u32, size_of::<V>() as u32)
            .with_context(|| format!("the kernel refuses BPF map '{}'", spec.name))?;
        let (name, entries) = (spec.name.to_string(), spec.max_entries as usize);
        Ok(Map {
            fd,
            name,
            entries,
            types: PhantomData,
        })
    }

    /// Instructions refer to the map by it; valid as long as this lives.
    pub fn as_raw_fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    pub fn get(&self, key: &K) -> Result<Option<V>> {
        Ok(self.get_large(key)?.map(|value| *value))
    }

    /// As `get`, for values that are too large for the stack.
    pub fn get_large(&self, key: &K) -> Result<Option<Box<V>>> {
        let mut value = V::new_box_zeroed()
            .ok()
            .with_context(|| self.failed("read: no memory"))?;
        // SAFETY: the kernel writes one value of the map's length, which is V's (`create` refuses kinds with more than one);
        // any bytes are a valid V.
        match unsafe { self.command(MAP_LOOKUP_ELEM, Some(key), (&raw mut *value) as u64, ANY) } {
            Err(Errno::ENOENT) => Ok(None),
            read => read
                .map(|()| Some(value))
                .with_context(|| self.failed("read")),
        }
    }

    pub fn set(&self, key: &K, value: &V) -> Result<()> {
        self.update(key, value, ANY)
            .with_context(|| self.failed("written"))
    }

    /// Values of an array, by one system call each: arrays have no batches that delete.
    pub fn zero(&self) -> Result<()>
    where
        K: From<u32>,
    {
        let none = V::new_box_zeroed()
            .ok()
            .with_context(|| self.failed("reset: no memory"))?;
        (0..self.entries as u32).try_for_each(|key| self.set(&K::from(key), &none))
    }

    /// Lets only programs write to the map from then on: the verifier then knows its values as constants.
    pub fn freeze(&self) -> Result<()> {
        // SAFETY: the command reads only the descriptor.
        unsafe { self.command(MAP_FREEZE, None, 0, ANY) }.with_context(|| self.failed("frozen"))
    }

    /// All values of an array that was created as `MAPPABLE`. Programs may write meanwhile: each word was there at some moment, but
    /// words need not fit together. The first word of a value is read last: if it counts replacements, it shows whether the others
    /// were replaced meanwhile.
    pub fn values(&self) -> Result<Vec<V>> {
        let mut values = V::new_vec_zeroed(self.entries)
            .ok()
            .with_context(|| self.failed("read: no memory"))?;
        let length = NonZeroUsize::new(size_of_val(values.as_slice()))
            .with_context(|| self.failed("read: no values"))?;
        // SAFETY: a new shared mapping of the map, for reading.
        let from = unsafe {
            mmap(
                None,
                length,
                ProtFlags::PROT_READ,
                MapFlags::MAP_SHARED,
                &self.fd,
                0,
            )
        }
        .with_context(|| self.failed("mapped"))?;
        let (from_words, to_words) = (
            from.as_ptr().cast::<u64>(),
            values.as_mut_ptr().cast::<u64>(),
        );
        let words = size_of::<V>() / size_of::<u64>();
        for value in 0..self.entries {
            for word in (0..words).map(|word| value * words + (word + 1) % words) {
                // The order of the reads is what makes the first word a proof: the processor must keep it.
                if word == value * words {
                    fence(Ordering::Acquire);
                }
                // SAFETY: both are `length` bytes, since the values of the map are V's length apart and whole words (checked
                // by `create`), and any bytes are valid Vs. The mapping begins at a page; programs write to it meanwhile.
                unsafe {
                    to_words
                        .add(word)
                        .write_unaligned(from_words.add(word).read_volatile())
                };
            }
        }
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { munmap(from, length.get()) }.with_context(|| self.failed("unmapped"))?;
        Ok(values)
    }

    /// Atomically; false, with nothing written, if the key has a value or the process that it refers to has ended.
    pub fn insert(&self, key: &K, value: &V) -> Result<bool> {
        match self.update(key, value, NOEXIST) {
            Err(Errno::EEXIST | Errno::ENOENT) => Ok(false),
            done => done.map(|()| true).with_context(|| self.failed("written")),
        }
    }

    /// All entries of a hash. Nothing may delete from it meanwhile.
    pub fn entries(&self) -> Result<Vec<(K, V)>> {
        self.batches(MAP_LOOKUP_BATCH)
            .with_context(|| self.failed("listed"))
    }

    /// Removes all entries of a hash.
    pub fn clear(&self) -> Result<()> {
        self.batches(MAP_LOOKUP_AND_DELETE_BATCH)
            .map(drop)
            .with_context(|| self.failed("cleared"))
    }

    /// Takes one system call, or a few (since Linux 5.6).
    fn batches(&self, command: i32) -> Result<Vec<(K, V)>> {
        let (keys, values) = (
            K::new_vec_zeroed(self.entries).ok(),
            V::new_vec_zeroed(self.entries).ok(),
        );
        let (mut keys, mut values) = keys
            .zip(values)
            .with_context(|| self.failed("read: no memory"))?;
        let (mut done, mut from, mut to) = (0, 0u32, 0u32);
        loop {
            let mut request = Batch {
                from: if done > 0 { (&raw mut from) as u64 } else { 0 },
                to: (&raw mut to) as u64,
                keys: keys[done..].as_mut_ptr() as u64,
                values: values[done..].as_mut_ptr() as u64,
                count: u32::try_from(self.entries - done)?,
                map_fd: self.fd.as_raw_fd().cast_unsigned(),
                ..Batch::default()
            };
            // SAFETY: the kernel writes at most `count` keys and values of the map's lengths, which are K's and V's, into
            // room for as many, and a cursor of 4 bytes; it reads one of 4 bytes.
            let result = unsafe { sys::call(command, &mut request) };
            done += request.count as usize;
            from = to;
            match result {
                Ok(_) if done < self.entries => {}
                // ENOENT after the last batch, which is not an error.
                Ok(_) | Err(Errno::ENOENT) => break,
                Err(error) => return Err(error.into()),
            }
        }
        keys.truncate(done);
        Ok(keys.into_iter().zip(values).collect())
    }

    fn update(&self, key: &K, value: &V, flags: u64) -> Result<(), Errno> {
        // SAFETY: the kernel reads one value of the map's length, which is V's.
        unsafe {
            self.command(
                MAP_UPDATE_ELEM,
                Some(key),
                std::ptr::from_ref(value) as u64,
                flags,
            )
        }
    }

    /// # Safety
    /// `value` points to what the command reads or writes there: one value, or nothing.
    unsafe fn command(
        &self,
        command: i32,
        key: Option<&K>,
        value: u64,
        flags: u64,
    ) -> Result<(), Errno> {
        let mut request = Element {
            map_fd: self.fd.as_raw_fd() as u64,
            key: key.map_or(0, |key| std::ptr::from_ref(key) as u64),
            value,
            flags,
        };
        // SAFETY: the key is as long as the map's, and only read; the value is as the caller guarantees.
        unsafe { sys::call(command, &mut request) }.map(|_| ())
    }

    fn failed(&self, what: &str) -> String {
        format!("BPF map '{}' cannot be {what}", self.name)
    }
}

/// The only program that others may continue with.
pub(super) fn continue_with(map: &OwnedFd, program: &OwnedFd) -> Result<(), Errno> {
    let (key, value) = (0u32, program.as_raw_fd());
    let mut request = Element {
        map_fd: map.as_raw_fd() as u64,
        key: std::ptr::from_ref(&key) as u64,
        value: std::ptr::from_ref(&value) as u64,
        flags: ANY,
    };
    // SAFETY: key and value are as long as those of a map of programs, 4 bytes each, and only read.
    unsafe { sys::call(MAP_UPDATE_ELEM, &mut request) }.map(|_| ())
}

pub(super) fn create(spec: &MapSpec, key_size: u32, value_size: u32) -> Result<OwnedFd, Errno> {
    let (btf, key_type, value_type) = spec.types.map_or((0, 0, 0), |(fd, key, value)| {
        (fd.as_raw_fd().cast_unsigned(), key, value)
    });
    let mut request = Create {
        map_type: spec.kind,
        key_size,
        value_size,
        max_entries: spec.max_entries,
        map_flags: spec.flags,
        map_name: sys::object_name(spec.name),
        btf_fd: btf,
        btf_key_type_id: key_type,
        btf_value_type_id: value_type,
        ..Create::default()
    };
    // SAFETY: the request holds no pointers, and the command returns a descriptor.
    unsafe { sys::call_for_fd(MAP_CREATE, &mut request) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash() -> MapSpec<'static> {
        MapSpec {
            name: "test",
            kind: HASH,
            max_entries: 4,
            flags: 0,
            types: None,
        }
    }

    #[test]
    fn typed_entries_come_back_as_they_were_written() {
        if let Err(why) = crate::bpf::available() {
            return eprintln!("SKIPPED: {why}");
        }
        let many = Map::<u64, u64>::create(&MapSpec {
            max_entries: 3000,
            ..hash()
        })
        .unwrap();
        (0..3000).for_each(|key| many.set(&key, &(key + 1)).unwrap());
        let mut all = many.entries().unwrap();
        all.sort_unstable();
        assert!(all.into_iter().eq((0..3000).map(|key| (key, key + 1))));
        let map = Map::<[u8; 16], [u64; 2]>::create(&hash()).unwrap();
        let (key, other) = ([7; 16], [8; 16]);
        map.set(&key, &[1, u64::MAX]).unwrap();
        assert_eq!(
            (
                map.insert(&key, &[0; 2]).unwrap(),
                map.insert(&other, &[3, 4]).unwrap()
            ),
            (false, true)
        );
        assert_eq!(map.get(&key).unwrap(), Some([1, u64::MAX]));
        let mut entries = map.entries().unwrap();
        entries.sort_unstable();
        assert_eq!(entries, [(key, [1, u64::MAX]), (other, [3, 4])]);
        map.clear().unwrap();
        assert_eq!(
            (map.entries().unwrap(), map.get(&key).unwrap()),
            (Vec::new(), None)
        );
    }

    #[test]
    fn values_of_an_array_are_read_at_once() {
        if let Err(why) = crate::bpf::available() {
            return eprintln!("SKIPPED: {why}");
        }
        let spec = MapSpec {
            kind: ARRAY,
            max_entries: 3,
            flags: MAPPABLE,
            ..hash()
        };
        let map = Map::<u32, [u8; 4104]>::create(&spec).unwrap();
        map.set(&1, &[5; 4104]).unwrap();
        let values = map.values().unwrap();
        assert_eq!(
            values.iter().map(|value| value[4103]).collect::<Vec<_>>(),
            [0, 5, 0]
        );
        let fixed = Map::<u32, u64>::create(&MapSpec {
            flags: READ_ONLY,
            ..spec
        })
        .unwrap();
        fixed.freeze().unwrap();
        assert!(fixed.set(&0, &1).is_err() && fixed.values().is_err());
    }

    #[test]
    fn maps_with_a_value_for_each_cpu_are_refused() {
        const PERCPU_HASH: u32 = 5;
        let made = Map::<u64, u64>::create(&MapSpec {
            kind: PERCPU_HASH,
            ..hash()
        });
        assert!(made.err().unwrap().to_string().contains("kind 5"));
    }
}
