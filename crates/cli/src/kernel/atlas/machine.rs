//! Which emulated machine the kernels of an atlas run in.

use analysis::atlas::environment;
use anyhow::{Context, Result};
use measure::runner::Environment;
use model::atlas::AtlasMachine;

/// The usual processor of the architecture is left out of file names.
pub fn machine(release: &str, cpu: Option<&str>, append: &str) -> Result<(AtlasMachine, String)> {
    let place = Environment::find(&environment(release, cpu, append))?;
    let usual = Environment::find(&environment(release, None, ""))?
        .cpu
        .unwrap_or_default();
    let architecture = place.machine.context("no emulated machine")?;
    Ok((
        AtlasMachine {
            architecture,
            cpu: place.cpu.unwrap_or_default(),
            append: append.split_whitespace().collect::<Vec<_>>().join(" "),
        },
        usual,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::atlas::environment_of;

    #[test]
    fn an_unusual_machine_is_in_the_environments_name() {
        let (release, append) = ("6.1.0-56-cloud-amd64", "audit=1  nopti");
        let (atlas, usual) = machine(release, Some("Haswell,-avx"), append).unwrap();
        let expected = ["x86_64", "Haswell,-avx", "audit=1 nopti", "qemu64"];
        assert_eq!(
            [&*atlas.architecture, &atlas.cpu, &atlas.append, &usual],
            expected
        );
        assert_eq!(
            environment_of(release, &atlas),
            format!("linux-{release} cpu=Haswell:-avx audit=1 nopti")
        );
        let (arm, usual) = machine("6.1.0-56-cloud-arm64", None, "").unwrap();
        assert_eq!((&*arm.architecture, arm.cpu), ("aarch64", usual));
    }
}
