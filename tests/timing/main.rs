//! What a busy machine would spoil: where time goes, and a screen that must keep up. One test at a time.

#[path = "../common/mod.rs"]
mod common;

#[path = "../tracers/support.rs"]
mod support;
mod top;
mod waiting;

use std::sync::{Mutex, MutexGuard, PoisonError};

fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same of one that needs eBPF; `None`, said loudly, where there is none.
fn alone_with_bpf() -> Option<MutexGuard<'static, ()>> {
    common::has_bpf().then(alone)
}
