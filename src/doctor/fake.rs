//! For tests: a machine and checks without anything to report.

use super::State;
use super::finding::Answer;
use crate::kernel::checks::Checks;
use crate::model::{EVENTS, Host};

pub fn hardware() -> Host {
    let text = |text: &str| Some(text.to_string());
    Host {
        cpus: Some(8),
        cpus_allowed: Some(8),
        clock_source: text("tsc"),
        clock_cost_ns: Some(20.0),
        clock_step_ns: Some(1.0),
        hypervisor: text("none"),
        governor: text("performance"),
        turbo: Some(false),
        frequency_mhz: Some(3000.0),
        smt: Some(false),
        autogroup: Some(false),
        file_system: text("ext4"),
        load_1min: Some(0.1),
        user: text("root"),
        limits: vec!["nofile 20000 20000".to_string()],
        ..Host::default()
    }
}

pub fn permitted() -> Checks {
    Checks {
        ptrace_allowed: Ok(()),
        ptrace_scope: None,
        counters: EVENTS.iter().map(|event| (event, Ok(()))).collect(),
        tracing_visible: true,
        cc: Some("cc 12.2.0".to_string()),
        m32: Some(true),
        cpu_quota: None,
        steal_since_boot_percent: Some(0.0),
        nominal_mhz: None,
    }
}

/// The state of a look's answer, if there is one.
pub fn state(answer: Option<Answer>) -> Option<State> {
    answer.map(|answer| answer.state)
}
