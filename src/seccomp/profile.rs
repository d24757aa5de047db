//! The JSON of profiles, and which of its rules apply to a machine.

use super::bpf;
use super::machine::{Architecture, Machine, architecture, family};
use super::rules::{Comparison, Condition, Rule};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// EPERM, the error of a refusal that names none (OCI runtime specification, `errnoRet`).
const EPERM: u32 = 1;
/// The data of an action.
const MOST_DATA: u32 = 0xffff;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    default_action: String,
    default_errno_ret: Option<u32>,
    #[serde(default)]
    architectures: Vec<String>,
    #[serde(default)]
    arch_map: Vec<ArchMap>,
    #[serde(default)]
    syscalls: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArchMap {
    architecture: String,
    #[serde(default)]
    sub_architectures: Vec<String>,
}

/// One element of `syscalls`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    names: Vec<String>,
    /// Of old profiles.
    name: Option<String>,
    action: String,
    errno_ret: Option<u32>,
    #[serde(default)]
    args: Option<Vec<Argument>>,
    #[serde(default)]
    includes: Option<Conditions>,
    #[serde(default)]
    excludes: Option<Conditions>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Argument {
    index: u32,
    value: u64,
    #[serde(default)]
    value_two: u64,
    op: String,
}

/// When an entry applies, or does not.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Conditions {
    #[serde(default)]
    caps: Vec<String>,
    #[serde(default)]
    arches: Vec<String>,
    min_kernel: Option<String>,
}

/// What of a profile applies to a machine.
#[derive(Debug)]
pub struct Applicable {
    pub rules: Vec<Rule>,
    /// Entries that do not.
    pub left_out: usize,
}

/// Reads a profile, or that of a container's `config.json`.
///
/// # Errors
/// What is not as it should be, with its place.
pub fn read(text: &str) -> Result<Profile> {
    let mut value: serde_json::Value = serde_json::from_str(text).context("it is not JSON")?;
    if let Some(within) = value.pointer_mut("/linux/seccomp") {
        value = within.take();
    }
    ensure!(value.get("defaultAction").is_some(), "it is no seccomp profile: it has no 'defaultAction'");
    serde_path_to_error::deserialize(value).context("it is no seccomp profile as Docker or OCI define it")
}

impl Profile {
    /// Those of its architectures that a machine can run, its own first.
    pub fn architectures(&self, machine: &str) -> Result<Vec<Architecture>> {
        let family = family(machine)?;
        let mapped = self.arch_map.iter().filter(|map| map.architecture == family[0].0);
        let listed: Vec<&String> = self.architectures.iter().chain(mapped.flat_map(|m| &m.sub_architectures)).collect();
        let is_wanted = |name: &str| name == family[0].0 || listed.iter().any(|listed| *listed == name);
        family.iter().filter(|(name, _)| is_wanted(name)).map(|(_, label)| architecture(label)).collect()
    }

    pub fn default_action(&self) -> Result<u32> {
        action(&self.default_action, self.default_errno_ret).context("defaultAction")
    }

    /// The rules for a process without capabilities.
    pub fn rules(&self, machine: Machine) -> Result<Applicable> {
        let (applicable, others): (Vec<_>, Vec<_>) = self.syscalls.iter().partition(|entry| entry.applies(machine));
        let mut rules = Vec::new();
        for entry in applicable {
            let place = || format!("the rule for {}", entry.all_names().first().map_or("no call", |name| name));
            rules.extend(entry.rules().with_context(place)?);
        }
        Ok(Applicable { rules, left_out: others.len() })
    }
}

impl Entry {
    fn all_names(&self) -> Vec<String> {
        self.names.iter().chain(&self.name).cloned().collect()
    }

    fn applies(&self, machine: Machine) -> bool {
        let none = Conditions::default();
        let (includes, excludes) = (self.includes.as_ref().unwrap_or(&none), self.excludes.as_ref().unwrap_or(&none));
        let is_here = |arches: &[String]| arches.iter().any(|name| is_machine(name, machine.architecture));
        let included = includes.caps.is_empty()
            && (includes.arches.is_empty() || is_here(&includes.arches))
            && includes.min_kernel.as_ref().is_none_or(|least| is_at_least(machine.kernel, least));
        let excluded = is_here(&excludes.arches)
            || excludes.min_kernel.as_ref().is_some_and(|least| is_at_least(machine.kernel, least));
        included && !excluded
    }

    /// One, or several if an argument is compared more than once: runtimes take these as alternatives.
    fn rules(&self) -> Result<Vec<Rule>> {
        let action = action(&self.action, self.errno_ret)?;
        let rule = |conditions| Rule { names: self.all_names(), action, conditions };
        let conditions: Vec<Condition> = self.args.iter().flatten().map(Argument::condition).collect::<Result<_>>()?;
        let is_repeated = |one: &Condition| conditions.iter().filter(|other| other.index == one.index).count() > 1;
        match conditions.iter().any(is_repeated) {
            true => Ok(conditions.into_iter().map(|one| rule(vec![one])).collect()),
            false => Ok(vec![rule(conditions)]),
        }
    }
}

impl Argument {
    fn condition(&self) -> Result<Condition> {
        ensure!(self.index < 6, "a call has no argument {}", self.index);
        let (mut mask, mut value) = (u64::MAX, self.value);
        let comparison = match self.op.as_str() {
            "SCMP_CMP_NE" => Comparison::NotEqual,
            "SCMP_CMP_LT" => Comparison::Less,
            "SCMP_CMP_LE" => Comparison::LessOrEqual,
            "SCMP_CMP_EQ" => Comparison::Equal,
            "SCMP_CMP_GE" => Comparison::GreaterOrEqual,
            "SCMP_CMP_GT" => Comparison::Greater,
            "SCMP_CMP_MASKED_EQ" => {
                (mask, value) = (self.value, self.value_two);
                Comparison::Equal
            }
            other => bail!("there is no comparison {other}"),
        };
        Ok(Condition { index: self.index, comparison, mask, value })
    }
}

/// Docker calls architectures as Go does.
fn is_machine(name: &str, machine: &str) -> bool {
    match machine {
        "x86_64" => name == "amd64" || name == machine,
        "aarch64" => name == "arm64" || name == machine,
        _ => name == machine,
    }
}

/// Whether a kernel is at least that of `least`, such as `4.8`. One that cannot be read counts as none.
fn is_at_least(kernel: (u32, u32), least: &str) -> bool {
    let mut parts = least.split('.').map(|part| part.parse().unwrap_or(0));
    kernel >= (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// The value that a filter returns for an action.
fn action(name: &str, data: Option<u32>) -> Result<u32> {
    let data = data.unwrap_or(EPERM);
    ensure!(data <= MOST_DATA, "errnoRet {data} is more than {MOST_DATA}");
    Ok(match name {
        "SCMP_ACT_ALLOW" => bpf::ALLOW,
        "SCMP_ACT_LOG" => bpf::LOG,
        "SCMP_ACT_ERRNO" => bpf::ERRNO | data,
        "SCMP_ACT_TRACE" => bpf::TRACE | data,
        "SCMP_ACT_TRAP" => bpf::TRAP,
        "SCMP_ACT_KILL" | "SCMP_ACT_KILL_THREAD" => bpf::KILL_THREAD,
        "SCMP_ACT_KILL_PROCESS" => bpf::KILL_PROCESS,
        "SCMP_ACT_NOTIFY" => {
            bail!("SCMP_ACT_NOTIFY asks another program, which determines the cost: start that by --env-command")
        }
        other => bail!("there is no action {other}"),
    })
}
