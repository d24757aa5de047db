//! Locks of the kernel that threads waited for, with the function that wanted each. Pure but for the kernel's symbols.

use super::decode::Decoder;
use model::{LockCount, PAGE_FAULT, ShootDowns};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use sys::bpf::Key;
use sys::bpf::layout::{lock, outside};
use sys::functions::Functions;

/// Beginnings of the names of functions that take locks: who wants the lock is the function around them.
const TAKES: &[&str] = &[
    "mutex_",
    "__mutex_",
    "ww_mutex_",
    "__ww_mutex_",
    "down_",
    "__down",
    "rwsem_",
    "percpu_",
    "__percpu_",
    "rt_mutex_",
    "__rt_mutex_",
    "rwbase_",
];

/// Bits of the tracepoint's flags, and kinds of locks: include/trace/events/lock.h.
const KINDS: &[(u32, &str)] = &[
    (32, "a mutex"),
    (16, "a per-CPU rwsem"),
    (8, "an rt_mutex"),
    (6, "an rwsem"),
    (0, "a semaphore"),
];

/// Waits for locks by process, call, lock and function, those with most time first.
pub fn locks(decoder: &Decoder) -> Vec<LockCount> {
    if decoder.raw.locks.is_empty() {
        return Vec::new();
    }
    let functions = Functions::of_kernel();
    let variables = Functions::variables_of_kernel();
    let mut rows: BTreeMap<_, LockCount> = BTreeMap::new();
    let all = decoder.raw.locks.iter();
    for (lock_key, wait) in all.filter(|(key, _)| key.key.kind != lock::TLB) {
        let call = call(decoder, &lock_key.key);
        let lock = lock(&lock_key.key, wait.lock, wait.frames[0], &variables);
        let function = wanted_by(&wait.frames, &functions);
        let key = (decoder.process(&lock_key.key), call, lock, function);
        let row = rows.entry(key).or_default();
        row.waits += wait.waits;
        row.waited_ns += wait.ns;
    }
    let rows = rows.into_iter().map(|(key, sum)| {
        let (process, call, lock, function) = key;
        LockCount {
            process,
            call,
            lock,
            function,
            ..sum
        }
    });
    let mut rows: Vec<LockCount> = rows.collect();
    rows.sort_by_key(|row| Reverse(row.waited_ns));
    rows
}

fn call(decoder: &Decoder, key: &Key) -> String {
    match key.number {
        outside::FAULT => PAGE_FAULT.to_string(),
        _ => decoder.call(key),
    }
}

/// Requests to other CPUs, by process and call, the most first.
pub fn shoot_downs(decoder: &Decoder) -> Vec<ShootDowns> {
    let mut rows: BTreeMap<_, u64> = BTreeMap::new();
    let all = decoder.raw.locks.iter();
    for (lock_key, wait) in all.filter(|(key, _)| key.key.kind == lock::TLB) {
        let key = (decoder.process(&lock_key.key), call(decoder, &lock_key.key));
        *rows.entry(key).or_default() += wait.waits;
    }
    let rows = rows.into_iter().map(|(key, count)| {
        let (process, call) = key;
        ShootDowns {
            process,
            call,
            count,
        }
    });
    let mut rows: Vec<ShootDowns> = rows.collect();
    rows.sort_by_key(|row| Reverse(row.count));
    rows
}

/// The lock's name if it is known, else its kind. Variables are in the kernel's image, as its functions are: a lock at an address
/// with another upper half is part of an object.
fn lock(key: &Key, address: u64, function: u64, variables: &Functions) -> String {
    let kind = KINDS
        .iter()
        .find(|(bits, _)| *bits == 0 || key.operation & bits > 0)
        .map_or("a lock", |(_, kind)| *kind);
    let name = match key.kind {
        lock::MMAP => Some("mmap_lock"),
        lock::INODE => Some("i_rwsem"),
        // Only variables of the kernel's image have the upper half of its code's addresses; other locks are in allocated objects.
        _ if address >> 32 == function >> 32 => variables.starting_at(address as u32),
        _ => None,
    };
    name.unwrap_or(kind).to_string()
}

/// The first function around those that take the lock; within these, it is traced.
fn wanted_by(frames: &[u64], functions: &Functions) -> Option<String> {
    let mut names = frames
        .iter()
        .take_while(|address| **address > 0)
        // A return address may lie behind the last instruction of its function.
        .map(|address| functions.containing((*address as u32).wrapping_sub(1)));
    names.find(|name| name.is_some_and(takes))?;
    // The frames start inside the lock's slow path. An unknown function may be one of those, so it ends the search.
    let name = names.find(|name| !name.is_some_and(takes))??;
    // Compilers append `.constprop.0`, `.isra.0` and the like to copies of a function.
    Some(name.split('.').next().unwrap_or(name).to_string())
}

fn takes(function: &str) -> bool {
    TAKES.iter().any(|start| function.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "ffffffff00000100 T __traceiter_contention_end\n\
                           ffffffff00000200 t rwsem_down_write_slowpath\n\
                           ffffffff00000300 T down_write\n\
                           ffffffff00000400 t ext4_file_write_iter.isra.0\n\
                           ffffffff00000500 T vfs_write\n\
                           ffffffff00000600 d rtnl_mutex\n";

    #[test]
    fn the_function_around_those_that_take_the_lock_wants_it() {
        fn wanted(frames: &[u64]) -> Option<String> {
            let frames: Vec<u64> = frames.iter().map(|at| 0xffff_ffff << 32 | at).collect();
            wanted_by(&frames, &Functions::parse(SYMBOLS, "tT"))
        }

        let expected = Some("ext4_file_write_iter".to_string());
        assert_eq!(
            wanted(&[0x180, 0x280, 0x300 + 0x20, 0x480, 0x580]),
            expected
        );
        // At the end of a function that does not return.
        assert_eq!(wanted(&[0x180, 0x280, 0x400, 0x500]), expected);
        assert_eq!(wanted(&[0x180, 0x480]), None);
        assert_eq!(wanted(&[0x180, 0x280]), None);
    }

    #[test]
    fn a_lock_is_a_variable_only_at_its_address() {
        fn named(kind: u8, operation: u32, address: u64) -> String {
            let variables = Functions::parse(SYMBOLS, "d");
            let key = Key {
                kind,
                operation,
                ..Key::default()
            };
            lock(&key, address, 0xffff_ffff_0000_0100, &variables)
        }

        assert_eq!(named(0, 32, 0xffff_ffff_0000_0600), "rtnl_mutex");
        assert_eq!(named(0, 32, 0xffff_8880_0000_0600), "a mutex");
        assert_eq!(named(0, 2, 0xffff_ffff_0000_0608), "an rwsem");
        assert_eq!(named(lock::MMAP, 4, 0), "mmap_lock");
        assert_eq!(named(0, 0, 0), "a semaphore");
    }
}
