//! The code of an operation as it was executed, and who answered it: what `explain` finds, as plain data.

use crate::{Entries, JsonDocument, Nanos, Returned};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The code that one iteration of an operation executes, and who answers.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The operation's id.
    pub operation: String,
    /// One iteration in words.
    pub what: String,
    /// All parameters, defaults included.
    pub params: BTreeMap<String, u64>,
    pub verdict: Verdict,
    /// Kernel entries per iteration; `None` if they could not be counted.
    pub entries: Option<Entries>,
    /// The last results of these calls; empty if they are not known.
    #[serde(default, skip_serializing_if = "Returned::is_empty")]
    pub returned: Returned,
    /// Page faults per iteration; `None` if they could not be counted.
    pub page_faults: Option<f64>,
    /// Why they could not be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries_unverified: Option<String>,
    /// The executed code; `None` if it could not be recorded.
    pub code: Option<Code>,
    /// Why the code was not recorded, or notes on it.
    pub notes: Vec<String>,
}

/// The output of `syscost explain OPERATION`: the code that one iteration executes on this system, who answers, and what it costs.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Null if it was not measured.
    pub cost: Option<Cost>,
}

impl JsonDocument for Explained {
    const SCHEMA: &'static str = "syscost.explain/1";
}

/// The code of one iteration.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct Code {
    /// How called names resolved to the code that ran, one line per call.
    pub resolved: Vec<String>,
    /// Instructions executed per iteration.
    pub instructions: u64,
    /// Bytes of the distinct instructions executed in the probe's loop.
    pub caller_bytes: u64,
    /// The same for all functions that it calls.
    pub callee_bytes: u64,
    /// In the order of their first execution.
    pub functions: Vec<Function>,
}

/// Time per iteration.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Nanoseconds per iteration.
    #[serde(rename = "ns")]
    pub time: Nanos,
    /// The time in units of that of `id.getppid`, a bare system call; `None` if that was not measured.
    pub times_getppid: Option<f64>,
    /// Whether a tracer of system calls was on: the time has its own in it.
    #[serde(default)]
    pub is_traced: bool,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The kernel, by a system call.
    Kernel,
    /// The vDSO, in user space.
    Vdso,
    /// The kernel, by the page fault that a call into the vsyscall page causes.
    LegacyGate,
    /// The kernel, by page faults that the program's own code causes.
    PageFaults,
    /// The C library or another one, in user space.
    Library,
    /// The program's own code.
    Program,
    /// Unknown, because no code was recorded.
    Unknown,
}

/// Who answers, and how that is known.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Who answers.
    pub answer: Answer,
    /// In a sentence.
    pub text: String,
    /// In a few words, for a table.
    pub short: String,
    /// The instructions that enter the kernel.
    pub gates: Vec<GateUse>,
    /// Disagreements between counted entries and executed instructions, and other things to know.
    pub remarks: Vec<String>,
}

/// An instruction that enters the kernel, and its function.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct GateUse {
    pub gate: Gate,
    /// Its function.
    pub function: String,
    /// The file that the function is mapped from.
    pub object: String,
    /// Whether it is in the probe's loop itself.
    pub inline: bool,
    /// Executions per iteration.
    pub count: u64,
}

/// The instructions of one function that were executed in an iteration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Function {
    /// Its symbol, or object and address.
    pub name: String,
    /// The file that it is mapped from, `probe`, `[vdso]` or `[vsyscall]`.
    pub object: String,
    pub role: Role,
    /// By address.
    pub instructions: Vec<Instruction>,
}

/// The part of a function in the operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The probe's measuring loop and what is inlined into it.
    Caller,
    /// A stub of the procedure linkage table.
    Stub,
    /// Anything else in the probe.
    Program,
    Library,
    Vdso,
    Vsyscall,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Instruction {
    /// From the function's first byte.
    pub offset: u64,
    /// In hexadecimal; empty if the memory cannot be read.
    pub bytes: String,
    /// NASM syntax.
    pub text: String,
    /// Executions per iteration.
    pub count: u64,
    /// How it enters the kernel, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    #[serde(skip)]
    pub address: u64,
    /// Where control goes next.
    #[serde(skip)]
    pub flow: Flow,
    /// In bytes.
    #[serde(skip)]
    pub length: u64,
}

/// An instruction that enters the kernel on purpose.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Gate {
    /// The 64-bit instruction.
    #[serde(rename = "syscall")]
    Syscall,
    /// The fast 32-bit instruction.
    #[serde(rename = "sysenter")]
    Sysenter,
    /// The 32-bit interrupt.
    #[serde(rename = "int 0x80")]
    Int80,
    /// A fetch from the vsyscall page.
    #[serde(rename = "page fault")]
    PageFault,
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Flow {
    #[default]
    Next,
    Call,
    CallPointer,
    Jump,
    JumpPointer,
    Return,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CodeKind {
    #[default]
    Function,
    /// A stub of the procedure linkage table: jumps to a function in another object.
    Stub,
    /// The vsyscall page, which is not executed.
    Vsyscall,
}

#[derive(Clone, Debug, Default)]
pub struct Symbol {
    /// Its name; `libc.so.6+0x8a3c0` if it has none.
    pub name: String,
    pub object: String,
    /// Its first address, which identifies it.
    pub start: u64,
    pub kind: CodeKind,
    /// Whether its start is unknown: it then stands for all such code of its mapping.
    pub guessed: bool,
}
