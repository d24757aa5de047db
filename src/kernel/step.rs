//! Records which instructions a process executes, one by one, by ptrace: from the call of a function to its return.
//!
//! Only the process itself is followed, not its threads and children. It runs freely until a breakpoint at the function
//! is hit. Rejected: stepping from the read of the request, which steps through preparation too. This counts no system
//! calls (`ptrace` does) and decodes nothing (`explain` does). Called by `explain`.

use super::process::signal_name;
use super::tracee::{self, Report, Whose};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Where recording ends at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub steps: usize,
    pub time: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { steps: 2_000_000, time: Duration::from_secs(10) }
    }
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("code is not disassembled on this architecture (x86_64 only)")]
    Architecture,
    #[error("ptrace was refused: {0}")]
    Refused(Errno),
    #[error("ptrace: {0}")]
    Kernel(#[from] Errno),
    #[error("an iteration executes more than {0} instructions: too many to step through")]
    Steps(usize),
    #[error("stepping through an iteration takes longer than {} s", .0.as_secs())]
    Time(Duration),
    #[error("the probe ended while it was stepped: {0}")]
    Ended(String),
}

/// The page at this fixed address is no code: a fetch from it faults, and the kernel answers the call.
pub const VSYSCALL: std::ops::Range<u64> = 0xffff_ffff_ff60_0000..0xffff_ffff_ff60_1000;

/// A process that stands still. All calls must come from the thread that made it.
pub struct Stepper {
    pid: Pid,
    bounds: Bounds,
}

/// A breakpoint that was planted: its address, and the word that it replaced.
struct Breakpoint {
    address: u64,
    word: i64,
}

/// Where a process stands.
#[derive(Clone, Copy)]
struct Position {
    instruction: u64,
    stack: u64,
}

