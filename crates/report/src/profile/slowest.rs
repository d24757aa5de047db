//! The slowest calls of a profile, one by one: when, by whom, of which class, and from where.

use crate::numbers::significant;
use crate::profile::class;
use crate::{Spec, Table};
use model::{Profile, SlowCall};

const MOST_FRAMES: usize = 4;

pub fn slowest_table(profile: &Profile) -> Table {
    let mut calls: Vec<&SlowCall> = profile.slowest.iter().collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.elapsed_ns));
    let table = Table::of(&specs(&calls), &calls).titled("the slowest calls");
    let none = "This profile has no slowest calls: its tracer did not record them.".to_string();
    table.noted(if calls.is_empty() { vec![none] } else { vec![] })
}

fn specs<'a>(calls: &[&SlowCall]) -> Vec<Spec<'a, &'a SlowCall>> {
    let ms = |ns: u64| ns as f64 / 1e6;
    vec![
        Spec::same("call", |call: &&SlowCall| call.call.clone()),
        Spec::same("class", |call: &&SlowCall| class(&call.class)),
        Spec::left("process", |call: &&SlowCall| process(call).into())
            .text("process", |call: &&SlowCall| call.process.clone())
            .count("pid", |call: &&SlowCall| call.pid.map(u64::from)),
        Spec::numbers(
            "at s",
            "at_s",
            |s| format!("{s:.3}"),
            |call: &&SlowCall| Some(call.at_ns as f64 / 1e9),
        ),
        Spec::numbers("ms", "elapsed_ms", significant, move |call: &&SlowCall| {
            Some(ms(call.elapsed_ns))
        }),
        Spec::numbers(
            "blocked ms",
            "blocked_ms",
            significant,
            move |call: &&SlowCall| call.blocked_ns.map(ms),
        )
        .expendable(1),
        Spec::left("from", |call: &&SlowCall| innermost(&call.frames).into())
            .shown_if(calls.iter().any(|call| !call.frames.is_empty()))
            .wrapping()
            .text("frames", |call: &&SlowCall| call.frames.join(";")),
    ]
}

fn process(call: &SlowCall) -> String {
    call.pid.map_or_else(
        || call.process.clone(),
        |pid| format!("{} ({pid})", call.process),
    )
}

/// `read_block < fill < main`: from the call outwards.
fn innermost(frames: &[String]) -> String {
    let shown: Vec<&str> = frames
        .iter()
        .rev()
        .take(MOST_FRAMES)
        .map(String::as_str)
        .collect();
    let more = if frames.len() > MOST_FRAMES {
        " < ..."
    } else {
        ""
    };
    format!("{}{more}", shown.join(" < "))
}
