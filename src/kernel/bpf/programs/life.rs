//! Tasks that begin, take another program, and end.

use super::super::asm::Op::{Add, Sub};
use super::super::asm::Reg::{R0, R1, R2, R6, R7, R8, R9, R10};
use super::super::asm::Width::{B32, B64};
use super::super::asm::{At, Helper, If};
use super::super::layout::{global, key, state, task, usage, window};
use super::writer::{Writer, slot};

/// The child of the forking tracepoint, and the task of the others, as offsets in their contexts.
const CHILD: i16 = 8;
const TASK: i16 = 0;

/// Parent (running) to child: the child is followed, too.
pub fn write_fork(w: &mut Writer) {
    let (made, thread, out) = (w.label(), w.label(), w.out);
    w.find_task(out);
    w.load(B64, R1, At(R7, task::STATE));
    w.jump_if(If::NotEqual, R1, state::LIVE, out);
    w.load(B64, R2, At(R6, CHILD));
    w.storage(true);
    w.jump_if(If::NotEqual, R0, 0, made);
    w.lose();
    w.jump(out);
    w.place(made);
    w.mov(R8, R0);
    // Storage that is made is zero: the child's accounting begins there, too.
    w.store(B64, At(R8, task::STATE), state::BORN);
    w.load(B64, R1, At(R7, task::NAME));
    w.store(B64, At(R8, task::NAME), R1);
    w.count(global::LIVE, 1);
    let (pid, tgid) = (w.target.types.task.pid, w.target.types.task.tgid);
    w.load(B64, R9, At(R6, CHILD));
    w.load(B32, R1, At(R9, pid));
    w.load(B32, R2, At(R9, tgid));
    w.jump_if(If::NotEqual, R1, R2, thread);
    w.count(global::PROCESSES, 1);
    w.jump(out);
    w.place(thread);
    w.count(global::THREADS, 1);
}

/// The kernel has just taken the new program's name.
pub fn write_exec(w: &mut Writer) {
    let out = w.out;
    w.find_task(out);
    w.number_name();
}

/// A task ends: the call in which it stands never returns, and its accounting is added up.
pub fn write_end(w: &mut Writer) {
    let (unlive, lost, out) = (w.label(), w.label(), w.out);
    w.find_task(out);
    w.call(Helper::KtimeGetNs);
    w.store(B64, At(R10, slot::NOW), R0);
    w.load(B64, R1, At(R7, task::STATE));
    w.jump_if(If::Equal, R1, state::HELD, unlive);
    add_run_time(w);
    end_call(w);
    w.load(B64, R1, At(R7, task::NAME));
    w.store(B64, At(R10, slot::KEY), R1);
    let sums = w.target.maps.usage;
    w.look_up_or_make(sums, usage::BYTES as i16);
    w.jump_if(If::Equal, R0, 0, lost);
    w.mov(R8, R0);
    account(w);
    w.jump(unlive);
    w.place(lost);
    w.lose();
    w.place(unlive);
    forget(w);
}

/// The call in which it stands, or the one that a signal broke off and that would have been made again.
fn end_call(w: &mut Writer) {
    let (outside, done) = (w.label(), w.label());
    w.load(B64, R9, At(R7, task::CALL));
    w.jump_if(If::Equal, R9, 0, outside);
    w.op(super::super::asm::Op::And, R9, key::CALL_MASK);
    if w.target.times {
        w.settle();
    }
    w.store(B64, At(R10, slot::UNFINISHED), 1);
    w.store(B64, At(R10, slot::MOVED), 0);
    w.record();
    w.jump(done);
    w.place(outside);
    w.load(B64, R9, At(R7, task::AGAIN));
    w.jump_if(If::Equal, R9, 0, done);
    w.record_never_again();
    w.place(done);
}

/// What it ran since it came onto this processor. The time is in the frame, and in R0.
fn add_run_time(w: &mut Writer) {
    let unknown = w.label();
    w.load(B64, R2, At(R7, task::ON_SINCE));
    w.jump_if(If::Equal, R2, 0, unknown);
    w.op(Sub, R0, R2);
    w.load(B64, R2, At(R7, task::RAN));
    w.op(Add, R0, R2);
    w.store(B64, At(R7, task::RAN), R0);
    w.place(unknown);
}

/// Adds to the sums at R8, and keeps the largest resident set.
fn account(w: &mut Writer) {
    let smaller = w.label();
    let (signal, maxrss) = (w.target.types.task.signal, w.target.types.maxrss);
    w.mov(R0, R8);
    w.load(B64, R8, At(R6, TASK));
    w.add_usage(R8);
    w.find_window();
    w.load(B64, R1, At(R8, signal));
    w.load(B64, R1, At(R1, maxrss));
    w.load(B64, R2, At(R0, window::PEAK_PAGES));
    w.jump_if(If::Below, R1, R2, smaller);
    w.store(B64, At(R0, window::PEAK_PAGES), R1);
    w.place(smaller);
}

/// Stops tracing the task, which still runs for a moment.
fn forget(w: &mut Writer) {
    w.store(B64, At(R7, task::STATE), 0);
    w.count(global::LIVE, -1);
}
