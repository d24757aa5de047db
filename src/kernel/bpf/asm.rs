//! An assembler for eBPF: labels, registers, and one method per instruction, so that a program reads like a listing.
//! Pure. The kernel's `Documentation/bpf/standardization/instruction-set.rst` specifies the instructions.
//!
//! Not here: the programs (`programs`) and the verifier, which is the kernel's. Jumps go forward or back to labels;
//! `finish` reports a label that was never placed.

/// A register. R0 holds results; R1-R5 hold arguments and are clobbered by calls; R6-R9 are preserved; R10 is the frame
/// pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// Memory at a register plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At(pub Reg, pub i16);

/// The source operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Register(Reg),
    Value(i32),
}

impl From<Reg> for Operand {
    fn from(register: Reg) -> Operand {
        Operand::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(value: i32) -> Operand {
        Operand::Value(value)
    }
}

/// How many bits are loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    B8 = 0x10,
    B16 = 0x08,
    B32 = 0x00,
    B64 = 0x18,
}

/// 64-bit arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Xor = 0xa0,
}

/// When a jump is taken. `Below` and `AtLeast` compare unsigned values, the `Signed` ones signed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum If {
    Equal = 0x10,
    AtLeast = 0x30,
    AnyBit = 0x40,
    NotEqual = 0x50,
    SignedAtLeast = 0x70,
    Below = 0xa0,
    SignedBelow = 0xc0,
}

/// Helper functions by number (linux/bpf.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    KtimeGetNs = 5,
    GetSmpProcessorId = 8,
    GetCurrentComm = 16,
    ProbeReadKernel = 113,
    ProbeReadUserStr = 114,
    TaskStorageGet = 156,
    GetCurrentTaskBtf = 158,
}

/// A jump target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// A program that is being written.
#[derive(Debug, Default)]
pub struct Asm {
    code: Vec<u64>,
    /// The position of each label, in instructions.
    labels: Vec<Option<usize>>,
    /// The position of each jump, and its target.
    jumps: Vec<(usize, Label)>,
}

const LDX_MEM: u8 = 0x61;
const STX_MEM: u8 = 0x63;
const ST_MEM: u8 = 0x62;
const STX_ATOMIC_ADD_64: u8 = 0xdb;
const LD_IMM_64: u8 = 0x18;
const ALU_64: u8 = 0x07;
const JUMP: u8 = 0x05;
const BY_REGISTER: u8 = 0x08;
const MOV: u8 = 0xb0;
const NEG: u8 = 0x80;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;
const PSEUDO_KFUNC_CALL: u8 = 2;

impl Asm {
    /// A label that is placed later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places the label here.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// A label that is placed here.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    /// `to = from`
    pub fn mov(&mut self, to: Reg, from: impl Into<Operand>) {
        self.arithmetic(MOV, to, from.into());
    }

    /// `to = value`, of 64 bits.
    pub fn mov_wide(&mut self, to: Reg, value: u64) {
        self.wide(to, 0, value as u32, (value >> 32) as u32);
    }

    /// `to = to OP from`
    pub fn op(&mut self, op: Op, to: Reg, from: impl Into<Operand>) {
        self.arithmetic(op as u8, to, from.into());
    }

    /// `to = -to`
    pub fn negate(&mut self, to: Reg) {
        self.put(ALU_64 | NEG, to as u8, 0, 0, 0);
    }

    /// `to = *from`
    pub fn load(&mut self, width: Width, to: Reg, from: At) {
        self.put(LDX_MEM | width as u8, to as u8, from.0 as u8, from.1, 0);
    }

    /// `*to = from`
    pub fn store(&mut self, width: Width, to: At, from: impl Into<Operand>) {
        match from.into() {
            Operand::Register(from) => self.put(STX_MEM | width as u8, to.0 as u8, from as u8, to.1, 0),
            Operand::Value(value) => self.put(ST_MEM | width as u8, to.0 as u8, 0, to.1, value),
        }
    }

    /// `*to += from`, of 64 bits, atomically.
    pub fn atomic_add(&mut self, to: At, from: Reg) {
        self.put(STX_ATOMIC_ADD_64, to.0 as u8, from as u8, to.1, 0);
    }

