//! Single ptrace(2) requests and waits.
//!
//! Waits do not use nix, which has no names for real-time signals and would lose the stop that reports one.

#![allow(unsafe_code)]

use model::Ending;
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::io::{IoSliceMut, Read};

/// libc::ptrace is variadic: a bare 0 would be passed as an int, and the upper half of the pointer would be undefined.
const NO_ADDRESS: *mut libc::c_void = std::ptr::null_mut();
const NO_SIGNAL: libc::c_int = 0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Report {
    Call,
    /// One of PTRACE_EVENT_*, with the signal that it came with.
    Ptrace {
        event: i32,
        signal: i32,
    },
    Signal(i32),
    Ended(Ending),
}

/// Begins to trace a task and everything that it will start, such that system call stops differ from signals, and interrupts it once.
/// `EPERM` if it may not be traced or already is, `ESRCH` if it has ended.
pub fn seize(tid: i32, more: Options) -> Result<(), Errno> {
    let tree = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC;
    ptrace::seize(Pid::from_raw(tid), tree | more)?;
    ptrace::interrupt(Pid::from_raw(tid))
}

#[derive(Clone, Copy)]
pub enum Whose {
    Any,
    One(i32),
}

/// The instruction, stack and frame pointers of a stopped tracee, and its link register, 0 where there is none.
pub fn registers(tid: i32) -> Result<[u64; 4], Errno> {
    let all = ptrace::getregs(Pid::from_raw(tid))?;
    #[cfg(target_arch = "x86_64")]
    let pointers = [all.rip, all.rsp, all.rbp, 0];
    #[cfg(target_arch = "aarch64")]
    let pointers = [all.pc, all.sp, all.regs[29], all.regs[30]];
    Ok(pointers)
}

/// Waits for a report; `None` if `flags` has WNOHANG and there is none. With WNOWAIT the report stays; that of a stop is dropped when
/// the tracee is resumed. `ECHILD` if there is nothing to wait for, `EINTR` after a signal.
pub fn wait(whose: Whose, flags: i32) -> Result<Option<(i32, Report)>, Errno> {
    wait_id(
        whose,
        libc::WEXITED | libc::WSTOPPED | libc::__WALL | libc::__WNOTHREAD | flags,
    )
}

/// Never that of an end; `None` if the tracee was killed while it was stopped.
pub fn take_stop(pid: i32) -> Result<Option<Report>, Errno> {
    let options = libc::WSTOPPED | libc::WNOHANG | libc::__WALL | libc::__WNOTHREAD;
    Ok(wait_id(Whose::One(pid), options)?.map(|(_, event)| event))
}

