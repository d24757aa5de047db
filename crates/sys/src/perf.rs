//! Events of perf (perf_event_open(2)), for `counters` and for the sampler in `bpf`.

#![allow(unsafe_code)]

use nix::errno::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};

/// The kernel's `struct perf_event_attr` in its first version, which every kernel accepts (linux/perf_event.h).
#[repr(C)]
#[derive(Default)]
pub struct Attributes {
    pub kind: u32,
    pub size: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup_events: u32,
    pub breakpoint: u32,
    pub config1: u64,
}

impl Attributes {
    pub fn new(kind: u32, config: u64) -> Attributes {
        Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            ..Attributes::default()
        }
    }
}

pub const SOFTWARE: u32 = 1;
pub const DISABLED: u64 = 1;
pub const INHERIT: u64 = 1 << 1;
/// How ioctl(2) numbers requests without data, which these architectures do in their own way (asm/ioctl.h).
const NO_DATA: u64 = if cfg!(any(
    target_arch = "powerpc64",
    target_arch = "mips64",
    target_arch = "sparc64"
)) {
    0x2000_0000
} else {
    0
};
pub const ENABLE: u64 = NO_DATA | 0x2400;
pub const DISABLE: u64 = NO_DATA | 0x2401;
/// PERF_EVENT_IOC_SET_BPF, on the architectures that BPF programs are built for.
const SET_BPF: u64 = 0x4004_2408;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
pub const ANY_CPU: libc::c_int = -1;
pub const ALL_TASKS: libc::c_int = -1;
const NO_GROUP: libc::c_int = -1;

/// The caller's if `tid` is 0. All tasks on one CPU need privilege.
pub fn open(attributes: &Attributes, tid: i32, cpu: libc::c_int) -> Result<File, Errno> {
    // SAFETY: the kernel reads `size` bytes, the size of the structure; a result that is not negative is a new
    // descriptor, which nothing else owns.
    unsafe {
        let fd = libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            tid,
            cpu,
            NO_GROUP,
            CLOSE_ON_EXEC,
        );
        Ok(File::from_raw_fd(Errno::result(fd)? as i32))
    }
}

/// `ENABLE` or `DISABLE`.
pub fn control(event: &File, request: u64) -> io::Result<()> {
    request_of(event, request, 0)
}

/// The event keeps it loaded.
pub fn set_program(event: &File, program: BorrowedFd) -> io::Result<()> {
    request_of(event, SET_BPF, program.as_raw_fd() as libc::c_ulong)
}

fn request_of(event: &File, request: u64, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: these requests take no pointer: their argument is a set of flags or a descriptor.
    let done = unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) };
    Errno::result(done).map(drop).map_err(io::Error::from)
}
