//! Counts the names in a path: copies the string from the task's memory and scans it eight bytes at a time.

use super::writer::*;

const SLASHES: u64 = 0x2f2f_2f2f_2f2f_2f2f;
const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
const HIGH: u64 = 0x8080_8080_8080_8080;
const ONES: u64 = 0x0101_0101_0101_0101;

impl Writer<'_> {
    /// R1 = names in the path at user address R8; `key::UNKNOWN` if it cannot be read now. Clobbers R0-R5 and R8.
    pub fn path_depth(&mut self) {
        let (unknown, done, counted) = (self.label(), self.label(), self.label());
        let paths = self.target.maps.paths;
        self.store(B32, At(R10, slot::KEY), 0);
        self.look_up(paths, slot::KEY);
        self.jump_if(If::Equal, R0, 0, unknown);
        self.mov(R3, R8);
        self.mov(R8, R0);
        self.mov(R1, R8);
        self.mov(R2, PATH_MAX);
        self.call(Helper::ProbeReadUserStr);
        self.jump_if(If::SignedBelow, R0, 1, unknown);
        self.jump_if(If::SignedAtLeast, R0, PATH_MAX + 1, unknown);
        self.op(Sub, R0, 1);
        self.count_names();
        // Through memory, whose content the verifier does not track: otherwise it would check everything that follows
        // once for each iteration of the loop, which takes a third of a second.
        self.store(B64, At(R7, offset!(Task.path)), R1);
        self.load(B64, R1, At(R7, offset!(Task.path)));
        self.jump_if(If::Below, R1, key::UNKNOWN - 1, counted);
        self.mov(R1, key::UNKNOWN - 1);
        self.place(counted);
        self.jump(done);
        self.place(unknown);
        self.mov(R1, key::UNKNOWN);
        self.place(done);
    }

    /// R1 = names in the R0 bytes at R8: bytes other than a slash that follow a slash. Eight slashes appended to the
    /// end pad the last word. Clobbers R2-R5.
    fn count_names(&mut self) {
        let (again, end) = (self.label(), self.label());
        self.mov(R1, R8);
        self.op(Add, R1, R0);
        self.mov_wide(R2, SLASHES);
        self.store(B64, At(R1, 0), R2);
        self.mov(R1, 0);
        self.mov(R2, 0);
        self.mov(R3, 0);
        self.place(again);
        self.jump_if(If::AtLeast, R3, R0, end);
        self.mov(R5, R8);
        self.op(Add, R5, R3);
        self.load(B64, R4, At(R5, 0));
        self.mark_no_slash();
        self.mov(R5, R4);
        self.op(ShiftLeft, R5, 8);
        self.op(Or, R5, R2);
        self.mov(R2, R4);
        self.op(ShiftRight, R2, 56);
        self.begin_names();
        self.op(Add, R1, R4);
        self.op(Add, R3, 8);
        self.jump_if(If::Below, R3, PATH_MAX, again);
        self.place(end);
    }

    /// R4 = the top bit of each byte of R4 that is not a slash. Clobbers R5 and `slot::VALUE`.
    fn mark_no_slash(&mut self) {
        self.mov_wide(R5, SLASHES);
        self.op(Xor, R4, R5);
        self.store(B64, At(R10, slot::VALUE), R4);
        self.mov_wide(R5, LOW);
        self.op(And, R4, R5);
        self.op(Add, R4, R5);
        self.load(B64, R5, At(R10, slot::VALUE));
        self.op(Or, R4, R5);
        self.mov_wide(R5, HIGH);
        self.op(And, R4, R5);
    }

    /// R4 = how many of the marks in R4 have no mark in R5, which holds those of the preceding bytes. Clobbers R5.
    fn begin_names(&mut self) {
        self.op(Xor, R5, -1);
        self.op(And, R4, R5);
        self.op(ShiftRight, R4, 7);
        self.mov_wide(R5, ONES);
        self.op(Mul, R4, R5);
        self.op(ShiftRight, R4, 56);
    }
}
