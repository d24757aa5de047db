//! The details that are recorded besides counts, on request: calls by path, descriptor and stack, and the slowest ones.

use super::decode::{self, Decoder};
use super::locks;
use super::threads;
use crate::mounts::Mounts;
use crate::stacks::{Named, Stack, UNKNOWN};
use crate::{Detail, More, TraceOptions};
use anyhow::{Result, ensure};
use model::{CallCount, ObjectCount, ObjectKind, Profile, SlowCall, StackCount};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use sys::bpf::layout::{ACCEPTED, Address, PART_BYTES, PARTS, SLOWEST, kind};
use sys::bpf::{Counted, Name, Raw, Wanted, text};
use zerocopy::FromBytes;

/// # Errors
/// More slow calls than there is room for, or slow calls without times.
pub fn wanted(options: &TraceOptions) -> Result<Wanted> {
    let (more, slowest) = (options.more, options.more.slowest);
    ensure!(
        slowest <= SLOWEST,
        "--slowest {slowest}: at most {SLOWEST} calls are kept"
    );
    ensure!(
        slowest == 0 || options.detail == Detail::Times,
        "--slowest needs times: leave out --counts"
    );
    Ok(Wanted {
        paths: more.paths,
        descriptors: more.descriptors,
        stacks: more.stacks,
        callers: more.callers,
        slowest: slowest > 0,
        waits: more.waits && options.detail == Detail::Times,
    })
}

/// `sent` are the stacks that the programs copied, `begun_ns` is the trace's beginning by their clock.
pub fn fill(decoder: &Decoder, more: More, sent: &Named, begun_ns: u64, into: &mut Profile) {
    if more.paths || more.descriptors || more.waits {
        let mounts = Mounts::read();
        if more.paths || more.descriptors {
            objects(decoder, &mounts, into);
        }
        if more.waits {
            threads::fill(decoder, &mounts, sent, into);
            into.locks = locks::locks(decoder);
            into.shoot_downs = locks::shoot_downs(decoder);
            into.warnings.extend(dropped(decoder.raw));
        }
    }
    if more.stacks {
        stacks(sites(decoder, sent), decoder, into);
        into.stacks_sampled = Some(sent.calls);
        warn(decoder.raw, into);
    } else if more.callers {
        stacks(classes(decoder, sent, into), decoder, into);
        into.stacks_sampled = Some(sent.calls);
    }
    into.slowest = slowest(decoder, more.slowest, sent, begun_ns);
}

/// Calls whose stacks are those of a sample, with weights.
struct Sampled {
    process: String,
    call: String,
    counted: Counted,
    stacks: Vec<(Stack, u64)>,
}

fn sites(decoder: &Decoder, sent: &Named) -> Vec<Sampled> {
    let counts = decoder.raw.stack_counts.iter();
    let sampled = counts.map(|(key, counted)| Sampled {
        process: decoder.process(&key.key),
        call: decoder.call(&key.key),
        counted: *counted,
        stacks: sent
            .sites
            .get(key)
            .cloned()
            .unwrap_or_else(|| vec![(Stack::unknown(), 1)]),
    });
    sampled.collect()
}

/// The calls of processes of one name, each call with the stacks of all its groups and classes.
fn classes(decoder: &Decoder, sent: &Named, profile: &Profile) -> Vec<Sampled> {
    let mut stacks: BTreeMap<(String, String), Vec<(Stack, u64)>> = BTreeMap::new();
    for (key, sample) in sent.sites.iter().filter(|(key, _)| key.site == 0) {
        let known = sample
            .iter()
            .filter(|(stack, _)| *stack != Stack::unknown());
        let name = (decoder.process(&key.key), decoder.call(&key.key));
        stacks.entry(name).or_default().extend(known.cloned());
    }
    let mut sampled = Vec::new();
    for ((process, call), stacks) in stacks {
        let groups = profile.groups.iter().filter(|group| group.name == process);
        let counts = groups.flat_map(|group| &group.calls);
        let count: CallCount = counts.filter(|count| count.call == call).sum();
        let counted = Counted {
            calls: count.calls,
            on_cpu: count.on_cpu_ns.unwrap_or(0),
            blocked: count.blocked_ns.unwrap_or(0),
            woken: count.woken_ns.unwrap_or(0),
            ..Counted::default()
        };
        sampled.push(Sampled {
            process,
            call,
            counted,
            stacks,
        });
    }
    sampled
}

