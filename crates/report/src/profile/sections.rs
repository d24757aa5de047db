//! The sections that a program marked, one row each, per iteration.

use crate::numbers::{count_cell, counts, significant};
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
        "The program marked no section: see docs/ci.md."
    } else {
        "All but the iterations is per iteration."
    };
    Table::of(&specs(), &sections)
        .with_records(Records::of(&fields(), &lines))
        .titled(notes::title(profile))
        .noted([vec![note.to_string()], notes::notes(profile)].concat())
}

fn specs<'a>() -> Vec<Spec<'a, &'a Section>> {
    let faults =
        |section: &&Section| Some(section.minor_faults? + section.major_faults.unwrap_or(0));
    let rate = |title: &str, of: fn(&Section) -> u64| {
        Spec::right(title, move |section: &&Section| {
            significant(per_iteration(section, of(section))).into()
        })
    };
    vec![
        Spec::left("section", |section: &&Section| section.name.as_str().into()).wrapping(),
        Spec::right("iterations", |section: &&Section| {
            count_cell(section.iterations)
        }),
        rate("calls", |section| all(section).calls),
        rate("errors", |section| all(section).failures()),
        rate("processes", |section| section.processes),
        rate("programs", |section| section.programs).expendable(2),
        Spec::right("page faults", move |section: &&Section| {
            faults(section)
                .map_or_else(String::new, |faults| {
                    significant(per_iteration(section, faults))
                })
                .into()
        })
        .expendable(1),
        Spec::left("of these", |section: &&Section| by_call(section).into()).wrapping(),
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
    let rate = |(call, calls): (&str, u64)| {
        format!("{call} {}", significant(per_iteration(section, calls)))
    };
    rates.into_iter().map(rate).collect::<Vec<_>>().join(", ")
}

fn per_iteration(section: &Section, count: u64) -> f64 {
    count as f64 / section.iterations.max(1) as f64
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
