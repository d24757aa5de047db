//! The sections that a program marked, one row each, per iteration.

use crate::numbers::{count_cell, counts, significant, thousands};
use crate::profile::notes;
use crate::{Records, Spec, Table};
use model::{CallCount, Profile, Section};

pub fn sections_table(profile: &Profile) -> Table {
    let sections: Vec<&Section> = profile.sections.iter().collect();
    let lines: Vec<(&Section, &CallCount)> = sections
        .iter()
        .flat_map(|section| section.calls.iter().map(move |count| (*section, count)))
        .collect();
    let note = if sections.is_empty() {
        "The program marked no section: it does by asking for the paths /.syscost/begin/NAME and /.syscost/end/NAME."
    } else {
        "Everything but the iterations is per iteration."
    };
    Table::of(&specs(), &sections)
        .with_records(Records::of(&fields(), &lines))
        .titled(notes::title(profile))
        .noted([vec![note.to_string()], notes::notes(profile)].concat())
}

fn specs<'a>() -> Vec<Spec<'a, &'a Section>> {
    let rates = |title: &str, of: fn(&Section) -> Option<u64>| {
        let text = move |section: &Section| of(section).map(|count| rate(section, count));
        Spec::right(title, move |section: &&Section| {
            text(section).unwrap_or_default().into()
        })
    };
    vec![
        Spec::left("section", |section: &&Section| section.name.as_str().into()).wrapping(),
        Spec::right("iterations", |section: &&Section| {
            count_cell(section.iterations)
        }),
        rates("calls", |section| Some(all(section).calls)),
        rates("errors", |section| Some(all(section).failures())),
        rates("processes", |section| Some(section.processes)),
        rates("programs", |section| Some(section.programs)).expendable(2),
        rates("page faults", |section| {
            Some(section.minor_faults? + section.major_faults?)
        })
        .expendable(1),
        Spec::left("calls by name", |section: &&Section| {
            by_call(section).into()
        })
        .wrapping(),
    ]
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
    let each = |(call, calls): (&str, u64)| format!("{call} {}", rate(section, calls));
    rates.into_iter().map(each).collect::<Vec<_>>().join(", ")
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

/// Of each section, call and class, over all iterations.
fn fields<'a>() -> Vec<Spec<'a, (&'a Section, &'a CallCount)>> {
    type Line<'a> = (&'a Section, &'a CallCount);
    vec![
        Spec::same("section", |(section, _): &Line| section.name.clone()),
        counts("iterations", "iterations", |(section, _): &Line| {
            section.iterations
        }),
        counts("processes", "processes", |(section, _): &Line| {
            section.processes
        }),
        counts("programs", "programs", |(section, _): &Line| {
            section.programs
        }),
        Spec::hidden().count("minor_faults", |(section, _): &Line| section.minor_faults),
        Spec::hidden().count("major_faults", |(section, _): &Line| section.major_faults),
        Spec::same("call", |(_, count): &Line| count.call.clone()),
        Spec::same("class", |(_, count): &Line| super::class(&count.class)),
        counts("calls", "calls", |(_, count): &Line| count.calls),
        counts("errors", "errors", |(_, count): &Line| count.failures()),
        Spec::hidden().count("bytes", |(_, count): &Line| count.bytes),
        Spec::hidden().count("on_cpu_ns", |(_, count): &Line| count.on_cpu_ns),
        Spec::hidden().count("blocked_ns", |(_, count): &Line| count.blocked_ns),
    ]
}
