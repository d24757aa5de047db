//! The slowest calls of a profile, one by one: when, by whom, of which class, and from where.

use crate::numbers::significant;
use crate::profile::class;
use crate::{Columns, Table};
use itertools::Itertools;
use model::{Profile, SlowCall};

const MOST_FRAMES: usize = 4;

/// The recorded calls, the slowest first; a note if the tracer recorded none.
pub fn slowest_table(profile: &Profile) -> Table {
    fn ms(ns: u64) -> f64 {
        ns as f64 / 1e6
    }

    let mut calls: Vec<&SlowCall> = profile.slowest.iter().collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.elapsed_ns));
    let columns = Columns::new(&calls)
        .same("call", |call| &call.call)
        .same("class", |call| class(&call.class))
        .left("process", |call| process(call))
        .field("process", |call| &call.process)
        .field("pid", |call| call.pid.map(u64::from))
        .numbers(
            "at s",
            "at_s",
            |s| format!("{s:.3}"),
            |call| Some(call.at_ns as f64 / 1e9),
        )
        .numbers("ms", "elapsed_ms", significant, |call| {
            Some(ms(call.elapsed_ns))
        })
        .numbers("blocked ms", "blocked_ms", significant, |call| {
            call.blocked_ns.map(ms)
        })
        .expendable(1)
        .left("from", |call| innermost(&call.frames))
        .wrapping()
        .shown_if(calls.iter().any(|call| !call.frames.is_empty()))
        .field("frames", |call| call.frames.join(";"));
    let table = columns.table().titled("the slowest calls");
    let none = "This profile has no slowest calls: its tracer did not record them.";
    table.noted(calls.is_empty().then_some(none))
}

fn process(call: &SlowCall) -> String {
    call.pid.map_or_else(
        || call.process.clone(),
        |pid| format!("{} ({pid})", call.process),
    )
}

/// `read_block < fill < main`: from the call outwards.
fn innermost(frames: &[String]) -> String {
    let shown = frames
        .iter()
        .rev()
        .take(MOST_FRAMES)
        .map(String::as_str)
        .join(" < ");
    let more = if frames.len() > MOST_FRAMES {
        " < ..."
    } else {
        ""
    };
    format!("{shown}{more}")
}
