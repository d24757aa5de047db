//! At the return of a call: takes the time, completes the class, and counts the call.

use super::writer::*;

/// Arguments of the tracepoint, as offsets in its context.
const REGISTERS: i16 = 0;
const RESULT: i16 = 8;
const ERRNO_MAX: i32 = 4095;

/// R8 is the result, R9 the key.
pub fn write(w: &mut Writer) {
    let (opened, live, out) = (w.label(), w.label(), w.out);
    w.find_task(out);
    if w.target.times {
        w.call(Helper::KtimeGetNs);
        w.store(B64, At(R10, slot::NOW), R0);
    }
    w.load(B64, R8, At(R6, RESULT));
    w.load(B64, R9, At(R7, offset!(Task.call)));
    w.jump_if(If::NotEqual, R9, 0, opened);
    refused(w, opened);
    w.place(opened);
    w.load(B64, R1, At(R7, offset!(Task.state)));
    w.jump_if(If::Equal, R1, state::LIVE, live);
    held(w);
    w.place(live);
    if w.target.times {
        w.settle();
    }
    key_of_result(w);
    w.store(B64, At(R7, offset!(Task.call)), 0);
    w.store(B64, At(R10, slot::UNFINISHED), 0);
    w.count_call();
}

/// A return without an entry: a child's first return, which is not a call of its own; or a call that a seccomp filter
/// or a debugger answered before the entry program ran. That one entered the kernel; how long it took is unknown.
fn refused(w: &mut Writer, opened: Label) {
    let (born, out) = (w.label(), w.out);
    let number = w.target.types.registers.number;
    w.load(B64, R1, At(R7, offset!(Task.state)));
    w.jump_if(If::Equal, R1, state::BORN, born);
    w.jump_if(If::Equal, R1, state::HELD, out);
    w.call(Helper::GetCurrentTaskBtf);
    w.load(B64, R1, At(R6, REGISTERS));
    if cfg!(target_arch = "aarch64") {
        w.load(B32, R9, At(R1, number));
    } else {
        w.load(B64, R9, At(R1, number));
    }
    w.jump_if(If::SignedBelow, R9, 0, out);
    w.pack_call(R9, R0, R1);
    for field in [offset!(Task.what), offset!(Task.class), offset!(Task.blocked), offset!(Task.preempted)] {
        w.store(B64, At(R7, field), 0);
    }
    w.load(B64, R1, At(R10, slot::NOW));
    w.store(B64, At(R7, offset!(Task.start)), R1);
    w.jump(opened);
    w.place(born);
    w.store(B64, At(R7, offset!(Task.state)), state::LIVE);
    w.jump(out);
}

/// The held task returns from its execve: it is live if that succeeded, and still held if not.
fn held(w: &mut Writer) {
    let (running, out) = (w.label(), w.out);
    w.jump_if(If::Equal, R8, 0, running);
    w.store(B64, At(R7, offset!(Task.call)), 0);
    w.jump(out);
    w.place(running);
    w.store(B64, At(R7, offset!(Task.state)), state::LIVE);
}

/// R9 = the call with its errno. Completes the class with what only the result tells.
fn key_of_result(w: &mut Writer) {
    let (success, fits, once, classed) = (w.label(), w.label(), w.label(), w.label());
    w.store(B64, At(R10, slot::MOVED), 0);
    w.op(And, R9, key::CALL_MASK);
    w.jump_if(If::SignedAtLeast, R8, 0, success);
    w.jump_if(If::SignedBelow, R8, -ERRNO_MAX, success);
    w.mov(R1, R8);
    w.negate(R1);
    w.jump_if(If::Below, R1, key::ERRNO_MAX, fits);
    w.mov(R1, key::ERRNO_MAX);
    w.place(fits);
    w.mov(R2, R1);
    w.op(ShiftLeft, R1, key::ERRNO);
    w.op(Or, R9, R1);
    w.mov(R8, 0);
    w.jump_if(If::Below, R2, key::ERRNO_AGAIN, once);
    w.store(B64, At(R7, offset!(Task.again)), R9);
    w.place(once);
    w.place(success);
    w.load(B64, R1, At(R7, offset!(Task.what)));
    w.jump_if(If::Equal, R1, 0, classed);
    class_of_result(w, classed);
    w.place(classed);
}

/// Completes the class. What to do is in R1, the result, 0 after an error, in R8.
fn class_of_result(w: &mut Writer, classed: Label) {
    let (bytes, path, value) = (w.label(), w.label(), w.label());
    w.jump_if(If::Equal, R1, what::BYTES, bytes);
    w.jump_if(If::Equal, R1, what::PATH, path);
    w.jump_if(If::NotEqual, R1, what::RENAME, classed);
    w.number_name_of_leader();
    w.jump(classed);
    w.place(path);
    w.load(B64, R8, At(R7, offset!(Task.path)));
    // The key is kept in memory: otherwise the verifier would check the loop over the path once for each way to make a
    // key.
    w.store(B64, At(R7, offset!(Task.what)), R9);
    w.path_depth();
    w.load(B64, R9, At(R7, offset!(Task.what)));
    w.store(B64, At(R7, offset!(Task.class)), 0);
    w.jump(value);
    w.place(bytes);
    w.store(B64, At(R10, slot::MOVED), R8);
    w.size_class(R1, R8, R2);
    w.place(value);
    w.op(ShiftLeft, R1, key::KIND_BITS);
    w.load(B64, R3, At(R7, offset!(Task.class)));
    w.op(Or, R1, R3);
    w.store(B64, At(R7, offset!(Task.class)), R1);
}

impl Writer<'_> {
    /// The running thread may have changed its name: if it is the first thread, the process's name changed. Clobbers
    /// R0-R5.
    fn number_name_of_leader(&mut self) {
        let (pid, tgid) = (self.target.types.fields.pid, self.target.types.fields.tgid);
        self.call(Helper::GetCurrentTaskBtf);
        self.load(B32, R1, At(R0, pid));
        self.load(B32, R2, At(R0, tgid));
        self.unless(If::NotEqual, R1, R2, Writer::number_name);
    }
}
