//! What reads files and prints them, and what holds for the source: no probe is built.

#[path = "../common/mod.rs"]
mod common;

mod action;
mod atlas_doc;
mod bpf_object;
mod cli;
mod cmpthese;
mod compare;
mod completions;
mod constants;
mod counted;
mod csv;
mod data_of_comparisons;
mod directories;
mod extremes;
mod fleet;
mod format_pages;
mod formats;
mod fuzz;
mod gate;
mod hostile;
mod options_doc;
mod private_directories;
mod profile;
mod published;
mod ratios;
mod report;
mod rows;
mod scale;
mod schemas;
mod shaken;
mod snippets;
mod split;
mod store;
mod strace;
mod strace_rules;
mod study;
mod threads;
mod why;
