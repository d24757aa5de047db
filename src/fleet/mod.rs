//! Runs on many nodes: the script that a launcher takes, what a directory of gathered result files says about the nodes, and
//! what their rows say about costs, in Rust and as SQL.
//!
//! Pure: text and facts in, text and findings out. Not here: starting anything, which is the launcher's work, and reading
//! files, which `cli::fleet` does. What a script starts on each node is `syscost run`.

mod check;
mod nodes;
pub mod questions;
mod quote;
mod script;
pub mod sql;

pub use check::{CheckedNode, FleetCheck, NodeRun, NodeState, NodeStatus, Skipped, check};
pub use nodes::{NodeList, Nodes};
pub use script::{Job, Launcher, script};
