//! Threads in the profile: the time of each, what it waited for, the call that it is in, and requests.

use super::decode::{self, Decoder};
use super::details;
use crate::mounts::Mounts;
use crate::open_calls::OpenCalls;
use crate::stacks::{Named, Reader};
use crate::watched::in_epoll_set;
use model::{
    DescriptorKind, Peer, Profile, Requests, RingCount, RingWay, Thread, ThreadTime, WaitCount,
    Waker, ring_operation,
};
use std::collections::BTreeMap;
use std::fs;
use sys::bpf::layout::{ACCEPTED, kind, wait, waker};
use sys::bpf::{Key, Live, Name, PolledKey, Raw, StackKey, WaitKey, text};
use sys::tree::numbers;

/// Reads the memory of processes that wait for a lock.
pub fn fill(decoder: &Decoder, mounts: &Mounts, named: &Named, into: &mut Profile) {
    let (live, ended) = (&decoder.raw.live, &decoder.raw.ended);
    let mut calls = OpenCalls::new(&named.open, live.iter().chain(ended));
    into.waits = waits(decoder, mounts, named, &calls);
    into.threads = threads(decoder, mounts, named, &mut calls);
    into.requests = requests(decoder, mounts);
    into.rings = rings(decoder);
}

/// Gives futexes that are variables of a program the names of these.
pub fn name_futexes(reader: &Reader, raw: &mut Raw) {
    let names = raw.names.iter();
    let futexes = names.filter(|(_, name)| name.kind as u8 == kind::FUTEX);
    let futexes: Vec<(u64, u32, u64)> = futexes
        .map(|(hash, name)| (*hash, name.device, name.inode))
        .collect();
    if futexes.is_empty() {
        return;
    }
    let variables = reader.ask(move |stacks| {
        let named = futexes.iter();
        let named = named.map(|(hash, pid, at)| Some((*hash, stacks.variable(*pid, *at)?)));
        named.flatten().collect::<Vec<_>>()
    });
    for (hash, variable) in variables.unwrap_or_default() {
        if let Some(name) = raw.names.get_mut(&hash) {
            let length = variable.len().min(name.text.len());
            name.text[..length].copy_from_slice(&variable.as_bytes()[..length]);
            name.length = length as u16;
        }
    }
}

fn waits(decoder: &Decoder, mounts: &Mounts, named: &Named, calls: &OpenCalls) -> Vec<WaitCount> {
    let ended = decoder.raw.waits.iter().map(|(key, counted)| WaitCount {
        function: function_at(named, &key.key, key.site),
        calls: counted.calls,
        blocked_ns: counted.blocked,
        stalled_ns: Some(counted.stalled),
        ..row(decoder, mounts, key)
    });
    let mut rows: Vec<WaitCount> = ended.chain(open_waits(decoder, mounts, calls)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.blocked_ns));
    rows
}

/// `None` at no site: that one has the calls of all functions.
fn function_at(named: &Named, key: &Key, site: u64) -> Option<String> {
    if site == 0 {
        return None;
    }
    let key = Key {
        group: key.group,
        number: key.number,
        gate: key.gate,
        ..Key::default()
    };
    let function = named.functions.get(&StackKey { key, site });
    function.map(ToString::to_string)
}

fn row(decoder: &Decoder, mounts: &Mounts, key: &WaitKey) -> WaitCount {
    let names = &decoder.raw.names;
    let bits = key.key.value;
    let (object, waker) = (names.get(&key.object), names.get(&key.waker));
    WaitCount {
        process: decoder.process(&key.key),
        tid: Some(key.thread).filter(|thread| *thread > 0),
        call: decoder.call(&key.key),
        descriptor: decode::descriptor(key.key.kind).filter(|kind| *kind != DescriptorKind::None),
        on: object.and_then(|name| details::waited_on(name, names, mounts)),
        peer: object.and_then(peer),
        by: waker.map(waker_name),
        waker: waker.map(|name| waker_of(name.device)),
        lock: bits & wait::LOCK > 0,
        asked: bits & wait::ASKED > 0,
        timeout: bits & wait::TIMEOUT > 0,
        ..WaitCount::default()
    }
}