/// Fills in the stacks: each row's counts divided as its sample is.
fn stacks(sampled: Vec<Sampled>, decoder: &Decoder, into: &mut Profile) {
    let mut rows: BTreeMap<(String, String, Stack), Counted> = BTreeMap::new();
    for Sampled {
        process,
        call,
        counted,
        stacks,
    } in sampled
    {
        let weights: Vec<u64> = stacks.iter().map(|(_, weight)| *weight).collect();
        let calls = divided(counted.calls, &weights);
        // Divided by the rounded calls, not by the weights: a stack without a call gets no time.
        let [on_cpu, blocked, woken] =
            [counted.on_cpu, counted.blocked, counted.woken].map(|total| divided(total, &calls));
        for (at, (stack, _)) in stacks.into_iter().enumerate() {
            let sum = rows
                .entry((process.clone(), call.clone(), stack))
                .or_default();
            sum.calls += calls[at];
            sum.on_cpu += on_cpu[at];
            sum.blocked += blocked[at];
            sum.woken += woken[at];
        }
    }
    let rows = rows
        .into_iter()
        .map(|((process, call, stack), sum)| StackCount {
            process,
            call,
            frames: texts(&stack.frames),
            function: stack.function.as_ref().map(ToString::to_string),
            calls: sum.calls,
            on_cpu_ns: decoder.timed(sum.on_cpu),
            blocked_ns: decoder.timed(sum.blocked),
            woken_ns: decoder.timed(sum.woken),
        });
    into.stacks = rows.filter(|stack| stack.calls > 0).collect();
    into.stacks
        .sort_by_key(|stack| std::cmp::Reverse(stack.calls));
}

fn texts(frames: &[Arc<str>]) -> Vec<String> {
    frames.iter().map(ToString::to_string).collect()
}

fn warn(raw: &Raw, into: &mut Profile) {
    let unknown = into.stacks.iter().filter(|one| one.frames == [UNKNOWN]);
    // Not an error: short processes often end before their mappings can be read.
    let unknown = unknown.map(|stack| stack.calls).sum();
    let lost = [
        (
            raw.globals.stacks_dropped,
            "calls are missing among the stacks: there was no room",
        ),
        (
            raw.globals.mappings_lost,
            "mappings of files were not seen: there was no room for them among the events",
        ),
        (
            unknown,
            "calls have [unknown] stacks: none of theirs was copied, or their process ended before /proc was read",
        ),
    ];
    let lines = lost
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"));
    into.warnings.extend(lines);
}

/// Whole numbers that add up to the total.
fn divided(total: u64, weights: &[u64]) -> Vec<u64> {
    let all: u128 = weights.iter().copied().map(u128::from).sum();
    let (mut before, mut given) = (0, 0);
    weights
        .iter()
        .map(|weight| {
            before += u128::from(*weight);
            let until = u64::try_from(u128::from(total) * before / all.max(1)).unwrap_or(total);
            let share = until - given;
            given = until;
            share
        })
        .collect()
}

fn slowest(decoder: &Decoder, most: usize, sent: &Named, begun_ns: u64) -> Vec<SlowCall> {
    let mut kept = decoder.raw.slowest.clone();
    kept.sort_by_key(|slow| std::cmp::Reverse(slow.elapsed));
    // A kept call has returned, so its class has its bytes; `Counted::default()` would be an unfinished one.
    let one = Counted {
        calls: 1,
        ..Counted::default()
    };
    kept.iter()
        .take(most)
        .map(|slow| SlowCall {
            process: decoder.process(&slow.key),
            pid: Some(slow.process),
            call: decoder.call(&slow.key),
            class: decode::class(&slow.key, &one),
            at_ns: slow.start.saturating_sub(begun_ns),
            elapsed_ns: slow.elapsed,
            blocked_ns: Some(slow.blocked),
            woken_ns: Some(slow.woken),
            frames: sent
                .slow
                .get(&slow.stack)
                .map_or_else(Vec::new, |stack| texts(&stack.frames)),
        })
        .collect()
}

