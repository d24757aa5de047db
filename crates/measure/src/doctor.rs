//! Judges the host's facts: how each affects measuring, and what the user can do about it. Pure. Each subject
//! is one row of `LOOKS`.

mod machine;
mod noise;
mod permission;
mod tax;

use model::Host;
use model::prose::counted;
use sys::checks::Checks;

type Look = fn(&Host, &Checks) -> Option<Finding>;

const LOOKS: &[(&str, Look)] = &[
    ("file system root", machine::root),
    ("kernel entries", permission::ptrace),
    ("hardware counters", permission::counters),
    ("load", noise::load),
    ("stolen time", noise::steal),
    ("CPU quota", noise::quota),
    ("heat", noise::heat),
    ("processors", noise::processors),
    ("SMT", noise::smt),
    ("frequency", noise::frequency),
    ("governor", noise::governor),
    ("turbo", noise::turbo),
    ("autogroup", noise::autogroup),
    ("clock source", machine::clock_source),
    ("clock reading", machine::clock_reading),
    ("kernel state", machine::kernel_state),
    ("hypervisor", machine::hypervisor),
    ("container", machine::container),
    ("mitigations", machine::mitigations),
    ("file system", machine::file_system),
    ("limits", machine::limits),
    ("C compiler", permission::compiler),
    ("taxes", tax::none),
];

/// The worst first; in each state in the order of the subjects, taxes before the rest.
pub fn findings(host: &Host, checks: &Checks) -> Vec<Finding> {
    let taxes = host.taxes.iter().map(tax::finding);
    let looks = LOOKS.iter().filter_map(|(subject, look)| {
        Some(Finding {
            subject: subject.to_string(),
            ..look(host, checks)?
        })
    });
    let mut all: Vec<Finding> = taxes.chain(looks).collect();
    // Stable, so that each state keeps the order of the subjects.
    all.sort_by_key(|finding| finding.state);
    all
}

/// One sentence: how many findings distort measurements, and how many are less serious.
pub fn verdict(findings: &[Finding]) -> String {
    let problems = match count_in_state(findings, State::Problem) {
        0 => "Nothing found here distorts measurements".to_string(),
        1 => "1 problem distorts measurements here".to_string(),
        n => format!("{n} problems distort measurements here"),
    };
    let forbidden = match count_in_state(findings, State::Forbidden) {
        0 => "",
        n => &format!("; {n} not permitted"),
    };
    let notice = match count_in_state(findings, State::Notice) {
        0 => "",
        n => &format!("; {}", counted(n, "notice")),
    };
    format!("{problems}{forbidden}{notice}.")
}

fn count_in_state(findings: &[Finding], state: State) -> usize {
    findings
        .iter()
        .filter(|finding| finding.state == state)
        .count()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Problem,
    /// Something that measuring uses is not permitted here.
    Forbidden,
    Notice,
    Good,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Problem => "problem",
            State::Forbidden => "forbidden",
            State::Notice => "notice",
            State::Good => "good",
        }
    }
}

#[derive(Debug)]
pub struct Finding {
    pub subject: String,
    pub state: State,
    /// E.g. `kvm-clock`.
    pub observation: String,
    /// Empty if nothing needs doing.
    pub advice: String,
}

impl Finding {
    /// Asks for nothing. The caller fills in the subject, as for the three other kinds.
    pub fn good(observation: impl Into<String>) -> Option<Finding> {
        Finding::new(State::Good, observation, "")
    }

    /// May affect results.
    pub fn notice(observation: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
        Finding::new(State::Notice, observation, advice)
    }

    /// Distorts results; `advice` removes it.
    pub fn problem(observation: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
        Finding::new(State::Problem, observation, advice)
    }

    /// Some kind of measurement is not permitted; `advice` permits it.
    pub fn forbidden(observation: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
        Finding::new(State::Forbidden, observation, advice)
    }

    fn new(
        state: State,
        observation: impl Into<String>,
        advice: impl Into<String>,
    ) -> Option<Finding> {
        Some(Finding {
            subject: String::new(),
            state,
            observation: observation.into(),
            advice: advice.into(),
        })
    }
}

