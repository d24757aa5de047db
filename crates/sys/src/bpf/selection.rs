//! Chooses the programs that a trace needs, and their settings, by what is to be recorded and what the kernel offers.

use super::btf::{Btf, TypeKind};
use super::config::{Config, Record, Scope, Wanted};
use super::layout::Settings;

/// Tracked at once, as a base-2 logarithm.
const TASK_BITS: u32 = 15;
/// The same if tasks are not those of one tree.
const ALL_TASK_BITS: u32 = 17;
/// The programs that track tasks. They are attached in this order, before those at calls.
const TASKS: [&str; 5] = [
    "syscost_switch",
    "syscost_wake",
    "syscost_wake_new",
    EXEC,
    END,
];
const EXEC: &str = "syscost_exec";
const END: &str = "syscost_end";
/// Needed only to know what calls waited for.
const WAKING: &str = "syscost_waking";
/// The same for locks of the kernel, since Linux 5.19.
const WANT_LOCK: &str = "syscost_want_lock";
const HAVE_LOCK: &str = "syscost_have_lock";
/// Waits for other CPUs to flush their TLBs; only on x86.
const SHOOT_DOWN: &str = "syscost_shoot_down";
/// Since Linux 6.4.
const RINGS: [&str; 3] = ["syscost_submit", "syscost_to_worker", "syscost_complete"];
/// The program at the end of each call, attached after those that track tasks.
const EXIT: &str = "syscost_exit";
/// The program that it continues with.
const SERVED: &str = "syscost_served";
/// Called for each sample; and beside programs at calls.
const SAMPLE: &str = "syscost_sample";
const SAMPLE_OUTSIDE: &str = "syscost_sample_outside";
const BEGIN: &str = "syscost_begin";
const LIST: &str = "syscost_list";
/// Needed only for times, and if the registers of a task that ends cannot be read.
const ENTER: &str = "syscost_enter";
/// The first release in which programs can read them.
pub(super) const REGISTERS_OF_TASKS: (u32, u32) = (5, 15);
/// Whose tracepoints leave preemption enabled.
pub(super) const PREEMPTIBLE: (u32, u32) = (7, 2);

pub(super) struct Selection {
    pub attached: Vec<&'static str>,
    pub sampler: Option<&'static str>,
    /// Continues where another one has reached the verifier's limit of instructions.
    pub next: Option<&'static str>,
}

impl Selection {
    pub fn new(config: &Config, settings: &Settings, kernel: &Btf) -> Selection {
        let samples_outside = config.record == Record::Times
            && config.interruption.is_some()
            && settings.has_registers == 1;
        Selection {
            attached: attached(settings, kernel),
            sampler: match config.record {
                Record::Samples => Some(SAMPLE),
                _ if samples_outside => Some(SAMPLE_OUTSIDE),
                _ => None,
            },
            next: (settings.waits == 1).then_some(SERVED),
        }
    }

    /// All of them, in the order in which `Programs` takes them apart.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let others = [BEGIN, LIST].into_iter().chain(self.sampler);
        self.attached.iter().copied().chain(others).chain(self.next)
    }
}

/// The programs at tracepoints. Older kernels lack some tracepoints: what they would show is then missing from waits.
fn attached(settings: &Settings, kernel: &Btf) -> Vec<&'static str> {
    let waits = settings.waits == 1;
    let locks = waits && kernel.arguments("btf_trace_contention_begin").is_some();
    let rings = waits && kernel.arguments("btf_trace_io_uring_submit_req").is_some();
    let flushes = waits && kernel.arguments("btf_trace_tlb_flush").is_some();
    let others = [
        (WAKING, waits),
        (WANT_LOCK, locks),
        (HAVE_LOCK, locks),
        (SHOOT_DOWN, flushes),
        (EXIT, settings.sampled == 0),
        (ENTER, settings.enters == 1),
    ]
    .into_iter()
    .chain(RINGS.map(|name| (name, rings)))
    .filter(|(_, needed)| *needed);
    TASKS
        .into_iter()
        .chain(others.map(|(name, _)| name))
        .collect()
}

pub(super) fn settings(config: &Config, kernel: &Btf, release: (u32, u32)) -> Settings {
    let registers = release >= REGISTERS_OF_TASKS;
    let switch = kernel.arguments("btf_trace_sched_switch");
    Settings {
        times: (config.record == Record::Times).into(),
        enters: (config.record == Record::Times || !registers).into(),
        scope: match config.scope {
            Scope::Command => 0,
            Scope::Processes => 1,
            Scope::Cgroup(_) => 2,
            Scope::System => 3,
        },
        // Since Linux 5.18, sched_switch has the previous task's state as an argument.
        switch_has_state: switch.is_some_and(|count| count >= 5).into(),
        has_cast: kernel
            .id(TypeKind::Function, "bpf_rdonly_cast")
            .is_some()
            .into(),
        group_by: config.group_by as u8,
        concurrency: (config.scope != Scope::System).into(),
        has_registers: registers.into(),
        preemptible: (release >= PREEMPTIBLE).into(),
        sampled: (config.record == Record::Samples).into(),
        task_mask: match config.scope {
            Scope::Command | Scope::Processes => (1 << TASK_BITS) - 1,
            Scope::Cgroup(_) | Scope::System => (1 << ALL_TASK_BITS) - 1,
        },
        paths: config.details.paths.into(),
        descriptors: config.details.descriptors.into(),
        stacks: match config.details {
            Wanted { stacks: true, .. } => 1,
            Wanted { callers: true, .. } => 3,
            Wanted { waits, .. } => u8::from(waits) * 2,
        },
        slowest: config.details.slowest.into(),
        waits: config.details.waits.into(),
        cgroup: if let Scope::Cgroup(id) = config.scope {
            id
        } else {
            0
        },
        ..*config.calls
    }
}

/// Whether calls are missing if the kernel skips a program. Interrupts make events of the others while their programs run: what
/// those skip is a wait of the interrupt, or who woke a thread.
pub(super) fn counts(program: &str) -> bool {
    ![WAKING, WANT_LOCK, HAVE_LOCK, SHOOT_DOWN].contains(&program)
}

/// The event that perf attaches a program to, if tracepoints leave preemption enabled: perf disables it around them, and the
/// programs' maps for each CPU depend on that.
pub(super) fn event_of(program: &str, settings: &Settings) -> Option<&'static str> {
    if settings.preemptible == 0 {
        return None;
    }
    Some(match program {
        EXEC => "sched/sched_process_exec",
        END => "sched/sched_process_exit",
        EXIT | SERVED => "raw_syscalls/sys_exit",
        ENTER => "raw_syscalls/sys_enter",
        WANT_LOCK => "lock/contention_begin",
        HAVE_LOCK => "lock/contention_end",
        SHOOT_DOWN => "tlb/tlb_flush",
        "syscost_submit" => "io_uring/io_uring_submit_req",
        "syscost_to_worker" => "io_uring/io_uring_queue_async_work",
        "syscost_complete" => "io_uring/io_uring_complete",
        _ => return None,
    })
}
