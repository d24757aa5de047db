//! Counting one call, in the caches of the window.

use super::writer::*;

/// One of the window's tables: where it starts, 2^`bits` entries of 2^`log_bytes` bytes, each a key and its sums; and
/// the hash map, with as many sums, that entries are flushed to.
#[derive(Clone, Copy)]
struct Cache {
    start: i16,
    bits: i32,
    log_bytes: i32,
    sums: i16,
    map: i32,
}

/// The calls' sums, from R8 as `find_entry` leaves it.
const COUNTED: i16 = offset!(Window.cache) + offset!(CallEntry.counted);
const DURATION_CALLS: i16 = offset!(Window.durations) + offset!(DurationEntry.calls);

impl Writer<'_> {
    /// Counts the call of the task's state. R9 is its call and errno; class and name come from the state; the end time,
    /// bytes moved and whether it is unfinished (1) from the stack. Clobbers R0-R5, R8 and R9.
    pub fn count_call(&mut self) {
        self.complete_key();
        if self.target.times {
            self.split_time();
        }
        self.find_call();
        self.add_to_entry();
        if self.target.times {
            self.count_duration();
        }
    }

    /// The task's last call, whose call and errno are in R9, was to be restarted but never will be: it counts as
    /// unfinished. Clobbers R0-R5, R8 and R9.
    pub fn count_never_restarted(&mut self) {
        self.complete_key();
        self.find_call();
        self.add_into(At(R8, COUNTED + offset!(Counted.unfinished)), 1, R1);
    }

    /// Adds class, name and the set bit to the key in R9. Clobbers R1.
    fn complete_key(&mut self) {
        self.load(B64, R1, At(R7, offset!(Task.class)));
        self.op(ShiftLeft, R1, key::CLASS);
        self.op(Or, R9, R1);
        self.load(B64, R1, At(R7, offset!(Task.name)));
        self.op(ShiftLeft, R1, key::NAME);
        self.op(Or, R9, R1);
        self.mov_wide(R1, key::SET);
        self.op(Or, R9, R1);
    }

    /// Stores elapsed time and CPU time on the stack. Clobbers R1 and R2.
    fn split_time(&mut self) {
        self.load(B64, R1, At(R10, slot::NOW));
        self.load(B64, R2, At(R7, offset!(Task.start)));
        self.op(Sub, R1, R2);
        self.store(B64, At(R10, slot::ELAPSED), R1);
        self.load(B64, R2, At(R7, offset!(Task.blocked)));
        self.op(Sub, R1, R2);
        self.load(B64, R2, At(R7, offset!(Task.preempted)));
        self.op(Sub, R1, R2);
        self.store(B64, At(R10, slot::ON_CPU), R1);
    }

    /// Finds the entry of key R9 in the cache of calls, as `find_entry`.
    fn find_call(&mut self) {
        self.find_window();
        let map = self.target.maps.calls;
        self.find_entry(Cache { start: offset!(Window.cache), bits: CACHE_BITS, log_bytes: 6, sums: 6, map });
    }

    /// R8 = the window plus the entry's place, so that `R8 + start` is the entry of key R9. On a collision, flushes the
    /// old entry and resets the slot. Clobbers R0-R5.
    fn find_entry(&mut self, cache: Cache) {
        let (hit, empty) = (self.label(), self.label());
        self.mov(R8, R9);
        self.mov_wide(R1, key::SPREAD);
        self.op(Mul, R8, R1);
        self.op(ShiftRight, R8, 64 - cache.bits);
        self.op(ShiftLeft, R8, cache.log_bytes);
        self.load(B64, R1, At(R10, slot::WINDOW));
        self.op(Add, R1, R8);
        self.mov(R8, R1);
        self.load(B64, R1, At(R8, cache.start));
        self.jump_if(If::Equal, R1, R9, hit);
        self.jump_if(If::Equal, R1, 0, empty);
        self.store(B64, At(R10, slot::KEY), R1);
        self.flush(cache);
        self.place(empty);
        for index in 0..cache.sums {
            self.store(B64, At(R8, cache.start + 8 + 8 * index), 0);
        }
        self.store(B64, At(R8, cache.start), R9);
        self.place(hit);
    }

    /// Flushes the entry at R8, whose key is on the stack, to the hash map. Clobbers R0-R5.
    fn flush(&mut self, cache: Cache) {
        let done = self.label();
        self.look_up_or_make(cache.map, cache.sums, done);
        for index in 0..cache.sums {
            self.load(B64, R1, At(R8, cache.start + 8 + 8 * index));
            self.atomic_add(At(R0, 8 * index), R1);
        }
        self.place(done);
    }

    fn add_to_entry(&mut self) {
        self.add_into(At(R8, COUNTED + offset!(Counted.calls)), 1, R1);
        self.add_sum(offset!(Counted.unfinished), At(R10, slot::UNFINISHED));
        self.add_sum(offset!(Counted.bytes), At(R10, slot::MOVED));
        if self.target.times {
            self.add_sum(offset!(Counted.on_cpu_ns), At(R10, slot::ON_CPU));
            self.add_sum(offset!(Counted.blocked_ns), At(R7, offset!(Task.blocked)));
            self.add_sum(offset!(Counted.preempted_ns), At(R7, offset!(Task.preempted)));
        }
    }

    /// Adds `from` to a sum of the entry at R8. Clobbers R1 and R2.
    fn add_sum(&mut self, field: i16, from: At) {
        self.load(B64, R1, from);
        self.add_into(At(R8, COUNTED + field), R1, R2);
    }

    /// Counts the elapsed time in its bucket of a quarter octave, for the call in R9. Clobbers R0-R5, R8 and R9.
    fn count_duration(&mut self) {
        let map = self.target.maps.durations;
        self.load(B64, R1, At(R10, slot::ELAPSED));
        self.unless(If::Equal, R1, 0, |w| {
            w.bucket();
            w.op(And, R9, key::CALL_MASK);
            w.op(ShiftLeft, R9, key::BUCKET_BITS);
            w.op(Or, R9, R2);
            w.mov_wide(R1, key::SET);
            w.op(Or, R9, R1);
            w.find_entry(Cache { start: offset!(Window.durations), bits: DURATION_BITS, log_bytes: 4, sums: 1, map });
            w.add_into(At(R8, DURATION_CALLS), 1, R1);
        });
    }

    /// R2 = the bucket of R1 nanoseconds, as `Histogram::bucket`. Clobbers R1, R3 and R4.
    fn bucket(&mut self) {
        self.mov(R4, R1);
        self.log2(R2, R1, R3);
        self.mov(R3, R2);
        self.op(Mul, R2, 4);
        self.unless(If::Below, R3, 2, |w| {
            w.op(Sub, R3, 2);
            w.op(ShiftRight, R4, R3);
            w.op(And, R4, 3);
            w.op(Or, R2, R4);
        });
    }
}
