//! Attaches programs to tracepoints by perf, which disables preemption around them.

use crate::perf::{ANY_CPU, Attributes, open, set_program};
use anyhow::{Context, Result, anyhow};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::read_to_string;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// PERF_TYPE_TRACEPOINT.
const TRACEPOINT: u32 = 2;
const MOUNTED: &str = "/sys/kernel/tracing";

fn number(event: &str) -> Result<u64> {
    let file = format!("events/{event}/id");
    let text = read_to_string(format!("{MOUNTED}/{file}")).or_else(|_| {
        let fd = tracefs()?;
        read_to_string(format!("/proc/self/fd/{}/{file}", fd.as_raw_fd()))
    });
    let number = text.map_err(|why| anyhow!("{MOUNTED}/{file}: {why}"));
    number
        .and_then(|text| Ok(text.trim().parse()?))
        .context("since Linux 7.2 it needs tracefs, which root may read")
}

/// The tracing file system if nobody has mounted it. It is mounted nowhere, and gone when it is closed.
fn tracefs() -> io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    Ok(fsmount(context, flags, MountAttrFlags::empty())?)
}

/// Attaches a program to a tracepoint for all tasks and CPUs, although the event is this task's, until it is closed; `event` is its
/// directory in tracefs, such as `raw_syscalls/sys_exit`.
pub fn attach(program: BorrowedFd, event: &str) -> Result<OwnedFd> {
    let event = open(&Attributes::new(TRACEPOINT, number(event)?), 0, ANY_CPU)?;
    set_program(&event, program)?;
    Ok(event.into())
}
