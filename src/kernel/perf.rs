//! Counts single system calls by perf's tracepoints, in a task and all its children (perf_event_open(2)). Called by
//! `trace::perf`.

use super::Sources;
use super::linux::system_call;
use super::taxes::tracing_directory;
use nix::errno::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};

/// The kernel's `struct perf_event_attr` in its first version, which every kernel accepts (linux/perf_event.h).
#[repr(C)]
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) kind: u32,
    pub(super) size: u32,
    pub(super) config: u64,
    pub(super) sample_period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    pub(super) wakeup_events: u32,
    pub(super) breakpoint: u32,
    pub(super) config1: u64,
}

pub(super) const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";
pub(super) const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
pub(super) const DISABLED: u64 = 1;
pub(super) const INHERIT: u64 = 1 << 1;
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// How ioctl(2) numbers requests without data, which these architectures do in their own way (asm/ioctl.h).
const NO_DATA: u64 =
    if cfg!(any(target_arch = "powerpc64", target_arch = "mips64", target_arch = "sparc64")) { 0x2000_0000 } else { 0 };
/// PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE.
pub(super) const ENABLE: u64 = NO_DATA | 0x2400;
pub(super) const DISABLE: u64 = NO_DATA | 0x2401;
/// PERF_EVENT_IOC_SET_BPF, on the architectures that BPF programs are built for.
const SET_BPF: u64 = 0x4004_2408;
/// PERF_FLAG_FD_CLOEXEC.
const CLOSE_ON_EXEC: libc::c_ulong = 8;
const ANY_CPU: libc::c_int = -1;
const ALL_TASKS: libc::c_int = -1;
pub(super) const NO_GROUP: libc::c_int = -1;

/// Calls whose tracepoints have other names, those of the kernel's functions.
const RENAMED: &[(&str, &str)] = &[
    ("stat", "newstat"),
    ("sendfile", "sendfile64"),
    ("lstat", "newlstat"),
    ("fstat", "newfstat"),
    ("uname", "newuname"),
    ("umount2", "umount"),
];

/// Why there is no counter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PerfError {
    #[error("tracefs cannot be read: mount it (mount -t tracefs tracefs /sys/kernel/tracing) or try as root")]
    Hidden,
    #[error("there is no tracepoint for '{0}': see 'perf list syscalls:*' for the names")]
    NoSuchCall(String),
    #[error(
        "perf_event_open of '{call}': {errno:?}; kernel.perf_event_paranoid is {paranoid}: root or CAP_PERFMON is needed"
    )]
    Refused { call: String, errno: Errno, paranoid: String },
}

/// What `PARANOID` holds, for messages.
pub(super) fn paranoid(sources: &Sources) -> String {
    sources.text(PARANOID).unwrap_or_else(|| "unknown".to_string())
}

pub struct Counter(File);

/// When a counter begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    Now,
    /// With the next program that the task executes.
    AtExec,
}

impl Counter {
    /// Counts entries of the call `name` in task `tid`, or the caller if that is 0, and everything that it will start.
    ///
    /// # Errors
    /// Why that is impossible.
    pub fn open(name: &str, tid: i32, begin: Begin) -> Result<Counter, PerfError> {
        let flags = if begin == Begin::AtExec { DISABLED | ENABLE_ON_EXEC } else { 0 };
        let attributes = Attributes {
            kind: TRACEPOINT,
            size: size_of::<Attributes>() as u32,
            config: tracepoint(name, &Sources::default())?,
            flags: flags | INHERIT,
            ..Attributes::default()
        };
        open(&attributes, tid, NO_GROUP).map(Counter).map_err(|errno| PerfError::Refused {
            call: name.to_string(),
            errno,
            paranoid: paranoid(&Sources::default()),
        })
    }

    /// Entries so far, children included.
    ///
    /// # Errors
    /// If the kernel does not return them.
    pub fn read(&mut self) -> std::io::Result<u64> {
        let mut count = [0u8; 8];
        self.0.read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

/// Opens an event of task `tid` (the caller if that is 0) as a member of the group that the descriptor `group` leads.
pub(super) fn open(attributes: &Attributes, tid: i32, group: libc::c_int) -> Result<File, Errno> {
    open_on(attributes, tid, ANY_CPU, group)
}

/// Opens an event of all tasks on one CPU.
pub(super) fn open_of_cpu(attributes: &Attributes, cpu: u32) -> Result<File, Errno> {
    open_on(attributes, ALL_TASKS, cpu.cast_signed(), NO_GROUP)
}

#[allow(unsafe_code)]
fn open_on(attributes: &Attributes, tid: i32, cpu: libc::c_int, group: libc::c_int) -> Result<File, Errno> {
    // SAFETY: the kernel reads `size` bytes, the size of the structure; a result that is not negative is a new
    // descriptor, which nothing else owns.
    unsafe {
        let fd = system_call!(SYS_perf_event_open, std::ptr::from_ref(attributes), tid, cpu, group, CLOSE_ON_EXEC,);
        Ok(File::from_raw_fd(Errno::result(fd)? as i32))
    }
}

/// Makes a request of an event without flags.
pub(super) fn control(event: &File, request: u64) -> io::Result<()> {
    request_of(event, request, 0)
}

/// Has an event call a BPF program.
pub(super) fn set_program(event: &File, program: BorrowedFd) -> io::Result<()> {
    request_of(event, SET_BPF, program.as_raw_fd() as libc::c_ulong)
}

#[allow(unsafe_code)]
fn request_of(event: &File, request: u64, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: these requests take no pointer: their argument is a set of flags or a descriptor.
    let done = unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) };
    Errno::result(done).map(drop).map_err(io::Error::from)
}

/// The ID of the tracepoint at the entry of the call `name`.
fn tracepoint(name: &str, sources: &Sources) -> Result<u64, PerfError> {
    let directory = tracing_directory(sources).ok_or(PerfError::Hidden)?;
    let own = RENAMED.iter().find(|(call, _)| *call == name).map_or(name, |(_, own)| own);
    if own.is_empty() || !own.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(PerfError::NoSuchCall(name.to_string()));
    }
    let number = sources.number(&format!("{directory}/events/syscalls/sys_enter_{own}/id"));
    number.map(|number| number as u64).ok_or_else(|| PerfError::NoSuchCall(name.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fake::tree;

    #[test]
    fn tracepoints_are_found_by_the_names_of_calls() {
        let (_keep, sources) = tree(&[
            ("sys/kernel/tracing/current_tracer", "nop\n"),
            ("sys/kernel/tracing/events/syscalls/sys_enter_read/id", "700\n"),
            ("sys/kernel/tracing/events/syscalls/sys_enter_newstat/id", "701\n"),
        ]);
        assert_eq!(tracepoint("read", &sources), Ok(700));
        assert_eq!(tracepoint("stat", &sources), Ok(701));
        assert_eq!(tracepoint("nosuch", &sources), Err(PerfError::NoSuchCall("nosuch".to_string())));
        assert_eq!(tracepoint("../x", &sources), Err(PerfError::NoSuchCall("../x".to_string())));
        assert_eq!(tracepoint("read", &tree(&[]).1), Err(PerfError::Hidden));
    }
}
