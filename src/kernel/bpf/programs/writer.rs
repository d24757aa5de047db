//! A program that is being written: the assembler, and the sequences of instructions that several programs share, each
//! with the registers it uses.

pub use super::super::asm::Op::{Add, And, Mul, Or, ShiftLeft, ShiftRight, Sub, Xor};
pub use super::super::asm::Reg::{self, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
pub use super::super::asm::Width::{B8, B16, B32, B64};
pub use super::super::asm::{At, Helper, If, Label};
pub use super::super::layout::*;
pub use crate::kernel::usage::Used;

use super::super::asm::{Asm, Operand};
use super::super::kernel_types::KernelTypes;

/// The offset of a field in one of the shared structs, as instructions take it: `offset!(Task.state)`.
macro_rules! offset {
    ($of:ident . $($field:ident).+) => {
        std::mem::offset_of!($of, $($field).+) as i16
    };
}

pub(super) use offset;

/// File descriptors of the maps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Maps {
    pub cpu: i32,
    pub tasks: i32,
    pub calls: i32,
    pub durations: i32,
    pub names: i32,
    pub usage: i32,
    pub what: i32,
    pub globals: i32,
    pub paths: i32,
}

/// What the programs are written for.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec<'a> {
    pub types: &'a KernelTypes,
    pub maps: Maps,
    /// Whether calls are timed.
    pub times: bool,
    /// Whether processes that are marked as roots are traced from their next call on.
    pub adopts: bool,
}

/// Offsets in the stack frame.
pub mod slot {
    pub const KEY: i16 = -8;
    pub const NOW: i16 = -16;
    pub const ELAPSED: i16 = -24;
    pub const MOVED: i16 = -32;
    pub const ON_CPU: i16 = -40;
    pub const UNFINISHED: i16 = -48;
    /// The address of the window, after `find_window`.
    pub const WINDOW: i16 = -56;
    /// A process name: 16 bytes.
    pub const NAME: i16 = -72;
    /// A value for a hash map: up to 56 bytes.
    pub const VALUE: i16 = -128;
}

/// A program that is being written.
pub struct Writer<'a> {
    asm: Asm,
    pub target: &'a ProgramSpec<'a>,
    /// Where the program ends.
    pub out: Label,
}

impl std::ops::Deref for Writer<'_> {
    type Target = Asm;
    fn deref(&self) -> &Asm {
        &self.asm
    }
}

impl std::ops::DerefMut for Writer<'_> {
    fn deref_mut(&mut self) -> &mut Asm {
        &mut self.asm
    }
}