fn objects(decoder: &Decoder, mounts: &Mounts, into: &mut Profile) {
    let raw = decoder.raw;
    // Counts may have found room in their map when names no longer did.
    let mut dropped = raw.globals.objects_dropped;
    // By the object's hash, not its name: two paths of which only the ends are known may have one name.
    let mut rows: BTreeMap<(u64, String, String), ObjectCount> = BTreeMap::new();
    for (key, counted) in &raw.objects {
        let Some(name) = raw.names.get(&key.object) else {
            dropped += counted.calls;
            continue;
        };
        let (process, count) = (
            decoder.process(&key.key),
            decoder.call_count(&key.key, counted),
        );
        match rows.entry((key.object, process.clone(), count.call.clone())) {
            Entry::Occupied(row) => row.into_mut().count.add(&count),
            Entry::Vacant(row) => {
                let (kind, name, directory) = object_name(name, &raw.names, mounts);
                row.insert(ObjectCount {
                    kind,
                    name,
                    process,
                    directory,
                    count,
                });
            }
        }
    }
    into.objects = ObjectCount::sorted(rows.into_values());
    into.objects_dropped = Some(dropped);
}

fn dropped(raw: &Raw) -> impl Iterator<Item = String> {
    let all = [
        (raw.globals.waits_dropped_ns, "waits"),
        (raw.globals.locks_dropped_ns, "waits for kernel locks"),
    ];
    let lost = all.into_iter().filter(|(ns, _)| *ns > 0);
    lost.map(|(ns, what)| {
        format!(
            "{:.3} s of {what} were not recorded: the table was full",
            ns as f64 / 1e9
        )
    })
}

/// A futex's address with the name of its variable, the peer of a socket, or another object's name.
pub fn waited_on(name: &Name, names: &BTreeMap<u64, Name>, mounts: &Mounts) -> Option<String> {
    if name.kind as u8 == kind::FUTEX {
        let variable = String::from_utf8_lossy(&name.text[..name.length.into()]);
        let futex = format!("futex {:#x} {variable}", name.inode);
        return Some(futex.trim_end().to_string());
    }
    match address(name) {
        Some(peer) => address_text(&peer),
        None => Some(object_name(name, names, mounts).1),
    }
}

/// `None` if a socket is bound to nothing, or of another family.
fn address_text(peer: &Address) -> Option<String> {
    let port = u16::from_be(peer.port);
    let bytes: [u8; 16] = peer.bytes[..16].try_into().ok()?;
    let address = match i32::from(peer.family) {
        libc::AF_INET => {
            SocketAddr::from(([bytes[0], bytes[1], bytes[2], bytes[3]], port)).to_string()
        }
        libc::AF_INET6 => SocketAddr::from((IpAddr::from(bytes).to_canonical(), port)).to_string(),
        // A name that begins with a 0 is in no directory: /proc/net/unix has it with an @.
        libc::AF_UNIX if peer.length == 0 => return None,
        libc::AF_UNIX if peer.bytes[0] == 0 => {
            let length = peer.bytes.len().min(peer.length.into());
            format!("@{}", String::from_utf8_lossy(&peer.bytes[1..length]))
        }
        libc::AF_UNIX => text(&peer.bytes).into_owned(),
        libc::AF_NETLINK => "the kernel (netlink)".to_string(),
        _ => return None,
    };
    Some(match peer.own {
        0 => address,
        ACCEPTED => format!("clients of {address}"),
        _ => format!("own {address}"),
    })
}

/// The address that a name holds if it is that of a socket's peer.
pub fn address(name: &Name) -> Option<Address> {
    let (address, _) = Address::read_from_prefix(&name.text).ok()?;
    (name.kind as u8 == kind::PEER).then_some(address)
}

fn object_name(
    name: &Name,
    names: &BTreeMap<u64, Name>,
    mounts: &Mounts,
) -> (ObjectKind, String, Option<String>) {
    if name.kind != 0 {
        return (ObjectKind::Descriptor, descriptor(name, mounts), None);
    }
    let path = path(name);
    if name.directory == 0 {
        return (ObjectKind::Path, path, None);
    }
    // Dots if there was no room for the directory's name.
    let directory = names
        .get(&name.directory)
        .map_or("...".to_string(), |name| descriptor(name, mounts));
    let joined = if path == "." {
        directory.clone()
    } else {
        format!("{}/{path}", directory.trim_end_matches('/'))
    };
    (ObjectKind::Path, joined, Some(directory))
}

