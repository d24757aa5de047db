//! Names of environments that emulate a kernel of an atlas in its machine.

use model::atlas::AtlasMachine;

/// `cpu` and `append` are given only if they are not the usual ones.
pub fn environment(release: &str, cpu: Option<&str>, append: &str) -> String {
    // Commas separate environments.
    let cpu = cpu
        .map(|cpu| format!(" cpu={}", cpu.replace(',', ":")))
        .unwrap_or_default();
    format!("linux-{release}{cpu} {append}").trim().to_string()
}

pub fn environment_of(release: &str, machine: &AtlasMachine) -> String {
    environment(release, Some(&machine.cpu), &machine.append)
}
