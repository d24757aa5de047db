//! Counting one call, into the caches of the window.

use super::super::asm::Op::{Add, And, Mul, Or, ShiftLeft, ShiftRight, Sub};
use super::super::asm::Reg::{R0, R1, R2, R3, R4, R7, R8, R9, R10};
use super::super::asm::Width::B64;
use super::super::asm::{At, If};
use super::super::layout::{entry, key, task, window};
use super::writer::{Writer, slot};

impl Writer<'_> {
    /// Counts the call of the task's state. R9 is its call and errno; class and name come from the state, the time of the
    /// end, bytes moved and whether it is unfinished (1) from the frame. Clobbers R0-R5, R8 and R9.
    pub fn record(&mut self) {
        self.complete_key();
        if self.target.times {
            self.split_time();
        }
        self.find_entry();
        self.add_to_entry();
        if self.target.times {
            self.record_duration();
        }
    }

    /// The last call of the task, whose call and errno are in R9, was to be made again, but never will: it counts as
    /// unfinished. Clobbers R0-R5, R8 and R9.
    pub fn record_never_again(&mut self) {
        self.complete_key();
        self.find_entry();
        self.load(B64, R1, At(R8, window::CACHE + entry::UNFINISHED));
        self.op(Add, R1, 1);
        self.store(B64, At(R8, window::CACHE + entry::UNFINISHED), R1);
    }

    fn complete_key(&mut self) {
        self.load(B64, R1, At(R7, task::CLASS));
        self.op(ShiftLeft, R1, key::CLASS);
        self.op(Or, R9, R1);
        self.load(B64, R1, At(R7, task::NAME));
        self.op(ShiftLeft, R1, key::NAME);
        self.op(Or, R9, R1);
        self.mov_wide(R1, key::SET);
        self.op(Or, R9, R1);
    }

    /// Elapsed time and that on a processor, into the frame.
    fn split_time(&mut self) {
        self.load(B64, R1, At(R10, slot::NOW));
        self.load(B64, R2, At(R7, task::START));
        self.op(Sub, R1, R2);
        self.store(B64, At(R10, slot::ELAPSED), R1);
        self.load(B64, R2, At(R7, task::BLOCKED));
        self.op(Sub, R1, R2);
        self.load(B64, R2, At(R7, task::PREEMPTED));
        self.op(Sub, R1, R2);
        self.store(B64, At(R10, slot::ON_CPU), R1);
    }

    /// R8 = the window's slot for the key in R9. On a collision, flushes the old entry and resets the slot.
    fn find_entry(&mut self) {
        let (hit, empty) = (self.label(), self.label());
        self.find_window();
        self.place_of(R8, R9, R1, window::CACHE_BITS, entry::LOG_BYTES);
        self.load(B64, R1, At(R8, window::CACHE + entry::KEY));
        self.jump_if(If::Equal, R1, R9, hit);
        self.jump_if(If::Equal, R1, 0, empty);
        self.store(B64, At(R10, slot::KEY), R1);
        self.spill_entry();
        self.place(empty);
        for offset in (8..8 + 8 * entry::VALUES).step_by(8) {
            self.store(B64, At(R8, window::CACHE + offset), 0);
        }
        self.store(B64, At(R8, window::CACHE + entry::KEY), R9);
        self.place(hit);
    }

    /// Flushes the entry at R8, whose key is on the stack, to the hash map.
    fn spill_entry(&mut self) {
        let (found, done) = (self.label(), self.label());
        let calls = self.target.maps.calls;
        self.look_up_or_make(calls, 8 * entry::VALUES);
        self.jump_if(If::NotEqual, R0, 0, found);
        self.lose();
        self.jump(done);
        self.place(found);
        for index in 0..entry::VALUES {
            self.load(B64, R1, At(R8, window::CACHE + 8 + 8 * index));
            self.atomic_add(At(R0, 8 * index), R1);
        }
        self.place(done);
    }

    fn add_to_entry(&mut self) {
        self.load(B64, R1, At(R8, window::CACHE + entry::CALLS));
        self.op(Add, R1, 1);
        self.store(B64, At(R8, window::CACHE + entry::CALLS), R1);
        self.add_field(entry::UNFINISHED, At(R10, slot::UNFINISHED));
        self.add_field(entry::MOVED, At(R10, slot::MOVED));
        if self.target.times {
            self.add_field(entry::ON_CPU, At(R10, slot::ON_CPU));
            self.add_field(entry::BLOCKED, At(R7, task::BLOCKED));
            self.add_field(entry::PREEMPTED, At(R7, task::PREEMPTED));
        }
    }

    fn add_field(&mut self, field: i16, from: At) {
        self.load(B64, R1, from);
        self.load(B64, R2, At(R8, window::CACHE + field));
        self.op(Add, R1, R2);
        self.store(B64, At(R8, window::CACHE + field), R1);
    }

    /// Counts the elapsed time in its bucket, of a quarter octave. The call's number is taken from R9.
    fn record_duration(&mut self) {
        let (none, hit, empty) = (self.label(), self.label(), self.label());
        self.load(B64, R1, At(R10, slot::ELAPSED));
        self.jump_if(If::Equal, R1, 0, none);
        self.bucket();
        self.op(And, R9, key::CALL_MASK);
        self.op(ShiftLeft, R9, key::BUCKET_BITS);
        self.op(Or, R9, R2);
        self.mov_wide(R1, key::SET);
        self.op(Or, R9, R1);
        self.place_of(R8, R9, R1, window::DURATION_BITS, 4);
        self.load(B64, R1, At(R8, window::DURATIONS));
        self.jump_if(If::Equal, R1, R9, hit);
        self.jump_if(If::Equal, R1, 0, empty);
        self.store(B64, At(R10, slot::KEY), R1);
        self.spill_duration();
        self.place(empty);
        self.store(B64, At(R8, window::DURATIONS + 8), 0);
        self.store(B64, At(R8, window::DURATIONS), R9);
        self.place(hit);
        self.load(B64, R1, At(R8, window::DURATIONS + 8));
        self.op(Add, R1, 1);
        self.store(B64, At(R8, window::DURATIONS + 8), R1);
        self.place(none);
    }

    /// R2 = the bucket of R1 nanoseconds, as `Histogram::bucket`. Clobbers R1, R3 and R4.
    fn bucket(&mut self) {
        let whole = self.label();
        self.mov(R4, R1);
        self.log2(R2, R1, R3);
        self.mov(R3, R2);
        self.op(Mul, R2, 4);
        self.jump_if(If::Below, R3, 2, whole);
        self.op(Sub, R3, 2);
        self.op(ShiftRight, R4, R3);
        self.op(And, R4, 3);
        self.op(Or, R2, R4);
        self.place(whole);
    }

    fn spill_duration(&mut self) {
        let (found, done) = (self.label(), self.label());
        let durations = self.target.maps.durations;
        self.look_up_or_make(durations, 8);
        self.jump_if(If::NotEqual, R0, 0, found);
        self.lose();
        self.jump(done);
        self.place(found);
        self.load(B64, R1, At(R8, window::DURATIONS + 8));
        self.atomic_add(At(R0, 0), R1);
        self.place(done);
    }
}
