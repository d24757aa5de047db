//! The place in a system call at which a tracee is stopped, and which call it is (PTRACE_GET_SYSCALL_INFO, Linux 5.3).
//!
//! Rejected: nix's wrapper, which is declared for glibc only, so that nothing would compile with musl.

use model::syscall_names;
use nix::errno::Errno;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    pub architecture: u32,
    pub number: u64,
    pub arguments: [u64; 6],
}

impl Call {
    /// `native` is the program's architecture. If that is 0, for want of /proc, the first call shows it: a program starts through its
    /// native gate.
    pub fn name(&self, native: &mut u32) -> String {
        if *native == 0 {
            *native = self.architecture;
        }
        syscall_names::name(self.architecture, self.number, *native)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SyscallStop {
    Entry(Call),
    /// Before the call.
    Filter(Call),
    /// The result: a negative errno if the call failed.
    Exit {
        result: i64,
        failed: bool,
    },
    None,
}

/// `struct ptrace_syscall_info` of linux/ptrace.h. After the stack pointer it has a union of eight words at most.
#[derive(Default)]
#[repr(C)]
struct Info {
    op: u8,
    _padding: [u8; 3],
    architecture: u32,
    _instruction_pointer: u64,
    _stack_pointer: u64,
    words: [u64; 8],
}

mod op {
    pub const ENTRY: u8 = 1;
    pub const EXIT: u8 = 2;
    pub const SECCOMP: u8 = 3;
}

impl Info {
    fn decode(&self) -> SyscallStop {
        let [number, arguments @ .., _] = self.words;
        let call = Call {
            architecture: self.architecture,
            number,
            arguments,
        };
        match self.op {
            op::ENTRY => SyscallStop::Entry(call),
            op::SECCOMP => SyscallStop::Filter(call),
            // A word and a byte: the result, and whether it is an error.
            op::EXIT => SyscallStop::Exit {
                result: self.words[0].cast_signed(),
                failed: self.words[1].to_ne_bytes()[0] != 0,
            },
            _ => SyscallStop::None,
        }
    }
}

/// Asks the kernel about a stopped tracee; `ESRCH` if it was killed, `EIO` before Linux 5.3.
#[allow(unsafe_code)]
pub fn syscall_stop(pid: i32) -> Result<SyscallStop, Errno> {
    const GET_SYSCALL_INFO: u16 = 0x420e;
    let mut info = Info::default();
    // SAFETY: the kernel writes at most the given number of bytes, the size of `info`, in which all bytes are valid.
    Errno::result(unsafe {
        libc::ptrace(
            GET_SYSCALL_INFO.into(),
            pid,
            size_of::<Info>(),
            &raw mut info,
        )
    })?;
    Ok(info.decode())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_is_decoded_by_kind() {
        fn stop(op: u8, words: [u64; 8]) -> SyscallStop {
            Info {
                op,
                architecture: 9,
                words,
                ..Info::default()
            }
            .decode()
        }

        let words = [1, 2, 3, 4, 5, 6, 7, 8];
        let call = Call {
            architecture: 9,
            number: 1,
            arguments: [2, 3, 4, 5, 6, 7],
        };
        assert_eq!(stop(op::ENTRY, words), SyscallStop::Entry(call));
        assert_eq!(stop(op::SECCOMP, words), SyscallStop::Filter(call));
        assert_eq!(stop(0, words), SyscallStop::None);
        let failed = [(-2_i64).cast_unsigned(), 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(
            stop(op::EXIT, failed),
            SyscallStop::Exit {
                result: -2,
                failed: true
            }
        );
        assert_eq!(size_of::<Info>(), 88);
    }
}
