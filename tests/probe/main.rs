//! What builds the probe and runs it: measurements, languages, environments, cleaning up.

#[path = "../common/mod.rs"]
mod common;

mod alone;
mod catalogue;
mod cleanup;
mod cold;
mod confine;
mod counters;
mod crowded;
mod docs;
mod environments;
mod explain;
mod fixtures;
mod inject;
mod language_tools;
mod languages;
mod latency;
mod ours;
mod portability;
mod private;
mod remote;
mod runs;
mod sanitizers;
mod server;
mod static_probe;
mod threads;
