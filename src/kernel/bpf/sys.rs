//! The bpf(2) call: maps, programs, tracepoints, each by one function. All `unsafe` of this directory that talks to bpf
//! is here. Sources: bpf(2), linux/bpf.h.

#![allow(unsafe_code)]

use nix::errno::Errno;
use std::ffi::CStr;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;
const MAP_GET_NEXT_KEY: i32 = 4;
const PROG_LOAD: i32 = 5;
const PROG_GET_FD_BY_ID: i32 = 13;
const OBJ_GET_INFO_BY_FD: i32 = 15;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const BTF_LOAD: i32 = 18;

/// Flags of an update: in any case, or where there is nothing yet.
const ANY: u64 = 0;
const NOEXIST: u64 = 1;

const PROG_TYPE_TRACING: u32 = 26;
const TRACE_RAW_TP: u32 = 23;
/// MIT is compatible with the GPL; the helpers that read kernel memory are open to such programs alone.
const LICENSE: &CStr = c"Dual MIT/GPL";

/// Kinds of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    Hash = 1,
    Array = 2,
    PerCpuArray = 6,
    TaskStorage = 29,
}

/// What a map is made of.
#[derive(Clone, Copy, Debug)]
pub struct MapSpec<'a> {
    pub name: &'a str,
    pub kind: MapType,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    pub flags: u32,
    /// Types of key and value, of maps that want them.
    pub types: Option<(BorrowedFd<'a>, u32, u32)>,
}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    map_name: [u8; 16],
    map_ifindex: u32,
    btf_fd: u32,
    btf_key_type_id: u32,
    btf_value_type_id: u32,
}

#[repr(C)]
#[derive(Default)]
struct MapElem {
    map_fd: u64,
    key: u64,
    value: u64,
    flags: u64,
}

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
    prog_btf_fd: u32,
    func_info_rec_size: u32,
    func_info: u64,
    func_info_cnt: u32,
    line_info_rec_size: u32,
    line_info: u64,
    line_info_cnt: u32,
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
#[derive(Default)]
struct RawTracepoint {
    name: u64,
    prog_fd: u64,
}

