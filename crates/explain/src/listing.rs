//! Disassembles the executed instructions, function by function, in NASM syntax: it reads like Intel's manuals and has no size
//! suffixes to explain. Pure.

use super::iteration::Iteration;
use super::symbols::Symbols;
use iced_x86::{
    Decoder, DecoderOptions, Formatter, Instruction as Decoded, Mnemonic, NasmFormatter,
};
use model::code::{CodeKind, Flow, Function, Gate, Instruction, Role, Symbol};
use std::collections::BTreeMap;
use sys::step::{Bits, Memory};

/// The executed functions in the order of their first execution. `run` is the address of the probe's loop, `probe` the name of its
/// object.
pub fn functions(
    iteration: &Iteration,
    memory: &Memory,
    symbols: &Symbols,
    run: u64,
    probe: &str,
) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    let mut index: BTreeMap<u64, usize> = BTreeMap::new();
    let caller = symbols.resolve(run).start;
    for (address, count) in &iteration.executed {
        let symbol = symbols.resolve(*address);
        let position = *index.entry(symbol.start).or_insert_with(|| {
            functions.push(begin(&symbol, caller, probe));
            functions.len() - 1
        });
        functions[position]
            .instructions
            .push(instruction(*address, *count, &symbol, memory, symbols));
    }
    for function in &mut functions {
        // By address, as in the program: the order of execution would repeat loops.
        function.instructions.sort_by_key(|i| i.address);
        if function
            .instructions
            .first()
            .is_some_and(|i| i.offset == 0 && i.bytes == SIGNAL_RETURN)
        {
            function.name = format!("signal return ({})", function.name);
        }
    }
    functions
}

/// `mov rax, 15`, glibc's `__restore_rt`, which has no symbol: signal handlers return to it.
const SIGNAL_RETURN: &str = "48 c7 c0 0f 00 00 00";

fn begin(symbol: &Symbol, caller: u64, probe: &str) -> Function {
    let role = match symbol.kind {
        CodeKind::Vsyscall => Role::Vsyscall,
        CodeKind::Stub => Role::Stub,
        CodeKind::Function if symbol.start == caller => Role::Caller,
        CodeKind::Function if symbol.object == "[vdso]" => Role::Vdso,
        CodeKind::Function if symbol.object == probe => Role::Program,
        CodeKind::Function => Role::Library,
    };
    Function {
        name: symbol.name.clone(),
        object: symbol.object.clone(),
        role,
        instructions: Vec::new(),
    }
}

fn instruction(
    address: u64,
    count: u64,
    symbol: &Symbol,
    memory: &Memory,
    symbols: &Symbols,
) -> Instruction {
    let mut made = Instruction {
        offset: address - symbol.start,
        text: "(cannot be read)".to_string(),
        count,
        address,
        ..Instruction::default()
    };
    // The vsyscall page cannot be read: the kernel emulates its calls when the fetch faults.
    if symbol.kind == CodeKind::Vsyscall {
        made.text = "(the fetch faults)".to_string();
        made.gate = Some(Gate::PageFault);
        made.flow = Flow::Return;
    } else if let Some(decoded) = decode(address, memory) {
        let bytes: Vec<String> = memory.code[&address]
            .iter()
            .take(decoded.len())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        made.bytes = bytes.join(" ");
        made.text = text(&decoded, symbol, symbols);
        (made.gate, made.flow, made.length) =
            (gate(&decoded), flow(&decoded), decoded.len() as u64);
    }
    made
}

/// The instruction at an address that was read. None if its bytes could not be read or are no instruction.
pub fn decode(address: u64, memory: &Memory) -> Option<Decoded> {
    let bytes = memory
        .code
        .get(&address)
        .filter(|bytes| !bytes.is_empty())?;
    let bitness = if memory.bits == Bits::B32 { 32 } else { 64 };
    let decoded = Decoder::with_ip(bitness, bytes, address, DecoderOptions::NONE).decode();
    (!decoded.is_invalid()).then_some(decoded)
}

fn gate(decoded: &Decoded) -> Option<Gate> {
    match decoded.mnemonic() {
        Mnemonic::Syscall => Some(Gate::Syscall),
        Mnemonic::Sysenter => Some(Gate::Sysenter),
        Mnemonic::Int if decoded.immediate8() == 0x80 => Some(Gate::Int80),
        _ => None,
    }
}

/// How an instruction passes control on: by call, jump, return, or to the next one. Conditional jumps count as the next one,
/// because they stay in their function.
pub fn flow(decoded: &Decoded) -> Flow {
    match decoded.mnemonic() {
        _ if decoded.is_call_near() => Flow::Call,
        _ if decoded.is_call_near_indirect() => Flow::CallPointer,
        _ if decoded.is_jmp_short_or_near() => Flow::Jump,
        _ if decoded.is_jmp_near_indirect() => Flow::JumpPointer,
        Mnemonic::Ret => Flow::Return,
        _ => Flow::Next,
    }
}

fn text(decoded: &Decoded, symbol: &Symbol, symbols: &Symbols) -> String {
    let mut formatter = NasmFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    let mut text = String::new();
    if decoded.is_call_near() || decoded.is_jmp_short_or_near() || decoded.is_jcc_short_or_near() {
        formatter.format_mnemonic(decoded, &mut text);
        return format!(
            "{text} {}",
            target(decoded.near_branch_target(), symbol, symbols)
        );
    }
    formatter.format(decoded, &mut text);
    text
}

/// `+0x10` within the function, `getpid@plt`, `__getpid+0x4` elsewhere.
fn target(address: u64, symbol: &Symbol, symbols: &Symbols) -> String {
    let to = symbols.resolve(address);
    let offset = address.wrapping_sub(to.start);
    let stub = if to.kind == CodeKind::Stub {
        "@plt"
    } else {
        ""
    };
    match offset {
        _ if to.start == symbol.start => format!("+{offset:#x}"),
        0 => format!("{}{stub}", to.name),
        _ => format!("{}{stub}+{offset:#x}", to.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Decoded {
        let memory = Memory {
            code: BTreeMap::from([(0x1000, bytes.to_vec())]),
            ..Memory::default()
        };
        decode(0x1000, &memory).unwrap()
    }

    #[test]
    fn gates_are_distinguished() {
        for (bytes, expected) in [
            (&[0x0f, 0x05][..], Some(Gate::Syscall)),
            (&[0x0f, 0x34], Some(Gate::Sysenter)),
            (&[0xcd, 0x80], Some(Gate::Int80)),
            (&[0xcd, 0x03], None),
            (&[0xc3], None),
        ] {
            assert_eq!(gate(&decoded(bytes)), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn flows_and_text() {
        assert_eq!(flow(&decoded(&[0xff, 0xd0])), Flow::CallPointer);
        assert_eq!(flow(&decoded(&[0xff, 0x25, 0, 0, 0, 0])), Flow::JumpPointer);
        assert_eq!(flow(&decoded(&[0xe8, 0, 0, 0, 0])), Flow::Call);
        assert_eq!(flow(&decoded(&[0xc3])), Flow::Return);
        let symbols = Symbols::default();
        let symbol = symbols.resolve(0x1000);
        assert_eq!(
            text(&decoded(&[0xb8, 0x27, 0, 0, 0]), &symbol, &symbols),
            "mov eax, 0x27"
        );
    }
}
