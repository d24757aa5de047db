//! Fits a compiled program to the running kernel: offsets and sizes of fields and IDs of types by the kernel's BTF, and addresses of
//! maps. libbpf calls this CO-RE.
//!
//! A field that the kernel does not have is not an error here: the instruction that needs it is replaced by one that the verifier
//! refuses if it can be reached. It cannot if the program asked first (`FIELD_EXISTS`, or a setting in `config`).

use super::btf::{Btf, TypeKind};
use super::object::{Access, Object, Program};

/// `bpf_core_relo_kind` of linux/bpf.h.
const FIELD_OFFSET: u32 = 0;
const FIELD_EXISTS: u32 = 2;
const TYPE_ID: u32 = 7;

/// `bpf_insn.src_reg` of instructions that load a map's address, the address of its value, and call a kernel function.
const MAP: u64 = 1;
const MAP_VALUE: u64 = 2;
const KERNEL_FUNCTION: u64 = 2;

const LOAD_WORDS: u8 = 0x18;
const LOAD: u64 = 1;
const SIZES: [u32; 4] = [4, 2, 1, 8];
/// A call of a helper that does not exist, whose number shows up in the verifier's log; libbpf uses the same.
const MISSING: u64 = 0x85 | 195_896_080 << 32;
/// `r0 = 0`: a call of an optional function that the kernel does not have.
const NOTHING: u64 = 0xb7;

/// The types that relocation looks up by name, for `Btf::parse`. `targets` are the types that programs attach to.
pub fn wanted<'a>(
    object: &'a Object,
    targets: &'a [(TypeKind, String)],
) -> Vec<(TypeKind, &'a str)> {
    let accesses = object.programs.iter().flat_map(|program| &program.accesses);
    let calls = object.programs.iter().flat_map(|program| &program.calls);
    let mut wanted: Vec<_> = accesses
        .map(|access| (TypeKind::Struct, access.structure.as_str()))
        .collect();
    wanted.extend(calls.map(|(_, name)| (TypeKind::Function, name.as_str())));
    wanted.extend(targets.iter().map(|(kind, name)| (*kind, name.as_str())));
    wanted.sort_unstable_by_key(|(kind, name)| (*kind as u8, *name));
    wanted.dedup();
    wanted
}

/// A map, or with `value` the address of its only value.
#[derive(Clone, Copy)]
pub struct MapReference {
    pub descriptor: i32,
    pub value: bool,
}

/// Fitted to the kernel and the maps.
///
/// # Errors
/// A relocation that this loader does not know, or a map that `place` does not have.
pub fn relocate(
    program: &Program,
    kernel: &Btf,
    place: &dyn Fn(&str) -> Option<MapReference>,
) -> Result<Vec<u64>, String> {
    let mut code = program.code.clone();
    for access in &program.accesses {
        fit(&mut code, access, kernel)
            .ok_or_else(|| format!("an access to {} cannot be relocated", access.structure))?;
    }
    for (at, name) in &program.addresses {
        let place = place(name).ok_or_else(|| format!("there is no map {name}"))?;
        let [low, high] = code
            .get_mut(*at..at + 2)
            .ok_or("an address beyond the end")?
        else {
            unreachable!()
        };
        let offset = *low >> 32;
        *low = with_source(*low, if place.value { MAP_VALUE } else { MAP });
        *low = with_immediate(*low, place.descriptor.cast_unsigned());
        *high = if place.value { offset << 32 } else { 0 };
    }
    for (at, name) in &program.calls {
        let call = code.get_mut(*at).ok_or("a call beyond the end")?;
        *call = match kernel.id(TypeKind::Function, name) {
            Some(id) => with_source(with_immediate(*call & 0xffff, id), KERNEL_FUNCTION),
            None => NOTHING,
        };
    }
    Ok(code)
}

fn fit(code: &mut [u64], access: &Access, kernel: &Btf) -> Option<()> {
    let place = kernel.place(&access.structure, &access.path);
    let value = match access.kind {
        FIELD_OFFSET => place.map(|(offset, _)| offset),
        FIELD_EXISTS => Some(place.is_some().into()),
        TYPE_ID => kernel.id(TypeKind::Struct, &access.structure),
        _ => return None,
    };
    let wide = *code.get(access.instruction)? as u8 == LOAD_WORDS;
    let instruction = code.get_mut(access.instruction)?;
    let Some(value) = value else {
        *instruction = MISSING;
        if wide {
            *code.get_mut(access.instruction + 1)? = NOTHING;
        }
        return Some(());
    };
    match *instruction as u8 & 7 {
        // Loads and stores: the offset.
        1..=3 => {
            let offset = i16::try_from(value).ok()?.cast_unsigned();
            *instruction = *instruction & !0xffff_0000 | u64::from(offset) << 16;
            if let Some(size) = place.and_then(|(_, id)| kernel.scalar_size(id)) {
                narrow(instruction, size);
            }
        }
        // Arithmetic, and loads of a constant: the immediate.
        0 | 4 | 7 => *instruction = with_immediate(*instruction, value),
        _ => return None,
    }
    Some(())
}

/// Loads no more than the `bytes` of the kernel's field: `task_struct.on_cpu` is a byte since Linux 7.2, and the verifier refuses a load of
/// four.
fn narrow(instruction: &mut u64, bytes: u32) {
    let is_wider = *instruction & 7 == LOAD && bytes < SIZES[(*instruction >> 3 & 3) as usize];
    let size = SIZES.iter().position(|size| *size == bytes);
    if let Some(size) = size
        && is_wider
    {
        *instruction = *instruction & !0x18 | (size as u64) << 3;
    }
}

fn with_immediate(instruction: u64, value: u32) -> u64 {
    instruction & 0xffff_ffff | u64::from(value) << 32
}

/// The source register is the upper half of the second byte.
fn with_source(instruction: u64, register: u64) -> u64 {
    instruction & !0xf000 | register << 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_more_than_the_kernels_field_become_narrow() {
        // r1 = *(u32 *)(r6 + 52), and as 64 bits; r1 += r2; *(u32 *)(r6 + 52) = r1.
        for (before, bytes, after) in [
            (0x34_6161, 1, 0x34_6171),
            (0x34_6161, 2, 0x34_6169),
            (0x34_6161, 4, 0x34_6161),
            (0x34_6161, 8, 0x34_6161),
            (0x34_6179, 4, 0x34_6161),
            (0x210f, 1, 0x210f),
            (0x34_1663, 1, 0x34_1663),
        ] {
            let mut instruction = before;
            narrow(&mut instruction, bytes);
            assert_eq!(instruction, after, "{before:x} {bytes}");
        }
    }
}