#[repr(C)]
#[derive(Default)]
struct GetId {
    start: u32,
    next: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct GetInfo {
    fd: u32,
    length: u32,
    info: u64,
}

/// Makes a map.
///
/// # Errors
/// What the kernel refuses with: EPERM without privilege, EINVAL of a kind of map that it does not have.
pub fn create_map(spec: &MapSpec) -> Result<OwnedFd, Errno> {
    let (btf_fd, key_type, value_type) =
        spec.types.map_or((0, 0, 0), |(fd, key, value)| (fd.as_raw_fd().cast_unsigned(), key, value));
    let mut request = MapCreate {
        map_type: spec.kind as u32,
        key_size: spec.key_size,
        value_size: spec.value_size,
        max_entries: spec.max_entries,
        map_flags: spec.flags,
        map_name: object_name(spec.name),
        btf_fd,
        btf_key_type_id: key_type,
        btf_value_type_id: value_type,
        ..MapCreate::default()
    };
    // SAFETY: the request holds no pointers.
    unsafe { bpf_fd(MAP_CREATE, &mut request) }
}

/// Loads a tracing program for the tracepoint of type `tracepoint`; the verifier's words go to `log`.
///
/// # Errors
/// EACCES or EINVAL where the verifier refuses it, EPERM without privilege.
pub fn load_program(name: &str, code: &[u64], tracepoint: u32, log: &mut [u8]) -> Result<OwnedFd, Errno> {
    let mut request = ProgLoad {
        prog_type: PROG_TYPE_TRACING,
        insn_cnt: u32::try_from(code.len()).map_err(|_| Errno::E2BIG)?,
        insns: code.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: u32::try_from(log.len()).map_err(|_| Errno::E2BIG)?,
        log_buf: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
        prog_name: object_name(name),
        expected_attach_type: TRACE_RAW_TP,
        attach_btf_id: tracepoint,
        ..ProgLoad::default()
    };
    // SAFETY: code, license and log outlive the call, and their lengths are passed with them.
    unsafe { bpf_fd(PROG_LOAD, &mut request) }
}

/// Puts a loaded program onto its tracepoint. It comes off when the descriptor is closed, by whatever end.
///
/// # Errors
/// What the kernel refuses with.
pub fn attach(program: BorrowedFd) -> Result<OwnedFd, Errno> {
    let mut request = RawTracepoint { name: 0, prog_fd: program.as_raw_fd() as u64 };
    // SAFETY: the request holds no pointers: the program itself knows its tracepoint.
    unsafe { bpf_fd(RAW_TRACEPOINT_OPEN, &mut request) }
}

/// Makes types known to the kernel.
///
/// # Errors
/// EINVAL of malformed ones.
pub fn load_btf(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let size = u32::try_from(bytes.len()).map_err(|_| Errno::E2BIG)?;
    let mut request = BtfLoad { btf: bytes.as_ptr() as u64, size, ..BtfLoad::default() };
    // SAFETY: the bytes outlive the call, and their length is passed with them.
    unsafe { bpf_fd(BTF_LOAD, &mut request) }
}

/// Reads the value of `key`; false where there is none. `value` is as long as the map's values, times the processors
/// that are possible for a map that has one for each: the caller, `maps`, sees to that.
///
/// # Errors
/// What the kernel refuses with.
pub fn lookup(map: BorrowedFd, key: &[u8], value: &mut [u8]) -> Result<bool, Errno> {
    let value = value.as_mut_ptr() as u64;
    // SAFETY: key and value are as long as the map was made with, and outlive the call.
    match unsafe { element(MAP_LOOKUP_ELEM, map, key, value, ANY) } {
        Err(Errno::ENOENT) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Writes the value of `key`. Lengths as for `lookup`.
///
/// # Errors
/// What the kernel refuses with.
pub fn update(map: BorrowedFd, key: &[u8], value: &[u8]) -> Result<(), Errno> {
    // SAFETY: key and value are as long as the map was made with, and outlive the call; the kernel only reads them.
    unsafe { element(MAP_UPDATE_ELEM, map, key, value.as_ptr() as u64, ANY) }
}

/// Writes the value of a `key` that has none, in one step; false where it has one, or what it names has ended. Lengths as
/// for `lookup`.
///
/// # Errors
/// What the kernel refuses with.
pub fn insert(map: BorrowedFd, key: &[u8], value: &[u8]) -> Result<bool, Errno> {
    // SAFETY: as for `update`.
    match unsafe { element(MAP_UPDATE_ELEM, map, key, value.as_ptr() as u64, NOEXIST) } {
        Err(Errno::EEXIST | Errno::ENOENT) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Takes `key` out; none there is no error.
///
/// # Errors
/// What the kernel refuses with.
pub fn delete(map: BorrowedFd, key: &[u8]) -> Result<(), Errno> {
    // SAFETY: the key is as long as the map was made with, and outlives the call.
    match unsafe { element(MAP_DELETE_ELEM, map, key, 0, ANY) } {
        Err(Errno::ENOENT) => Ok(()),
        other => other,
    }
}

/// The key behind `key`, or the first one; false at the end.
///
/// # Errors
/// What the kernel refuses with.
pub fn next_key(map: BorrowedFd, key: Option<&[u8]>, next: &mut [u8]) -> Result<bool, Errno> {
    let mut request = MapElem {
        map_fd: map.as_raw_fd() as u64,
        key: key.map_or(0, |key| key.as_ptr() as u64),
        value: next.as_mut_ptr() as u64,
        flags: 0,
    };
    // SAFETY: both keys are as long as the map was made with, and outlive the call.
    match unsafe { bpf(MAP_GET_NEXT_KEY, &mut request) } {
        Err(Errno::ENOENT) => Ok(false),
        other => other.map(|_| true),
    }
}

/// A loaded program by its number.
pub fn program_by_id(id: u32) -> Option<OwnedFd> {
    let mut request = GetId { start: id, ..GetId::default() };
    // SAFETY: the request holds no pointers.
    unsafe { bpf_fd(PROG_GET_FD_BY_ID, &mut request) }.ok()
}

/// The kernel's facts of a program, as far as `info` has room (struct bpf_prog_info of linux/bpf.h).
///
/// # Errors
/// What the kernel refuses with.
pub fn program_info(program: BorrowedFd, info: &mut [u8]) -> Result<(), Errno> {
    let mut request = GetInfo {
        fd: program.as_raw_fd().cast_unsigned(),
        length: u32::try_from(info.len()).map_err(|_| Errno::E2BIG)?,
        info: info.as_mut_ptr() as u64,
    };
    // SAFETY: `info` outlives the call, and its length is passed with it; as it is zero, the kernel follows no pointer.
    unsafe { bpf(OBJ_GET_INFO_BY_FD, &mut request) }.map(|_| ())
}

/// A name as the kernel keeps it: 15 bytes.
fn object_name(name: &str) -> [u8; 16] {
    let mut kept = [0; 16];
    let length = name.len().min(15);
    kept[..length].copy_from_slice(&name.as_bytes()[..length]);
    kept
}

/// # Safety
/// Key and value are as long as the map's, and writable where the command writes them.
unsafe fn element(command: i32, map: BorrowedFd, key: &[u8], value: u64, flags: u64) -> Result<(), Errno> {
    let mut request = MapElem { map_fd: map.as_raw_fd() as u64, key: key.as_ptr() as u64, value, flags };
    // SAFETY: the caller's word.
    unsafe { bpf(command, &mut request) }.map(|_| ())
}

/// # Safety
/// As `bpf`; the command returns a descriptor.
unsafe fn bpf_fd<T>(command: i32, request: &mut T) -> Result<OwnedFd, Errno> {
    // SAFETY: the caller's word.
    let fd = unsafe { bpf(command, request) }?;
    // SAFETY: the kernel just gave us this descriptor, which nobody else owns; it is closed on exec by itself.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// # Safety
/// `T` is the kernel's structure for the command, and each pointer in it is to memory of the length that goes with it.
unsafe fn bpf<T>(command: i32, request: &mut T) -> Result<i32, Errno> {
    // SAFETY: the caller's word; the size passed is that of the structure.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(request), size_of::<T>()) };
    Errno::result(result).map(|result| result as i32)
}
