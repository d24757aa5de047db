//! The table is sound, and each class has the operation that is most like it.

use super::*;
use crate::syscall_names::is_known;
use DescriptorKind::{Device, Directory, Event, File, Pipe, Socket, Terminal};

fn first(call: &str, class: &Class) -> Option<&'static str> {
    units_of(call, class).map(|unit| unit.operations[0]).next()
}

#[test]
fn the_descriptor_chooses_the_operation() {
    let table = [
        ("read", Device, "io.read_zero"),
        ("read", Pipe, "io.pipe_write_read"),
        ("read(i386)", File, "io.read_file"),
        ("pread64", File, "io.pread"),
        ("write", File, "io.write_append"),
        ("pwrite64", File, "io.write_append"),
        ("write", Event, "io.eventfd_write_read"),
        ("write", Socket, "socket.tcp_send_recv"),
        ("writev", Terminal, "io.pipe_write_read"),
        ("sendmsg", Socket, "socket.sendmsg_recvmsg"),
        ("close", File, "file.close"),
        ("close", Socket, "socket.close"),
        ("close", Pipe, "fd.close"),
        ("fsync", File, "io.fsync"),
        ("fsync", Directory, "dir.fsync"),
        ("ftruncate", File, "file.ftruncate"),
    ];
    for (call, kind, operation) in table {
        assert_eq!(
            first(call, &Class { descriptor: Some(kind), ..Class::default() }),
            Some(operation),
            "{call} {kind:?}"
        );
    }
}

#[test]
fn what_a_call_does_chooses_the_operation() {
    let table = [
        ("openat", "create", Some("file.create")),
        ("mmap", "file", Some("mem.mmap_file_munmap")),
        ("mmap", "anonymous", Some("mem.mmap_munmap")),
        ("ioctl", "TCGETS", Some("fd.ioctl_enotty")),
        ("ioctl", "FIONREAD", Some("fd.ioctl_fionread")),
        ("ioctl", "0xc0de", None),
        ("fcntl", "setlkw", Some("fd.fcntl_lock")),
        ("fcntl", "dupfd_cloexec", Some("fd.dup_close")),
        ("fcntl", "setfl", Some("fd.fcntl_getfl")),
        ("epoll_ctl", "mod", Some("event.epoll_mod")),
        ("epoll_ctl", "add", Some("event.epoll_add_del")),
        ("clone", "thread", Some("process.clone_thread")),
        ("clone", "process", Some("process.fork_wait")),
        ("madvise", "dontneed", Some("mem.madvise_range")),
        ("madvise", "hugepage", Some("mem.madvise")),
        ("unlinkat", "directory", Some("dir.mkdir_rmdir")),
        ("futex", "wait_bitset", Some("sync.futex_pingpong")),
        ("futex", "requeue", Some("sync.futex_wake")),
    ];
    for (call, does, operation) in table {
        let class = Class { operation: Some(does.into()), ..Class::default() };
        assert_eq!(first(call, &class), operation, "{call} {does}");
    }
    let on_terminal = Class { operation: Some("TCGETS".into()), descriptor: Some(Terminal), ..Class::default() };
    assert_eq!(first("ioctl", &on_terminal), Some("fd.ioctl_tcgets"));
}

#[test]
fn calls_without_a_class_have_the_usual_operation() {
    let table = [
        ("openat", Some("file.open_close")),
        ("unlinkat", Some("file.unlink")),
        ("ioctl", Some("fd.ioctl_fionread")),
        ("mmap", Some("mem.mmap_munmap")),
        ("fork", Some("process.fork_wait")),
        ("clone3", Some("process.clone_thread")),
        ("accept4", Some("socket.accept")),
        ("nanosleep", Some("time.clock_nanosleep_past")),
        ("rt_sigreturn", Some("signal.kill_self")),
        ("keyctl", None),
    ];
    for (call, operation) in table {
        assert_eq!(first(call, &Class::default()), operation, "{call}");
    }
    assert_eq!(first("newfstatat", &Class { depth: Some(0), ..Class::default() }), Some("file.fstat"));
    assert_eq!(first("newfstatat", &Class { depth: Some(3), ..Class::default() }), Some("file.stat"));
}

/// A run that lacks the best operation falls back to one that does something like it, not to that of another kind.
#[test]
fn fallbacks_are_of_the_same_kind() {
    let socket = Class { descriptor: Some(Socket), ..Class::default() };
    let all =
        |call: &str, class: &Class| units_of(call, class).flat_map(|unit| unit.operations).copied().collect::<Vec<_>>();
    assert_eq!(all("read", &socket), ["socket.tcp_send_recv", "socket.send_recv"]);
    let create = Class { operation: Some("create".into()), ..Class::default() };
    assert_eq!(all("openat", &create)[..2], ["file.create", "file.creat_unlink"]);
}

#[test]
fn parameters_are_within_what_operations_take() {
    let at = |call: &str, class: &Class| units_of(call, class).next().unwrap().measured_at(class);
    let sized = |kind, size| Class { descriptor: Some(kind), size: Some(size), ..Class::default() };
    assert_eq!(at("read", &sized(File, 0)), Some(("size", 1)));
    assert_eq!(at("read", &sized(File, 8 << 20)), Some(("size", 1 << 20)));
    assert_eq!(at("read", &sized(Pipe, 8 << 20)), Some(("size", 1 << 16)));
    assert_eq!(at("getdents64", &sized(Directory, 1 << 15)), Some(("entries", 1000)));
    assert_eq!(at("getdents64", &sized(Directory, 0)), Some(("entries", 0)));
    assert_eq!(at("exit_group", &Class::default()), Some(("mib", 1)));
    assert_eq!(at("stat", &Class { depth: Some(5000), ..Class::default() }), Some(("depth", 32)));
    assert_eq!(at("close", &sized(File, 1)), None);
}

#[test]
fn every_call_is_known() {
    const ELSEWHERE: [&str; 3] = ["recv", "send", "waitpid"];
    let names = UNITS.iter().flat_map(|unit| unit.calls).chain(CREATION);
    let unknown: Vec<&&str> = names.filter(|name| !is_known(name) && !ELSEWHERE.contains(name)).collect();
    assert!(unknown.is_empty(), "only other architectures have {ELSEWHERE:?}: {unknown:?}");
}
