//! When a task forks, executes another program, and ends.

use super::writer::*;

/// The child in the context of the fork tracepoint, and the task in that of the others, as offsets.
const CHILD: i16 = 8;
const TASK: i16 = 0;

/// The running task forked: its child is traced too.
pub fn write_fork(w: &mut Writer) {
    let (made, thread, out) = (w.label(), w.label(), w.out);
    w.find_task(out);
    w.load(B64, R1, At(R7, offset!(Task.state)));
    w.jump_if(If::NotEqual, R1, state::LIVE, out);
    w.load(B64, R2, At(R6, CHILD));
    w.storage(true);
    w.jump_if(If::NotEqual, R0, 0, made);
    w.lose();
    w.jump(out);
    w.place(made);
    w.mov(R8, R0);
    // New storage is all zeros, as is a new task's accounting: the base is right as it is.
    w.store(B64, At(R8, offset!(Task.state)), state::BORN);
    w.load(B64, R1, At(R7, offset!(Task.name)));
    w.store(B64, At(R8, offset!(Task.name)), R1);
    w.count(offset!(Globals.live), 1);
    let (pid, tgid) = (w.target.types.fields.pid, w.target.types.fields.tgid);
    w.load(B64, R9, At(R6, CHILD));
    w.load(B32, R1, At(R9, pid));
    w.load(B32, R2, At(R9, tgid));
    w.jump_if(If::NotEqual, R1, R2, thread);
    w.count(offset!(Globals.processes), 1);
    w.jump(out);
    w.place(thread);
    w.count(offset!(Globals.threads), 1);
}

/// The kernel has just set the name of the new program.
pub fn write_exec(w: &mut Writer) {
    let out = w.out;
    w.find_task(out);
    w.number_name();
}

/// A task ends: the call that it is in never returns, and its accounting is added to the sums.
pub fn write_end(w: &mut Writer) {
    let (counted, out) = (w.label(), w.out);
    w.find_task(out);
    w.call(Helper::KtimeGetNs);
    w.store(B64, At(R10, slot::NOW), R0);
    w.load(B64, R1, At(R7, offset!(Task.state)));
    w.jump_if(If::Equal, R1, state::HELD, counted);
    add_run_time(w);
    end_call(w);
    account(w, counted);
    w.place(counted);
    // The task still runs for a moment, but is no longer traced.
    w.store(B64, At(R7, offset!(Task.state)), 0);
    w.count(offset!(Globals.live), -1);
}

/// Counts the call that the task is in, or the one that a signal interrupted and that was to be restarted.
fn end_call(w: &mut Writer) {
    let (outside, done) = (w.label(), w.label());
    w.load(B64, R9, At(R7, offset!(Task.call)));
    w.jump_if(If::Equal, R9, 0, outside);
    w.op(And, R9, key::CALL_MASK);
    if w.target.times {
        w.settle();
    }
    w.store(B64, At(R10, slot::UNFINISHED), 1);
    w.store(B64, At(R10, slot::MOVED), 0);
    w.count_call();
    w.jump(done);
    w.place(outside);
    w.load(B64, R9, At(R7, offset!(Task.again)));
    w.jump_if(If::Equal, R9, 0, done);
    w.count_never_restarted();
    w.place(done);
}

/// Adds the time since the task was put on this CPU. The time is in R0. Clobbers R0 and R2.
fn add_run_time(w: &mut Writer) {
    w.load(B64, R2, At(R7, offset!(Task.on_since)));
    w.unless(If::Equal, R2, 0, |w| {
        w.op(Sub, R0, R2);
        w.add_into(At(R7, offset!(Task.ran)), R0, R2);
    });
}

/// Adds the accounting to the sums of the process name, and keeps the largest resident set. Jumps to `full` if there is
/// no room.
fn account(w: &mut Writer, full: Label) {
    let sums = w.target.maps.usage;
    let (signal, maxrss) = (w.target.types.fields.signal, w.target.types.fields.maxrss);
    w.load(B64, R1, At(R7, offset!(Task.name)));
    w.store(B64, At(R10, slot::KEY), R1);
    w.look_up_or_make(sums, size_of::<Used>() as i16 / 8, full);
    w.load(B64, R8, At(R6, TASK));
    w.add_usage(R8);
    w.find_window();
    w.load(B64, R1, At(R8, signal));
    w.load(B64, R1, At(R1, maxrss));
    w.load(B64, R2, At(R0, offset!(Window.peak_pages)));
    w.unless(If::Below, R1, R2, |w| w.store(B64, At(R0, offset!(Window.peak_pages)), R1));
}
