//! The sections that a program marked, one row each, per iteration.

use crate::numbers::{duration, in_seconds, significant, thousands};
use crate::profile::notes;
use crate::{Columns, Records, Table};
use itertools::Itertools;
use model::{CallCount, Profile, Section};

/// Rates per iteration for people, counts over all iterations for programs.
pub fn sections_table(profile: &Profile) -> Table {
    let sections: Vec<&Section> = profile.sections.iter().collect();
    let none = [CallCount::default()];
    let lines: Vec<(&Section, &CallCount)> = sections
        .iter()
        .flat_map(|section| {
            let counts = match section.calls.as_slice() {
                [] => &none,
                counts => counts,
            };
            counts.iter().map(|count| (*section, count))
        })
        .collect();
    let note = if sections.is_empty() {
        "The program marked no sections. To mark one, check for the files /.syscost/begin/NAME and /.syscost/end/NAME around it."
    } else {
        "All counts but 'iterations' are per iteration."
    };
    let elapsed = sections
        .iter()
        .any(|section| section.elapsed_ns.is_some())
        .then(|| "Elapsed time is summed over threads, and includes tracing.".to_string());
    rates(&sections)
        .with_records(records(&lines))
        .titled(notes::title(profile))
        .noted(
            [
                vec![note.to_string()],
                elapsed.into_iter().collect(),
                notes::notes(profile),
            ]
            .concat(),
        )
}

fn rates(sections: &[&Section]) -> Table {
    Columns::new(sections)
        .left("section", |section| &section.name)
        .wrapping()
        .right("iterations", |section| section.iterations)
        .right("elapsed", |section| {
            let each_s = section.elapsed_ns? as f64 / 1e9 / section.iterations.max(1) as f64;
            Some(duration(each_s))
        })
        .shown_if(sections.iter().any(|section| section.elapsed_ns.is_some()))
        .right("calls", |section| rate(section, all(section).calls))
        .right("errors", |section| rate(section, all(section).failures()))
        .right("processes", |section| rate(section, section.processes))
        .right("programs", |section| rate(section, section.programs))
        .expendable(2)
        .right("page faults", |section| {
            let faults = section.minor_faults? + section.major_faults?;
            Some(rate(section, faults))
        })
        .expendable(1)
        .left("calls by name", |section| by_call(section))
        .wrapping()
        .table()
}

fn all(section: &Section) -> CallCount {
    section.calls.iter().sum()
}

/// `openat 2, read 1.5`
fn by_call(section: &Section) -> String {
    let mut rates: Vec<(&str, u64)> = Vec::new();
    for count in &section.calls {
        match rates.iter_mut().find(|(call, _)| *call == count.call) {
            Some((_, calls)) => *calls += count.calls,
            None => rates.push((&count.call, count.calls)),
        }
    }
    rates.sort_by_key(|(call, calls)| (std::cmp::Reverse(*calls), *call));
    rates
        .into_iter()
        .map(|(call, calls)| format!("{call} {}", rate(section, calls)))
        .join(", ")
}

/// Per iteration.
fn rate(section: &Section, count: u64) -> String {
    let each = count as f64 / section.iterations.max(1) as f64;
    if each.fract() == 0.0 {
        thousands(each)
    } else {
        significant(each)
    }
}

/// One line per section, call and class, with counts over all iterations; sections without calls have one line.
fn records(lines: &[(&Section, &CallCount)]) -> Records {
    Columns::new(lines)
        .field("section", |(section, _)| &section.name)
        .field("iterations", |(section, _)| section.iterations)
        .field("processes", |(section, _)| section.processes)
        .field("programs", |(section, _)| section.programs)
        .field("minor_faults", |(section, _)| section.minor_faults)
        .field("major_faults", |(section, _)| section.major_faults)
        .field("call", |(_, count)| &count.call)
        .field("class", |(_, count)| super::class(&count.class))
        .field("calls", |(_, count)| count.calls)
        .field("errors", |(_, count)| count.failures())
        .field("bytes", |(_, count)| count.bytes)
        .field("on_cpu_s", |(_, count)| in_seconds(count.on_cpu_ns))
        .field("blocked_s", |(_, count)| in_seconds(count.blocked_ns))
        .records()
}