impl Stepper {
    /// Takes hold of a running process and stops it.
    ///
    /// # Errors
    /// `Architecture`, or `Refused` where it is not ours to trace.
    pub fn attach(pid: u32, bounds: Bounds) -> Result<Stepper, StepError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(StepError::Architecture);
        }
        let pid = Pid::from_raw(pid.cast_signed());
        ptrace::seize(pid, Options::PTRACE_O_EXITKILL).map_err(StepError::Refused)?;
        ptrace::interrupt(pid)?;
        let stepper = Stepper { pid, bounds };
        while let Some(signal) = stepper.stop()? {
            ptrace::cont(pid, signal)?;
        }
        Ok(stepper)
    }

    /// Records the addresses of all instructions from the call of the function at `address` to its return, in order. An
    /// instruction that repeats itself (`rep movsb`) counts once. `request` is called when the breakpoint stands.
    ///
    /// # Errors
    /// When the bounds are exceeded or the process ends; it must then be killed.
    pub fn record(&mut self, address: u64, request: impl FnOnce()) -> Result<Vec<u64>, StepError> {
        let breakpoint = self.plant(address)?;
        request();
        self.run_to(&breakpoint)?;
        self.step_to_return(address)
    }

    /// Lets the process go on by itself.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn release(self) -> Result<(), StepError> {
        Ok(ptrace::detach(self.pid, None)?)
    }

    /// Puts `int3` in place of the first byte. By ptrace and not /proc/PID/mem, which hardened kernels make read-only.
    fn plant(&self, address: u64) -> Result<Breakpoint, StepError> {
        let word = ptrace::read(self.pid, pointer(address))?;
        ptrace::write(self.pid, pointer(address), (word & !0xff) | 0xcc)?;
        Ok(Breakpoint { address, word })
    }

    fn run_to(&self, breakpoint: &Breakpoint) -> Result<(), StepError> {
        let mut signal = None;
        loop {
            ptrace::cont(self.pid, signal)?;
            signal = match self.stop()? {
                Some(Signal::SIGTRAP) if self.position()?.instruction == breakpoint.address.wrapping_add(1) => break,
                other => other,
            };
        }
        ptrace::write(self.pid, pointer(breakpoint.address), breakpoint.word)?;
        self.go_to(breakpoint.address)
    }

    fn step_to_return(&self, address: u64) -> Result<Vec<u64>, StepError> {
        let deadline = Instant::now() + self.bounds.time;
        let entry = self.position()?.stack;
        let back = self.word(entry)?;
        let mut trace = Trace::default();
        let mut at = Position { instruction: address, stack: entry };
        for step in 0..self.bounds.steps {
            if step % 256 == 0 && Instant::now() > deadline {
                return Err(StepError::Time(self.bounds.time));
            }
            at = self.step(at, &mut trace)?;
            if at.instruction == back && at.stack > entry {
                return Ok(trace.addresses);
            }
        }
        Err(StepError::Steps(self.bounds.steps))
    }

    /// Executes the instruction that stands at `at`. A call into the vsyscall page is answered by the page fault that it
    /// causes, and the instruction behind the call has run when the trap comes: it is added.
    fn step(&self, at: Position, trace: &mut Trace) -> Result<Position, StepError> {
        let gate = VSYSCALL.contains(&at.instruction);
        let back = if gate { Some(self.word(at.stack)?) } else { None };
        trace.add(at.instruction);
        self.one_step(at.instruction, trace)?;
        let now = self.position()?;
        if let Some(back) = back.filter(|back| *back != now.instruction) {
            trace.add(back);
        }
        Ok(now)
    }

    /// One step; signals that come meanwhile are passed on, and their handlers stepped through.
    fn one_step(&self, from: u64, trace: &mut Trace) -> Result<(), StepError> {
        let mut signal = None;
        loop {
            ptrace::step(self.pid, signal)?;
            signal = match self.stop()? {
                Some(Signal::SIGTRAP) => return Ok(()),
                other => other,
            };
            if signal.is_some() && self.position()?.instruction == from {
                trace.take_back(from);
            }
        }
    }

    /// Waits for the next stop and returns its signal; `None` for a stop of ptrace's own. One that ended is left to be
    /// reaped by whoever started it.
    fn stop(&self) -> Result<Option<Signal>, StepError> {
        let pid = self.pid.as_raw();
        loop {
            match tracee::wait(Whose::One(pid), libc::WNOWAIT) {
                Err(Errno::EINTR) => {}
                Ok(Some((_, Report::Exited(code)))) => return Err(StepError::Ended(format!("exit status {code}"))),
                Ok(Some((_, Report::Killed(signal)))) => {
                    return Err(StepError::Ended(format!("killed by {}", signal_name(signal))));
                }
                other => other.map(drop)?,
            }
            match tracee::take_stop(pid)? {
                Some(Report::Signal(signal)) => return Ok(Some(Signal::try_from(signal)?)),
                Some(_) => return Ok(None),
                // Killed while it stood: the next look finds its end.
                None => {}
            }
        }
    }

    fn word(&self, address: u64) -> Result<u64, StepError> {
        Ok(ptrace::read(self.pid, pointer(address))?.cast_unsigned())
    }

    #[cfg(target_arch = "x86_64")]
    fn position(&self) -> Result<Position, StepError> {
        let registers = ptrace::getregs(self.pid)?;
        Ok(Position { instruction: registers.rip, stack: registers.rsp })
    }

    #[cfg(target_arch = "x86_64")]
    fn go_to(&self, address: u64) -> Result<(), StepError> {
        let registers = ptrace::getregs(self.pid)?;
        Ok(ptrace::setregs(self.pid, libc::user_regs_struct { rip: address, ..registers })?)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn position(&self) -> Result<Position, StepError> {
        Err(StepError::Architecture)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn go_to(&self, _: u64) -> Result<(), StepError> {
        Err(StepError::Architecture)
    }
}

/// The kernel's argument type for an address in the other process; never followed in ours.
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

    /// A signal came before the instruction had run: it will be seen again.
    fn take_back(&mut self, address: u64) {
        if self.addresses.last() == Some(&address) {
            self.addresses.pop();
        }
    }
}

