//! The end of a process that runs out of memory: a line on standard error and status 1. The standard library aborts instead, which
//! leaves a core dump; a run's files are removed by its janitor either way.

#![allow(unsafe_code)]

use nix::sys::resource::{Resource, getrlimit};
use std::alloc::{GlobalAlloc, Layout, System};

pub struct Allocator;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is that of the system's allocator.
        made(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        made(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        made(unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

fn made(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end(b"syscost: out of memory: allow more (ulimit -v, or the control group's memory.max)\n");
    }
    memory
}

#[cold]
fn end(words: &[u8]) -> ! {
    // SAFETY: write(2) gets a buffer of this length; neither call allocates.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(1)
    }
}

/// Ends this process with advice if its stack is limited to less than 512 KiB, on which it would overflow.
pub fn check_stack() {
    const LEAST: u64 = 512 << 10;
    if getrlimit(Resource::RLIMIT_STACK).is_ok_and(|(most, _)| most < LEAST) {
        end(b"syscost: the stack is limited to less than 512 KiB: allow more (ulimit -s 8192)\n");
    }
}

/// Before main(): a handler for SIGSEGV and SIGBUS, which does nothing. Without one Rust's runtime installs its own and gives
/// each thread a stack for it, and panics if there is no memory for that. A stack that overflows is still a SIGSEGV.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = take_signals;

extern "C" fn take_signals() {
    // SAFETY: sigaction(2) reads an action whose other members may be 0; `nothing` is a handler that may always run.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        action.sa_flags = libc::SA_RESETHAND;
        libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// Returns, so that the fault is repeated, with the default action.
extern "C" fn nothing(_: libc::c_int) {}

/// Programs that are traced by us or that we start expect the default actions.
pub fn give_signals_back() {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the default action is no function of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
