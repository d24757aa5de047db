//! At a switch of tasks: when the one left the processor and why, and when the other came onto it.
//!
//! The time from a wake-up until the task runs again counts as blocked: it would not have been spent without waiting.

use super::super::asm::Op::{Add, Sub};
use super::super::asm::Reg::{R0, R1, R2, R6, R7, R8, R10};
use super::super::asm::Width::{B32, B64};
use super::super::asm::{At, Helper, If};
use super::super::layout::{global, task, window};
use super::writer::{Writer, slot};

/// Arguments of the tracepoint, as offsets in its context.
const PREEMPTED: i16 = 0;
const PREVIOUS: i16 = 8;
const NEXT: i16 = 16;
const STATE: i16 = 24;

/// R7 is the state of the previous task, then of the next; R8 the time.
pub fn write(w: &mut Writer) {
    let (no_previous, known, out) = (w.label(), w.label(), w.out);
    if w.target.adopts {
        w.find_window();
        w.store(B64, At(R0, window::STRANGER), 0);
    }
    w.mov(R8, 0);
    traced(w, PREVIOUS, no_previous);
    w.call(Helper::KtimeGetNs);
    w.mov(R8, R0);
    leave(w);
    w.place(no_previous);
    traced(w, NEXT, out);
    w.jump_if(If::NotEqual, R8, 0, known);
    w.call(Helper::KtimeGetNs);
    w.mov(R8, R0);
    w.place(known);
    w.store(B64, At(R10, slot::NOW), R8);
    w.store(B64, At(R7, task::ON_SINCE), R8);
    w.settle_off();
}

/// R7 = the state of the task that the context has at `argument`; goes to `not` where it is not traced.
fn traced(w: &mut Writer, argument: i16, not: crate::kernel::bpf::asm::Label) {
    w.load(B64, R2, At(R6, argument));
    w.storage(false);
    w.jump_if(If::Equal, R0, 0, not);
    w.mov(R7, R0);
    w.load(B64, R1, At(R7, task::STATE));
    w.jump_if(If::Equal, R1, 0, not);
}

/// The task of R7 is switched out at time R8.
fn leave(w: &mut Writer) {
    let (outside, off) = (w.label(), w.label());
    w.load(B64, R1, At(R7, task::ON_SINCE));
    w.jump_if(If::Equal, R1, 0, off);
    w.mov(R2, R8);
    w.op(Sub, R2, R1);
    w.load(B64, R1, At(R7, task::RAN));
    w.op(Add, R1, R2);
    w.store(B64, At(R7, task::RAN), R1);
    w.place(off);
    w.store(B64, At(R7, task::ON_SINCE), 0);
    w.load(B64, R1, At(R7, task::CALL));
    w.jump_if(If::Equal, R1, 0, outside);
    w.store(B64, At(R7, task::OFF_SINCE), R8);
    note_reason(w);
    w.place(outside);
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

impl Writer<'_> {
    /// At the end of a call: one that is off the processor as far as is known came back without being seen.
    pub fn settle(&mut self) {
        let on = self.label();
        self.load(B64, R1, At(R7, task::OFF_SINCE));
        self.jump_if(If::Equal, R1, 0, on);
        self.count(global::UNSEEN, 1);
        self.settle_off();
        self.place(on);
    }

    /// The task of R7 is on a processor again, since the time in the frame: what it was off within a call is added up.
    /// Clobbers R0-R2.
    fn settle_off(&mut self) {
        let (preempted, on) = (self.label(), self.label());
        self.load(B64, R1, At(R7, task::OFF_SINCE));
        self.jump_if(If::Equal, R1, 0, on);
        self.store(B64, At(R7, task::OFF_SINCE), 0);
        self.load(B64, R0, At(R10, slot::NOW));
        self.op(Sub, R0, R1);
        self.load(B64, R1, At(R7, task::OFF_BLOCKED));
        self.jump_if(If::Equal, R1, 0, preempted);
        self.add_to(task::BLOCKED);
        self.jump(on);
        self.place(preempted);
        self.add_to(task::PREEMPTED);
        self.place(on);
    }

    fn add_to(&mut self, field: i16) {
        self.load(B64, R1, At(R7, field));
        self.op(Add, R1, R0);
        self.store(B64, At(R7, field), R1);
    }
}
