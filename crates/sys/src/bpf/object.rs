//! The compiled programs, `bpf/syscost.*.o`: their instructions, the maps that they define, and what they refer to.

use super::btf::{Btf, Step, TypeKind};
use super::sys::Attachment;
use object::elf::{R_BPF_64_32, R_BPF_64_64};
use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object as _, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SymbolKind,
};

/// Built by `bpf/build`, and embedded so that users need no compiler.
#[cfg(target_arch = "aarch64")]
pub const BYTES: &[u8] = include_bytes!("../../../../bpf/syscost.arm64.o");
#[cfg(not(target_arch = "aarch64"))]
pub const BYTES: &[u8] = include_bytes!("../../../../bpf/syscost.x86.o");

/// Sections of programs, as libbpf names them: what follows is the kernel's name of what they attach to.
const SECTIONS: [(&str, Attachment); 3] = [
    ("tp_btf/", Attachment::Tracepoint),
    ("iter/", Attachment::Iterator),
    ("perf_event", Attachment::Event),
];

pub struct Object {
    pub programs: Vec<Program>,
    pub maps: Vec<MapDefinition>,
}

#[derive(Clone)]
pub struct Program {
    pub name: String,
    pub attachment: Attachment,
    /// Such as `sys_enter`.
    pub target: String,
    pub code: Vec<u64>,
    pub addresses: Vec<(usize, String)>,
    pub calls: Vec<(usize, String)>,
    pub accesses: Vec<Access>,
}

#[derive(Clone)]
pub struct Access {
    pub instruction: usize,
    pub kind: u32,
    /// The struct's name, up to `___`: a suffix distinguishes versions of a struct, as in libbpf.
    pub structure: String,
    pub path: Vec<Step>,
}

#[derive(Default)]
pub struct MapDefinition {
    pub name: String,
    pub kind: u32,
    pub entries: u32,
    pub flags: u32,
    pub key_bytes: u32,
    pub value_bytes: u32,
}

pub(super) type Elf<'a> = ElfFile64<'a, LittleEndian>;

impl Program {
    /// The kernel's type that describes what the program attaches to; `None` if that is an event.
    pub fn kernel_type(&self) -> Option<(TypeKind, String)> {
        match self.attachment {
            Attachment::Tracepoint => {
                Some((TypeKind::Typedef, format!("btf_trace_{}", self.target)))
            }
            Attachment::Iterator => Some((TypeKind::Function, format!("bpf_iter_{}", self.target))),
            Attachment::Event | Attachment::Perf => None,
        }
    }
}

impl Object {
    /// `None` if the image is damaged.
    pub fn parse(image: &[u8]) -> Option<Object> {
        let elf = Elf::parse(image).ok()?;
        let btf = Btf::parse(section(&elf, ".BTF")?, &[(TypeKind::Section, ".maps")]).ok()?;
        let (maps, accesses) = (maps(&btf)?, accesses(&btf, section(&elf, ".BTF.ext")?)?);
        let programs = elf
            .symbols()
            .filter(|symbol| symbol.is_global() && symbol.kind() == SymbolKind::Text)
            .map(|symbol| program(&elf, &symbol, &accesses));
        Some(Object {
            programs: programs.collect::<Option<_>>()?,
            maps,
        })
    }

    /// The definition of a map, as in the programs' source.
    pub fn map(&self, name: &str) -> Option<&MapDefinition> {
        self.maps.iter().find(|map| map.name == name)
    }
}

pub(super) fn section<'a>(elf: &Elf<'a>, name: &str) -> Option<&'a [u8]> {
    elf.section_by_name(name)?.data().ok()
}

/// A program with its relocations. Both are parts of its section, which holds the programs of one tracepoint.
fn program<'a>(
    elf: &Elf<'a>,
    symbol: &impl ObjectSymbol<'a>,
    all: &[(&str, Access)],
) -> Option<Program> {
    let section = elf.section_by_index(symbol.section_index()?).ok()?;
    let place = section.name().ok()?;
    let (attachment, target) = SECTIONS
        .iter()
        .find_map(|(start, kind)| Some((*kind, place.strip_prefix(start)?)))?;
    let bytes = section.data_range(symbol.address(), symbol.size()).ok()??;
    let code: Vec<_> = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        .collect();
    let first = symbol.address() as usize / 8;
    let instructions = first..first + code.len();
    let accesses = all
        .iter()
        .filter(|(section, access)| *section == place && instructions.contains(&access.instruction))
        .map(|(_, access)| Access {
            instruction: access.instruction - first,
            ..access.clone()
        })
        .collect();
    let (mut addresses, mut calls) = (Vec::new(), Vec::new());
    for (offset, relocation) in section.relocations() {
        let instruction = offset as usize / 8;
        if !instructions.contains(&instruction) {
            continue;
        }
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return None;
        };
        let entry = (
            instruction - first,
            elf.symbol_by_index(index).ok()?.name().ok()?.to_string(),
        );
        match relocation.flags() {
            RelocationFlags::Elf {
                r_type: R_BPF_64_64,
            } => addresses.push(entry),
            RelocationFlags::Elf {
                r_type: R_BPF_64_32,
            } => calls.push(entry),
            _ => return None,
        }
    }
    let name = symbol.name().ok()?.to_string();
    Some(Program {
        name,
        attachment,
        target: target.to_string(),
        code,
        addresses,
        calls,
        accesses,
    })
}

/// The maps in section `.maps`: structs whose members are pointers to arrays, whose length is a number, or to types.
fn maps(btf: &Btf) -> Option<Vec<MapDefinition>> {
    btf.variables(".maps")?
        .into_iter()
        .map(|(name, id)| {
            let mut map = MapDefinition {
                name: name.to_string(),
                ..MapDefinition::default()
            };
            for (member, id) in btf.members(id)? {
                let pointee = btf.pointee(id)?;
                match member {
                    "type" => map.kind = btf.length(pointee)?,
                    "max_entries" => map.entries = btf.length(pointee)?,
                    "map_flags" => map.flags = btf.length(pointee)?,
                    "key" => map.key_bytes = btf.size(pointee)?,
                    "value" => map.value_bytes = btf.size(pointee)?,
                    _ => return None,
                }
            }
            Some(map)
        })
        .collect()
}

/// In section `.BTF.ext`, with the names of the sections that they belong to.
fn accesses<'a>(btf: &Btf<'a>, bytes: &[u8]) -> Option<Vec<(&'a str, Access)>> {
    // The header's length, and offset and length of the part with relocations.
    let [header, offset, length] = [4, 24, 28].map(|at| word(bytes, at));
    let start = (header? + offset?) as usize;
    let (record, end) = (word(bytes, start)? as usize, start + length? as usize);
    let (mut at, mut accesses) = (start + 4, Vec::new());
    while at < end {
        let (section, count) = (btf.string(word(bytes, at)?)?, word(bytes, at + 4)?);
        at += 8;
        for _ in 0..count {
            let id = word(bytes, at + 4)?;
            let (structure, path) = match btf.string(word(bytes, at + 8)?)? {
                // A whole type.
                "0" => (btf.name(id)?, Vec::new()),
                indices => btf.access(id, indices)?,
            };
            let structure = structure.split("___").next().unwrap_or(structure);
            let access = Access {
                instruction: word(bytes, at)? as usize / 8,
                kind: word(bytes, at + 12)?,
                structure: structure.to_string(),
                path,
            };
            accesses.push((section, access));
            at += record;
        }
    }
    Some(accesses)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
