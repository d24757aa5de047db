//! Version 1: times of single calls, as HdrHistograms.

use crate::model::{CallTimes, LONGEST_NS, Nanos, SingleCalls, TimeBucket};
use crate::store::error::Invalid;
use crate::store::rules::{Checked, positive, wrong};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::Read;

/// Times of single calls, or why there are none: exactly one of the two.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = outcomes()))]
pub struct Latency {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<Times>,
    /// Why they could not be timed, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[cfg(test)]
fn outcomes() -> serde_json::Value {
    let one =
        |(name, kind): (&str, &str)| serde_json::json!({"required": [name], "properties": {name: {"type": kind}}});
    [("times", "object"), ("error", "string")].map(one).into_iter().collect()
}

/// Times of single calls. Histograms are of whole nanoseconds with three significant digits, in the interchange format of
/// HdrHistogram (version 2, compressed), in base64.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Times {
    /// What timing a call costs, in nanoseconds; it is part of every time.
    #[schemars(range(min = 0))]
    timer_ns: f64,
    /// One step of the clock, in nanoseconds.
    #[schemars(range(min = 0))]
    tick_ns: f64,
    /// Wall time of all calls, with what lies between them.
    spent_ns: u64,
    /// All calls.
    all: String,
    /// Those of them that lost the CPU to others; null if they are not distinguished.
    #[serde(default)]
    preempted: Option<String>,
    /// Those of them that took an interrupt and kept the CPU; null if they are not distinguished.
    #[serde(default)]
    interrupted: Option<String>,
    /// Slow calls that gave up the CPU by themselves.
    #[serde(default)]
    waits: u64,
    /// Slow calls for which interrupts were not read.
    #[serde(default)]
    unseen: u64,
}

/// Digits of a histogram, and the range of its values in nanoseconds.
const DIGITS: u8 = 3;
const LEAST_NS: u64 = 1;

/// The format has signed counts.
const MOST_CALLS: u64 = i64::MAX as u64;

/// Bytes of a histogram with a count in each bucket, and of its text in base64.
const MOST_BYTES: u64 = 512 << 10;
const MOST_TEXT: usize = 1 << 20;
/// Counts are packed by this factor at most: what unpacks to more was made to take time.
const MOST_PACKED: u64 = 64;

/// What `V2Serializer` writes before the counts: cookie, their length, an offset, digits, range and a ratio.
const HEADER: usize = 40;
const COOKIE: u32 = 0x1c84_9303 | 0x10;

/// Checks the numbers; histograms are checked as they are read. Errors: the first value that makes no sense.
pub fn check(latency: &Latency) -> Checked {
    match (&latency.times, &latency.error) {
        (Some(times), None) => {
            positive("latency.times.timer_ns", times.timer_ns)?;
            positive("latency.times.tick_ns", times.tick_ns)
        }
        (None, Some(_)) => Ok(()),
        _ => wrong("latency", "must have exactly one of times and error"),
    }
}

impl From<Result<SingleCalls, String>> for Latency {
    fn from(latency: Result<SingleCalls, String>) -> Latency {
        match latency {
            Ok(calls) => Latency { times: Some(calls.into()), error: None },
            Err(failure) => Latency { times: None, error: Some(failure) },
        }
    }
}

impl Latency {
    /// The times, with their histograms decoded. Errors: what is wrong with a histogram, or that there is neither time
    /// nor error.
    pub fn into_model(self) -> Result<Result<SingleCalls, String>, Invalid> {
        match (self.times, self.error) {
            (Some(times), None) => times.into_model().map(Ok),
            (_, Some(failure)) => Ok(Err(failure)),
            (None, None) => Err(invalid("", "has neither times nor error")),
        }
    }
}

impl From<SingleCalls> for Times {
    fn from(calls: SingleCalls) -> Times {
        Times {
            timer_ns: calls.timer.0,
            tick_ns: calls.tick.0,
            spent_ns: calls.spent_ns,
            all: encode(&calls.all),
            preempted: calls.preempted.as_ref().map(encode),
            interrupted: calls.interrupted.as_ref().map(encode),
            waits: calls.waits,
            unseen: calls.unseen,
        }
    }
}