/// Waits until a child has ended. With WNOWAIT in `flags`, it stays to be reaped. `ECHILD` if it has been.
pub fn wait_for_end(pid: i32, flags: i32) -> Result<Ending, Errno> {
    loop {
        match wait_id(Whose::One(pid), libc::WEXITED | flags) {
            Ok(Some((_, Report::Ended(ending)))) => return Ok(ending),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn wait_id(whose: Whose, options: i32) -> Result<Option<(i32, Report)>, Errno> {
    let (kind, id) = match whose {
        Whose::Any => (libc::P_ALL, 0),
        Whose::One(pid) => (libc::P_PID, pid as libc::id_t),
    };
    // SAFETY: all zeros is a valid siginfo_t; waitid(2) fills it in and sets the members for children.
    let (pid, code, status) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        Errno::result(libc::waitid(kind, id, &raw mut info, options))?;
        (info.si_pid(), info.si_code, info.si_status())
    };
    Ok((pid != 0).then(|| (pid, report(code, status))))
}

fn report(code: i32, status: i32) -> Report {
    match code {
        libc::CLD_EXITED => Report::Ended(Ending::Exited(status)),
        libc::CLD_KILLED | libc::CLD_DUMPED => Report::Ended(Ending::Signalled(status & 0x7f)),
        _ if status == libc::SIGTRAP | 0x80 => Report::Call,
        _ if status >> 8 != 0 => Report::Ptrace {
            event: status >> 8,
            signal: status & 0x7f,
        },
        _ => Report::Signal(status),
    }
}

/// Returns the kernel's accounting of the task and the children that it waited for.
pub fn reap(pid: i32) -> Result<libc::rusage, Errno> {
    Ok(wait_for_usage(pid, libc::__WALL | libc::__WNOTHREAD)?.1)
}

/// The same of a child of any thread of this process; `None` if it has not ended.
pub fn reap_ended(pid: i32) -> Result<Option<libc::rusage>, Errno> {
    let (reaped, usage) = wait_for_usage(pid, libc::WNOHANG)?;
    Ok((reaped != 0).then_some(usage))
}

fn wait_for_usage(pid: i32, options: i32) -> Result<(i32, libc::rusage), Errno> {
    // SAFETY: all zeros is a valid rusage, and wait4(2) writes only to the two given variables.
    unsafe {
        let (mut status, mut usage) = (0, std::mem::zeroed());
        let reaped = Errno::result(libc::wait4(pid, &raw mut status, options, &raw mut usage))?;
        Ok((reaped, usage))
    }
}

#[derive(Clone, Copy)]
pub enum Resume {
    ToCall,
    ToEvent,
    Detach,
}

/// Delivers `signal` unless it is 0; `ESRCH` if the tracee was killed.
pub fn resume(pid: i32, how: Resume, signal: i32) -> Result<(), Errno> {
    let request = match how {
        Resume::ToCall => libc::PTRACE_SYSCALL,
        Resume::ToEvent => libc::PTRACE_CONT,
        Resume::Detach => libc::PTRACE_DETACH,
    };
    // SAFETY: these requests take no address and a signal number as data; they access none of our memory.
    Errno::result(unsafe { libc::ptrace(request, pid, NO_ADDRESS, libc::c_long::from(signal)) })
        .map(drop)
}

/// Leaves a tracee in its group stop such that it reports what wakes it (ptrace(2), PTRACE_LISTEN).
pub fn listen(pid: i32) -> Result<(), Errno> {
    // SAFETY: PTRACE_LISTEN takes no address and no data, and accesses none of our memory.
    Errno::result(unsafe { libc::ptrace(libc::PTRACE_LISTEN, pid, NO_ADDRESS, NO_ADDRESS) })
        .map(drop)
}

/// False if it has ended.
pub fn is_thread_of(tid: i32, pid: i32) -> bool {
    // SAFETY: signal 0 only checks and sends nothing (kill(2)); tgkill(2) takes numbers only.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, NO_SIGNAL) == 0 }
}

/// The bytes at an address of another process up to a zero byte, at most as many as a path may have; `None` if they cannot be read.
pub fn read_text(pid: i32, address: u64) -> Option<Vec<u8>> {
    let mut text = [0u8; 4096];
    let mut length = 0;
    while length < text.len() {
        let from = address.checked_add(length as u64)?;
        let read = read_page(pid, from, &mut text[length..])
            .ok()
            .filter(|read| *read > 0)?;
        let new = &text[length..length + read];
        if let Some(end) = new.iter().position(|byte| *byte == 0) {
            return Some(text[..length + end].to_vec());
        }
        length += read;
    }
    None
}

/// Reads another process's memory from `address` to the end of its page, at most as much as `buffer` holds; returns the number of
/// bytes. Rejected: reading on, which fails as a whole if the next page is not mapped.
pub fn read_page(pid: i32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    const PAGE: u64 = 4096;
    let rest = usize::try_from(PAGE - address % PAGE)
        .unwrap_or(0)
        .min(buffer.len());
    let base = usize::try_from(address).map_err(|_| Errno::EFAULT)?;
    let remote = [nix::sys::uio::RemoteIoVec { base, len: rest }];
    nix::sys::uio::process_vm_readv(
        Pid::from_raw(pid),
        &mut [IoSliceMut::new(&mut buffer[..rest])],
        &remote,
    )
}

/// AUDIT_ARCH_* by the class and machine in its ELF header (elf.h); 0 if unknown.
pub fn executable_architecture(pid: i32) -> u32 {
    let mut header = [0u8; 20];
    let file = std::fs::File::open(format!("/proc/{pid}/exe"));
    if file
        .and_then(|mut file| file.read_exact(&mut header))
        .is_err()
    {
        return 0;
    }
    let wide = if header[4] == 2 { 0x8000_0000 } else { 0 };
    let little = if header[5] == 1 { 0x4000_0000 } else { 0 };
    wide | little | u32::from(u16::from_le_bytes([header[18], header[19]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_decoded() {
        assert_eq!(
            report(libc::CLD_EXITED, 3),
            Report::Ended(Ending::Exited(3))
        );
        assert_eq!(
            report(libc::CLD_DUMPED, libc::SIGSEGV),
            Report::Ended(Ending::Signalled(libc::SIGSEGV))
        );
        assert_eq!(
            report(libc::CLD_TRAPPED, libc::SIGTRAP | 0x80),
            Report::Call
        );
        let exec = libc::SIGTRAP | (libc::PTRACE_EVENT_EXEC << 8);
        let expected = Report::Ptrace {
            event: libc::PTRACE_EVENT_EXEC,
            signal: libc::SIGTRAP,
        };
        assert_eq!(report(libc::CLD_TRAPPED, exec), expected);
        // A real-time signal.
        assert_eq!(report(libc::CLD_TRAPPED, 40), Report::Signal(40));
    }
}
