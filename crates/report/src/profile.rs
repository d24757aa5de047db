//! Profiles: the calls of a workload, their number and their times.

mod document;
pub mod latency;
pub mod notes;
mod sections;
mod slowest;
mod stacks;
mod table;
mod together;

pub use document::ProfileDocument;
pub use latency::{latency_histograms, profile_latency_document};
pub use notes::{cautions, lost_events, tracer as tracer_line};
pub use slowest::slowest_table;
pub use stacks::{Weight, flame_difference, flame_figure, stacks_document};
pub use table::{micros, profile_table, sampled_table};
pub use together::together_table;

use itertools::Itertools;
use model::{Class, DescriptorKind, Size};

/// `file 4K`, `depth 3`, `wait`, `64 fds`
pub fn class(class: &Class) -> String {
    [
        class.descriptor.map(|kind| descriptor(kind).to_string()),
        class.size.map(|size| Size(size).to_string()),
        class.depth.map(|depth| format!("depth {depth}")),
        class.operation.clone(),
        class.set.map(|set| format!("{} fds", Size(set))),
    ]
    .into_iter()
    .flatten()
    .join(" ")
}

/// The short name of a kind of descriptor, as in classes of calls.
pub fn descriptor(kind: DescriptorKind) -> &'static str {
    match kind {
        DescriptorKind::File => "file",
        DescriptorKind::Directory => "dir",
        DescriptorKind::Pipe => "pipe",
        DescriptorKind::Socket => "socket",
        DescriptorKind::Terminal => "tty",
        DescriptorKind::Device => "device",
        DescriptorKind::Event => "event",
        DescriptorKind::None => "no fd",
    }
}
