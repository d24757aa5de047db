//! Attaches programs to tracepoints by perf, which disables preemption around them.

#![allow(unsafe_code)]

use crate::perf::{Attributes, NO_GROUP, open, set_program};
use anyhow::{Context, Result, anyhow};
use nix::errno::Errno;
use std::fs::{File, read_to_string};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// PERF_TYPE_TRACEPOINT.
const TRACEPOINT: u32 = 2;
const MOUNTED: &str = "/sys/kernel/tracing";
/// FSCONFIG_CMD_CREATE (linux/mount.h).
const CREATE: libc::c_uint = 6;

/// What perf knows it by.
fn number(event: &str) -> Result<u64> {
    let file = format!("events/{event}/id");
    let text = read_to_string(format!("{MOUNTED}/{file}")).or_else(|_| {
        let own = tracefs()?;
        read_to_string(format!("/proc/self/fd/{}/{file}", own.as_raw_fd()))
    });
    let number = text.map_err(|why| anyhow!("{MOUNTED}/{file}: {why}"));
    number
        .and_then(|text| Ok(text.trim().parse()?))
        .context("since Linux 7.2 it needs tracefs, which root may read")
}

/// Mounted nowhere: gone when it is closed.
fn tracefs() -> Result<OwnedFd, Errno> {
    let call = |number, arguments: [libc::c_long; 5]| {
        let [a, b, c, d, e] = arguments;
        // SAFETY: the only pointer is to a string that outlives the calls.
        Errno::result(unsafe { libc::syscall(number, a, b, c, d, e) })
    };
    // SAFETY: the kernel just created each descriptor, which nothing else owns.
    let owned = |fd| unsafe { OwnedFd::from_raw_fd(fd as i32) };
    let name = c"tracefs".as_ptr() as libc::c_long;
    let context = owned(call(
        libc::SYS_fsopen,
        [name, libc::FSOPEN_CLOEXEC.into(), 0, 0, 0],
    )?);
    let fd = context.as_raw_fd().into();
    call(libc::SYS_fsconfig, [fd, CREATE.into(), 0, 0, 0])?;
    call(
        libc::SYS_fsmount,
        [fd, libc::FSMOUNT_CLOEXEC.into(), 0, 0, 0],
    )
    .map(owned)
}

/// For all tasks and CPUs, until it is closed, whatever task the event is of; `event`: its directory in tracefs, such as
/// `raw_syscalls/sys_exit`.
pub fn attach(program: BorrowedFd, event: &str) -> Result<OwnedFd> {
    let attributes = Attributes {
        kind: TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: number(event)?,
        ..Attributes::default()
    };
    let event: File = open(&attributes, 0, NO_GROUP)?;
    set_program(&event, program)?;
    Ok(event.into())
}
