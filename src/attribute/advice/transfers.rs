//! Rules about reads and writes: few bytes at a time, and reads that find nothing.

use super::caller::{Caller, INPUTS, POLLS, errors, is_one_of};
use super::rule::{Advice, Rule, Time};
use crate::attribute::spread::at_most;
use crate::model::{CallCount, Class, DescriptorKind};
use DescriptorKind::{Device, Event, File, Pipe, Socket, Terminal};

/// Bytes of a standard library's usual buffer.
const BUFFER: u64 = 4096;

/// Calls that move fewer bytes than this are small.
const SMALL: u64 = 128;

/// Opened files: bytes of two of them are never moved together.
pub const OPENS: &[&str] = &["open", "openat", "openat2", "creat"];
/// What goes on elsewhere in the same file.
const SEEKS: &[&str] = &["lseek", "_llseek"];
/// After these, what was written must be there.
pub const SYNCS: &[&str] = &["fsync", "fdatasync", "sync_file_range", "msync"];

/// Reads of files. Not of what others send, where small may be meant, and not with an offset: their neighbours may be elsewhere.
pub fn small_reads(caller: &Caller) -> Vec<Advice> {
    let separate = caller.succeeded(OPENS).saturating_add(caller.succeeded(SEEKS));
    small(caller, "read", File, separate).into_iter().collect()
}

/// Writes to files and pipes: not to sockets and terminals, where somebody waits for them. Each that may answer what another
/// program or a person sent is left alone.
pub fn small_writes(caller: &Caller) -> Vec<Advice> {
    let apart = [caller.succeeded(OPENS), caller.succeeded(SEEKS), caller.succeeded(SYNCS), caller.received()];
    let separate = apart.into_iter().fold(0, u64::saturating_add);
    [File, Pipe].into_iter().filter_map(|kind| small(caller, "write", kind, separate)).collect()
}

/// `separate` calls at most cannot be merged with the one before.
fn small(caller: &Caller, name: &str, kind: DescriptorKind, separate: u64) -> Option<Advice> {
    let is_small = |count: &CallCount| {
        let size = count.class.size.is_some_and(|size| (1..SMALL).contains(&size));
        is_one_of(count, &[name]) && size && count.class.descriptor == Some(kind)
    };
    let sum = caller.sum(is_small);
    let bytes = sum.bytes.unwrap_or_else(|| least_bytes(caller, is_small));
    let buffered = bytes.div_ceil(BUFFER).saturating_add(separate);
    let full = Class { size: Some(BUFFER), descriptor: Some(kind), ..Class::default() };
    let saves = caller.are_many(sum.calls.saturating_sub(buffered));
    let then = caller.costs.price(name, &full).filter(|_| saves)?;
    let rule = Rule::SmallTransfers { descriptor: Some(kind), bytes, buffered };
    caller.whole(is_small).replaced(rule, buffered, then)
}

/// Bytes that calls moved at least, by their classes.
fn least_bytes(caller: &Caller, keep: impl Fn(&CallCount) -> bool) -> u64 {
    let own = caller.counts.iter().filter(|count| keep(count));
    own.fold(0, |sum, count| sum.saturating_add(count.calls.saturating_mul(count.class.size.unwrap_or(0))))
}

/// Descriptors that may have nothing to read.
const STREAMS: &[Option<DescriptorKind>] = &[None, Some(Pipe), Some(Socket), Some(Event), Some(Terminal), Some(Device)];

pub fn empty_reads(caller: &Caller) -> Vec<Advice> {
    STREAMS.iter().filter_map(|kind| empty(caller, *kind)).collect()
}

/// Those beyond one for each poll: who is notified of input by the edge may read until there is none. Of `accept` there is no other way.
fn empty(caller: &Caller, kind: Option<DescriptorKind>) -> Option<Advice> {
    let is_accept = |count: &CallCount| is_one_of(count, &["accept", "accept4"]);
    let own = |count: &CallCount| is_one_of(count, INPUTS) && !is_accept(count) && count.class.descriptor == kind;
    let empties = |count: &CallCount| errors(count, "EAGAIN");
    let all = empties(&caller.sum(own));
    let surplus = all.saturating_sub(caller.named(POLLS).calls);
    let surplus_share = surplus as f64 / all.max(1) as f64;
    let share = |count: &CallCount| {
        let empty = empties(count) as f64 / count.calls.max(1) as f64;
        if own(count) { surplus_share * empty } else { 0.0 }
    };
    let part = caller.part(share);
    let saved = part.takes(Time::Cpu).filter(|_| caller.are_many(surplus))?;
    Some(part.advice(Rule::EmptyReads { descriptor: kind }, Some(at_most(saved)), []))
}
