//! The machine that a row is of. In an environment it may be another than the run's: a wrong kernel is worse than none.

use model::{Host, Run, Unit};
use serde::Serialize;

/// The environment of the probe as it was built with syscost.
const NATIVE: &str = "native";

/// As far as it groups rows.
#[derive(Default, Serialize)]
pub struct Machine {
    pub host: Option<String>,
    pub cpu: Option<String>,
    pub kernel: Option<String>,
    /// What emulates or virtualizes the machine; `none` on bare metal.
    pub hypervisor: Option<String>,
    pub container: Option<String>,
    pub libc: Option<String>,
    /// `vulnerability: mitigation`, joined by `; `.
    pub mitigations: Option<String>,
}

impl Machine {
    pub fn for_environment(run: &Run, environment: &str) -> Machine {
        let facts = run
            .environments
            .iter()
            .find(|facts| facts.name == environment);
        let other = facts.and_then(|facts| facts.host.as_deref());
        let machine = Machine::from_host(other.unwrap_or(&run.host));
        let libc = machine
            .libc
            .clone()
            .filter(|_| other.is_some() || environment == NATIVE);
        let Some(facts) = facts else {
            return Machine { libc, ..machine };
        };
        let kernel = facts.kernel.clone();
        if facts.emulator.is_some() || facts.unit == Unit::Instructions {
            return Machine {
                host: machine.host,
                kernel,
                hypervisor: facts.emulator.clone(),
                ..Machine::default()
            };
        }
        Machine {
            kernel: kernel.or(machine.kernel),
            libc,
            ..machine
        }
    }

    fn from_host(host: &Host) -> Machine {
        Machine {
            host: host.name.clone(),
            cpu: host.cpu.clone(),
            kernel: host.kernel.clone(),
            hypervisor: host.hypervisor.clone(),
            container: host.container.clone(),
            libc: host.libc.clone(),
            mitigations: Some(host.mitigations.join("; ")).filter(|text| !text.is_empty()),
        }
    }
}
