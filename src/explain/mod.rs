//! The code of an operation as executed in a running process, and a verdict on who answered.
//!
//! Only `recording` talks to a process; everything else is pure and works on its recording. Times come from the engine.
//! Called by the `explain` command.

mod iteration;
pub mod kernel;
mod listing;
mod recording;
mod route;
mod symbols;
mod verdict;

#[doc(hidden)]
pub use listing::functions;
pub use listing::{Flow, Function, Gate, Instruction, Role};
#[doc(hidden)]
pub use symbols::Symbols;
pub use verdict::{Answer, GateUse, Verdict};

use crate::kernel::step::Bounds;
use crate::model::{Entries, EntriesStatus, Failure, Nanos, Operation, Planned};
use crate::proof::{self, Proof};
use crate::runner::Workers;
#[doc(hidden)]
pub use iteration::Iteration;
use recording::Recording;
use serde::Serialize;
use std::collections::BTreeMap;
use symbols::CodeKind;
use verdict::Counted;

/// Everything known about an operation except its cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The operation's id.
    pub operation: String,
    /// Its description.
    pub what: String,
    /// The parameters that it ran with.
    pub params: BTreeMap<String, u64>,
    /// Who answers.
    pub verdict: Verdict,
    /// Kernel entries per iteration; `None` if they could not be counted.
    pub entries: Option<Entries>,
    /// Page faults per iteration; `None` if they could not be counted.
    pub page_faults: Option<f64>,
    /// Why they could not be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries_unverified: Option<String>,
    /// The executed code; `None` if it could not be recorded.
    pub code: Option<Code>,
    /// Why there is no code, or what to know about it.
    pub notes: Vec<String>,
}

/// The code of one iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// One of several operations, in one of several environments, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    pub operation: String,
    pub environment: String,
    pub cost: Option<Cost>,
    pub explained: Result<Explanation, Failure>,
}

/// Time per iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    #[serde(rename = "ns")]
    pub time: Nanos,
    /// The time in units of an empty call's; `None` if that was not measured.
    pub times_empty_call: Option<f64>,
}

/// Finds out what one iteration of a case executes.
///
/// # Errors
/// The case's own failure. Code that cannot be recorded is not an error: the explanation then has the reason.
pub fn explain(workers: &Workers, planned: &Planned, operation: &Operation) -> Result<Explanation, Failure> {
    let proof = proof::prove(workers, planned)?;
    let (recorded, mut notes) = match recording::record(Bounds::default(), workers, &planned.case, operation)? {
        Ok(recording) => (Some(recording), Vec::new()),
        Err(reason) => (None, vec![reason]),
    };
    notes.extend(proof.warning.clone());
    notes.extend(recorded.iter().flat_map(|r| r.notes.clone()));
    let (code, verdict) = match &recorded {
        Some(recording) => understand(recording, &proof, operation),
        None => (None, verdict::from_entries(proof.entries.as_ref())),
    };
    let entries_unverified = match proof.status {
        EntriesStatus::Verified => None,
        EntriesStatus::Unverified(reason) => Some(reason),
    };
    Ok(Explanation {
        operation: operation.id.clone(),
        what: operation.what.clone(),
        params: planned.case.effective_params(),
        verdict,
        entries: proof.entries,
        page_faults: recorded.as_ref().map(|recording| recording.faults),
        entries_unverified,
        code,
        notes,
    })
}

fn understand(recording: &Recording, proof: &Proof, operation: &Operation) -> (Option<Code>, Verdict) {
    let iteration = match &recording.two {
        Some(two) => Iteration::between(&recording.one, two),
        None => Iteration::whole(&recording.one),
    };
    let symbols = symbols_in_use(recording, &iteration);
    let functions = listing::functions(&iteration, &recording.memory, &symbols, recording.run, recording::PROBE);
    let counted = Counted {
        entries: proof.entries.as_ref(),
        traits: operation.traits,
        uneven: iteration.uneven,
        faults: recording.faults,
    };
    let verdict = verdict::judge(&functions, &counted);
    let bytes = |f: &Function| f.instructions.iter().map(|i| i.length).sum::<u64>();
    let (caller, callee): (Vec<_>, Vec<_>) = functions.iter().partition(|f| f.role == Role::Caller);
    let code = Code {
        resolved: route::resolved(&iteration, &functions, &symbols),
        instructions: iteration.instructions(),
        caller_bytes: caller.into_iter().map(bytes).sum(),
        callee_bytes: callee.into_iter().map(bytes).sum(),
        functions,
    };
    (Some(code), verdict)
}

/// The recording's symbols, with the aliases in use and the starts of functions without a symbol.
fn symbols_in_use(recording: &Recording, iteration: &Iteration) -> Symbols {
    let mut symbols = recording::symbols(recording);
    for ((from, to), _) in &iteration.steps {
        let Some(instruction) = listing::decode(*from, &recording.memory) else { continue };
        let (before, after) = (symbols.at(*from), symbols.at(*to));
        let left = match listing::flow(&instruction) {
            Flow::Call | Flow::CallPointer => true,
            Flow::Jump | Flow::JumpPointer => before.start != after.start,
            Flow::Next | Flow::Return => false,
        };
        if left || after.guessed {
            symbols.begins(*to);
        }
        if before.kind == CodeKind::Stub {
            symbols.prefer(&before.name);
        }
    }
    symbols
}
