//! What several programs do: small sequences of instructions, each with the registers that it uses.

use super::super::asm::Op::{Add, And, ShiftLeft, ShiftRight};
use super::super::asm::Reg::{self, R0, R1, R2, R3, R4, R7, R9, R10};
use super::super::asm::Width::{B32, B64};
use super::super::asm::{At, Helper, If, Label};
use super::super::layout::{NAME_BYTES, gate, global, key, task, usage, window};
use super::writer::{Writer, slot};

impl Writer<'_> {
    /// R9 = the running task, R7 = its state; goes to `stranger` where it is not traced. Clobbers R0-R5.
    pub fn find_task(&mut self, stranger: Label) {
        self.call(Helper::GetCurrentTaskBtf);
        self.mov(R9, R0);
        self.mov(R2, R0);
        self.storage(false);
        self.jump_if(If::Equal, R0, 0, stranger);
        self.mov(R7, R0);
        self.load(B64, R1, At(R7, task::STATE));
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

    /// `to = the frame's place`
    pub fn frame(&mut self, to: Reg, place: i16) {
        self.mov(to, R10);
        self.op(Add, to, i32::from(place));
    }

    /// R0 = pointer to the value in `map` of the key at a stack offset, or 0. Clobbers R1-R5.
    pub fn look_up(&mut self, map: i32, place: i16) {
        self.frame(R2, place);
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

    /// R0 = pointer to the value in `map` of the 8-byte key at `slot::KEY`, inserted as zeros if missing; 0 if the map
    /// is full. Clobbers R1-R5.
    pub fn look_up_or_make(&mut self, map: i32, value_bytes: i16) {
        let found = self.label();
        self.look_up(map, slot::KEY);
        self.jump_if(If::NotEqual, R0, 0, found);
        for offset in (0..value_bytes).step_by(8) {
            self.store(B64, At(R10, slot::VALUE + offset), 0);
        }
        self.insert(map, slot::KEY, slot::VALUE);
        self.look_up(map, slot::KEY);
        self.place(found);
    }

    /// Adds a register or constant to a shared counter. Clobbers R1 and R2.
    pub fn count(&mut self, counter: i16, amount: i32) {
        let globals = self.target.maps.globals;
        self.load_map_value(R1, globals, 0);
        self.mov(R2, amount);
        self.atomic_add(At(R1, counter), R2);
    }

    /// Counts a lost event. Clobbers R1 and R2.
    pub fn lose(&mut self) {
        self.count(global::LOST, 1);
    }

    /// R0 = the storage of the task in R2, created if `make`; 0 if there is none. Clobbers R1-R5.
    pub fn storage(&mut self, make: bool) {
        let tasks = self.target.maps.tasks;
        self.load_map(R1, tasks);
        self.mov(R3, 0);
        self.mov(R4, i32::from(make));
        self.call(Helper::TaskStorageGet);
    }

    /// Stores the accounting of the task in `of` as it is now into the state. Clobbers R1.
    pub fn note_base(&mut self, of: Reg) {
        for (index, field) in self.target.types.task.accounting.into_iter().enumerate() {
            self.load(B64, R1, At(of, field));
            self.store(B64, At(R7, task::BASE + 8 * index as i16), R1);
        }
    }

    /// `to = floor(log2(from))`, 0 of 0. Clobbers `from` and `with`.
    pub fn log2(&mut self, to: Reg, from: Reg, with: Reg) {
        let small = self.label();
        self.mov(to, 0);
        self.jump_if(If::Below, from, 1 << 16, small);
        for step in [32, 16] {
            self.log2_step(to, from, with, step);
        }
        self.place(small);
        for step in [8, 4, 2, 1] {
            self.log2_step(to, from, with, step);
        }
    }

    fn log2_step(&mut self, to: Reg, from: Reg, with: Reg, step: i32) {
        let smaller = self.label();
        self.mov(with, from);
        self.op(ShiftRight, with, step);
        self.jump_if(If::Equal, with, 0, smaller);
        self.mov(from, with);
        self.op(Add, to, step);
        self.place(smaller);
    }

    /// `to = 0 for 0, else 1 + floor(log2(from))`: a size as a class has it. Clobbers `from` and `with`.
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

    /// `number` becomes a packed call: 16 bits of number and the gate, by the flags of the task in `of`. Clobbers `with`.
    pub fn pack_call(&mut self, number: Reg, of: Reg, with: Reg) {
        const X32_BIT: i32 = 0x4000_0000;
        let (native, fits, done) = (self.label(), self.label(), self.label());
        let fields = &self.target.types.task;
        let (compat, bit) = (fields.compat, fields.compat_bit);
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
        self.op(super::super::asm::Op::Or, number, with);
    }

    /// The number of the running process's name, into its state. Clobbers R0-R5 and `slot::KEY`.
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
        self.store(B64, At(R7, task::NAME), R1);
        self.jump(done);
        self.place(none);
        self.store(B64, At(R7, task::NAME), 0);
        self.count(global::NAMELESS, 1);
        self.place(done);
    }

    /// A number that no other processor gives: its own count above its own number, 12 bits each; 0 where they are used
    /// up. Into the frame.
    fn make_name_number(&mut self) {
        let fits = self.label();
        self.call(Helper::GetSmpProcessorId);
        self.load(B64, R2, At(R10, slot::WINDOW));
        self.load(B64, R1, At(R2, window::NAMES));
        self.op(Add, R1, 1);
        self.store(B64, At(R2, window::NAMES), R1);
        self.op(ShiftLeft, R1, 12);
        self.op(super::super::asm::Op::Or, R1, R0);
        self.jump_if(If::Below, R1, 1 << 24, fits);
        self.mov(R1, 0);
        self.place(fits);
        self.store(B64, At(R10, slot::VALUE), R1);
    }

    /// The place of the key in `key` in a table of the window of 2^`bits` entries of 2^`log_bytes` bytes: `to` = the
    /// window plus that. Clobbers `with`.
    pub fn place_of(&mut self, to: Reg, key: Reg, with: Reg, bits: i32, log_bytes: i32) {
        self.mov(to, key);
        self.mov_wide(with, key::SPREAD);
        self.op(super::super::asm::Op::Mul, to, with);
        self.op(ShiftRight, to, 64 - bits);
        self.op(ShiftLeft, to, log_bytes);
        self.load(B64, with, At(R10, slot::WINDOW));
        self.op(Add, with, to);
        self.mov(to, with);
    }

    /// Adds what the task in `of` used since its base, and what it ran, to the sums at R0. Clobbers R1 and R2.
    pub fn add_usage(&mut self, of: Reg) {
        for (index, field) in self.target.types.task.accounting.into_iter().enumerate() {
            let offset = 8 * index as i16;
            self.load(B64, R1, At(of, field));
            self.load(B64, R2, At(R7, task::BASE + offset));
            self.op(super::super::asm::Op::Sub, R1, R2);
            self.atomic_add(At(R0, usage::USER + offset), R1);
        }
        self.load(B64, R1, At(R7, task::RAN));
        self.atomic_add(At(R0, usage::RAN), R1);
    }
}
