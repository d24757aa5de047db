//! A seccomp filter that has every system call traced: one stop a call instead of ptrace's two.
//!
//! The stop is at the entry, so errors and results stay unknown. Calls that a stricter filter of the program refuses are
//! refused before the tracer is asked, and are not seen (seccomp(2), precedence of actions). A filter cannot be taken
//! off: where the tracer is gone, each call fails with ENOSYS, so tracees must end with it (PTRACE_O_EXITKILL).
//! `kernel::launch` installs it in the child.

/// `BPF_RET | BPF_K` with SECCOMP_RET_TRACE: the whole program (linux/filter.h, linux/seccomp.h).
const TRACE_ALL: libc::sock_filter =
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: libc::SECCOMP_RET_TRACE };

/// prctl(2) takes arguments of this width.
const FILTER_MODE: libc::c_ulong = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
const ZERO: libc::c_ulong = 0;
const ONE: libc::c_ulong = 1;

/// Puts the filter onto the calling thread and all that it will start. Safe after a fork. False with errno set where the
/// kernel refuses. Without CAP_SYS_ADMIN, set-user-ID programs then run without their privilege (PR_SET_NO_NEW_PRIVS).
#[allow(unsafe_code)]
pub fn install() -> bool {
    let mut filter = [TRACE_ALL];
    let program = libc::sock_fprog { len: 1, filter: filter.as_mut_ptr() };
    // SAFETY: `program` and the instruction that it points to live until the calls return; the kernel copies them.
    unsafe {
        let install = || libc::prctl(libc::PR_SET_SECCOMP, FILTER_MODE, &raw const program) == 0;
        install() || (libc::prctl(libc::PR_SET_NO_NEW_PRIVS, ONE, ZERO, ZERO, ZERO) == 0 && install())
    }
}
