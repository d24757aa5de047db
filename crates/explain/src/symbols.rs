//! Names for addresses, from the ELF symbol tables of mapped files and the vDSO, and for PLT stubs, which have no
//! symbols of their own. Pure: images are arguments.

use anyhow::{Context, Result};
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};
use model::code::{CodeKind, Symbol};
use object::elf::STT_GNU_IFUNC;
use object::{
    Object as _, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
    SymbolFlags, SymbolKind,
};
use std::collections::{BTreeMap, BTreeSet};
use sys::step::{Mapping, VSYSCALL};

#[derive(Default)]
pub struct Symbols {
    mappings: Vec<(Mapping, Option<usize>)>,
    objects: Vec<Object>,
    /// Shown in preference to other aliases: callers use them.
    wanted: BTreeSet<String>,
    /// Targets of calls, at which functions without a symbol start.
    unnamed: BTreeSet<u64>,
}

struct Object {
    label: String,
    /// Loaded segments: file offset, size and address.
    segments: Vec<(u64, u64, u64)>,
    /// All names of functions, by address in the file.
    functions: BTreeMap<u64, Vec<Function>>,
    indirect: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Function {
    name: String,
    size: u64,
    global: bool,
    kind: CodeKind,
}

type Elf<'a> = object::File<'a>;

impl Symbols {
    /// Symbols without names: until `add`, code is named by its mapping and offset.
    pub fn new(mappings: &[Mapping]) -> Symbols {
        Symbols {
            mappings: mappings.iter().map(|m| (m.clone(), None)).collect(),
            ..Symbols::default()
        }
    }

    /// Adds the symbols of the file mapped from `path`, shown as `label`.
    ///
    /// # Errors
    /// `image` is not an ELF file.
    pub fn add(&mut self, path: &str, label: &str, image: &[u8]) -> Result<()> {
        let elf = Elf::parse(image).with_context(|| format!("symbols of {label}"))?;
        for (mapping, object) in self.mappings.iter_mut().filter(|(m, _)| m.path == path) {
            debug_assert!(mapping.start < mapping.end);
            *object = Some(self.objects.len());
        }
        self.objects.push(Object::read(label, &elf));
        Ok(())
    }

    /// Prefers this alias from now on, since a caller uses it.
    pub fn prefer(&mut self, name: &str) {
        self.wanted.insert(name.to_string());
    }

    /// Notes that a function begins at `address`, in case no symbol says so.
    pub fn begins(&mut self, address: u64) {
        self.unnamed.insert(address);
    }

    /// The object in which `name` is an IFUNC, whose function is chosen at load time.
    pub fn ifunc(&self, name: &str) -> Option<&str> {
        self.objects
            .iter()
            .find(|o| o.indirect.contains(name))
            .map(|o| o.label.as_str())
    }

    /// The function that contains `address`. If no symbol does, the name is that of the file with an offset.
    pub fn resolve(&self, address: u64) -> Symbol {
        if VSYSCALL.contains(&address) {
            return Symbol {
                name: vsyscall_name(address),
                object: "[vsyscall]".to_string(),
                start: address,
                kind: CodeKind::Vsyscall,
                guessed: false,
            };
        }
        let mapping = self
            .mappings
            .iter()
            .find(|(m, _)| (m.start..m.end).contains(&address));
        let Some((mapping, object)) = mapping else {
            return unnamed(address, address, "unmapped memory");
        };
        match object.map(|i| &self.objects[i]) {
            Some(object) => self.resolve_in(object, mapping, address),
            None => unnamed(mapping.start, address - mapping.start, &mapping.path),
        }
    }

    fn resolve_in(&self, object: &Object, mapping: &Mapping, address: u64) -> Symbol {
        let in_file = object.address((address - mapping.start).wrapping_add(mapping.offset));
        if let Some((start, functions)) = object.containing(in_file)
            && let Some(function) = functions.iter().min_by_key(|f| self.rank(f))
        {
            return Symbol {
                name: function.name.clone(),
                object: object.label.clone(),
                start: address.saturating_sub(in_file - start),
                kind: function.kind,
                guessed: false,
            };
        }
        // Code between two functions belongs to the nearest call target since the end of the first.
        let behind = in_file.saturating_sub(object.end_before(in_file));
        let free = mapping
            .start
            .max(address.saturating_sub(behind))
            .min(address);
        let begun = self.unnamed.range(free..=address).next_back().copied();
        let start = begun.unwrap_or(mapping.start);
        Symbol {
            guessed: begun.is_none(),
            ..unnamed(
                start,
                in_file.saturating_sub(address - start),
                &object.label,
            )
        }
    }

