//! Rules about reads and writes: few bytes at a time, and reads that find nothing.

use super::caller::{Caller, is_one_of};
use super::rule::{Advice, MANY, Rule, Time};
use super::saving;
use crate::model::{CallCount, Class, DescriptorKind};
use DescriptorKind::{Device, Event, File, Pipe, Socket, Terminal};

/// Bytes of a standard library's usual buffer.
const BUFFER: u64 = 4096;

/// Calls that move fewer bytes than this are small.
const SMALL: u64 = 128;

/// Where a read that comes early would get the bytes of later ones too. Not of pipes, sockets and terminals: there, small
/// may be meant.
const READ_AHEAD: &[Option<DescriptorKind>] = &[None, Some(File), Some(Device)];

/// Where a write may come later. Not to sockets and terminals, where somebody waits for it.
const WRITE_BEHIND: &[Option<DescriptorKind>] = &[None, Some(File), Some(Device), Some(Pipe)];

/// Not of calls with an offset: their neighbours may be elsewhere.
pub fn small_reads(caller: &Caller) -> Vec<Advice> {
    READ_AHEAD.iter().filter_map(|kind| small(caller, "read", *kind)).collect()
}

pub fn small_writes(caller: &Caller) -> Vec<Advice> {
    WRITE_BEHIND.iter().filter_map(|kind| small(caller, "write", *kind)).collect()
}

fn small(caller: &Caller, name: &str, kind: Option<DescriptorKind>) -> Option<Advice> {
    let is_small = |count: &CallCount| {
        let size = count.class.size.is_some_and(|size| (1..SMALL).contains(&size));
        is_one_of(count, &[name]) && size && count.class.descriptor == kind
    };
    let sum = caller.sum(is_small);
    let bytes = sum.bytes.unwrap_or_else(|| least_bytes(caller, is_small));
    let buffered = bytes.div_ceil(BUFFER).max(1);
    let full = Class { size: Some(BUFFER), descriptor: kind, ..Class::default() };
    let then = caller.costs.price(name, &full).filter(|_| sum.calls >= MANY)?;
    caller.whole(is_small).replaced(Rule::SmallTransfers { descriptor: kind, bytes, buffered }, buffered, then)
}

/// Bytes that calls moved at least, by their classes.
fn least_bytes(caller: &Caller, keep: impl Fn(&CallCount) -> bool) -> u64 {
    let own = caller.counts.iter().filter(|count| keep(count));
    own.fold(0, |sum, count| sum.saturating_add(count.calls.saturating_mul(count.class.size.unwrap_or(0))))
}

/// Calls that take what has arrived.
pub const INPUTS: &[&str] = &["read", "readv", "recvfrom", "recvmsg", "recvmmsg", "recv", "accept", "accept4"];

/// Descriptors that may have nothing to read.
const STREAMS: &[Option<DescriptorKind>] = &[None, Some(Pipe), Some(Socket), Some(Event), Some(Terminal), Some(Device)];

pub fn empty_reads(caller: &Caller) -> Vec<Advice> {
    STREAMS.iter().filter_map(|kind| empty(caller, *kind)).collect()
}

fn empty(caller: &Caller, kind: Option<DescriptorKind>) -> Option<Advice> {
    let share = |count: &CallCount| {
        let empty = count.errors.get("EAGAIN").copied().unwrap_or(0);
        let counts = is_one_of(count, INPUTS) && count.class.descriptor == kind;
        if counts { empty as f64 / count.calls.max(1) as f64 } else { 0.0 }
    };
    let part = caller.part(share);
    let saved = part.takes(Time::Cpu).filter(|_| part.calls >= MANY)?;
    Some(part.advice(Rule::EmptyReads { descriptor: kind }, Some(saving::at_most(saved)), []))
}
