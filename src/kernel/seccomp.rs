//! A seccomp filter that has every system call traced: one stop per call instead of ptrace's two.
//!
//! The stop is at the entry, so errors and results are unknown. Calls that a stricter filter of the program refuses
//! never reach the tracer (seccomp(2), precedence of actions). A filter cannot be removed: without the tracer, each
//! call fails with ENOSYS, so tracees must end with it (PTRACE_O_EXITKILL). `kernel::launch` installs it in the child.

/// `BPF_RET | BPF_K` with SECCOMP_RET_TRACE: the whole program (linux/filter.h, linux/seccomp.h).
const TRACE_ALL: libc::sock_filter =
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: libc::SECCOMP_RET_TRACE };

/// prctl(2) takes arguments of this width.
const FILTER_MODE: libc::c_ulong = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
const ZERO: libc::c_ulong = 0;
const ONE: libc::c_ulong = 1;

/// Installs the filter in the calling thread and everything that it will start. Async-signal-safe. False, with errno
/// set, if the kernel refuses. Without CAP_SYS_ADMIN, set-user-ID programs then run without their privilege
/// (PR_SET_NO_NEW_PRIVS).
#[allow(unsafe_code)]
pub fn install() -> bool {
    let mut filter = [TRACE_ALL];
    let program = libc::sock_fprog { len: 1, filter: filter.as_mut_ptr() };
    // SAFETY: `program` and the instruction that it points to outlive the calls; the kernel copies them.
    unsafe {
        let install = || libc::prctl(libc::PR_SET_SECCOMP, FILTER_MODE, &raw const program) == 0;
        install() || (libc::prctl(libc::PR_SET_NO_NEW_PRIVS, ONE, ZERO, ZERO, ZERO) == 0 && install())
    }
}
