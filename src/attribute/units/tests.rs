//! The table is sound, and each class has the operation that is most like it.

use super::*;
use crate::syscall_names::is_known;
use DescriptorKind::{Device, Directory, Event, File, Pipe, Socket, Terminal};

fn first(call: &str, class: &Class) -> Option<&'static str> {
    units_of(call, class, None).map(|unit| unit.operations[0]).next()
}

/// Rows of words, separated by commas.
fn rows<const WORDS: usize>(table: &str) -> impl Iterator<Item = [&str; WORDS]> {
    table.split(',').map(|row| row.split_whitespace().collect::<Vec<_>>().try_into().unwrap())
}

#[test]
fn the_descriptor_chooses_the_operation() {
    let files = "read(i386) io.read_file, pread64 io.pread, write io.write_append, pwrite64 io.write_append, \
                 close file.close, fsync io.fsync, ftruncate file.ftruncate";
    let sockets = "write socket.tcp_send_recv, sendmsg socket.sendmsg_recvmsg, close socket.close";
    for (kind, table) in [
        (File, files),
        (Socket, sockets),
        (Device, "read io.read_zero"),
        (Pipe, "read io.pipe_write_read, close fd.close"),
        (Event, "write io.eventfd_write_read"),
        (Terminal, "writev io.pipe_write_read"),
        (Directory, "fsync dir.fsync"),
    ] {
        let class = Class { descriptor: Some(kind), ..Class::default() };
        for [call, operation] in rows(table) {
            assert_eq!(first(call, &class), Some(operation), "{call} {kind:?}");
        }
    }
}

#[test]
fn what_a_call_does_chooses_the_operation() {
    let does = |operation: &str| Class { operation: Some(operation.into()), ..Class::default() };
    let table = "openat create file.create, mmap file mem.mmap_file_munmap, mmap anonymous mem.mmap_munmap, \
                 ioctl TCGETS fd.ioctl_enotty, ioctl FIONREAD fd.ioctl_fionread, fcntl setlkw fd.fcntl_lock, \
                 fcntl dupfd_cloexec fd.dup_close, fcntl setfl fd.fcntl_getfl, epoll_ctl mod event.epoll_mod, \
                 epoll_ctl add event.epoll_add_del, clone thread process.clone_thread, clone process process.fork_wait, \
                 madvise dontneed mem.madvise_range, madvise hugepage mem.madvise, unlinkat directory dir.mkdir_rmdir, \
                 futex wait_bitset sync.futex_pingpong, futex requeue sync.futex_wake";
    for [call, what, operation] in rows(table) {
        assert_eq!(first(call, &does(what)), Some(operation), "{call} {what}");
    }
    assert_eq!(first("ioctl", &does("0xc0de")), None);
    let on_terminal = Class { descriptor: Some(Terminal), ..does("TCGETS") };
    assert_eq!(first("ioctl", &on_terminal), Some("fd.ioctl_tcgets"));
}

#[test]
fn calls_without_a_class_have_the_usual_operation() {
    let table = "openat file.open_close, unlinkat file.unlink, ioctl fd.ioctl_fionread, mmap mem.mmap_munmap, \
                 fork process.fork_wait, clone3 process.clone_thread, accept4 socket.accept, \
                 nanosleep time.clock_nanosleep_past, rt_sigreturn signal.kill_self";
    for [call, operation] in rows(table) {
        assert_eq!(first(call, &Class::default()), Some(operation), "{call}");
    }
    assert_eq!(first("keyctl", &Class::default()), None);
    assert_eq!(first("newfstatat", &Class { depth: Some(0), ..Class::default() }), Some("file.fstat"));
    assert_eq!(first("newfstatat", &Class { depth: Some(3), ..Class::default() }), Some("file.stat"));
}

/// A run that lacks the best operation falls back to one that does something like it, not to that of another kind.
#[test]
fn fallbacks_are_of_the_same_kind() {
    let socket = Class { descriptor: Some(Socket), ..Class::default() };
    let all = |call: &str, class: &Class| {
        units_of(call, class, None).flat_map(|unit| unit.operations).copied().collect::<Vec<_>>()
    };
    assert_eq!(all("read", &socket), ["socket.tcp_send_recv", "socket.send_recv"]);
    let create = Class { operation: Some("create".into()), ..Class::default() };
    assert_eq!(all("openat", &create)[..2], ["file.create", "file.creat_unlink"]);
}

#[test]
fn every_call_is_known() {
    const ELSEWHERE: [&str; 3] = ["recv", "send", "waitpid"];
    let names = UNITS.iter().flat_map(|unit| unit.calls).chain(CREATION);
    let unknown: Vec<&&str> = names.filter(|name| !is_known(name) && !ELSEWHERE.contains(name)).collect();
    assert!(unknown.is_empty(), "only other architectures have {ELSEWHERE:?}: {unknown:?}");
}

#[test]
fn failures_have_operations_of_their_own() {
    let first = |call: &str, errno| units_of(call, &Class::default(), errno).next().unwrap().operations[0];
    for [call, errno, operation] in rows(
        "openat ENOENT file.open_absent, execve ENOENT file.open_absent, readlink ENOENT file.stat_absent, \
         statx ENOTDIR file.stat_absent, close EBADF fd.close_bad, openat EACCES file.open_close, fork EAGAIN process.fork_wait",
    ) {
        assert_eq!(first(call, Some(errno)), operation, "{call} {errno}");
    }
    let wait = Class { operation: Some("wait_bitset".into()), ..Class::default() };
    let operation = |errno| units_of("futex", &wait, errno).next().unwrap().operations[0];
    assert_eq!([operation(Some("EAGAIN")), operation(None)], ["sync.futex_wait_fails", "sync.futex_pingpong"]);
}
