use super::super::events::EVENTS;
use super::*;
use crate::bpf::btf::{Btf, TypeKind};
use crate::bpf::object;

/// Our structs and those of the programs: same size, same fields at the same places.
#[test]
fn programs_have_the_same_types() {
    let all = LAYOUT.iter().chain(EVENTS);
    let data = object::section(&object::Elf::parse(object::BYTES).unwrap(), ".BTF").unwrap();
    let btf = Btf::parse(
        data,
        &all.clone()
            .map(|(name, ..)| (TypeKind::Struct, *name))
            .collect::<Vec<_>>(),
    )
    .unwrap();
    for (name, bytes, fields) in all {
        let id = btf.id(TypeKind::Struct, name).unwrap();
        assert_eq!(btf.size(id), Some(*bytes as u32), "{name}");
        let theirs = btf.members(id).unwrap().into_iter().map(|(field, _)| field);
        let theirs: Vec<_> = theirs
            .map(|field| (field, btf.field(name, field).unwrap() as usize))
            .collect();
        assert_eq!(theirs, *fields, "{name}");
    }
}

#[test]
fn buckets_begin_where_the_programs_put_them() {
    assert_eq!(
        [0, 31, 32, 63, 64, 95].map(bucket_ns),
        [0, 31, 32, 63, 64, 126]
    );
    assert_eq!(
        (bucket_ns(BUCKETS - 32), bucket_ns(BUCKETS)),
        (1 << 41, 1 << 42)
    );
}