fn open_waits(decoder: &Decoder, mounts: &Mounts, calls: &OpenCalls) -> Vec<WaitCount> {
    let open = decoder.raw.live.iter();
    let open = open.filter(|live| live.inside > 0 && live.blocked > 0);
    open.map(|live| WaitCount {
        stalled_ns: Some(live.stalled),
        ..calls.wait(live, row(decoder, mounts, &open_key(live)))
    })
    .collect()
}

fn open_key(live: &Live) -> WaitKey {
    WaitKey {
        key: Key {
            value: live.value as u8,
            ..live.key
        },
        object: live.object,
        thread: live.pid,
        process: live.process,
        ..WaitKey::default()
    }
}

fn peer(name: &Name) -> Option<Peer> {
    let address = details::address(name)?;
    Some(match address.own {
        0 => Peer::Server,
        ACCEPTED => Peer::Client,
        _ => Peer::Anybody,
    })
}

fn waker_name(name: &Name) -> String {
    let thread = if name.device == waker::THREAD {
        "thread "
    } else {
        ""
    };
    format!("{thread}{}", text(&name.text))
}

fn waker_of(code: u32) -> Waker {
    match code {
        waker::THREAD => Waker::Thread,
        waker::PARENT => Waker::Parent,
        waker::TRACED => Waker::Traced,
        _ => Waker::Other,
    }
}

/// All threads that run, and some that ended: if that was by a signal, `open` is the call that it interrupted.
fn threads(
    decoder: &Decoder,
    mounts: &Mounts,
    named: &Named,
    calls: &mut OpenCalls,
) -> Vec<Thread> {
    let (live, ended) = (&decoder.raw.live, &decoder.raw.ended);
    let live = live.iter().map(|live| (live, false));
    live.chain(ended.iter().map(|live| (live, true)))
        .map(|(live, ended)| {
            let row = WaitCount {
                function: function_at(named, &live.key, live.site),
                ..row(decoder, mounts, &open_key(live))
            };
            calls.thread(live, ended, row)
        })
        .collect()
}

fn process(decoder: &Decoder, group: u32) -> String {
    decoder.process(&Key {
        group,
        ..Key::default()
    })
}

fn requests(decoder: &Decoder, mounts: &Mounts) -> Vec<Requests> {
    let mut sums: BTreeMap<_, Requests> = BTreeMap::new();
    let names = &decoder.raw.names;
    for (served_key, served) in &decoder.raw.served {
        let on = names.get(&served_key.peer);
        let on = on.and_then(|name| details::waited_on(name, names, mounts));
        let key = (process(decoder, served_key.group as u32), on);
        sums.entry(key).or_default().add(&Requests {
            connections: served.connections,
            requests: served.requests,
            delayed: served.held,
            elapsed_ns: served.elapsed,
            by_one_thread: served.by_thread,
            time: ThreadTime {
                ran_ns: served.ran,
                runnable_ns: served.waited,
                blocked_ns: served.blocked,
            },
            ..Requests::default()
        });
    }
    let named = sums.into_iter();
    named
        .map(|((process, on), sum)| Requests { process, on, ..sum })
        .collect()
}

/// Requests of io_uring by process, operation and way, the most first.
fn rings(decoder: &Decoder) -> Vec<RingCount> {
    let rings = decoder.raw.rings.iter();
    let mut rows: Vec<RingCount> = rings
        .map(|(key, sum)| RingCount {
            process: process(decoder, key.group),
            operation: ring_operation(key.opcode),
            way: match key.way {
                0 => RingWay::Inline,
                1 => RingWay::Later,
                _ => RingWay::Worker,
            },
            requests: sum.requests,
            elapsed_ns: sum.elapsed,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.requests));
    rows
}

/// The descriptors that are in the epoll sets of a process now; the programs see those that are added later.
pub fn polled(process: u32) -> Vec<(PolledKey, u64)> {
    let descriptors = format!("/proc/{process}/fd");
    let sets = numbers(&descriptors).into_iter().filter(|epoll: &u32| {
        fs::read_link(format!("{descriptors}/{epoll}"))
            .is_ok_and(|target| target.as_os_str() == "anon_inode:[eventpoll]")
    });
    sets.flat_map(|epoll: u32| {
        let watched = in_epoll_set(process, epoll.into());
        watched.map(move |(data, descriptor)| {
            let key = PolledKey {
                data,
                process,
                epoll,
            };
            (key, descriptor)
        })
    })
    .collect()
}
