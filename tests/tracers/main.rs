//! Tracing and what is made of it, against the real kernel.

#[path = "../common/mod.rs"]
mod common;

mod advice;
mod advice_paths;
mod advice_processes;
mod advice_programs;
mod answered;
mod bare;
mod benchmarks;
mod bpf_support;
mod race;
mod race_env;
mod sections;
mod strace_logs;
mod support;
mod trace;
mod trace_bpf;
mod trace_bpf_details;
mod trace_bpf_running;
mod trace_ends;
mod trace_namespace;
mod trace_outside;
mod trace_sampled;
mod trace_stacks;
mod trace_stacks_hostile;
mod trace_tree;
mod trace_users;
mod why;
mod why_python;
mod why_threads;
mod why_waits;
