use super::super::events::*;
use super::*;
use crate::kernel::bpf::btf::{Btf, TypeKind};
use crate::kernel::bpf::object;
use std::mem::offset_of;

/// Holds our structs against those of the programs: same size, same fields at the same places.
macro_rules! same {
    ($($ours:ident $theirs:literal: $($field:ident),*;)*) => {
        let data = object::section(&object::Elf::parse(object::BYTES).unwrap(), ".BTF").unwrap();
        let btf = Btf::parse(data, &[$((TypeKind::Struct, $theirs)),*]).unwrap();
        $(
            let id = btf.id(TypeKind::Struct, $theirs).unwrap();
            assert_eq!(btf.size(id), Some(size_of::<$ours>() as u32), $theirs);
            let names: Vec<&str> = btf.members(id).unwrap().into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, [$(stringify!($field)),*], $theirs);
            let theirs = [$(btf.field($theirs, stringify!($field))),*];
            assert_eq!(theirs, [$(Some(offset_of!($ours, $field) as u32)),*], $theirs);
        )*
    };
}

#[test]
fn programs_have_the_same_types() {
    same! {
        Row "row": what, argument, operation, directory, mask;
        Key "key": group, number, error, operation, gate, kind, value, unused;
        Counted "counted": calls, unfinished, on_cpu, blocked, woken, preempted, stalled, bytes;
        Entry "entry": key, counted;
        Task "task": owner, group, state, inside, off, restarts, number, kind, value, run, gate, start,
            off_since, blocked, woken, preempted, stalled, ran, on_since, object, from, fresh, depth, again, base, waker,
            waker_name;
        Window "window": flushes, peak_pages, histogram_of, histograms_used, scratch, stranger, entries,
            histograms, path, frames;
        DurationKey "duration_key": number, gate, bucket;
        ObjectKey "object_key": object, key;
        WaitKey "wait_key": key, object, waker;
        Address "address": family, port, own, length, bytes;
        StackKey "stack_key": key, site;
        Event "event": kind, process, space;
        MappedFile "mapped_file": inode, size, device, generation;
        Mapped "mapped": event, file, start, end, offset, length, path;
        Executed "executed": event, file, auxv, root_device, mounts, length, root_length, path, root;
        Forked "forked": event, parent, unused;
        Sample "sample": event, key, weight, ip, sp, fp, lr, vdso, slow, unused;
        Sampled "sampled": sample, stack;
        Name "name": inode, directory, device, kind, length, text;
        Slow "slow": key, start, elapsed, blocked, woken, process, stack;
        Details "details": floor, slowest, name;
        GroupKey "group_key": name, id;
        Globals "globals": lost, live, processes, threads, nameless, unseen, unseen_ns, groups, begun,
            running, changed, peak, on_cpu, waiting, blocked, objects_dropped, stacks_dropped, waits_dropped_ns, sites, slow_stacks,
            samples_lost, mappings_lost, samples_user, samples_calls, samples_kernel;
        Place "place": address, process, unused;
        Live "live": key, elapsed, blocked, woken, preempted, stalled, used, pid, process, inside, unused;
        Settings "config": times, enters, scope, switch_has_state, has_cast, group_by, concurrency,
            has_registers, exec, exit, sigreturn, close, mmap, sampled, waits, task_mask, paths, descriptors, stacks, slowest, cgroup,
            calls;
    }
}

#[test]
fn buckets_begin_where_the_programs_put_them() {
    assert_eq!([0, 31, 32, 63, 64, 95].map(bucket_ns), [0, 31, 32, 63, 64, 126]);
    assert_eq!((bucket_ns(BUCKETS - 32), bucket_ns(BUCKETS)), (1 << 41, 1 << 42));
}
