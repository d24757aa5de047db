//! One measurement: a session is opened, a job checked and prepared, then the untimed passes and
//! the engine give a `Run`. It prints nothing.

mod cells;
mod counting;
mod cpu_monitor;
mod entry_cache;
mod environments;
mod guests;
mod job;
mod keep;
mod launch;
mod noise_history;
mod open;
mod options;
mod passes;
mod readiness;
mod recorder;
mod refused;
mod remote;
mod repeats;
mod sides;
mod stages;
mod time_budget;
mod timing;
mod waits;

pub use cells::{CountedBoot, cells};
pub use job::Job;
pub use keep::Keep;
pub use open::Session;
pub use options::{RunOptions, Stage, Watch};
pub use readiness::{Readiness, readiness};
pub use recorder::add_facts;
pub use refused::Refused;
pub use sides::Sides;
pub use stages::Ready;
