//! Plain data shared by all other modules: no I/O, no clock, no formatting for people. Calls no other module.

pub mod atlas;
mod case;
mod class;
pub mod clean;
pub mod code;
mod counters;
mod entries;
pub mod explained;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod grouped;
mod histogram;
mod host;
mod json;
pub mod kernel_diff;
mod label;
mod latency;
mod operation;
pub mod pattern;
mod planned;
mod private;
mod profile;
pub mod program;
pub mod prose;
mod race;
mod record;
pub mod release;
mod reply;
mod returned;
mod rings;
mod run_id;
pub mod runtime;
mod selector;
mod size;
mod study;
pub mod syscall_names;
pub mod tax;
mod threads;
mod totals;
mod units;
mod word;

pub use case::{
    COLD, CONTROL, Case, EMPTY_CALL, EMPTY_LOOP, NATIVE, PANEL, PANEL_IN_USER_MODE, REFERENCE,
    SHARED, SPIN, ShownCase, THREADS,
};
pub use class::{Class, DescriptorKind, Drives, depth, drives, power_below};
pub use counters::{Counters, EVENTS, Event};
pub use entries::{Entries, EntriesStatus};
pub use grouped::{grouped, sum_by_key};
pub use histogram::Histogram;
pub use host::Host;
pub use json::JsonDocument;
pub use label::Label;
pub use latency::{LONGEST_NS, SingleCalls, TimesOrError};
pub use operation::{Count, Expectation, Expected, Operation, Parameter, SELDOM, Traits};
pub use planned::Planned;
pub use profile::{
    CALL_RETURN, CallCount, Concurrency, ENTERED_KERNEL, Ending, Gap, INTERRUPT, KERNEL_THREAD,
    LockCount, ObjectCount, ObjectKind, Outside, PAGE_FAULT, ProcessGroup, ProcessPath, Profile,
    ProfileRun, SampledFunction, Section, ShootDowns, SlowCall, StackCount, Throttled, TracerFacts,
    USER_MODE, Usage,
};
pub use race::{Contender, InEnvironment, Race, TimedRun};
pub use record::{
    Block, Counted, CpuTime, EnvironmentFacts, Failure, FailureKind, Figure, Measurement,
    ModeSamples, OrError, Outcome, Plan, Record, Role, Run, Slot, Source, StartUp, Tool,
};
pub use reply::{Batch, Facts, Reply};
pub use returned::Returned;
pub use rings::{RingCount, RingWay, ring_latency, ring_operation};
pub use selector::{SELECTORS, Selector, selector};
pub use size::{Size, has_larger_unit, parameter_value, parse_size};
pub use study::{Combination, Derived, Scale, StudyView};
pub use tax::Tax;
pub use threads::{
    OpenCall, Peer, ProcessName, REQUEST, Requests, Thread, ThreadTime, WaitCount, Waker,
};
pub use totals::{By, Total, summed};
pub use units::{Nanos, Unit};
pub use word::word;
