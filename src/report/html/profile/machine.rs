//! The machine that a profile is from, and how it was traced.

use super::parts::section;
use crate::model::{Host, Profile};
use crate::report::numbers::{date, three_figures};
use crate::report::profile::notes;
use crate::report::{Cell, Spec, Table};
use crate::write::html as cells;
use crate::write::markup::{Markup, cut};

/// `vm, AMD EPYC, Linux 6.18, 2026-01-01 00:00 UTC`
pub fn one_line(profile: &Profile) -> String {
    let host = &profile.host;
    let parts = [host.name.clone(), host.cpu.clone(), kernel(host), started(profile)];
    cut(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "), 300)
}

fn kernel(host: &Host) -> Option<String> {
    let parts: Vec<&str> = [&host.system, &host.kernel].into_iter().filter_map(|part| part.as_deref()).collect();
    Some(parts.join(" ")).filter(|text| !text.is_empty())
}

fn started(profile: &Profile) -> Option<String> {
    Some(profile.started_unix_s).filter(|s| *s > 0).map(|s| format!("{} UTC", date(s)))
}

type Fact = (&'static str, fn(&Profile) -> Option<String>);

/// What is shown, in this order.
const FACTS: [Fact; 18] = [
    ("command", |p| Some(p.command.join(" ")).filter(|text| !text.is_empty())),
    ("followed", |p| p.scope.clone()),
    ("source", |p| Some(p.source.as_ref()?.title.clone())),
    ("traced by", |p| p.tool.as_ref().map(|tool| format!("{} {}", tool.name, tool.version))),
    ("tracer", |p| Some(p.tracer.kind.clone()).filter(|text| !text.is_empty())),
    ("how", |p| Some(p.tracer.detail.clone()).filter(|text| !text.is_empty())),
    ("it added", notes::added),
    ("began", started),
    ("host", |p| p.host.name.clone()),
    ("kernel", |p| kernel(&p.host)),
    ("distribution", |p| p.host.distribution.clone()),
    ("CPU", |p| p.host.cpu.clone()),
    ("architecture", |p| p.host.architecture.clone()),
    ("processors", |p| p.host.cpus.map(|cpus| cpus.to_string())),
    ("memory", |p| p.host.memory_mib.map(|mib| format!("{mib} MiB"))),
    ("hypervisor", |p| p.host.hypervisor.clone()),
    ("load at the start", |p| p.host.load_1min.map(three_figures)),
    ("user", |p| p.host.user.clone()),
];

pub fn write(html: &mut Markup, profile: &Profile) {
    let facts: Vec<(&str, String)> = FACTS.iter().filter_map(|(name, of)| Some((*name, of(profile)?))).collect();
    let specs = [
        Spec::left("fact", |(name, _): &(&str, String)| (*name).into()),
        Spec::left("value", |(_, value): &(&str, String)| Cell::from(value.clone())),
    ];
    section(html, ("host", "The machine"), |html| {
        cells::plain(html, &Table::of(&specs, &facts), "What is known of the machine and the trace");
    });
}
