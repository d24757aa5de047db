//! A program that is being written: the assembler and what all programs share.

use super::super::asm::{Asm, Label, Reg};
use super::super::kernel_types::KernelTypes;

/// Descriptors of the maps.
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
pub struct Target<'a> {
    pub types: &'a KernelTypes,
    pub maps: Maps,
    /// Numbers of execve and execveat.
    pub exec: [i32; 2],
    /// Whether calls are timed.
    pub times: bool,
    /// Whether processes that are marked as roots are followed from their next call on.
    pub adopts: bool,
}

/// Places in the frame.
pub mod slot {
    pub const KEY: i16 = -8;
    pub const NOW: i16 = -16;
    pub const ELAPSED: i16 = -24;
    pub const MOVED: i16 = -32;
    pub const ON_CPU: i16 = -40;
    pub const UNFINISHED: i16 = -48;
    /// The address of the window, once `find_window` ran.
    pub const WINDOW: i16 = -56;
    /// A process name: 16 bytes.
    pub const NAME: i16 = -72;
    /// A value for a hash map: up to 56 bytes.
    pub const VALUE: i16 = -128;
}

/// A program that is being written: the assembler, and what all programs share.
pub struct Writer<'a> {
    pub asm: Asm,
    pub target: &'a Target<'a>,
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
    /// The frame of every program: the body runs, `out` returns.
    pub fn program(target: &Target, body: fn(&mut Writer)) -> Result<Vec<u64>, String> {
        let mut asm = Asm::new();
        let out = asm.label();
        let mut writer = Writer { asm, target, out };
        writer.mov(Reg::R6, Reg::R1);
        body(&mut writer);
        writer.place(out);
        writer.exit();
        writer.asm.finish()
    }
}
