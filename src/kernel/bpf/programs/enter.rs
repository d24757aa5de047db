//! At the entry of a call: which it is, what of its arguments drives its cost, and last of all the time.

use super::super::asm::Op::{Add, And, Or, ShiftLeft, ShiftRight};
use super::super::asm::Reg::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use super::super::asm::Width::{B8, B64};
use super::super::asm::{At, Helper, If, Label};
use super::super::layout::{NUMBERS, global, key, state, task, what, window};
use super::writer::{Writer, slot};

/// Arguments of the tracepoint, as offsets in its context.
const REGISTERS: i16 = 0;
const NUMBER: i16 = 8;

/// R8 is the packed call, R9 the running task; later R8 the argument.
pub fn write(w: &mut Writer) {
    let (live, foreign, classed) = (w.label(), w.label(), w.label());
    w.find_task(foreign);
    w.load(B64, R8, At(R6, NUMBER));
    w.load(B64, R1, At(R7, task::STATE));
    w.jump_if(If::Equal, R1, state::LIVE, live);
    held_or_born(w, live);
    w.place(foreign);
    if w.target.adopts {
        adopt(w);
        w.load(B64, R8, At(R6, NUMBER));
    } else {
        let out = w.out;
        w.jump(out);
    }
    w.place(live);
    w.pack_call(R8, R9, R1);
    open(w);
    find_what(w, classed);
    argument(w);
    classify(w, classed);
    w.place(classed);
    if w.target.times {
        w.call(Helper::KtimeGetNs);
        w.store(B64, At(R7, task::START), R0);
    }
}

/// One that is held counts from its execve; one that was just born is live when it makes a call.
fn held_or_born(w: &mut Writer, live: Label) {
    let (held, exec, out) = (w.label(), w.label(), w.out);
    w.jump_if(If::Equal, R1, state::HELD, held);
    w.store(B64, At(R7, task::STATE), state::LIVE);
    w.jump(live);
    w.place(held);
    for number in w.target.exec {
        w.jump_if(If::Equal, R8, number, exec);
    }
    w.jump(out);
    w.place(exec);
    w.note_base(R9);
    w.call(Helper::KtimeGetNs);
    w.store(B64, At(R7, task::ON_SINCE), R0);
    w.store(B64, At(R7, task::RAN), 0);
    w.jump(live);
}

/// A task that is not followed, in R9: it is from now on where its process is one of the roots. Goes to `out` otherwise.
/// The mark is in the storage of the process's first thread. No number is compared: those differ by PID namespace.
fn adopt(w: &mut Writer) {
    let (stranger, made, out) = (w.label(), w.label(), w.out);
    let leader = w.target.types.task.group_leader;
    w.find_window();
    w.load(B64, R1, At(R0, window::STRANGER));
    w.jump_if(If::NotEqual, R1, 0, out);
    w.load(B64, R2, At(R9, leader));
    w.storage(false);
    w.jump_if(If::Equal, R0, 0, stranger);
    w.load(B64, R1, At(R0, task::ROOT));
    w.jump_if(If::Equal, R1, 0, stranger);
    w.mov(R2, R9);
    w.storage(true);
    w.jump_if(If::NotEqual, R0, 0, made);
    w.lose();
    w.place(stranger);
    w.load(B64, R1, At(R10, slot::WINDOW));
    w.store(B64, At(R1, window::STRANGER), 1);
    w.jump(out);
    w.place(made);
    w.mov(R7, R0);
    w.note_base(R9);
    w.store(B64, At(R7, task::STATE), state::LIVE);
    w.number_name();
    w.call(Helper::KtimeGetNs);
    w.store(B64, At(R7, task::ON_SINCE), R0);
    w.count(global::LIVE, 1);
}

/// Begins the call in the task's state. Clobbers R1.
fn open(w: &mut Writer) {
    w.mov_wide(R1, key::OPEN);
    w.op(Or, R1, R8);
    w.store(B64, At(R7, task::CALL), R1);
    for field in [task::WHAT, task::CLASS, task::BLOCKED, task::PREEMPTED, task::OFF_SINCE, task::AGAIN] {
        w.store(B64, At(R7, field), 0);
    }
}