impl Writer<'_> {
    /// Writes a whole program: the body, and the return at `out`.
    ///
    /// # Errors
    /// A mistake in the body: see `Asm::finish`.
    pub fn program(target: &ProgramSpec, body: fn(&mut Writer)) -> Result<Vec<u64>, String> {
        let mut asm = Asm::default();
        let out = asm.label();
        let mut writer = Writer { asm, target, out };
        writer.mov(R6, R1);
        body(&mut writer);
        writer.place(out);
        writer.exit();
        writer.asm.finish()
    }

    /// Runs `body` unless the condition holds.
    pub fn unless<V: Into<Operand>>(&mut self, condition: If, left: Reg, right: V, body: impl FnOnce(&mut Self)) {
        let end = self.label();
        self.jump_if(condition, left, right, end);
        body(self);
        self.place(end);
    }

    /// R9 = the running task, R7 = its state; jumps to `stranger` if it is not traced. Clobbers R0-R5.
    pub fn find_task(&mut self, stranger: Label) {
        self.call(Helper::GetCurrentTaskBtf);
        self.mov(R9, R0);
        self.mov(R2, R0);
        self.find_state(stranger);
    }

    /// R7 = the state of the task in R2; jumps to `stranger` if it is not traced. Clobbers R0-R5.
    pub fn find_state(&mut self, stranger: Label) {
        self.storage(false);
        self.jump_if(If::Equal, R0, 0, stranger);
        self.mov(R7, R0);
        self.load(B64, R1, At(R7, offset!(Task.state)));
        self.jump_if(If::Equal, R1, 0, stranger);
    }

    /// R0 = this CPU's window, also stored on the stack. Clobbers R1-R5 and `slot::KEY`.
    pub fn find_window(&mut self) {
        let (cpu, out) = (self.target.maps.cpu, self.out);
        self.store(B32, At(R10, slot::KEY), 0);
        self.look_up(cpu, slot::KEY);
        self.jump_if(If::Equal, R0, 0, out);
        self.store(B64, At(R10, slot::WINDOW), R0);
    }

    /// `to = the address of a stack slot`
    pub fn frame(&mut self, to: Reg, slot: i16) {
        self.mov(to, R10);
        self.op(Add, to, i32::from(slot));
    }

    /// `*at += by`. Clobbers `with`.
    pub fn add_into(&mut self, at: At, by: impl Into<Operand>, with: Reg) {
        self.load(B64, with, at);
        self.op(Add, with, by);
        self.store(B64, at, with);
    }

    /// R0 = pointer to the value in `map` of the key at a stack offset, or 0. Clobbers R1-R5.
    pub fn look_up(&mut self, map: i32, key: i16) {
        self.frame(R2, key);
        self.load_map(R1, map);
        self.call(Helper::MapLookup);
    }

    /// Inserts key and value, given as stack offsets, into `map` unless the key exists. Clobbers R0-R5.
    pub fn insert(&mut self, map: i32, key: i16, value: i16) {
        const NOEXIST: i32 = 1;
        self.frame(R2, key);
        self.frame(R3, value);
        self.mov(R4, NOEXIST);
        self.load_map(R1, map);
        self.call(Helper::MapUpdate);
    }

    /// R0 = pointer to the value in `map` of the 8-byte key at `slot::KEY`, inserted as zeros if missing; if the map is
    /// full, counts a lost event and jumps to `full`. Clobbers R1-R5.
    pub fn look_up_or_make(&mut self, map: i32, words: i16, full: Label) {
        let found = self.label();
        self.look_up(map, slot::KEY);
        self.jump_if(If::NotEqual, R0, 0, found);
        for index in 0..words {
            self.store(B64, At(R10, slot::VALUE + 8 * index), 0);
        }
        self.insert(map, slot::KEY, slot::VALUE);
        self.look_up(map, slot::KEY);
        self.jump_if(If::NotEqual, R0, 0, found);
        self.lose();
        self.jump(full);
        self.place(found);
    }

    /// Adds `amount` to a field of `Globals`. Clobbers R1 and R2.
    pub fn count(&mut self, counter: i16, amount: i32) {
        let globals = self.target.maps.globals;
        self.load_map_value(R1, globals, 0);
        self.mov(R2, amount);
        self.atomic_add(At(R1, counter), R2);
    }

    /// Counts a lost event. Clobbers R1 and R2.
    pub fn lose(&mut self) {
        self.count(offset!(Globals.lost), 1);
    }

    /// R0 = the storage of the task in R2, created if `make`; 0 if there is none. Clobbers R1-R5.
    pub fn storage(&mut self, make: bool) {
        let tasks = self.target.maps.tasks;
        self.load_map(R1, tasks);
        self.mov(R3, 0);
        self.mov(R4, i32::from(make));
        self.call(Helper::TaskStorageGet);
    }

    /// Stores the present accounting of the task in `of` as the base in the state. Clobbers R1.
    pub fn note_base(&mut self, of: Reg) {
        for (index, field) in self.target.types.accounting.into_iter().enumerate() {
            self.load(B64, R1, At(of, field));
            self.store(B64, At(R7, offset!(Task.base) + 8 * index as i16), R1);
        }
    }

    /// `to = floor(log2(from))`, 0 of 0. Clobbers `from` and `with`.
    pub fn log2(&mut self, to: Reg, from: Reg, with: Reg) {
        self.mov(to, 0);
        self.unless(If::Below, from, 1 << 16, |w| {
            [32, 16].into_iter().for_each(|step| w.log2_step(to, from, with, step))
        });
        [8, 4, 2, 1].into_iter().for_each(|step| self.log2_step(to, from, with, step));
    }

    fn log2_step(&mut self, to: Reg, from: Reg, with: Reg, step: i32) {
        self.mov(with, from);
        self.op(ShiftRight, with, step);
        self.unless(If::Equal, with, 0, |w| {
            w.mov(from, with);
            w.op(Add, to, step);
        });
    }

    /// `to = 0 for 0, else 1 + floor(log2(from))`: a size as stored in a class. Clobbers `from` and `with`.
    pub fn size_class(&mut self, to: Reg, from: Reg, with: Reg) {
        let (zero, done) = (self.label(), self.label());
        self.jump_if(If::Equal, from, 0, zero);
        self.log2(to, from, with);
        self.op(Add, to, 1);
        self.jump(done);
        self.place(zero);
        self.mov(to, 0);
        self.place(done);
    }

    /// Packs the call in `number`: 16 bits of number and the gate, by the flags of the task in `of`. Clobbers `with`.
    pub fn pack_call(&mut self, number: Reg, of: Reg, with: Reg) {
        const X32_BIT: i32 = 0x4000_0000;
        let (native, fits, done) = (self.label(), self.label(), self.label());
        let (compat, bit) = self.target.types.compat;
        self.load(B32, with, At(of, compat));
        self.op(And, with, bit);
        self.jump_if(If::Equal, with, 0, native);
        self.mov(with, (gate::COMPAT << key::NUMBER_BITS) as i32);
        self.jump(fits);
        self.place(native);
        self.mov(with, 0);
        self.jump_if(If::Below, number, X32_BIT, fits);
        self.jump_if(If::SignedBelow, number, 0, fits);
        self.op(And, number, X32_BIT - 1);
        self.mov(with, (gate::X32 << key::NUMBER_BITS) as i32);
        self.place(fits);
        self.jump_if(If::Below, number, 0xffff, done);
        self.mov(number, 0xffff);
        self.place(done);
        self.op(Or, number, with);
    }

    /// Stores the number of the running process's name in its state. Clobbers R0-R5 and `slot::KEY`.
    pub fn number_name(&mut self) {
        let names = self.target.maps.names;
        let (found, done, none) = (self.label(), self.label(), self.label());
        self.frame(R1, slot::NAME);
        self.mov(R2, NAME_BYTES);
        self.call(Helper::GetCurrentComm);
        self.look_up(names, slot::NAME);
        self.jump_if(If::NotEqual, R0, 0, found);
        self.find_window();
        self.make_name_number();
        self.insert(names, slot::NAME, slot::VALUE);
        self.look_up(names, slot::NAME);
        self.jump_if(If::Equal, R0, 0, none);
        self.place(found);
        self.load(B64, R1, At(R0, 0));
        self.store(B64, At(R7, offset!(Task.name)), R1);
        self.jump(done);
        self.place(none);
        self.store(B64, At(R7, offset!(Task.name)), 0);
        self.count(offset!(Globals.nameless), 1);
        self.place(done);
    }

    /// `slot::VALUE` = a number that no other CPU assigns: this CPU's count above its own number, 12 bits each; 0 if
    /// they are used up.
    fn make_name_number(&mut self) {
        self.call(Helper::GetSmpProcessorId);
        self.load(B64, R2, At(R10, slot::WINDOW));
        self.add_into(At(R2, offset!(Window.names)), 1, R1);
        self.op(ShiftLeft, R1, 12);
        self.op(Or, R1, R0);
        self.unless(If::Below, R1, 1 << 24, |w| w.mov(R1, 0));
        self.store(B64, At(R10, slot::VALUE), R1);
    }

    /// Adds what the task in `of` used since its base, and its run time, to the sums at R0. Clobbers R1 and R2.
    pub fn add_usage(&mut self, of: Reg) {
        for (index, field) in self.target.types.accounting.into_iter().enumerate() {
            let offset = 8 * index as i16;
            self.load(B64, R1, At(of, field));
            self.load(B64, R2, At(R7, offset!(Task.base) + offset));
            self.op(Sub, R1, R2);
            self.atomic_add(At(R0, offset), R1);
        }
        self.load(B64, R1, At(R7, offset!(Task.ran)));
        self.atomic_add(At(R0, offset!(Used.ran_ns)), R1);
    }
}