    /// The alias with the lowest rank is shown: the vDSO's own names, then the names that callers use, then names without
    /// underscores.
    fn rank<'a>(&self, function: &'a Function) -> (bool, bool, usize, bool, usize, &'a str) {
        let name = function.name.as_str();
        let underscores = name.len() - name.trim_start_matches('_').len();
        let vdso = name.starts_with("__vdso_");
        (
            !vdso,
            !self.wanted.contains(name),
            underscores,
            !function.global,
            name.len(),
            name,
        )
    }
}

fn vsyscall_name(address: u64) -> String {
    let name = match address - VSYSCALL.start {
        0 => "gettimeofday ",
        0x400 => "time ",
        0x800 => "getcpu ",
        _ => "",
    };
    format!("{name}{address:#x}")
}

fn unnamed(start: u64, in_file: u64, object: &str) -> Symbol {
    let short = object.rsplit('/').next().unwrap_or(object);
    Symbol {
        name: format!("{short}+{in_file:#x}"),
        object: object.to_string(),
        start,
        ..Symbol::default()
    }
}

impl Object {
    fn read(label: &str, elf: &Elf) -> Object {
        let mut object = Object {
            label: label.to_string(),
            segments: elf
                .segments()
                .map(|s| (s.file_range().0, s.file_range().1, s.address()))
                .collect(),
            functions: BTreeMap::new(),
            indirect: BTreeSet::new(),
        };
        // Both tables: stripped files have only the second one, and static functions are only in the first.
        for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
            object.add_symbol(&symbol);
        }
        for (address, function) in stubs(elf) {
            object.functions.entry(address).or_default().push(function);
        }
        object
    }

    fn add_symbol<'a>(&mut self, symbol: &impl ObjectSymbol<'a>) {
        let code = symbol.kind() == SymbolKind::Text && !symbol.is_undefined();
        let Some(name) = symbol.name().ok().filter(|name| code && !name.is_empty()) else {
            return;
        };
        if matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_type() == STT_GNU_IFUNC)
        {
            self.indirect.insert(name.to_string());
        }
        let aliases = self.functions.entry(symbol.address()).or_default();
        aliases.push(Function {
            name: name.to_string(),
            size: symbol.size(),
            global: symbol.is_global(),
            kind: CodeKind::Function,
        });
    }

    fn address(&self, offset: u64) -> u64 {
        self.segments
            .iter()
            .find(|(start, size, _)| (*start..start.saturating_add(*size)).contains(&offset))
            .map_or(offset, |(start, _, address)| {
                (offset - start).wrapping_add(*address)
            })
    }

    fn end_before(&self, address: u64) -> u64 {
        let nearest = self.functions.range(..=address).next_back();
        nearest.map_or(0, |(start, functions)| {
            start.saturating_add(functions.iter().map(|f| f.size).max().unwrap_or(0))
        })
    }

    fn containing(&self, address: u64) -> Option<(u64, Vec<&Function>)> {
        // Symbols without a size, as assembly leaves them, may stand between a function's start and the address.
        const NEAREST: usize = 64;
        self.functions
            .range(..=address)
            .rev()
            .take(NEAREST)
            .find_map(|(start, functions)| {
                let holding: Vec<&Function> = functions
                    .iter()
                    .filter(|f| *start == address || address - start < f.size)
                    .collect();
                (!holding.is_empty()).then_some((*start, holding))
            })
    }
}

/// The stubs of the procedure linkage tables by address. Each has one jump through a GOT slot, and a relocation names the slot's function.
fn stubs(elf: &Elf) -> Vec<(u64, Function)> {
    // A program that is linked with -z now has no .got.plt.
    let got = elf
        .section_by_name(".got.plt")
        .or_else(|| elf.section_by_name(".got"))
        .map(|section| section.address())
        .unwrap_or_default();
    let (bits, slots) = (if elf.is_64() { 64 } else { 32 }, names_of_slots(elf));
    let sections = elf
        .sections()
        .filter(|s| s.name().is_ok_and(|name| name.starts_with(".plt")));
    let mut stubs = Vec::new();
    for section in sections {
        let (begin, size) = (section.address(), section.align().clamp(8, 16));
        let code = Decoder::with_ip(
            bits,
            section.data().unwrap_or_default(),
            begin,
            DecoderOptions::NONE,
        );
        let named = code
            .into_iter()
            .filter_map(|jump| Some((jump.ip(), slots.get(&slot_of(&jump, got)?)?)));
        stubs.extend(named.map(|(jump, name)| {
            (
                jump - (jump - begin) % size,
                Function {
                    name: name.clone(),
                    size,
                    global: true,
                    kind: CodeKind::Stub,
                },
            )
        }));
    }
    stubs
}

