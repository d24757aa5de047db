//! At the entry of a call: which call it is, the argument that drives its cost, and, last, the time.

use super::writer::*;

/// Arguments of the tracepoint, as offsets in its context.
const REGISTERS: i16 = 0;
const NUMBER: i16 = 8;

/// R8 is the packed call, later the argument; R9 the running task.
pub fn write(w: &mut Writer) {
    let (live, foreign, classed) = (w.label(), w.label(), w.label());
    w.find_task(foreign);
    w.load(B64, R8, At(R6, NUMBER));
    w.load(B64, R1, At(R7, offset!(Task.state)));
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
        w.store(B64, At(R7, offset!(Task.start)), R0);
    }
}

/// A held task counts from its execve; a newborn one is live as soon as it makes a call.
fn held_or_born(w: &mut Writer, live: Label) {
    let (held, exec, out) = (w.label(), w.label(), w.out);
    w.jump_if(If::Equal, R1, state::HELD, held);
    w.store(B64, At(R7, offset!(Task.state)), state::LIVE);
    w.jump(live);
    w.place(held);
    for number in [libc::SYS_execve, libc::SYS_execveat] {
        w.jump_if(If::Equal, R8, number as i32, exec);
    }
    w.jump(out);
    w.place(exec);
    w.note_base(R9);
    w.call(Helper::KtimeGetNs);
    w.store(B64, At(R7, offset!(Task.on_since)), R0);
    w.store(B64, At(R7, offset!(Task.ran)), 0);
    w.jump(live);
}

/// Starts tracing the untraced task in R9 if its process is one of the roots; jumps to `out` otherwise. The mark is in
/// the storage of the process's first thread. PIDs are not compared: they differ between PID namespaces.
fn adopt(w: &mut Writer) {
    let (stranger, made, out) = (w.label(), w.label(), w.out);
    let leader = w.target.types.fields.group_leader;
    w.find_window();
    w.load(B64, R1, At(R0, offset!(Window.stranger)));
    w.jump_if(If::NotEqual, R1, 0, out);
    w.load(B64, R2, At(R9, leader));
    w.storage(false);
    w.jump_if(If::Equal, R0, 0, stranger);
    w.load(B64, R1, At(R0, offset!(Task.root)));
    w.jump_if(If::Equal, R1, 0, stranger);
    w.mov(R2, R9);
    w.storage(true);
    w.jump_if(If::NotEqual, R0, 0, made);
    w.lose();
    w.place(stranger);
    w.load(B64, R1, At(R10, slot::WINDOW));
    w.store(B64, At(R1, offset!(Window.stranger)), 1);
    w.jump(out);
    w.place(made);
    w.mov(R7, R0);
    w.note_base(R9);
    w.store(B64, At(R7, offset!(Task.state)), state::LIVE);
    w.number_name();
    w.call(Helper::KtimeGetNs);
    w.store(B64, At(R7, offset!(Task.on_since)), R0);
    w.count(offset!(Globals.live), 1);
}

/// Records the start of the call in the task's state. Clobbers R1.
fn open(w: &mut Writer) {
    w.mov_wide(R1, key::OPEN);
    w.op(Or, R1, R8);
    w.store(B64, At(R7, offset!(Task.call)), R1);
    for field in [
        offset!(Task.what),
        offset!(Task.class),
        offset!(Task.blocked),
        offset!(Task.preempted),
        offset!(Task.off_since),
        offset!(Task.again),
    ] {
        w.store(B64, At(R7, field), 0);
    }
}

/// R2 = what to do for the call and, above, the argument's position; R3 = the gate. Jumps to `nothing` if there is
/// nothing to do. Clobbers R1 and R4.
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

/// R8 = the argument, R2 = what to do, from R2 as above and the gate in R3. Clobbers R1 and R4.
fn argument(w: &mut Writer) {
    let (compat, done) = (w.label(), w.label());
    let registers = w.target.types.registers.clone();
    w.mov(R4, R2);
    w.op(ShiftRight, R4, 4);
    w.op(And, R2, 15);
    w.store(B64, At(R7, offset!(Task.what)), R2);
    w.load(B64, R1, At(R6, REGISTERS));
    w.jump_if(If::NotEqual, R3, 0, compat);
    one_of(w, registers.arguments, done);
    w.place(compat);
    one_of(w, registers.compat_arguments, done);
    w.place(done);
}

/// R8 = the argument at the position in R4; R1 is the registers. Ends at `done`.
fn one_of(w: &mut Writer, offsets: [i16; 3], done: Label) {
    let places = [w.label(), w.label(), w.label()];
    w.jump_if(If::Equal, R4, 1, places[1]);
    w.jump_if(If::Equal, R4, 2, places[2]);
    for (place, offset) in places.into_iter().zip(offsets) {
        w.place(place);
        w.load(B64, R8, At(R1, offset));
        w.jump(done);
    }
}

/// Stores the class of the call, from what to do (R2), the argument (R8) and the task (R9). Ends at `classed`.
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
    w.store(B64, At(R7, offset!(Task.class)), R1);
    w.jump(classed);
    w.place(path);
    w.store(B64, At(R7, offset!(Task.path)), R8);
    w.store(B64, At(R7, offset!(Task.class)), key::UNKNOWN << key::KIND_BITS);
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

/// R1 = the operation without its flags. Numbers without a name are unknown.
fn futex_class(w: &mut Writer) {
    w.mov(R1, R8);
    w.op(And, R1, 0x7f);
}

/// Stores the class whose value is in R1. Ends at `classed`.
fn value_class(w: &mut Writer, classed: Label) {
    w.op(ShiftLeft, R1, key::KIND_BITS);
    w.store(B64, At(R7, offset!(Task.class)), R1);
    w.jump(classed);
}
