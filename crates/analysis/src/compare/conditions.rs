//! Facts about a run that affect its costs, by name.

use super::column::ColumnInfo;
use schemars::JsonSchema;
use serde::Serialize;

/// A fact of one run.
#[derive(PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    Text(String),
    Count(u64),
    Switch(bool),
    Seconds(f64),
    Percent(f64),
    /// Published by others.
    Published,
}

pub type Condition = (&'static str, fn(&ColumnInfo) -> Option<Known>);

/// The most important first.
pub const CONDITIONS: [Condition; 29] = [
    // The kernel and the processor change costs most.
    ("measured by", |info| Some(origin(info))),
    ("kernel", |info| {
        joined([&info.host.system, &info.host.kernel])
    }),
    ("distribution", |info| text(&info.host.distribution)),
    ("kernel build", |info| text(&info.host.kernel_version)),
    ("kernel options", |info| {
        text_or_none(info, &info.host.command_line)
    }),
    ("CPU", |info| text(&info.host.cpu)),
    ("CPU revision", |info| text(&info.host.cpu_revision)),
    ("architecture", |info| text(&info.host.architecture)),
    ("hypervisor", |info| text(&info.host.hypervisor)),
    ("container", |info| text_or_none(info, &info.host.container)),
    // Settings of the kernel.
    ("clock", |info| text(&info.host.clock_source)),
    ("preemption", |info| text(&info.host.preemption)),
    ("timer ticks a second", |info| {
        info.host.tick_hz.map(|hz| Known::Count(hz.into()))
    }),
    ("huge pages", |info| text(&info.host.huge_pages)),
    ("CPUs without ticks", |info| {
        text_or_none(info, &info.host.nohz_full)
    }),
    ("isolated CPUs", |info| {
        text_or_none(info, &info.host.isolated_cpus)
    }),
    ("CPU quota", |info| {
        text_or_none(info, &info.host.cpu_quota.map(|cpus| format!("{cpus:.2}")))
    }),
    // The programs and where they ran.
    ("C library", |info| text(&info.host.libc)),
    ("probe compiler", |info| {
        if info.is_measured() {
            Some(Known::Text(info.tool.compiler.clone()))
        } else {
            None
        }
    }),
    ("file system", |info| text(&info.host.file_system)),
    ("user", |info| text(&info.host.user)),
    ("processors", |info| {
        info.host.cpus.map(|cpus| Known::Count(cpus.into()))
    }),
    ("governor", |info| text(&info.host.governor)),
    ("turbo", |info| info.host.turbo.map(Known::Switch)),
    ("SMT", |info| info.host.smt.map(Known::Switch)),
    ("autogroup", |info| info.host.autogroup.map(Known::Switch)),
    ("CPUs kept busy by others", |info| {
        info.host
            .busy_cpus
            .map(|busy| Known::Count(busy.round() as u64))
    }),
    // The run itself.
    ("time for measuring", |info| {
        let given = info.whole_s.unwrap_or(info.budget_s);
        if info.is_measured() {
            Some(Known::Seconds(given))
        } else {
            None
        }
    }),
    ("target precision", |info| {
        if info.is_measured() {
            Some(Known::Percent(info.precision_percent))
        } else {
            None
        }
    }),
];

fn origin(info: &ColumnInfo) -> Known {
    if info.is_measured() {
        Known::Text(format!("{} {}", info.tool.name, info.tool.version))
    } else {
        Known::Published
    }
}

fn text(value: &Option<String>) -> Option<Known> {
    value.clone().map(Known::Text)
}

/// For a measured run a missing value means that there is none, not that it is unknown.
fn text_or_none(info: &ColumnInfo, value: &Option<String>) -> Option<Known> {
    if !info.is_measured() {
        return None;
    }
    Some(Known::Text(value.clone().unwrap_or_default()))
}

fn joined(parts: [&Option<String>; 2]) -> Option<Known> {
    let parts: Vec<&str> = parts.iter().filter_map(|part| part.as_deref()).collect();
    if parts.is_empty() {
        return None;
    }
    Some(Known::Text(parts.join(" ")))
}
