//! The compiled programs, `bpf/syscost.*.o`: their instructions, the maps that they define, and what they refer to.

use super::btf::{Btf, Step, TypeKind};
use super::sys::Attachment;
use object::elf::{R_BPF_64_32, R_BPF_64_64};
use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object as _, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SymbolKind,
};

/// The programs for this architecture. Built by `bpf/build`, and embedded so that users need no compiler.
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
    /// What it attaches to, such as `sys_enter`.
    pub target: String,
    pub code: Vec<u64>,
    /// Instructions that load the address of a map, with its name.
    pub addresses: Vec<(usize, String)>,
    /// Instructions that call a function of the kernel, with its name.
    pub calls: Vec<(usize, String)>,
    pub accesses: Vec<Access>,
}

#[derive(Clone)]
pub struct Access {
    pub instruction: usize,
    /// One of `bpf_core_relo_kind` (linux/bpf.h).
    pub kind: u32,
    /// The struct, without what follows `___`.
    pub of: String,
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
    /// Says what it attaches to. `None` if it is attached to an event.
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

    pub fn map(&self, name: &str) -> Option<&MapDefinition> {
        self.maps.iter().find(|map| map.name == name)
    }
}

pub(super) fn section<'a>(elf: &Elf<'a>, name: &str) -> Option<&'a [u8]> {
    elf.section_by_name(name)?.data().ok()
}

/// A part of its section, as are the relocations.
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
    let own = |at: usize| at.checked_sub(first).filter(|at| *at < code.len());
    let accesses = all
        .iter()
        .filter(|(section, _)| *section == place)
        .filter_map(|(_, access)| {
            Some(Access {
                instruction: own(access.instruction)?,
                ..access.clone()
            })
        })
        .collect();
    let (mut addresses, mut calls) = (Vec::new(), Vec::new());
    for (offset, relocation) in section.relocations() {
        let Some(at) = own(offset as usize / 8) else {
            continue;
        };
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return None;
        };
        let entry = (
            at,
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
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let start = (word(4)? + word(24)?) as usize;
    let (record, end) = (word(start)? as usize, start + word(28)? as usize);
    let (mut at, mut found) = (start + 4, Vec::new());
    while at < end {
        let (section, count) = (btf.string(word(at)?)?, word(at + 4)?);
        at += 8;
        for _ in 0..count {
            let (of, path) = match btf.string(word(at + 8)?)? {
                // A whole type.
                "0" => (btf.name(word(at + 4)?)?, Vec::new()),
                indices => btf.access(word(at + 4)?, indices)?,
            };
            let access = Access {
                instruction: word(at)? as usize / 8,
                kind: word(at + 12)?,
                of: of.split("___").next().unwrap_or(of).to_string(),
                path,
            };
            found.push((section, access));
            at += record;
        }
    }
    Some(found)
}