impl Times {
    fn into_model(self) -> Result<SingleCalls, Invalid> {
        let all = decode("all", &self.all)?;
        if all.0.is_empty() {
            return Err(invalid("all", "holds no call"));
        }
        let part = |name, text: Option<String>| text.map(|text| part_of(&all, name, &text)).transpose();
        Ok(SingleCalls {
            preempted: part("preempted", self.preempted)?,
            interrupted: part("interrupted", self.interrupted)?,
            timer: Nanos(self.timer_ns),
            tick: Nanos(self.tick_ns),
            spent_ns: self.spent_ns,
            waits: self.waits,
            unseen: self.unseen,
            all,
        })
    }
}

/// A histogram of some of the calls in `all`.
fn part_of(all: &CallTimes, name: &str, text: &str) -> Result<CallTimes, Invalid> {
    let part = decode(name, text)?;
    let count = |ns: u64| all.0.binary_search_by_key(&ns, |bucket| bucket.ns).map_or(0, |at| all.0[at].count);
    match part.0.iter().find(|bucket| bucket.count > count(bucket.ns)) {
        Some(bucket) => Err(invalid(name, &format!("has more calls of {} ns than there are in all", bucket.ns))),
        None => Ok(part),
    }
}

fn invalid(name: &str, what: &str) -> Invalid {
    Invalid { place: format!("latency.times.{name}"), what: what.to_string() }
}

fn empty() -> Option<Histogram<u64>> {
    Histogram::new_with_bounds(LEAST_NS, LONGEST_NS, DIGITS).ok()
}

/// A histogram as text; empty if it cannot be written, which reading then refuses.
fn encode(times: &CallTimes) -> String {
    let mut bytes = Vec::new();
    let Some(mut histogram) = empty() else { return String::new() };
    times.0.iter().for_each(|bucket| histogram.saturating_record_n(bucket.ns, bucket.count.min(MOST_CALLS)));
    match V2DeflateSerializer::new().serialize(&histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        Err(_) => String::new(),
    }
}

/// The histogram in `text`. Read by code of our own: the library takes memory by what the header says, and panics at a count
/// that has no negative.
fn decode(name: &str, text: &str) -> Result<CallTimes, Invalid> {
    let refused = |what: &str| invalid(name, &format!("is no HdrHistogram as described in FORMAT.md: {what}"));
    if text.len() > MOST_TEXT {
        return Err(refused("it is too long"));
    }
    let packed = STANDARD.decode(text).map_err(|_| refused("it is not base64"))?;
    let bytes = unpack(&packed).ok_or_else(|| refused("it cannot be unpacked"))?;
    check_header(&bytes).map_err(refused)?;
    counts(&bytes[HEADER..]).ok_or_else(|| refused("its counts cannot be read"))
}

/// The counts of buckets in their order; a negative number is so many buckets without calls. `None` if they are none, or go on
/// beyond the last bucket.
fn counts(mut bytes: &[u8]) -> Option<CallTimes> {
    let (mut times, mut index) = (Vec::new(), 0u64);
    while !bytes.is_empty() {
        let number = take_number(&mut bytes)?;
        match u64::try_from(number) {
            Ok(0) => index += 1,
            Ok(count) => {
                let ns = CallTimes::bucket_at(index).filter(|ns| *ns <= LONGEST_NS)?;
                times.push(TimeBucket { ns, count });
                index += 1;
            }
            Err(_) => index = index.checked_add(number.unsigned_abs())?,
        }
    }
    Some(CallTimes(times))
}

/// A number of up to nine bytes, seven bits in each but the ninth, which has eight; its sign is the lowest bit.
fn take_number(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for i in 0..9 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = if i == 8 { *first } else { first & 0x7f };
        value |= u64::from(bits) << (7 * i);
        if first & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Past the cookie and the length of what is packed.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MOST_BYTES.min(MOST_PACKED * packed.len() as u64);
    ZlibDecoder::new(packed.get(8..)?).take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn check_header(bytes: &[u8]) -> Result<(), &'static str> {
    let short = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    if bytes.len() < HEADER || short(0) != Some(COOKIE) {
        return Err("its version is not 2");
    }
    if short(4).map(|length| length as usize) != Some(bytes.len() - HEADER) {
        return Err("its length is not what it says");
    }
    if (short(12), long(16), long(24)) != (Some(u32::from(DIGITS)), Some(LEAST_NS), Some(LONGEST_NS)) {
        return Err("its range or digits are others");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