/// False while the hypervisor is unknown.
pub fn is_virtual(host: &Host) -> bool {
    host.hypervisor
        .as_deref()
        .is_some_and(|name| name != "none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{EVENTS, Tax};

    fn quiet() -> (Host, Checks) {
        fn text(text: &str) -> Option<String> {
            Some(text.to_string())
        }

        let host = Host {
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
        };
        let checks = Checks {
            ptrace_allowed: Ok(()),
            missing: Vec::new(),
            ptrace_scope: None,
            counters: EVENTS.iter().map(|event| (event, Ok(()))).collect(),
            tracing_visible: true,
            cc: text("cc 12.2.0"),
            cpu_quota: None,
            steal_since_boot_percent: Some(0.0),
            heat_throttles: None,
            nominal_mhz: None,
            speculation: vec!["ssbd", "spec-ib"],
        };
        (host, checks)
    }

    fn virtual_machine(host: &mut Host) {
        (host.governor, host.turbo, host.frequency_mhz) = (None, None, None);
        host.hypervisor = Some("kvm".to_string());
    }

    /// Subject, change to the quiet machine, start of the finding (empty if there is none).
    type Row = (&'static str, fn(&mut Host, &mut Checks), &'static str);

    const ROWS: &[Row] = &[
        ("file system root", |_, _| {}, ""),
        (
            "file system root",
            |_, checks| checks.missing = vec!["/proc/self", "/dev/null"],
            "problem no /proc/self, /dev/null",
        ),
        (
            "clock source",
            |host, _| host.clock_source = Some("kvm-clock".into()),
            "good kvm-clock",
        ),
        (
            "clock source",
            |host, _| host.clock_source = Some("acpi_pm".into()),
            "problem acpi_pm",
        ),
        (
            "clock source",
            |host, _| host.clock_source = Some("xen".into()),
            "notice xen",
        ),
        ("clock reading", |host, _| host.clock_cost_ns = None, ""),
        (
            "clock reading",
            |host, _| host.clock_cost_ns = Some(900.0),
            "notice costs 900 ns",
        ),
        (
            "mitigations",
            |host, _| {
                host.mitigations = ["meltdown: Mitigation: PTI", "mds: Vulnerable: no microcode"]
                    .map(str::to_string)
                    .to_vec();
            },
            "notice mitigated: meltdown; vulnerable: mds",
        ),
        (
            "limits",
            |host, _| host.limits = small_limits(),
            "notice nofile 256",
        ),
        (
            "limits",
            |host, _| (host.limits, host.user) = (small_limits(), Some("user".into())),
            "notice nofile 256, memlock 65536",
        ),
        (
            "file system",
            |host, _| host.file_system = Some("tmpfs".into()),
            "notice tmpfs",
        ),
        (
            "load",
            |host, _| host.load_1min = Some(1.0),
            "good 1.00 over the last minute on 8 CPUs",
        ),
        ("load", |host, _| host.load_1min = Some(3.0), "notice 3.00"),
        ("load", |host, _| host.load_1min = Some(8.0), "problem 8.00"),
        ("heat", |_, _| {}, ""),
        (
            "heat",
            |_, checks| checks.heat_throttles = Some(7),
            "notice slowed cores down 7 times since the machine started",
        ),
        ("stolen time", |_, _| {}, ""),
        (
            "stolen time",
            |host, _| virtual_machine(host),
            "good 0.0% of CPU time since the machine started",
        ),
        (
            "stolen time",
            |host, _| {
                virtual_machine(host);
                host.steal_percent = Some(9.0);
            },
            "problem 9.0% of CPU time over the run",
        ),
        (
            "CPU quota",
            |_, checks| checks.cpu_quota = Some(0.5),
            "problem 0.50 CPUs",
        ),
        (
            "CPU quota",
            |_, checks| checks.cpu_quota = Some(2.0),
            "notice 2.00 CPUs",
        ),
        (
            "processors",
            |host, _| host.cpus_allowed = Some(1),
            "problem 1 of 8 permitted",
        ),
        (
            "frequency",
            |host, checks| {
                virtual_machine(host);
                checks.nominal_mhz = Some(2596.094);
            },
            "notice unknown in this VM (nominal 2596 MHz), governor and turbo too",
        ),
        ("governor", |host, _| virtual_machine(host), ""),
        ("turbo", |host, _| virtual_machine(host), ""),
        (
            "governor",
            |host, _| host.governor = Some("powersave".into()),
            "problem powersave",
        ),
        ("turbo", |host, _| host.turbo = Some(true), "notice on"),
        (
            "kernel entries",
            |_, checks| checks.ptrace_allowed = Err("Operation not permitted".into()),
            "forbidden Operation not permitted",
        ),
        (
            "C compiler",
            |_, checks| checks.cc = None,
            "notice none found",
        ),
        (
            "hardware counters",
            |_, checks| checks.counters[0].1 = Err("this machine does not offer it".into()),
            "notice this machine does not offer it",
        ),
        (
            "BPF programs",
            |host, _| host.taxes = vec![tax("BPF programs")],
            "problem x",
        ),
        ("new", |host, _| host.taxes = vec![tax("new")], "notice x"),
        ("taxes", |host, _| host.taxes = vec![tax("new")], ""),
        (
            "taxes",
            |_, checks| checks.tracing_visible = false,
            "notice none seen",
        ),
    ];

    fn small_limits() -> Vec<String> {
        [
            "nofile 256 1024",
            "memlock 65536 65536",
            "nproc unlimited unlimited",
        ]
        .map(str::to_string)
        .to_vec()
    }

    fn tax(kind: &str) -> Tax {
        Tax {
            kind: kind.to_string(),
            detail: "x".to_string(),
        }
    }

    fn findings_after(change: fn(&mut Host, &mut Checks)) -> Vec<Finding> {
        let (mut host, mut checks) = quiet();
        change(&mut host, &mut checks);
        findings(&host, &checks)
    }

    #[test]
    fn each_subject_is_judged() {
        for (subject, change, expected) in ROWS {
            let all = findings_after(*change);
            let judged = all.iter().find(|finding| finding.subject == *subject);
            let judgement = judged
                .map(|finding| format!("{} {}", finding.state.name(), finding.observation))
                .unwrap_or_default();
            assert!(
                judgement.starts_with(expected) && judgement.is_empty() == expected.is_empty(),
                "{subject}: {judgement}"
            );
        }
    }

    #[test]
    fn a_refused_trace_says_what_to_do() {
        fn advice(change: fn(&mut Host, &mut Checks)) -> String {
            let (mut host, mut checks) = quiet();
            checks.ptrace_allowed = Err("Operation not permitted".to_string());
            change(&mut host, &mut checks);
            permission::ptrace(&host, &checks).unwrap().advice
        }

        assert!(advice(|_, checks| checks.ptrace_scope = Some(2)).contains("lower it to 1"));
        assert!(advice(|host, _| host.container = Some("docker".into())).contains("SYS_PTRACE"));
        assert!(advice(|host, _| host.taxes = vec![tax("ptrace")]).contains("without the tracer"));
    }

    #[test]
    fn environments_that_cannot_work_here_are_not_advised() {
        fn advice(speculation: Vec<&'static str>) -> String {
            let (mut host, mut checks) = quiet();
            host.mitigations = vec!["spec_store_bypass: Mitigation: prctl".to_string()];
            checks.speculation = speculation;
            machine::mitigations(&host, &checks).unwrap().advice
        }

        assert!(advice(vec!["ssbd", "spec-ib"]).contains("--env native,ssbd,spec-ib` measures 2"));
        assert!(advice(vec!["ssbd"]).contains("--env native,ssbd` measures 1"));
        assert!(advice(vec![]).contains("lets no process choose"));
    }

    #[test]
    fn what_is_not_good_has_advice_and_comes_first() {
        let all = findings_after(|host, _| *host = Host::default());
        assert!(all.is_sorted_by_key(|finding| finding.state));
        assert!(
            all.iter()
                .all(|finding| (finding.state == State::Good) == finding.advice.is_empty()),
            "{all:?}"
        );
    }

    #[test]
    fn the_verdict_counts() {
        fn verdict_on(states: &[State]) -> String {
            verdict(&states.iter().copied().map(finding).collect::<Vec<_>>())
        }

        fn finding(state: State) -> Finding {
            Finding {
                state,
                ..Finding::good("x").unwrap()
            }
        }

        assert_eq!(
            verdict_on(&[State::Good]),
            "Nothing found here distorts measurements."
        );
        assert_eq!(
            verdict_on(&[
                State::Problem,
                State::Problem,
                State::Forbidden,
                State::Notice,
                State::Good
            ]),
            "2 problems distort measurements here; 1 not permitted; 1 notice."
        );
        let all = findings_after(|_, _| {});
        assert!(
            all.iter().all(|finding| finding.state == State::Good),
            "{all:?}"
        );
    }
}
