//! The code of an operation as executed in a running process, and a verdict on who answered.
//!
//! Only `recording` talks to a process; everything else is pure and works on its recording. Times come from the engine.

mod iteration;
pub mod kernel;
mod listing;
pub mod program;
mod recording;
mod route;
mod symbols;
mod verdict;

#[doc(hidden)]
pub use listing::functions;
#[doc(hidden)]
pub use symbols::Symbols;

#[doc(hidden)]
pub use iteration::Iteration;
use measure::proof::{self, Length, Proof};
use measure::runner::Workers;
use model::code::{Code, CodeKind, Explanation, Flow, Function, Role, Verdict};
use model::{EntriesStatus, Failure, Operation, Planned};
use recording::Recording;
use std::time::Duration;
use verdict::Counted;

/// Runs an operation under ptrace and explains which code answers it, with a verdict and the disassembly.
///
/// # Errors
/// The case's own failure. If code cannot be recorded, the explanation has the reason.
pub fn explain(
    workers: &Workers,
    planned: &Planned,
    operation: &Operation,
) -> Result<Explanation, Failure> {
    let mut proof = proof::prove(workers, planned, proof::REQUEST)?;
    if proof.is_rare() {
        // About as many iterations as a run times: fewer would miss a buffer that is refilled once in a while.
        let length = Length {
            iterations: 1 << 26,
            time: Duration::from_millis(200),
            runtime: None,
        };
        proof = proof::prove_over(workers, planned, &length)?;
    }
    let (mut notes, page_faults, code, verdict) = match recording::record(workers, planned)? {
        Ok(recording) => {
            let (code, verdict) = understand(&recording, &proof, operation);
            (recording.notes, Some(recording.faults), Some(code), verdict)
        }
        Err(reason) => {
            let verdict = verdict::from_entries(proof.entries.as_ref());
            (vec![reason], None, None, verdict)
        }
    };
    notes.extend(proof.warning);
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
        returned: proof.returned,
        page_faults,
        entries_unverified,
        code,
        notes,
    })
}

fn understand(recording: &Recording, proof: &Proof, operation: &Operation) -> (Code, Verdict) {
    fn bytes(f: &Function) -> u64 {
        f.instructions.iter().map(|i| i.length).sum()
    }

    let iteration = match &recording.two {
        Some(two) => Iteration::between(&recording.one, two),
        None => Iteration::whole(&recording.one),
    };
    let symbols = symbols_in_use(recording, &iteration);
    let functions = functions(
        &iteration,
        &recording.memory,
        &symbols,
        recording.run,
        recording::PROBE,
    );
    let counted = Counted {
        entries: proof.entries.as_ref(),
        traits: operation.traits,
        uneven: iteration.uneven,
        faults: recording.faults,
    };
    let verdict = verdict::judge(&functions, &counted);
    let (caller, callee): (Vec<_>, Vec<_>) = functions.iter().partition(|f| f.role == Role::Caller);
    let code = Code {
        resolved: route::resolved(&iteration, &functions, &symbols),
        instructions: iteration.instructions(),
        caller_bytes: caller.into_iter().map(bytes).sum(),
        callee_bytes: callee.into_iter().map(bytes).sum(),
        functions,
    };
    (code, verdict)
}

/// The symbols of the recorded process, with the aliases in use and the starts of functions without a symbol.
fn symbols_in_use(recording: &Recording, iteration: &Iteration) -> Symbols {
    let mut symbols = recording::symbols(recording);
    for ((from, to), _) in &iteration.steps {
        let Some(instruction) = listing::decode(*from, &recording.memory) else {
            continue;
        };
        let (before, after) = (symbols.resolve(*from), symbols.resolve(*to));
        let left = match listing::flow(&instruction) {
            Flow::Call | Flow::CallPointer => true,
            // A jump to another function is a tail call; within one it is a loop or a branch.
            Flow::Jump | Flow::JumpPointer => before.start != after.start,
            Flow::Next | Flow::Return => false,
        };
        // The target of a call starts a function even if no symbol says so; so does code that nothing else explains.
        if left || after.guessed {
            symbols.begins(*to);
        }
        // A stub has the name that the program was linked with: the best of the target's aliases.
        if before.kind == CodeKind::Stub {
            symbols.prefer(&before.name);
        }
    }
    symbols
}
