//! Finds the kind of a descriptor: from the running task's file table to the inode's mode.
//!
//! If the kernel lets a program cast an address to a kernel struct (`bpf_rdonly_cast`), these are plain loads that
//! yield 0 instead of faulting; otherwise helpers copy the fields, which takes about 20 ns more.

use super::super::kernel_types::Cast;
use super::writer::*;

/// Majors of terminals: 4 (consoles, serial lines), 5 (/dev/tty), 136 to 143 (pseudo-terminals);
/// Documentation/admin-guide/ devices.txt. Inside the kernel, device numbers have 20 bits of minor.
const MINOR_BITS: i32 = 20;
/// Since 6.16, anonymous inodes are regular files with this flag (`S_ANON_INODE`).
const ANONYMOUS_FLAG: i32 = 1 << 19;

impl Writer<'_> {
    /// R1 = the kind of descriptor R8 of the task in R9. Clobbers R0-R5 and R8.
    pub fn descriptor_kind(&mut self) {
        let (closed, done) = (self.label(), self.label());
        let types = self.target.types;
        self.load(B64, R1, At(R9, types.fields.files));
        self.jump_if(If::Equal, R1, 0, closed);
        self.load(B64, R1, At(R1, types.fields.fdt));
        self.jump_if(If::Equal, R1, 0, closed);
        self.load(B32, R2, At(R1, types.fields.max_fds));
        self.op(ShiftLeft, R8, 32);
        self.op(ShiftRight, R8, 32);
        self.jump_if(If::AtLeast, R8, R2, closed);
        self.load(B64, R1, At(R1, types.fields.fd));
        self.op(ShiftLeft, R8, 3);
        self.op(Add, R1, R8);
        match types.cast {
            Some(cast) => self.inode_by_casts(cast, closed),
            None => self.inode_by_helpers(closed),
        }
        self.kind_of_mode(done);
        self.place(closed);
        self.mov(R1, kind::CLOSED as i32);
        self.place(done);
    }

    /// From the address of the file pointer in R1: R1 = mode, R2 = flags, R3 = device. Clobbers R0-R5.
    fn inode_by_casts(&mut self, cast: Cast, closed: Label) {
        let types = self.target.types;
        self.cast(cast.function, cast.list_head);
        self.load(B64, R1, At(R0, 0));
        self.jump_if(If::Equal, R1, 0, closed);
        self.cast(cast.function, cast.file);
        self.load(B64, R0, At(R0, types.fields.f_inode));
        self.jump_if(If::Equal, R0, 0, closed);
        self.load(B16, R1, At(R0, types.fields.i_mode));
        self.load(B32, R2, At(R0, types.fields.i_flags));
        self.load(B32, R3, At(R0, types.fields.i_rdev));
    }

    fn cast(&mut self, function: u32, to: u32) {
        self.mov(R2, to.cast_signed());
        self.call_kernel(function);
    }

    /// As `inode_by_casts`. Also clobbers R8 and the stack slots.
    fn inode_by_helpers(&mut self, closed: Label) {
        let types = self.target.types;
        self.follow(0, closed);
        self.follow(types.fields.f_inode, closed);
        self.mov(R8, R1);
        self.copy(types.fields.i_flags, 4);
        self.load(B32, R1, At(R10, slot::VALUE));
        self.store(B64, At(R10, slot::KEY), R1);
        self.copy(types.fields.i_rdev, 4);
        self.load(B32, R1, At(R10, slot::VALUE));
        self.store(B64, At(R10, slot::NOW), R1);
        self.copy(types.fields.i_mode, 2);
        self.load(B16, R1, At(R10, slot::VALUE));
        self.load(B64, R2, At(R10, slot::KEY));
        self.load(B64, R3, At(R10, slot::NOW));
    }

    /// R1 = the pointer at R1 plus `offset`; jumps to `null` if it is null. Clobbers R0-R5 and R8.
    fn follow(&mut self, offset: i16, null: Label) {
        self.mov(R8, R1);
        self.copy(offset, 8);
        self.load(B64, R1, At(R10, slot::VALUE));
        self.jump_if(If::Equal, R1, 0, null);
    }

    /// `slot::VALUE` = `bytes` bytes at R8 plus `offset`; zeros if they cannot be read. Clobbers R0-R5.
    fn copy(&mut self, offset: i16, bytes: i32) {
        self.store(B64, At(R10, slot::VALUE), 0);
        self.frame(R1, slot::VALUE);
        self.mov(R2, bytes);
        self.mov(R3, R8);
        self.op(Add, R3, i32::from(offset));
        self.call(Helper::ProbeReadKernel);
    }

    /// R1 = the kind, from mode, flags and device in R1, R2 and R3. Ends at `done`.
    fn kind_of_mode(&mut self, done: Label) {
        let (anonymous, regular, terminal) = (self.label(), self.label(), self.label());
        self.op(ShiftRight, R1, 12);
        self.jump_if(If::Equal, R1, kind::REGULAR as i32, regular);
        self.jump_if(If::Equal, R1, 0, anonymous);
        self.jump_if(If::NotEqual, R1, kind::CHARACTER as i32, done);
        self.op(ShiftRight, R3, MINOR_BITS);
        self.jump_if(If::Equal, R3, 4, terminal);
        self.jump_if(If::Equal, R3, 5, terminal);
        self.op(And, R3, !7);
        self.jump_if(If::NotEqual, R3, 136, done);
        self.place(terminal);
        self.mov(R1, kind::TERMINAL as i32);
        self.jump(done);
        self.place(regular);
        self.op(And, R2, ANONYMOUS_FLAG);
        self.jump_if(If::Equal, R2, 0, done);
        self.place(anonymous);
        self.mov(R1, kind::ANONYMOUS as i32);
        self.jump(done);
    }
}
