//! Checks what is permitted and installed, by trying it if that is harmless. `measure::doctor` explains the results.

use super::counters::{Offer, offer};
use super::host::StealClock;
use super::output::output;
use super::status::Status;
use super::taxes::tracing_directory;
use super::{Sources, private};
use nix::sys::ptrace;
use nix::unistd::Pid;
use std::path::Path;
use std::process::{Child, Stdio};

pub mod quota;

pub struct Checks {
    pub ptrace_allowed: Result<(), String>,
    /// Files that every system has except a bare root.
    pub missing: Vec<&'static str>,
    /// Yama's, 0 to 3.
    pub ptrace_scope: Option<u8>,
    pub counters: Offer,
    /// Without it, the absence of taxes means nothing.
    pub tracing_visible: bool,
    pub cc: Option<String>,
    pub cpu_quota: Option<f64>,
    pub steal_since_boot_percent: Option<f64>,
    /// How often cores slowed down because of heat since the machine started; `None` if that is not counted.
    pub heat_throttles: Option<u64>,
    /// The clock frequency that a virtual machine is given, which is not the one it runs at.
    pub nominal_mhz: Option<f64>,
    /// Environments whose mitigation this kernel lets a process choose.
    pub speculation: Vec<&'static str>,
}

const EVERYWHERE: [&str; 3] = ["/proc/self", "/dev/null", "/dev/zero"];
const COMPILERS: &[&str] = &["cc", "gcc", "clang"];

/// Takes tens of milliseconds; starts a child to trace and each compiler to ask for its version.
pub fn checks(sources: &Sources) -> Checks {
    Checks {
        ptrace_allowed: try_ptrace(),
        missing: EVERYWHERE
            .into_iter()
            .filter(|path| !Path::new(path).exists())
            .collect(),
        ptrace_scope: sources
            .text("proc/sys/kernel/yama/ptrace_scope")
            .and_then(|scope| scope.parse().ok()),
        counters: offer(sources),
        tracing_visible: tracing_directory(sources).is_some(),
        cc: COMPILERS.iter().find_map(|name| version(name)),
        cpu_quota: quota::cpus(sources),
        steal_since_boot_percent: StealClock::since_boot().percent_since(sources),
        heat_throttles: heat_throttles(sources),
        nominal_mhz: super::host::nominal_mhz(sources),
        speculation: speculation(sources),
    }
}

/// As prctl(PR_GET_SPECULATION_CTRL) would report it, by the texts of fs/proc/array.c of Linux.
fn speculation(sources: &Sources) -> Vec<&'static str> {
    let status = Status(sources.text("proc/self/status").unwrap_or_default());
    let by_field = [
        ("Speculation_Store_Bypass", "thread ", "ssbd"),
        ("SpeculationIndirectBranch", "conditional ", "spec-ib"),
    ];
    let chosen = by_field.into_iter().filter(|(field, text, _)| {
        status
            .field(field)
            .is_some_and(|value| value.starts_with(text))
    });
    chosen.map(|(_, _, environment)| environment).collect()
}

fn heat_throttles(sources: &Sources) -> Option<u64> {
    let cpus = "sys/devices/system/cpu";
    let names = sources.list(cpus).into_iter();
    let counts = names.filter_map(|cpu| {
        sources.number(&format!(
            "{cpus}/{cpu}/thermal_throttle/core_throttle_count"
        ))
    });
    counts.map(|count| count as u64).reduce(|a, b| a + b)
}

/// The same thread starts, traces and reaps a child that does nothing, as ptrace requires.
fn try_ptrace() -> Result<(), String> {
    // It waits for input that never comes, and needs no signal to be there when it is seized.
    let child = private::asking("cat")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child =
        child.map_err(|error| format!("cannot start a child to trace: cat: {error}"))?;
    let tried = seize(&child);
    // These can only fail if the child has ended by itself: the results do not matter.
    let _ = child.kill();
    let _ = child.wait();
    tried
}

fn seize(child: &Child) -> Result<(), String> {
    let pid = i32::try_from(child.id()).map_err(|error| error.to_string())?;
    ptrace::seize(Pid::from_raw(pid), ptrace::Options::PTRACE_O_EXITKILL)
        .map_err(|error| format!("ptrace(PTRACE_SEIZE): {}", error.desc()))
}

fn version(compiler: &str) -> Option<String> {
    let output = output(
        private::asking(compiler)
            .arg("--version")
            .env("LC_ALL", "C"),
    )
    .ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()
        .map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    #[test]
    fn only_what_a_process_may_choose_is_an_environment() {
        for (status, expected) in [
            (
                "Speculation_Store_Bypass:\tvulnerable\nSpeculationIndirectBranch:\talways enabled\n",
                &[][..],
            ),
            ("Speculation_Store_Bypass:\tthread vulnerable\n", &["ssbd"]),
            (
                "Speculation_Store_Bypass:\tthread vulnerable\nSpeculationIndirectBranch:\tconditional enabled\n",
                &["ssbd", "spec-ib"],
            ),
        ] {
            let (_directory, sources) = tree(&[("proc/self/status", status)]);
            assert_eq!(speculation(&sources), expected, "{status}");
        }
    }
}
