//! Records the instructions that a process executes from the call of a function to its return, by single-stepping it with ptrace.
//! Its threads and children are not traced, and it runs freely until it hits a breakpoint at the function. Rejected: stepping
//! from the read of the request, which would step through the preparation too.

use super::process::ending_text;
use super::tracee::{self, Report, Whose};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const MOST_STEPS: usize = 2_000_000;
const MOST_TO_END: u64 = 100_000;
pub const MOST_TIME: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("code is not disassembled on this architecture (x86_64 only)")]
    Architecture,
    #[error("ptrace was refused: {0}")]
    Refused(Errno),
    #[error("ptrace: {0}")]
    Kernel(#[from] Errno),
    #[error("an iteration executes more than {MOST_STEPS} instructions: too many to step through")]
    Steps,
    #[error("stepping through an iteration takes longer than {} s", MOST_TIME.as_secs())]
    Time,
    #[error("the probe ended while it was stepped: {0}")]
    Ended(String),
}

/// The page at this fixed address holds no code: fetching from it faults, and the kernel performs the call.
pub const VSYSCALL: std::ops::Range<u64> = 0xffff_ffff_ff60_0000..0xffff_ffff_ff60_1000;

#[derive(Clone, Copy, Default, PartialEq)]
pub enum Bits {
    B32,
    #[default]
    B64,
}

/// All calls must come from the thread that created it.
pub struct Stepper {
    pid: Pid,
    bits: Bits,
}

#[derive(Clone, Copy)]
struct Position {
    instruction: u64,
    stack: u64,
}