/// A stretch of a process's address space that may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    /// Where it begins in its file.
    pub offset: u64,
    /// A file's path, or a name such as `[vdso]`; empty for anonymous memory.
    pub path: String,
}

/// What was read of a process.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub mappings: Vec<Mapping>,
    /// Up to 15 bytes, the most that an instruction has, at each address that was asked for and could be read.
    pub code: BTreeMap<u64, Vec<u8>>,
    /// The image of the vDSO; empty where there is none.
    pub vdso: Vec<u8>,
}

const LONGEST_INSTRUCTION: usize = 15;

impl Memory {
    /// Reads the executable mappings of a process that stands still, and adds its code at `addresses`. The vsyscall page is
    /// left out: it may be execute-only, and what stands there is not what runs.
    ///
    /// # Errors
    /// When /proc/PID/maps or /proc/PID/mem cannot be opened.
    pub fn read(&mut self, pid: u32, addresses: impl Iterator<Item = u64>) -> std::io::Result<()> {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
        self.mappings = maps.lines().filter_map(parse_mapping).collect();
        for address in addresses.filter(|address| !VSYSCALL.contains(address)) {
            let mapping = self.mappings.iter().find(|m| (m.start..m.end).contains(&address));
            let left = mapping.map_or(0, |m| m.end - address);
            let length = LONGEST_INSTRUCTION.min(left as usize);
            self.code.entry(address).or_insert_with(|| read_at(&memory, address, length));
        }
        let vdso = self.mappings.iter().find(|m| m.path == "[vdso]");
        self.vdso = vdso.map(|m| read_at(&memory, m.start, (m.end - m.start) as usize)).unwrap_or_default();
        Ok(())
    }
}

/// Empty where it cannot be read.
fn read_at(memory: &std::fs::File, address: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    match memory.read_exact_at(&mut bytes, address) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

/// `7f00-7f10 r-xp 00001000 08:01 42   /lib/libc.so.6`, where it may be executed.
#[doc(hidden)]
pub fn parse_mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let executable = words.next()?.contains('x');
    let offset = words.next()?;
    let path = words.skip(2).collect::<Vec<_>>().join(" ");
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let mapping = Mapping { start: number(start)?, end: number(end)?, offset: number(offset)?, path };
    executable.then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_the_executable_ones() {
        let line = "7f00-7f10 r-xp 00001000 08:01 42                  /a dir/libc.so.6";
        let mapping = Mapping { start: 0x7f00, end: 0x7f10, offset: 0x1000, path: "/a dir/libc.so.6".into() };
        assert_eq!(parse_mapping(line), Some(mapping));
        assert_eq!(parse_mapping("7f00-7f10 r--p 00001000 08:01 42 /lib/libc.so.6"), None);
        assert_eq!(parse_mapping("7f00-7f10 r-xp 00000000 00:00 0").map(|m| m.path), Some(String::new()));
        assert_eq!(parse_mapping("no mapping"), None);
    }

    #[test]
    fn a_process_that_ended_is_left_to_be_reaped() {
        let mut cat = std::process::Command::new("cat");
        let mut child = cat.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let stepper = Stepper::attach(child.id(), Bounds::default());
        child.kill().unwrap();
        match stepper.map(|stepper| stepper.stop().unwrap_err()) {
            Ok(error) => assert_eq!(error.to_string(), "the probe ended while it was stepped: killed by SIGKILL"),
            Err(refused) => println!("SKIPPED: {refused}"),
        }
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn repeated_and_interrupted_instructions_count_once() {
        let mut trace = Trace::default();
        [1, 2, 2, 2, 3].into_iter().for_each(|address| trace.add(address));
        trace.take_back(3);
        trace.add(9);
        assert_eq!(trace.addresses, [1, 2, 9]);
    }
}
