//! Descriptions of types (BTF), the kernel's and those of our programs. The kernel's `Documentation/bpf/btf.rst` specifies the
//! format.

use std::collections::{HashMap, HashSet};

pub const TYPES: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUM64: u32 = 19;
const TYPEDEF: u32 = 8;

/// The largest number of unnamed structs and unions that is searched within one struct.
const MOST_WITHIN: usize = 256;

pub struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// The offset of each type in `types`, by type ID; type 0 is void and has none.
    offsets: Vec<u32>,
    named: HashMap<(TypeKind, &'a str), u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeKind {
    Struct = STRUCT as isize,
    Typedef = TYPEDEF as isize,
    Function = FUNC as isize,
    Section = DATASEC as isize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Member(String),
    Element(u32),
}

impl<'a> Btf<'a> {
    /// Indexes only the types in `wanted` by name: a kernel has a hundred thousand. Fails if the bytes have another byte order or are
    /// truncated.
    pub fn parse(bytes: &'a [u8], wanted: &[(TypeKind, &'a str)]) -> Result<Btf<'a>, String> {
        let (types, strings) =
            sections(bytes).ok_or("it is not BTF of this machine's byte order")?;
        let mut btf = Btf {
            types,
            strings,
            offsets: vec![0],
            named: HashMap::new(),
        };
        btf.index(wanted).ok_or("it is truncated")?;
        Ok(btf)
    }

    fn index(&mut self, wanted: &[(TypeKind, &'a str)]) -> Option<()> {
        let mut offset = 0;
        while offset < self.types.len() {
            let id = u32::try_from(self.offsets.len()).ok()?;
            self.offsets.push(u32::try_from(offset).ok()?);
            let head = self.head(offset)?;
            // Some names stand for several types of the kernel: the first one counts.
            if let Some((kind, text)) = wanted.iter().find(|(kind, text)| {
                *kind as u32 == head.kind && is(self.strings, head.name, text.as_bytes())
            }) {
                self.named.entry((*kind, text)).or_insert(id);
            }
            offset += 12 + head.extra()?;
        }
        (offset == self.types.len()).then_some(())
    }

    /// One that `parse` was asked for; `None` if the kernel has no such type.
    pub fn id(&self, kind: TypeKind, name: &str) -> Option<u32> {
        self.named.get(&(kind, name)).copied()
    }

    /// The offset in bytes, and the type's ID. Unnamed structs and unions are searched as well.
    pub fn place(&self, structure: &str, path: &[Step]) -> Option<(u32, u32)> {
        let mut id = self.id(TypeKind::Struct, structure)?;
        let mut bits: u32 = 0;
        for step in path {
            let (at, inner) = match step {
                Step::Member(name) => self.member(id, name, &mut HashSet::new())?,
                Step::Element(index) => self.element(id, *index)?,
            };
            bits = bits.checked_add(at)?;
            id = inner;
        }
        Some((bits / 8, id))
    }

    /// The size in bytes of a number, a pointer or an enumerator; `None` for other types.
    pub fn scalar_size(&self, id: u32) -> Option<u32> {
        let head = self.type_of(self.resolved(id)?)?;
        if !matches!(head.kind, INT | POINTER | ENUM) {
            return None;
        }
        self.size(id)
    }

    /// The offset of a field in bytes; `path` is `a.b` for a field of a nested struct.
    pub fn field(&self, structure: &str, path: &str) -> Option<u32> {
        let steps: Vec<Step> = path
            .split('.')
            .map(|name| Step::Member(name.to_string()))
            .collect();
        Some(self.place(structure, &steps)?.0)
    }

    /// An access string such as `0:2:1` (CO-RE): the struct's name, and the path in it.
    pub fn access(&self, id: u32, indices: &str) -> Option<(&'a str, Vec<Step>)> {
        let structure = self.name(id)?;
        let (mut id, mut steps) = (id, Vec::new());
        // The first index is into an array of whole structs, and always 0.
        for index in indices.split(':').skip(1) {
            let index: u32 = index.parse().ok()?;
            let container = self.resolved(id)?;
            let head = self.type_of(container)?;
            if head.kind == ARRAY {
                steps.push(Step::Element(index));
                id = self.element(container, 0)?.1;
            } else {
                let (name, inner, _) = self.nth_member(container, index, head.flag)?;
                steps.push(Step::Member(name.to_string()));
                id = inner;
            }
        }
        Some((structure, steps))
    }

    /// Empty if it has none, `None` if there is no such type.
    pub fn name(&self, id: u32) -> Option<&'a str> {
        self.string(self.type_of(id)?.name)
    }

    /// `None` beyond the section's end or if it is not UTF-8.
    pub fn string(&self, at: u32) -> Option<&'a str> {
        let text = self.strings.get(at as usize..)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&text[..end]).ok()
    }

    /// Names and type IDs of the variables in a section such as `.maps`.
    pub fn variables(&self, section: &str) -> Option<Vec<(&'a str, u32)>> {
        let id = self.id(TypeKind::Section, section)?;
        let at = *self.offsets.get(id as usize)? as usize + 12;
        (0..self.type_of(id)?.count)
            .map(|index| {
                let variable = word(self.types, at + 12 * index as usize)?;
                Some((self.name(variable)?, self.type_of(variable)?.size_or_type))
            })
            .collect()
    }

    /// Names of members with the IDs of their types.
    pub fn members(&self, id: u32) -> Option<Vec<(&'a str, u32)>> {
        let head = self.type_of(id)?;
        (0..if head.kind == STRUCT { head.count } else { 0 })
            .map(|index| {
                let (name, inner, _) = self.nth_member(id, index, head.flag)?;
                Some((name, inner))
            })
            .collect()
    }

    /// `None` if `id` is not a pointer.
    pub fn pointee(&self, id: u32) -> Option<u32> {
        let head = self.type_of(self.resolved(id)?)?;
        (head.kind == POINTER).then_some(head.size_or_type)
    }

    /// `None` if `id` is not an array.
    pub fn length(&self, id: u32) -> Option<u32> {
        (self.type_of(id)?.kind == ARRAY).then_some(())?;
        word(self.types, *self.offsets.get(id as usize)? as usize + 20)
    }

    /// The size in bytes of a type, behind typedefs and qualifiers; `None` for functions and what is larger than 4 GiB.
    pub fn size(&self, id: u32) -> Option<u32> {
        let id = self.resolved(id)?;
        let head = self.type_of(id)?;
        match head.kind {
            POINTER => Some(8),
            ARRAY => self
                .size(self.element(id, 0)?.1)?
                .checked_mul(self.length(id)?),
            INT | STRUCT | UNION | ENUM => Some(head.size_or_type),
            _ => None,
        }
    }

    /// The offset in bits, and the type.
    fn element(&self, id: u32, index: u32) -> Option<(u32, u32)> {
        let id = self.resolved(id)?;
        (self.type_of(id)?.kind == ARRAY).then_some(())?;
        let element = word(self.types, *self.offsets.get(id as usize)? as usize + 12)?;
        // The size of an element is asked for only if it matters: a forward declaration has none.
        let bits = if index == 0 {
            0
        } else {
            self.size(element)?.checked_mul(8)?.checked_mul(index)?
        };
        Some((bits, element))
    }

    /// How many arguments the function has that `typedef` points to, the context included.
    pub fn arguments(&self, typedef: &str) -> Option<u32> {
        let pointer = self
            .type_of(self.id(TypeKind::Typedef, typedef)?)?
            .size_or_type;
        let function = self.type_of(self.type_of(pointer)?.size_or_type)?;
        (function.kind == FUNC_PROTO).then_some(function.count)
    }

    /// The offset in bits, and the type. Each type is searched once: malformed BTF may contain cycles.
    fn member(&self, id: u32, wanted: &str, seen: &mut HashSet<u32>) -> Option<(u32, u32)> {
        let id = self.resolved(id)?;
        let head = self.type_of(id)?;
        if !matches!(head.kind, STRUCT | UNION) || seen.len() >= MOST_WITHIN || !seen.insert(id) {
            return None;
        }
        (0..head.count).find_map(|index| {
            let (name, inner, bits) = self.nth_member(id, index, head.flag)?;
            match name {
                "" => self
                    .member(inner, wanted, seen)
                    .and_then(|(at, id)| Some((bits.checked_add(at)?, id))),
                name => (name == wanted).then_some((bits, inner)),
            }
        })
    }

    fn nth_member(&self, id: u32, index: u32, bitfields: bool) -> Option<(&'a str, u32, u32)> {
        let at = *self.offsets.get(id as usize)? as usize + 12 + 12 * index as usize;
        let bits = word(self.types, at + 8)?;
        // With the struct's flag set, the upper byte is the width of a bitfield.
        let bits = if bitfields { bits & 0xff_ffff } else { bits };
        Some((
            self.string(word(self.types, at)?)?,
            word(self.types, at + 4)?,
            bits,
        ))
    }

    fn resolved(&self, mut id: u32) -> Option<u32> {
        // Bounded: malformed BTF may contain cycles.
        for _ in 0..16 {
            let head = self.type_of(id)?;
            match head.kind {
                // Typedefs, volatile, const, restrict and type tags.
                TYPEDEF..=11 | 18 => id = head.size_or_type,
                _ => return Some(id),
            }
        }
        None
    }

    fn type_of(&self, id: u32) -> Option<Head> {
        (id != 0).then_some(())?;
        self.head(*self.offsets.get(id as usize)? as usize)
    }

    fn head(&self, offset: usize) -> Option<Head> {
        let info = word(self.types, offset + 4)?;
        let (name, size_or_type) = (word(self.types, offset)?, word(self.types, offset + 8)?);
        Some(Head {
            name,
            kind: info >> 24 & 0x1f,
            flag: info >> 31 == 1,
            count: info & 0xffff,
            size_or_type,
        })
    }
}

