//! The reason why a call is blocked, by the call and the kind of its descriptor alone: a read of a file waits for the disk, but
//! also for another process that holds the inode's lock.

use super::units::bare_name;
use model::{Class, DescriptorKind};
use schemars::JsonSchema;
use serde::Serialize;

/// The reason why a call is blocked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Files and directories: the device, or the file system's own locks.
    Disk,
    Socket,
    Pipe,
    Terminal,
    /// A futex or a lock on a file: other threads.
    Lock,
    /// A pause that the program asked for.
    Timer,
    /// The end of a child, or its execve.
    Children,
    /// Any of a set of descriptors, or a signal.
    Events,
    /// None of these: memory, devices, the end of a process.
    #[default]
    Other,
}

/// `None` means that the kind of the descriptor decides. A call that is not listed waits for `Other`.
const TABLE: &[(Option<Reason>, &str)] = &[
    (
        None,
        "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 getdents getdents64 sendfile \
         sendfile64 splice tee vmsplice copy_file_range close ioctl fstat lseek",
    ),
    (
        Some(Reason::Socket),
        "recvfrom sendto recvmsg sendmsg recv send recvmmsg sendmmsg accept accept4 connect shutdown",
    ),
    (
        Some(Reason::Disk),
        "fsync fdatasync sync syncfs msync sync_file_range open openat openat2 creat statx access \
         faccessat faccessat2 readlink readlinkat unlink unlinkat mkdir mkdirat rmdir rename \
         renameat renameat2 link linkat symlink symlinkat chmod fchmod fchmodat fchmodat2 chown \
         lchown fchown fchownat truncate ftruncate fallocate utimensat utime utimes getxattr \
         lgetxattr fgetxattr setxattr statfs fstatfs mknod mknodat chdir execve execveat readahead \
         fadvise64 stat lstat newfstatat stat64 lstat64 fstatat64 oldstat oldlstat",
    ),
    (
        Some(Reason::Lock),
        "futex futex_time64 futex_waitv flock fcntl fcntl64 semop semtimedop",
    ),
    (
        Some(Reason::Timer),
        "nanosleep clock_nanosleep clock_nanosleep_time64",
    ),
    (
        Some(Reason::Children),
        "wait4 waitid waitpid vfork fork clone clone3",
    ),
    (
        Some(Reason::Events),
        "poll ppoll ppoll_time64 select pselect6 _newselect epoll_wait epoll_pwait epoll_pwait2 \
         io_getevents io_pgetevents io_uring_enter rt_sigtimedwait rt_sigsuspend sigsuspend pause",
    ),
    (
        Some(Reason::Pipe),
        "mq_timedreceive mq_timedsend msgrcv msgsnd",
    ),
];

/// Operations that end when a device has answered, so they price the whole time of a call and not its CPU time alone.
const WAITING_OPERATIONS: &[&str] = &["io.fsync", "io.fdatasync", "dir.fsync"];

impl Reason {
    /// The reason by the call's name or, for calls that work on all kinds, by its descriptor.
    pub fn from_call(call: &str, class: &Class) -> Reason {
        let name = bare_name(call);
        let row = TABLE
            .iter()
            .find(|(_, calls)| calls.split_whitespace().any(|call| call == name));
        let known = row.and_then(|(reason, _)| match (reason, class.descriptor) {
            // An open of a FIFO.
            (Some(Reason::Disk), Some(DescriptorKind::Pipe)) => Some(Reason::Pipe),
            (None, descriptor) => descriptor.and_then(by_descriptor),
            (reason, _) => *reason,
        });
        known.unwrap_or(Reason::Other)
    }
}

fn by_descriptor(kind: DescriptorKind) -> Option<Reason> {
    Some(match kind {
        DescriptorKind::File | DescriptorKind::Directory => Reason::Disk,
        DescriptorKind::Pipe => Reason::Pipe,
        DescriptorKind::Socket => Reason::Socket,
        DescriptorKind::Terminal => Reason::Terminal,
        DescriptorKind::Event => Reason::Events,
        DescriptorKind::Device | DescriptorKind::None => return None,
    })
}

/// Whether the operation waits for a device, so that its cost is no CPU time.
pub fn waits(operation: &str) -> bool {
    WAITING_OPERATIONS.contains(&operation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::syscall_names::is_known;

    #[test]
    fn every_call_is_known_and_listed_once() {
        let mut names: Vec<&str> = TABLE
            .iter()
            .flat_map(|(_, calls)| calls.split_whitespace())
            .collect();
        assert_eq!(names.iter().find(|name| !is_known(name)), None);
        names.sort_unstable();
        let twice: Vec<&[&str]> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn the_reason_follows_from_call_and_descriptor() {
        for (call, descriptor, reason) in [
            ("read", Some(DescriptorKind::Pipe), Reason::Pipe),
            ("read", Some(DescriptorKind::File), Reason::Disk),
            ("write(i386)", Some(DescriptorKind::Socket), Reason::Socket),
            ("read", None, Reason::Other),
            ("openat", None, Reason::Disk),
            ("openat", Some(DescriptorKind::Pipe), Reason::Pipe),
            ("fdatasync", Some(DescriptorKind::File), Reason::Disk),
            ("keyctl", None, Reason::Other),
        ] {
            let class = Class {
                descriptor,
                ..Class::default()
            };
            assert_eq!(Reason::from_call(call, &class), reason, "{call}");
        }
    }
}
