//! What is known of a run that bears on its costs, by name; and what of it differs between two runs.

use super::column::ColumnInfo;

pub type Fact = (&'static str, fn(&ColumnInfo) -> Option<String>);

/// What is compared, from what weighs most to what weighs least.
pub const FACTS: [Fact; 22] = [
    ("measured by", |info| Some(origin(info))),
    ("kernel", |info| joined([&info.host.system, &info.host.kernel])),
    ("distribution", |info| info.host.distribution.clone()),
    ("kernel build", |info| info.host.kernel_version.clone()),
    ("kernel options", |info| Some(info.host.command_line.clone().unwrap_or_default()).filter(|_| measured(info))),
    ("CPU", |info| info.host.cpu.clone()),
    ("CPU revision", |info| info.host.cpu_revision.clone()),
    ("architecture", |info| info.host.architecture.clone()),
    ("hypervisor", |info| info.host.hypervisor.clone()),
    ("container", |info| Some(info.host.container.clone().unwrap_or("none".into())).filter(|_| measured(info))),
    ("clock", |info| info.host.clock_source.clone()),
    ("C library", |info| info.host.libc.clone()),
    ("compiler of the probe", |info| Some(info.tool.compiler.clone()).filter(|_| measured(info))),
    ("file system", |info| info.host.file_system.clone()),
    ("user", |info| info.host.user.clone()),
    ("processors", |info| info.host.cpus.map(|cpus| cpus.to_string())),
    ("governor", |info| info.host.governor.clone()),
    ("turbo", |info| info.host.turbo.map(on_off)),
    ("SMT", |info| info.host.smt.map(on_off)),
    ("autogroup", |info| info.host.autogroup.map(on_off)),
    ("time for measuring", |info| Some(format!("{} s", info.budget_s)).filter(|_| measured(info))),
    ("target precision", |info| Some(format!("{}%", info.precision_percent)).filter(|_| measured(info))),
];

/// Whether this tool measured the run: articles leave open what they do not tell.
pub fn measured(info: &ColumnInfo) -> bool {
    info.source.is_none()
}

fn origin(info: &ColumnInfo) -> String {
    match measured(info) {
        true => format!("{} {}", info.tool.name, info.tool.version),
        false => "others, as they published it".to_string(),
    }
}

fn on_off(on: bool) -> String {
    if on { "on".to_string() } else { "off".to_string() }
}

fn joined(parts: [&Option<String>; 2]) -> Option<String> {
    let parts: Vec<&str> = parts.iter().filter_map(|part| part.as_deref()).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// `kernel: 6.1 -> 6.18` for each fact that differs between two runs and is known in one.
pub fn changed_facts(old: &ColumnInfo, new: &ColumnInfo) -> Vec<String> {
    let shown = |value: Option<String>| match value {
        None => "unknown".to_string(),
        Some(text) if text.is_empty() => "none".to_string(),
        Some(text) => shortened(&text),
    };
    let changed = |(name, fact): &Fact| {
        let (old, new) = (fact(old), fact(new));
        (old != new).then(|| format!("{name}: {} -> {}", shown(old), shown(new)))
    };
    FACTS.iter().filter_map(changed).collect()
}

/// Facts come from files, and a line must stay one.
pub fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST).chain(['…']).collect(),
        false => text.to_string(),
    }
}