struct Head {
    name: u32,
    kind: u32,
    flag: bool,
    count: u32,
    size_or_type: u32,
}

impl Head {
    /// Bytes behind the head; `None` for a kind that this code does not know.
    fn extra(&self) -> Option<usize> {
        let count = self.count as usize;
        match self.kind {
            INT | VAR | DECL_TAG => Some(4),
            ARRAY => Some(12),
            STRUCT | UNION | DATASEC | ENUM64 => Some(12 * count),
            ENUM | FUNC_PROTO => Some(8 * count),
            0..=19 => Some(0),
            _ => None,
        }
    }
}

fn sections(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let header = word(bytes, 4)? as usize;
    if magic != MAGIC {
        return None;
    }
    Some((part(bytes, header, 8)?, part(bytes, header, 16)?))
}

/// Offset and length of the part are at `at`.
fn part(bytes: &[u8], header: usize, at: usize) -> Option<&[u8]> {
    let start = header.checked_add(word(bytes, at)? as usize)?;
    bytes.get(start..start.checked_add(word(bytes, at + 4)? as usize)?)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Does not search for the string's end, because this is called for every type.
fn is(strings: &[u8], at: u32, text: &[u8]) -> bool {
    let rest = strings
        .get(at as usize..)
        .and_then(|rest| rest.strip_prefix(text));
    rest.is_some_and(|rest| rest.first() == Some(&0))
}