    /// `goto label`
    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.put(JUMP, 0, 0, 0, 0);
    }

    /// `if left CONDITION right goto label`
    pub fn jump_if(&mut self, condition: If, left: Reg, right: impl Into<Operand>, label: Label) {
        self.jumps.push((self.code.len(), label));
        match right.into() {
            Operand::Register(right) => self.put(JUMP | condition as u8 | BY_REGISTER, left as u8, right as u8, 0, 0),
            Operand::Value(value) => self.put(JUMP | condition as u8, left as u8, 0, 0, value),
        }
    }

    /// Calls a helper function. Clobbers R0-R5.
    pub fn call(&mut self, helper: Helper) {
        self.put(CALL, 0, 0, 0, helper as i32);
    }

    /// Calls a kernel function by its BTF type ID. Clobbers R0-R5.
    pub fn call_kernel(&mut self, btf_id: u32) {
        self.put(CALL, 0, PSEUDO_KFUNC_CALL, 0, btf_id.cast_signed());
    }

    /// `to = the map`, for helpers.
    pub fn load_map(&mut self, to: Reg, fd: i32) {
        self.wide(to, PSEUDO_MAP_FD, fd.cast_unsigned(), 0);
    }

    /// `to = the address of the only value of an array map`, plus `offset`.
    pub fn load_map_value(&mut self, to: Reg, fd: i32, offset: u32) {
        self.wide(to, PSEUDO_MAP_VALUE, fd.cast_unsigned(), offset);
    }

    /// `return 0`
    pub fn exit(&mut self) {
        self.mov(Reg::R0, 0);
        self.put(EXIT, 0, 0, 0, 0);
    }

    /// The instructions, with all jumps bound.
    ///
    /// # Errors
    /// A label that was not placed, or a jump that is too far: a mistake in the program.
    pub fn finish(mut self) -> Result<Vec<u64>, String> {
        for (from, label) in std::mem::take(&mut self.jumps) {
            let to = self.labels[label.0].ok_or_else(|| format!("label {} was not placed", label.0))?;
            let distance = i16::try_from(to as i64 - from as i64 - 1).map_err(|_| "a jump is too far".to_string())?;
            self.code[from] |= u64::from(distance.cast_unsigned()) << 16;
        }
        Ok(self.code)
    }

    fn arithmetic(&mut self, op: u8, to: Reg, from: Operand) {
        match from {
            Operand::Register(from) => self.put(ALU_64 | op | BY_REGISTER, to as u8, from as u8, 0, 0),
            Operand::Value(value) => self.put(ALU_64 | op, to as u8, 0, 0, value),
        }
    }

    fn wide(&mut self, to: Reg, source: u8, low: u32, high: u32) {
        self.put(LD_IMM_64, to as u8, source, 0, low.cast_signed());
        self.put(0, 0, 0, 0, high.cast_signed());
    }

    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, value: i32) {
        let registers = u64::from(to | from << 4);
        let offset = u64::from(offset.cast_unsigned());
        self.code.push(u64::from(code) | registers << 8 | offset << 16 | u64::from(value.cast_unsigned()) << 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Reg::*;

    /// An instruction, laid out as the kernel's struct bpf_insn.
    fn insn(code: u8, registers: u8, offset: i16, value: i32) -> u64 {
        let mut bytes = [code, registers, 0, 0, 0, 0, 0, 0];
        bytes[2..4].copy_from_slice(&offset.to_le_bytes());
        bytes[4..8].copy_from_slice(&value.to_le_bytes());
        u64::from_le_bytes(bytes)
    }

    fn written(write: impl Fn(&mut Asm)) -> Vec<u64> {
        let mut asm = Asm::default();
        write(&mut asm);
        asm.finish().unwrap()
    }

    #[test]
    fn instructions_are_those_of_the_standard() {
        // Opcodes as the specification composes them: class, source, operation or size and mode.
        assert_eq!(written(|a| a.mov(R1, R6)), [insn(0xbf, 0x61, 0, 0)]);
        assert_eq!(written(|a| a.mov(R0, -1)), [insn(0xb7, 0x00, 0, -1)]);
        assert_eq!(written(|a| a.op(Op::ShiftRight, R2, 56)), [insn(0x77, 0x02, 0, 56)]);
        assert_eq!(written(|a| a.op(Op::Add, R2, R7)), [insn(0x0f, 0x72, 0, 0)]);
        assert_eq!(written(|a| a.negate(R3)), [insn(0x87, 0x03, 0, 0)]);
        assert_eq!(written(|a| a.load(Width::B64, R8, At(R6, 8))), [insn(0x79, 0x68, 8, 0)]);
        assert_eq!(written(|a| a.load(Width::B16, R1, At(R6, 2))), [insn(0x69, 0x61, 2, 0)]);
        assert_eq!(written(|a| a.store(Width::B64, At(R10, -8), 5)), [insn(0x7a, 0x0a, -8, 5)]);
        assert_eq!(written(|a| a.store(Width::B32, At(R10, -8), R1)), [insn(0x63, 0x1a, -8, 0)]);
        assert_eq!(written(|a| a.atomic_add(At(R0, 16), R1)), [insn(0xdb, 0x10, 16, 0)]);
        assert_eq!(written(|a| a.call(Helper::KtimeGetNs)), [insn(0x85, 0x00, 0, 5)]);
        assert_eq!(written(|a| a.call_kernel(77)), [insn(0x85, 0x20, 0, 77)]);
        assert_eq!(written(Asm::exit), [insn(0xb7, 0, 0, 0), insn(0x95, 0, 0, 0)]);
    }

    #[test]
    fn wide_values_take_two_instructions() {
        assert_eq!(written(|a| a.mov_wide(R3, 0x1_0000_0002)), [insn(0x18, 0x03, 0, 2), insn(0, 0, 0, 1)]);
        assert_eq!(written(|a| a.load_map(R1, 9)), [insn(0x18, 0x11, 0, 9), 0]);
        assert_eq!(written(|a| a.load_map_value(R1, 9, 24)), [insn(0x18, 0x21, 0, 9), insn(0, 0, 0, 24)]);
    }

    #[test]
    fn jumps_go_forward_and_back() {
        let code = written(|a| {
            let end = a.label();
            let back = a.here();
            a.jump_if(If::NotEqual, R1, 0, end);
            a.jump_if(If::Below, R1, R2, back);
            a.place(end);
            a.jump(back);
        });
        assert_eq!(code, [insn(0x55, 0x01, 1, 0), insn(0xad, 0x21, -2, 0), insn(0x05, 0, -3, 0)]);
    }

    #[test]
    fn a_label_that_is_not_placed_is_an_error() {
        let mut asm = Asm::default();
        let nowhere = asm.label();
        asm.jump(nowhere);
        assert!(asm.finish().unwrap_err().contains("was not placed"));
    }
}
