//! The table is sound, and each class has the operation that is most like it.

use super::*;
use model::syscall_names::is_known;

/// Call, what it does, its errno (`-` for neither), and the operation that prices it.
const FIRST: &str = "read(i386) file - io.read_file, pread64 file - io.pread, pwrite64 file - io.write_append, close file - file.close, \
                     fsync file - io.fsync, write socket - socket.tcp_send_recv, sendmsg socket - socket.sendmsg_recvmsg, \
                     close socket - socket.close, read device - io.read_zero, read pipe - io.pipe_write_read, close pipe - fd.close, \
                     write event - io.eventfd_write_read, writev terminal - io.pipe_write_read, fsync directory - dir.fsync, \
                     openat create - file.create, mmap file - mem.mmap_file_munmap, mmap anonymous - mem.mmap_munmap, \
                     ioctl TCGETS - fd.ioctl_enotty, ioctl FIONREAD - fd.ioctl_fionread, fcntl setlkw - fd.fcntl_lock, \
                     fcntl dupfd_cloexec - fd.dup_close, fcntl setfl - fd.fcntl_getfl, epoll_ctl mod - event.epoll_mod, \
                     epoll_ctl add - event.epoll_add_del, clone thread - process.clone_thread, \
                     clone process - process.fork_wait, madvise dontneed - mem.madvise_range, madvise hugepage - mem.madvise, \
                     unlinkat directory - dir.mkdir_rmdir, futex wait_bitset - sync.futex_pingpong, \
                     futex wait_bitset EAGAIN sync.futex_wait_fails, futex requeue - sync.futex_wake, openat - - file.open_close, \
                     unlinkat - - file.unlink, ioctl - - fd.ioctl_fionread, clone3 - - process.clone_thread, \
                     newfstatat - - file.stat, openat - ENOENT file.open_absent, execve - ENOENT file.open_absent, \
                     statx - ENOTDIR file.stat_absent, close - EBADF fd.close_bad, openat - EACCES file.open_close";

#[test]
fn each_class_has_the_operation_that_is_most_like_it() {
    use DescriptorKind::{Device, Directory, Event, File, Pipe, Socket, Terminal};
    let kinds = [File, Directory, Pipe, Socket, Terminal, Device, Event];
    for row in FIRST.split(", ") {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [call, what, errno, expected] = words[..] else {
            panic!("{row}")
        };
        let mut class = Class {
            operation: Some(what.to_string()).filter(|what| what != "-"),
            ..Class::default()
        };
        let kind = kinds
            .into_iter()
            .find(|kind| format!("{kind:?}").to_lowercase() == what);
        if kind.is_some() && !matches!(call, "mmap" | "unlinkat") {
            class = Class {
                descriptor: kind,
                ..Class::default()
            };
        }
        let mut units = units_of(call, &class, Some(errno).filter(|errno| *errno != "-"));
        assert_eq!(
            units.next().and_then(|unit| unit.operations().next()),
            Some(expected),
            "{row}"
        );
    }
    assert!(units_of("keyctl", &Class::default(), None).next().is_none());
}

#[test]
fn every_call_is_known() {
    const ELSEWHERE: [&str; 3] = ["recv", "send", "waitpid"];
    let names = UNITS
        .iter()
        .map(|unit| unit.calls)
        .chain([CREATION])
        .flat_map(str::split_whitespace);
    let unknown: Vec<&str> = names
        .filter(|name| !is_known(name) && !ELSEWHERE.contains(name))
        .collect();
    assert!(
        unknown.is_empty(),
        "only other architectures have {ELSEWHERE:?}: {unknown:?}"
    );
}
