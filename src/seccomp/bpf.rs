//! Classic BPF as seccomp runs it: instructions, and what a program answers to a call.
//!
//! Sources: linux/filter.h, linux/bpf_common.h and linux/seccomp.h of the kernel's user interface.

/// `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub code: u16,
    pub if_true: u8,
    pub if_false: u8,
    pub k: u32,
}

/// BPF_LD | BPF_W | BPF_ABS
pub const LOAD: u16 = 0x20;
/// BPF_ALU | BPF_AND | BPF_K
pub const AND: u16 = 0x54;
/// BPF_JMP | BPF_JA
pub const JUMP: u16 = 0x05;
/// BPF_JMP | BPF_JEQ | BPF_K
pub const IF_EQUAL: u16 = 0x15;
/// BPF_JMP | BPF_JGT | BPF_K
pub const IF_GREATER: u16 = 0x25;
/// BPF_JMP | BPF_JGE | BPF_K
pub const IF_GREATER_OR_EQUAL: u16 = 0x35;
/// BPF_RET | BPF_K
pub const RETURN: u16 = 0x06;

/// Offsets in `struct seccomp_data`.
pub const NUMBER: u32 = 0;
pub const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// SECCOMP_RET_*, without data.
pub const KILL_PROCESS: u32 = 0x8000_0000;
pub const KILL_THREAD: u32 = 0;
pub const TRAP: u32 = 0x0003_0000;
pub const ERRNO: u32 = 0x0005_0000;
pub const TRACE: u32 = 0x7ff0_0000;
pub const LOG: u32 = 0x7ffc_0000;
pub const ALLOW: u32 = 0x7fff_0000;

/// The offset of the lower or upper half of an argument.
pub fn argument(index: u32, upper: bool) -> u32 {
    ARGUMENTS + 8 * index + 4 * u32::from(upper != cfg!(target_endian = "big"))
}

/// Whether a call with this verdict is made.
pub fn lets_through(verdict: u32) -> bool {
    [ALLOW, LOG].contains(&verdict)
}

impl Instruction {
    pub fn plain(code: u16, k: u32) -> Instruction {
        Instruction { code, if_true: 0, if_false: 0, k }
    }

    /// As it is in this machine's memory.
    pub fn bytes(&self) -> [u8; 8] {
        let ([a, b], [c, d, e, f]) = (self.code.to_ne_bytes(), self.k.to_ne_bytes());
        [a, b, self.if_true, self.if_false, c, d, e, f]
    }
}

/// What a filter looks at.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub number: u32,
    pub audit: u32,
    pub arguments: [u64; 6],
}

impl Call {
    fn word(&self, offset: u32) -> u32 {
        let halves = self.arguments.iter().enumerate().flat_map(|(index, value)| {
            let index = index as u32;
            [(argument(index, false), *value as u32), (argument(index, true), (*value >> 32) as u32)]
        });
        let words = [(NUMBER, self.number), (ARCHITECTURE, self.audit)].into_iter().chain(halves);
        words.into_iter().find(|(at, _)| *at == offset).map_or(0, |(_, value)| value)
    }
}

/// What the kernel would answer; a program that this module did not make, and that goes wrong, kills.
pub fn verdict(program: &[Instruction], call: &Call) -> u32 {
    let (mut at, mut accumulator) = (0, 0);
    while let Some(Instruction { code, if_true, if_false, k }) = program.get(at).copied() {
        let branch = |taken: bool| usize::from(if taken { if_true } else { if_false });
        at += 1;
        match code {
            LOAD => accumulator = call.word(k),
            AND => accumulator &= k,
            JUMP => at += k as usize,
            IF_EQUAL => at += branch(accumulator == k),
            IF_GREATER => at += branch(accumulator > k),
            IF_GREATER_OR_EQUAL => at += branch(accumulator >= k),
            RETURN => return k,
            _ => break,
        }
    }
    KILL_THREAD
}