/// R2 = what is to do for the call, with the argument's position above; goes to `nothing` for none.
fn find_what(w: &mut Writer, nothing: Label) {
    let table = w.target.maps.what;
    w.mov(R1, R8);
    w.op(And, R1, 0xffff);
    w.jump_if(If::AtLeast, R1, NUMBERS, nothing);
    w.mov(R2, R8);
    w.op(ShiftRight, R2, key::NUMBER_BITS);
    w.jump_if(If::AtLeast, R2, 2, nothing);
    w.mov(R3, R2);
    w.op(ShiftLeft, R2, 9);
    w.op(Add, R2, R1);
    w.load_map_value(R4, table, 0);
    w.op(Add, R4, R2);
    w.load(B8, R2, At(R4, 0));
    w.jump_if(If::Equal, R2, 0, nothing);
}

/// R8 = the argument, R2 = what is to do. The gate is in R3.
fn argument(w: &mut Writer) {
    let (compat, done) = (w.label(), w.label());
    let registers = w.target.types.registers.clone();
    w.mov(R4, R2);
    w.op(ShiftRight, R4, 4);
    w.op(And, R2, 15);
    w.store(B64, At(R7, task::WHAT), R2);
    w.load(B64, R1, At(R6, REGISTERS));
    w.jump_if(If::NotEqual, R3, 0, compat);
    one_of(w, registers.arguments, done);
    w.place(compat);
    one_of(w, registers.compat_arguments, done);
    w.place(done);
}

/// R8 = the register whose position is in R4.
fn one_of(w: &mut Writer, offsets: [i16; 3], done: Label) {
    let (second, third) = (w.label(), w.label());
    w.jump_if(If::Equal, R4, 1, second);
    w.jump_if(If::Equal, R4, 2, third);
    w.load(B64, R8, At(R1, offsets[0]));
    w.jump(done);
    w.place(second);
    w.load(B64, R8, At(R1, offsets[1]));
    w.jump(done);
    w.place(third);
    w.load(B64, R8, At(R1, offsets[2]));
    w.jump(done);
}

/// The class of the call by what is to do (R2), the argument (R8) and the task (R9). Ends at `classed`.
fn classify(w: &mut Writer, classed: Label) {
    let (path, exec, length, futex, set) = (w.label(), w.label(), w.label(), w.label(), w.label());
    let others = [
        (what::PATH, path),
        (what::EXEC, exec),
        (what::LENGTH, length),
        (what::FUTEX, futex),
        (what::SET, set),
        (what::RENAME, classed),
    ];
    for (operation, label) in others {
        w.jump_if(If::Equal, R2, operation, label);
    }
    w.descriptor_kind();
    w.store(B64, At(R7, task::CLASS), R1);
    w.jump(classed);
    w.place(path);
    w.store(B64, At(R7, task::PATH), R8);
    w.store(B64, At(R7, task::CLASS), key::UNKNOWN << key::KIND_BITS);
    w.jump(classed);
    w.place(exec);
    w.path_depth();
    value_class(w, classed);
    w.place(futex);
    futex_class(w);
    value_class(w, classed);
    w.place(set);
    w.op(ShiftLeft, R8, 32);
    w.op(ShiftRight, R8, 32);
    w.place(length);
    w.size_class(R1, R8, R2);
    value_class(w, classed);
}

/// R1 = the operation without the flags above it. Numbers without a name are not known.
fn futex_class(w: &mut Writer) {
    w.mov(R1, R8);
    w.op(And, R1, 0x7f);
}

/// The class's value is in R1.
fn value_class(w: &mut Writer, classed: Label) {
    w.op(ShiftLeft, R1, key::KIND_BITS);
    w.store(B64, At(R7, task::CLASS), R1);
    w.jump(classed);
}
