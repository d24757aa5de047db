//! Runs on many nodes: the script that a launcher takes, and what a directory of gathered result files says about the nodes.
//!
//! Pure: text and facts in, text and findings out. Not here: starting anything, which is the launcher's work, and reading
//! files, which `cli::fleet` does. What a script starts on each node is `syscost run`.

mod check;
mod nodes;
mod quote;
mod script;

pub use check::{CheckedNode, FleetCheck, NodeRun, NodeState, NodeStatus, Skipped, check};
pub use nodes::{NodeList, Nodes};
pub use script::{Job, Launcher, script};
