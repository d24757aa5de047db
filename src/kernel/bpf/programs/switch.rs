//! At a switch of tasks: the state of a traced task goes from the window into its storage, that of the next one comes
//! from there, and time off the processor is told apart.
//!
//! The time from a wake-up until the task runs again counts as blocked: it would not have been spent without waiting.

use super::super::asm::Op::{Add, Sub};
use super::super::asm::Reg::{R0, R1, R2, R3, R7, R10};
use super::super::asm::Width::{B32, B64};
use super::super::asm::{At, Helper, If};
use super::super::layout::{task, window};
use super::{Writer, slot};

/// Arguments of the tracepoint, as offsets in its context.
const PREEMPTED: i16 = 0;
const PREVIOUS: i16 = 8;
const NEXT: i16 = 16;
const STATE: i16 = 24;
const R6: super::Reg = super::Reg::R6;

pub fn write(w: &mut Writer) {
    let (no_previous, out) = (w.label(), w.out);
    w.store(B64, At(R10, slot::NOW), 0);
    w.store(B64, At(R7, window::STRANGER), 0);
    w.load(B64, R1, At(R7, task::STATE));
    w.jump_if(If::Equal, R1, 0, no_previous);
    leave(w);
    w.place(no_previous);
    w.load(B64, R2, At(R6, NEXT));
    w.storage(false);
    w.jump_if(If::Equal, R0, 0, out);
    w.load(B64, R1, At(R0, task::STATE));
    w.jump_if(If::Equal, R1, 0, out);
    copy(w, R7, R0);
    arrive(w);
}

/// The task of the window leaves: notes when and why, and saves the window.
fn leave(w: &mut Writer) {
    let (saved, lost, out) = (w.label(), w.label(), w.out);
    w.call(Helper::KtimeGetNs);
    w.store(B64, At(R10, slot::NOW), R0);
    w.store(B64, At(R7, task::OFF_SINCE), R0);
    w.load(B64, R1, At(R7, task::ON_SINCE));
    w.op(Sub, R0, R1);
    w.load(B64, R1, At(R7, task::RAN));
    w.op(Add, R0, R1);
    w.store(B64, At(R7, task::RAN), R0);
    note_reason(w);
    w.load(B64, R2, At(R6, PREVIOUS));
    w.storage(false);
    w.jump_if(If::Equal, R0, 0, lost);
    copy(w, R0, R7);
    w.jump(saved);
    w.place(lost);
    w.lose();
    w.place(saved);
    w.store(B64, At(R7, task::STATE), 0);
    let _ = out;
}

/// It waits if it left by itself and cannot run; whoever is preempted or yields can.
fn note_reason(w: &mut Writer) {
    let (runnable, noted) = (w.label(), w.label());
    w.load(B64, R1, At(R6, PREEMPTED));
    w.jump_if(If::AnyBit, R1, 1, runnable);
    if w.target.types.switch_has_state {
        w.load(B64, R1, At(R6, STATE));
    } else {
        let state = w.target.types.task.state;
        w.load(B64, R2, At(R6, PREVIOUS));
        w.load(B32, R1, At(R2, state));
    }
    w.jump_if(If::Equal, R1, 0, runnable);
    w.store(B64, At(R7, task::OFF_BLOCKED), 1);
    w.jump(noted);
    w.place(runnable);
    w.store(B64, At(R7, task::OFF_BLOCKED), 0);
    w.place(noted);
}

/// The next task is in the window: time off the processor within a call is added up.
fn arrive(w: &mut Writer) {
    let (known, preempted, out) = (w.label(), w.label(), w.out);
    w.load(B64, R0, At(R10, slot::NOW));
    w.jump_if(If::NotEqual, R0, 0, known);
    w.call(Helper::KtimeGetNs);
    w.place(known);
    w.store(B64, At(R7, task::ON_SINCE), R0);
    w.load(B64, R1, At(R7, task::CALL));
    w.jump_if(If::Equal, R1, 0, out);
    w.load(B64, R1, At(R7, task::OFF_SINCE));
    w.op(Sub, R0, R1);
    w.load(B64, R1, At(R7, task::OFF_BLOCKED));
    w.jump_if(If::Equal, R1, 0, preempted);
    add_to(w, task::BLOCKED);
    w.jump(out);
    w.place(preempted);
    add_to(w, task::PREEMPTED);
}

fn add_to(w: &mut Writer, field: i16) {
    w.load(B64, R1, At(R7, field));
    w.op(Add, R1, R0);
    w.store(B64, At(R7, field), R1);
}

fn copy(w: &mut Writer, to: super::Reg, from: super::Reg) {
    for offset in (0..task::END).step_by(8) {
        w.load(B64, R3, At(from, offset));
        w.store(B64, At(to, offset), R3);
    }
}