/// The slot from which an indirect jump or call loads its target: relative to the instruction in 64-bit code; in 32-bit code absolute, or
/// relative to the global offset table at `base`, whose address is in ebx.
fn slot_of(instruction: &Instruction, base: u64) -> Option<u64> {
    let indirect = instruction.is_jmp_near_indirect() || instruction.is_call_near_indirect();
    if !indirect || instruction.op0_kind() != OpKind::Memory {
        return None;
    }
    let displacement = instruction.memory_displacement64();
    match instruction.memory_base() {
        Register::RIP | Register::EIP => Some(instruction.ip_rel_memory_address()),
        Register::EBX => Some(base.wrapping_add(displacement) & 0xffff_ffff),
        Register::None => Some(displacement),
        _ => None,
    }
}

/// The function whose address the loader writes into a slot, by the slot's address.
fn names_of_slots(elf: &Elf) -> BTreeMap<u64, String> {
    let (Some(relocations), Some(table)) = (elf.dynamic_relocations(), elf.dynamic_symbol_table())
    else {
        return BTreeMap::new();
    };
    relocations
        .filter_map(|(slot, relocation)| match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let name = table.symbol_by_index(index).ok()?.name().ok()?;
                Some((slot, name.to_string()))
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with these names of one function, of which global ones end with `!`.
    fn symbols(names: &str, wanted: &[&str]) -> Symbols {
        let functions = names
            .split_whitespace()
            .map(|name| Function {
                name: name.trim_end_matches('!').into(),
                size: 16,
                global: name.ends_with('!'),
                kind: CodeKind::Function,
            })
            .collect();
        let path = "/lib/libc.so.6".to_string();
        let object = Object {
            label: path.clone(),
            segments: vec![(0x1000, 0x1000, 0x2000)],
            functions: BTreeMap::from([(0x2100, functions)]),
            indirect: BTreeSet::new(),
        };
        let mapping = Mapping {
            start: 0x7000,
            end: 0x8000,
            offset: 0x1000,
            inode: 0,
            path,
        };
        Symbols {
            mappings: vec![(mapping, Some(0))],
            objects: vec![object],
            wanted: wanted.iter().map(ToString::to_string).collect(),
            unnamed: BTreeSet::new(),
        }
    }

    #[test]
    fn aliases_are_shown_by_the_name_in_use() {
        fn name(names: &str, wanted: &[&str]) -> String {
            symbols(names, wanted).resolve(0x7100).name
        }

        let aliases = "__GI_getppid __getppid! getppid!";
        assert_eq!(name(aliases, &[]), "getppid");
        assert_eq!(name(aliases, &["__getppid"]), "__getppid");
        assert_eq!(name("time! __vdso_time!", &["time"]), "__vdso_time");
    }

    #[test]
    fn a_function_without_a_symbol_is_named_by_its_address() {
        let mut symbols = symbols("", &[]);
        symbols.begins(0x7200);
        let symbol = symbols.resolve(0x7234);
        assert_eq!(
            (symbol.name.as_str(), symbol.start, symbol.guessed),
            ("libc.so.6+0x2200", 0x7200, false)
        );
        let mut symbols = self::symbols("raise!", &[]);
        symbols.begins(0x7100);
        assert!(
            symbols.resolve(0x7180).guessed,
            "a named function before it is not where it begins"
        );
    }

    #[test]
    fn the_jump_of_a_stub_names_its_slot() {
        for (bits, bytes, slot, what) in [
            (64, [0xff, 0x25, 0x10, 0, 0, 0], Some(0x1016), "[rip + 16]"),
            (32, [0xff, 0xa3, 0x10, 0, 0, 0], Some(0x4010), "[ebx + 16]"),
            (32, [0xff, 0x25, 0x10, 0x40, 0, 0], Some(0x4010), "[0x4010]"),
            (64, [0x68, 1, 0, 0, 0, 0], None, "push"),
        ] {
            let jump = Decoder::with_ip(bits, &bytes, 0x1000, DecoderOptions::NONE).decode();
            assert_eq!(slot_of(&jump, 0x4000), slot, "{what}");
        }
    }
}