impl Stepper {
    /// Attaches to a process and stops it; signals that it gets until then are delivered. If this thread ends, so does the process.
    pub fn attach(pid: u32, bits: Bits) -> Result<Stepper, StepError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(StepError::Architecture);
        }
        let pid = Pid::from_raw(pid.cast_signed());
        ptrace::seize(pid, Options::PTRACE_O_EXITKILL).map_err(StepError::Refused)?;
        ptrace::interrupt(pid)?;
        let stepper = Stepper { pid, bits };
        while let Some(signal) = stepper.stop()? {
            ptrace::cont(pid, signal)?;
        }
        Ok(stepper)
    }

    /// The addresses of all instructions from the call of the function at `address` to its return. One that repeats itself (`rep
    /// movsb`) counts once. `request` is called once the breakpoint is set. After an error, the process must be killed.
    pub fn record(&mut self, address: u64, request: impl FnOnce()) -> Result<Vec<u64>, StepError> {
        // Replaces the first byte with `int3`. By ptrace, not /proc/PID/mem, which hardened kernels make read-only.
        let word = ptrace::read(self.pid, pointer(address))?;
        ptrace::write(self.pid, pointer(address), (word & !0xff) | 0xcc)?;
        request();
        self.run_to(address.wrapping_add(1))?;
        ptrace::write(self.pid, pointer(address), word)?;
        self.go_to(address)?;
        self.step_to_return(address)
    }

    /// How many instructions the process executes until it ends with status 0, which is left for its parent to reap. After another
    /// error, it must be killed.
    pub fn steps_to_end(&self) -> Result<u64, StepError> {
        let mut signal = None;
        for step in 0..MOST_TO_END {
            ptrace::step(self.pid, signal)?;
            signal = match self.stop() {
                Err(StepError::Ended(how)) if how == "exit status 0" => return Ok(step),
                stopped => stopped?.filter(|signal| *signal != Signal::SIGTRAP),
            };
        }
        Err(StepError::Steps)
    }

    pub fn release(self) -> Result<(), StepError> {
        Ok(ptrace::detach(self.pid, None)?)
    }

    fn run_to(&self, after: u64) -> Result<(), StepError> {
        let mut signal = None;
        loop {
            ptrace::cont(self.pid, signal)?;
            signal = match self.stop()? {
                Some(Signal::SIGTRAP) if self.position()?.instruction == after => return Ok(()),
                other => other,
            };
        }
    }

    fn step_to_return(&self, address: u64) -> Result<Vec<u64>, StepError> {
        let deadline = Instant::now() + MOST_TIME;
        let entry = self.position()?.stack;
        let back = self.return_address(entry)?;
        let mut trace = Trace::default();
        let mut at = Position {
            instruction: address,
            stack: entry,
        };
        for step in 0..MOST_STEPS {
            if step % 256 == 0 && Instant::now() > deadline {
                return Err(StepError::Time);
            }
            at = self.step(at, &mut trace)?;
            // A function that calls itself returns to the same address, but from lower on the stack.
            if at.instruction == back && at.stack > entry {
                return Ok(trace.addresses);
            }
        }
        Err(StepError::Steps)
    }

    /// A call into the vsyscall page is performed by the page fault that it causes, and the instruction after the call has run
    /// too when the trap comes: it is added.
    fn step(&self, at: Position, trace: &mut Trace) -> Result<Position, StepError> {
        let gate = VSYSCALL.contains(&at.instruction);
        let back = if gate {
            Some(self.return_address(at.stack)?)
        } else {
            None
        };
        trace.add(at.instruction);
        self.one_step(at.instruction, trace)?;
        let now = self.position()?;
        if let Some(back) = back.filter(|back| *back != now.instruction) {
            trace.add(back);
        }
        Ok(now)
    }

    fn one_step(&self, from: u64, trace: &mut Trace) -> Result<(), StepError> {
        let mut signal = None;
        loop {
            ptrace::step(self.pid, signal)?;
            signal = match self.stop()? {
                Some(Signal::SIGTRAP) => return Ok(()),
                other => other,
            };
            if signal.is_some() && self.position()?.instruction == from {
                trace.undo(from);
            }
        }
    }

    /// `None` for a stop of ptrace's own. A process that ended is left for its parent to reap.
    fn stop(&self) -> Result<Option<Signal>, StepError> {
        let pid = self.pid.as_raw();
        loop {
            match tracee::wait(Whose::One(pid), libc::WNOWAIT) {
                Err(Errno::EINTR) => {}
                Ok(Some((_, Report::Ended(ending)))) => {
                    return Err(StepError::Ended(ending_text(ending)));
                }
                other => other.map(drop)?,
            }
            match tracee::take_stop(pid)? {
                Some(Report::Signal(signal)) => return Ok(Some(Signal::try_from(signal)?)),
                Some(_) => return Ok(None),
                // Killed while it was stopped: the next wait returns its end.
                None => {}
            }
        }
    }

    fn return_address(&self, stack: u64) -> Result<u64, StepError> {
        let word = ptrace::read(self.pid, pointer(stack))?.cast_unsigned();
        Ok(if self.bits == Bits::B32 {
            word & 0xffff_ffff
        } else {
            word
        })
    }

    fn position(&self) -> Result<Position, StepError> {
        let [instruction, stack, ..] = tracee::registers(self.pid.as_raw())?;
        Ok(Position { instruction, stack })
    }

    #[cfg(target_arch = "x86_64")]
    fn go_to(&self, address: u64) -> Result<(), StepError> {
        let registers = ptrace::getregs(self.pid)?;
        Ok(ptrace::setregs(
            self.pid,
            libc::user_regs_struct {
                rip: address,
                ..registers
            },
        )?)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn go_to(&self, _: u64) -> Result<(), StepError> {
        Err(StepError::Architecture)
    }
}

fn pointer(address: u64) -> ptrace::AddressType {
    address as ptrace::AddressType
}

#[derive(Default)]
struct Trace {
    addresses: Vec<u64>,
}

impl Trace {
    fn add(&mut self, address: u64) {
        if self.addresses.last() != Some(&address) {
            self.addresses.push(address);
        }
    }

