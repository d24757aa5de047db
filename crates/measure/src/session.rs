//! One measurement: a session is opened, a job checked and prepared, then the untimed passes and
//! the engine give a `Run`. It prints nothing.

mod cells;
mod controls;
mod counting;
mod cpu_monitor;
mod entry_cache;
mod guests;
mod job;
mod keep;
mod launch;
mod noise_history;
mod open;
mod passes;
mod readiness;
mod recorder;
mod remote;
mod repeats;
mod sides;
mod time_budget;
mod timed_proof;
mod timing;

pub use cells::{CountedBoot, cells};
pub use job::{Job, RunOptions, Stage, Watch};
pub use keep::Keep;
pub use noise_history::learn;
pub use open::{Ready, Session};
pub use readiness::{IMAGES, Readiness, Refused, readiness};
pub use recorder::add_facts;
pub use sides::Sides;
