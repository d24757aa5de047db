//! At a context switch: when and why the previous task leaves the CPU, and when the next one gets it.
//!
//! The time from a wake-up until the task runs again counts as blocked: without the wait, it would not have been spent.

use super::writer::*;

/// Arguments of the tracepoint, as offsets in its context.
const PREEMPTED: i16 = 0;
const PREVIOUS: i16 = 8;
const NEXT: i16 = 16;
const STATE: i16 = 24;

/// R7 is the state of the previous task, then of the next one; R8 the time, 0 until the clock is read.
pub fn write(w: &mut Writer) {
    let (not_previous, out) = (w.label(), w.out);
    if w.target.adopts {
        w.find_window();
        w.store(B64, At(R0, offset!(Window.stranger)), 0);
    }
    w.mov(R8, 0);
    w.load(B64, R2, At(R6, PREVIOUS));
    w.find_state(not_previous);
    read_clock(w);
    leave(w);
    w.place(not_previous);
    w.load(B64, R2, At(R6, NEXT));
    w.find_state(out);
    w.unless(If::NotEqual, R8, 0, read_clock);
    w.store(B64, At(R10, slot::NOW), R8);
    w.store(B64, At(R7, offset!(Task.on_since)), R8);
    w.settle_off();
}

/// R8 = the time. Clobbers R0-R5.
fn read_clock(w: &mut Writer) {
    w.call(Helper::KtimeGetNs);
    w.mov(R8, R0);
}

/// The task of R7 leaves the CPU at time R8. Clobbers R1 and R2.
fn leave(w: &mut Writer) {
    w.load(B64, R1, At(R7, offset!(Task.on_since)));
    w.unless(If::Equal, R1, 0, |w| {
        w.mov(R2, R8);
        w.op(Sub, R2, R1);
        w.add_into(At(R7, offset!(Task.ran)), R2, R1);
    });
    w.store(B64, At(R7, offset!(Task.on_since)), 0);
    w.load(B64, R1, At(R7, offset!(Task.call)));
    w.unless(If::Equal, R1, 0, |w| {
        w.store(B64, At(R7, offset!(Task.off_since)), R8);
        note_reason(w);
    });
}

/// A task waits if it leaves by itself and is not runnable; a preempted or yielding one stays runnable.
fn note_reason(w: &mut Writer) {
    let (runnable, noted) = (w.label(), w.label());
    w.load(B64, R1, At(R6, PREEMPTED));
    w.jump_if(If::AnyBit, R1, 1, runnable);
    if w.target.types.switch_has_state {
        w.load(B64, R1, At(R6, STATE));
    } else {
        let state = w.target.types.state;
        w.load(B64, R2, At(R6, PREVIOUS));
        w.load(B32, R1, At(R2, state));
    }
    w.jump_if(If::Equal, R1, 0, runnable);
    w.store(B64, At(R7, offset!(Task.off_blocked)), 1);
    w.jump(noted);
    w.place(runnable);
    w.store(B64, At(R7, offset!(Task.off_blocked)), 0);
    w.place(noted);
}

impl Writer<'_> {
    /// At the end of a call: if the task still counts as off the CPU, its return to it was missed. Clobbers R0-R2.
    pub fn settle(&mut self) {
        self.load(B64, R1, At(R7, offset!(Task.off_since)));
        self.unless(If::Equal, R1, 0, |w| {
            w.count(offset!(Globals.unseen), 1);
            w.settle_off();
        });
    }

    /// The task of R7 has been on a CPU since the time in `slot::NOW`: adds the time off it within a call to the time
    /// blocked or preempted. Clobbers R0-R2.
    fn settle_off(&mut self) {
        let (preempted, on) = (self.label(), self.label());
        self.load(B64, R1, At(R7, offset!(Task.off_since)));
        self.jump_if(If::Equal, R1, 0, on);
        self.store(B64, At(R7, offset!(Task.off_since)), 0);
        self.load(B64, R0, At(R10, slot::NOW));
        self.op(Sub, R0, R1);
        self.load(B64, R1, At(R7, offset!(Task.off_blocked)));
        self.jump_if(If::Equal, R1, 0, preempted);
        self.add_into(At(R7, offset!(Task.blocked)), R0, R1);
        self.jump(on);
        self.place(preempted);
        self.add_into(At(R7, offset!(Task.preempted)), R0, R1);
        self.place(on);
    }
}