    /// Takes the last instruction back: a signal came before it ran, so it will be seen again.
    fn undo(&mut self, address: u64) {
        if self.addresses.last() == Some(&address) {
            self.addresses.pop();
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub inode: u64,
    /// A file's path, or a name such as `[vdso]`; empty for anonymous memory.
    pub path: String,
}

#[derive(Default)]
pub struct Memory {
    pub mappings: Vec<Mapping>,
    /// Up to 15 bytes, the longest instruction, at each address that could be read.
    pub code: BTreeMap<u64, Vec<u8>>,
    pub vdso: Vec<u8>,
    pub bits: Bits,
}

const LONGEST_INSTRUCTION: usize = 15;

impl Memory {
    /// Reads the mappings of a process and the code at these addresses. The vsyscall page is left out: it may be execute-only, and its
    /// content is not what runs.
    pub fn read(&mut self, pid: u32, addresses: impl Iterator<Item = u64>) -> std::io::Result<()> {
        let maps = super::proc_stat::read(format!("/proc/{pid}/maps"))?;
        let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
        self.mappings = maps.lines().filter_map(parse_mapping).collect();
        for address in addresses.filter(|address| !VSYSCALL.contains(address)) {
            let left = self
                .mappings
                .iter()
                .find(|m| (m.start..m.end).contains(&address))
                .map_or(0, |m| m.end - address);
            let length = LONGEST_INSTRUCTION.min(left as usize);
            self.code
                .entry(address)
                .or_insert_with(|| read_at(&memory, address, length));
        }
        let vdso = self.mappings.iter().find(|m| m.path == "[vdso]");
        self.vdso = vdso
            .map(|m| read_at(&memory, m.start, (m.end - m.start) as usize))
            .unwrap_or_default();
        Ok(())
    }
}

fn read_at(memory: &std::fs::File, address: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    match memory.read_exact_at(&mut bytes, address) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

/// `7f00-7f10 r-xp 00001000 08:01 42   /lib/libc.so.6`; `None` unless it is executable.
#[doc(hidden)]
pub fn parse_mapping(line: &str) -> Option<Mapping> {
    fn number(text: &str) -> Option<u64> {
        u64::from_str_radix(text, 16).ok()
    }

    // A path may have spaces.
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let executable = words.next()?.contains('x');
    let (offset, inode) = (number(words.next()?)?, words.nth(1)?.parse().ok()?);
    executable.then_some(Mapping {
        start: number(start)?,
        end: number(end)?,
        offset,
        inode,
        path: words.next().unwrap_or_default().trim_start().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_the_executable_ones() {
        let line = "7f00-7f10 r-xp 00001000 08:01 42                  /a dir/libc.so.6";
        let mapping = Mapping {
            start: 0x7f00,
            end: 0x7f10,
            offset: 0x1000,
            inode: 42,
            path: "/a dir/libc.so.6".into(),
        };
        assert_eq!(parse_mapping(line), Some(mapping));
        assert_eq!(
            parse_mapping("7f00-7f10 r--p 00001000 08:01 42 /lib/libc.so.6"),
            None
        );
        assert_eq!(
            parse_mapping("7f00-7f10 r-xp 00000000 00:00 0").map(|m| m.path),
            Some(String::new())
        );
        assert_eq!(parse_mapping("no mapping"), None);
    }

    #[test]
    fn a_process_that_ended_is_left_to_be_reaped() {
        let mut cat = std::process::Command::new("cat");
        let mut child = cat.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let stepper = Stepper::attach(child.id(), Bits::B64);
        child.kill().unwrap();
        match stepper.map(|stepper| stepper.stop().unwrap_err()) {
            Ok(error) => assert_eq!(
                error.to_string(),
                "the probe ended while it was stepped: killed by SIGKILL"
            ),
            Err(refused) => println!("SKIPPED: {refused}"),
        }
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn repeated_and_interrupted_instructions_count_once() {
        let mut trace = Trace::default();
        [1, 2, 2, 2, 3]
            .into_iter()
            .for_each(|address| trace.add(address));
        trace.undo(3);
        trace.add(9);
        assert_eq!(trace.addresses, [1, 2, 9]);
    }
}
