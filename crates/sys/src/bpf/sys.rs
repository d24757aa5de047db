//! The bpf(2) call, and a function for each command but those of `maps`. Sources: bpf(2), linux/bpf.h.

#![allow(unsafe_code)]

use nix::errno::Errno;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const PROG_LOAD: i32 = 5;
const PROG_GET_FD_BY_ID: i32 = 13;
const OBJ_GET_INFO_BY_FD: i32 = 15;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const BTF_LOAD: i32 = 18;
const LINK_CREATE: i32 = 28;
const ITER_CREATE: i32 = 33;

/// The size of struct bpf_prog_info (linux/bpf.h) up to and including `recursion_misses`, in 64-bit words.
const PROG_INFO_WORDS: usize = 27;

const PROG_TYPE_TRACEPOINT: u32 = 5;
const PROG_TYPE_PERF_EVENT: u32 = 7;
const PROG_TYPE_TRACING: u32 = 26;

/// How a program is attached: to a tracepoint, by perf or directly; as an iterator, which is called for each task; or to perf
/// events.
#[derive(Clone, Copy)]
pub enum Attachment {
    Perf = 0,
    Tracepoint = 23,
    Iterator = 28,
    Event = 41,
}

/// MIT is compatible with the GPL; helpers that read kernel memory are restricted to such programs.
const LICENSE: &CStr = c"Dual MIT/GPL";

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: [u8; 16],
    prog_ifindex: u32,
    expected_attach_type: u32,
    /// `prog_btf_fd` to `line_info_cnt`: debug information.
    debug: [u32; 9],
    attach_btf_id: u32,
    attach_prog_fd: u32,
    padding: u32,
}

#[repr(C)]
#[derive(Default)]
struct BtfLoad {
    btf: u64,
    log_buf: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    padding: u32,
}

#[repr(C)]
struct GetInfo {
    fd: u32,
    length: u32,
    info: u64,
}

/// A signal to the process, even one that only stops it, makes the verifier give up with EAGAIN.
const LOAD_TRIES: u32 = 100;

/// Loads a program; the verifier writes to `log` unless that is empty.
///
/// # Errors
/// EACCES or EINVAL if the verifier rejects the program, EPERM without privilege, EAGAIN if signals keep interrupting it.
pub fn load_program(
    name: &str,
    code: &[u64],
    target: (Attachment, u32),
    log: &mut [u8],
) -> Result<OwnedFd, Errno> {
    let (attachment, type_id) = target;

    let mut request = ProgLoad {
        prog_type: match attachment {
            Attachment::Tracepoint | Attachment::Iterator => PROG_TYPE_TRACING,
            Attachment::Perf => PROG_TYPE_TRACEPOINT,
            Attachment::Event => PROG_TYPE_PERF_EVENT,
        },
        insn_cnt: u32::try_from(code.len()).map_err(|_| Errno::E2BIG)?,
        insns: code.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: u32::try_from(log.len()).map_err(|_| Errno::E2BIG)?,
        log_buf: if log.is_empty() {
            0
        } else {
            log.as_mut_ptr() as u64
        },
        prog_name: object_name(name),
        expected_attach_type: attachment as u32,
        attach_btf_id: type_id,
        ..ProgLoad::default()
    };
    for _ in 1..LOAD_TRIES {
        // SAFETY: code, license and log outlive the call, and their lengths are passed with them.
        match unsafe { call_for_fd(PROG_LOAD, &mut request) } {
            Err(Errno::EAGAIN) => {}
            done => return done,
        }
    }
    Err(Errno::EAGAIN)
}

/// Attaches a program to the tracepoint that it was loaded for, until the file descriptor is closed.
pub fn attach(program: BorrowedFd) -> Result<OwnedFd, Errno> {
    // `name` and `prog_fd`.
    let mut request = [0, program.as_raw_fd() as u64];
    // SAFETY: the request holds no pointers: the program itself knows its tracepoint.
    unsafe { call_for_fd(RAW_TRACEPOINT_OPEN, &mut request) }
}

/// Lets an iterator be called, until the file descriptor is closed.
pub fn link_iterator(program: BorrowedFd) -> Result<OwnedFd, Errno> {
    // `prog_fd`, `target_fd`, `attach_type`, and no options.
    let mut request = [0u32; 8];
    request[0] = program.as_raw_fd().cast_unsigned();
    request[2] = Attachment::Iterator as u32;
    // SAFETY: the request holds no pointers.
    unsafe { call_for_fd(LINK_CREATE, &mut request) }
}

/// Reading it runs the program for each task and returns what the program writes.
pub fn open_iterator(link: BorrowedFd) -> Result<OwnedFd, Errno> {
    // `link_fd` and `flags`.
    let mut request = [link.as_raw_fd().cast_unsigned(), 0];
    // SAFETY: the request holds no pointers.
    unsafe { call_for_fd(ITER_CREATE, &mut request) }
}

/// Types, which some kinds of maps require.
pub fn load_btf(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let size = u32::try_from(bytes.len()).map_err(|_| Errno::E2BIG)?;
    let mut request = BtfLoad {
        btf: bytes.as_ptr() as u64,
        size,
        ..BtfLoad::default()
    };
    // SAFETY: the bytes outlive the call, and their length is passed with them.
    unsafe { call_for_fd(BTF_LOAD, &mut request) }
}

/// `None` if there is none of that ID, or without privilege.
pub fn program_by_id(id: u32) -> Option<OwnedFd> {
    // `prog_id`, `next_id` and `open_flags`.
    let mut request = [id, 0, 0];
    // SAFETY: the request holds no pointers.
    unsafe { call_for_fd(PROG_GET_FD_BY_ID, &mut request) }.ok()
}

/// The program was already running on that CPU.
pub fn recursion_misses(program: BorrowedFd) -> Result<u64, Errno> {
    let mut info = [0u64; PROG_INFO_WORDS];
    let mut request = GetInfo {
        fd: program.as_raw_fd().cast_unsigned(),
        length: size_of_val(&info) as u32,
        info: info.as_mut_ptr() as u64,
    };
    // SAFETY: `info` outlives the call, and its length is passed with it. It is zeroed, so its pointers to further
    // buffers are null and the kernel writes nowhere else.
    unsafe { call(OBJ_GET_INFO_BY_FD, &mut request) }?;
    Ok(info[PROG_INFO_WORDS - 1])
}

/// The name as the kernel keeps it: its first 15 bytes and a 0.
pub(super) fn object_name(name: &str) -> [u8; 16] {
    let mut kept = [0; 16];
    let length = name.len().min(15);
    kept[..length].copy_from_slice(&name.as_bytes()[..length]);
    kept
}

/// # Safety
/// As `call`; the command returns a descriptor.
pub(super) unsafe fn call_for_fd<T>(command: i32, request: &mut T) -> Result<OwnedFd, Errno> {
    // SAFETY: guaranteed by the caller.
    let fd = unsafe { call(command, request) }?;
    // SAFETY: the kernel just created this descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// # Safety
/// `T` is the kernel's structure for the command, and each pointer in it refers to memory as long as the command expects,
/// which the kernel may write if the command does that.
pub(super) unsafe fn call<T>(command: i32, request: &mut T) -> Result<i32, Errno> {
    // SAFETY: guaranteed by the caller; the size passed is that of the structure.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(request),
            size_of::<T>(),
        )
    };
    Errno::result(result).map(|result| result as i32)
}