/// A descriptor's file as /proc/PID/fd shows it, as far as possible. The outer directories of a file deeper than the programs look
/// are dots; a file in a file system that is mounted nowhere here has only the path within that.
fn descriptor(name: &Name, mounts: &Mounts) -> String {
    let parts: Vec<_> = name
        .text
        .chunks(PART_BYTES)
        .take(name.length.into())
        .map(text)
        .collect();
    if name.kind as u8 == kind::SOCKET {
        let peer = Address::read_from_prefix(&name.text).ok();
        let peer = peer.and_then(|(peer, _)| address_text(&peer));
        let peer = peer.map_or_else(String::new, |peer| format!(" ({peer})"));
        return format!("socket:[{}]{peer}", name.inode);
    }
    // Names run from the file outwards, because the kernel's dentries point to their parents.
    let (file, inode) = (parts.first().map_or("", AsRef::as_ref), name.inode);
    match (name.kind as u8, parts.split_last()) {
        (kind::FIFO, _) if file.is_empty() => format!("pipe:[{inode}]"),
        (kind::ANONYMOUS, _) => format!("anon_inode:{file}"),
        (_, Some((root, inner))) if root == "/" => {
            let inner: Vec<&str> = inner.iter().rev().map(AsRef::as_ref).collect();
            mounts.path(name.device, &format!("/{}", inner.join("/")))
        }
        _ if file.is_empty() => format!("inode:[{inode}]"),
        _ if parts.len() == PARTS => {
            let outwards: Vec<&str> = parts.iter().rev().map(AsRef::as_ref).collect();
            format!(".../{}", outwards.join("/"))
        }
        _ => file.to_string(),
    }
}

fn path(name: &Name) -> String {
    let cut = if usize::from(name.length) > name.text.len() {
        "..."
    } else {
        ""
    };
    format!("{}{cut}", text(&name.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: u8, text: &str, length: u16) -> Name {
        let mut name = Name {
            inode: 7,
            directory: 0,
            device: 3,
            kind: kind.into(),
            length,
            text: [0; 512],
        };
        name.text[..text.len()].copy_from_slice(text.as_bytes());
        name
    }

    fn directory(parts: &str) -> Name {
        let parts: Vec<&str> = parts.split(' ').collect();
        let mut name = named(kind::DIRECTORY, "", parts.len() as u16);
        for (part, text) in name.text.chunks_mut(PART_BYTES).zip(parts) {
            part[..text.len()].copy_from_slice(text.as_bytes());
        }
        name
    }

    #[test]
    fn waits_that_did_not_fit_are_reported() {
        let mut raw = Raw::default();
        assert_eq!(dropped(&raw).count(), 0);
        raw.globals.waits_dropped_ns = 1_500_000_000;
        let text = "1.500 s of waits were not recorded: the table was full";
        assert_eq!(dropped(&raw).collect::<Vec<_>>(), [text]);
    }

    #[test]
    fn relative_paths_are_joined_to_their_directory() {
        let names = BTreeMap::from([
            (1, directory("b a /")),
            (2, directory("/")),
            (3, directory("h g f e d c b a")),
        ]);
        for (from, text, expected, inside) in [
            (0, "/x", "/x", ""),
            (1, "x", "/a/b/x", "/a/b"),
            (1, ".", "/a/b", "/a/b"),
            (2, "x/y", "/x/y", "/"),
            (9, "x", ".../x", "..."),
            (3, "x", ".../a/b/c/d/e/f/g/h/x", ".../a/b/c/d/e/f/g/h"),
        ] {
            let name = Name {
                directory: from,
                ..named(0, text, text.len() as u16 + 1)
            };
            let (kind, name, directory) = object_name(&name, &names, &Mounts::default());
            assert_eq!(kind, ObjectKind::Path);
            assert_eq!(
                (&*name, &*directory.unwrap_or_default()),
                (expected, inside)
            );
        }
        assert_eq!(path(&named(0, "/etc/x", 513)), "/etc/x...");
    }

    #[test]
    fn calls_are_divided_without_remainder() {
        assert_eq!(divided(10, &[1, 1, 1]), [3, 3, 4]);
        assert_eq!(
            divided(u64::MAX, &[u64::MAX / 2, u64::MAX / 2]),
            [u64::MAX / 2, u64::MAX / 2 + 1]
        );
        assert_eq!(
            (divided(7, &[5]), divided(1, &[0, 3]), divided(1, &[])),
            (vec![7], vec![0, 1], vec![])
        );
    }
}
