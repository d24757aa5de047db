//! Which arguments of a system call determine its cost, for all tracers and imports. Those that select what a call does are in
//! `selector`. Source: the calls' manual pages (section 2). The cost of a call that is not listed hardly depends on its
//! arguments.

/// The properties that determine the cost of a call, as far as its arguments show. A field is absent if it does not apply or is not known.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(default)]
pub struct Class {
    /// Kind of the descriptor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<DescriptorKind>,
    /// Bytes moved or mapped, rounded down to a power of two; 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Names in the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// The operation that an argument selects: `wait` of a futex, `create` for an open with O_CREAT, an ioctl's request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Descriptors in a poll set, rounded down to a power of two; 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<u64>,
}

impl Class {
    pub fn is_unknown(&self) -> bool {
        *self == Class::default()
    }
}

/// The kind of object that a file descriptor refers to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DescriptorKind {
    File,
    Directory,
    Pipe,
    Socket,
    Terminal,
    /// A character or block device other than a terminal.
    Device,
    /// eventfd, timerfd, signalfd, epoll, inotify: inodes without a type.
    Event,
    /// Not open, or -1.
    None,
}

/// 0 for 0.
pub fn power_below(value: u64) -> u64 {
    value.checked_ilog2().map_or(0, |log| 1 << log)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drives {
    /// Bytes returned, through a descriptor.
    Bytes,
    Descriptor,
    Path,
    /// A length in bytes; the result is not a byte count.
    Length,
    /// The number of descriptors in a set.
    Set,
}

use Drives::{Bytes, Descriptor, Length, Path, Set};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The property that drives the cost, the position of its argument (from 0), and the kernel's names on all architectures.
const TABLE: &[(Drives, u8, &str)] = &[
    (
        Bytes,
        0,
        "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 recvfrom sendto recvmsg sendmsg \
         recv send getdents getdents64 sendfile sendfile64 splice tee vmsplice copy_file_range",
    ),
    (
        Descriptor,
        0,
        "close fstat lseek fsync fdatasync ioctl fcntl fcntl64 dup dup2 dup3 ftruncate fchmod fchown fstatfs flock \
         accept accept4 connect bind listen shutdown getsockopt setsockopt getsockname getpeername fchdir fallocate \
         fadvise64 sync_file_range recvmmsg sendmmsg",
    ),
    (
        Path,
        0,
        "open stat stat64 lstat lstat64 access readlink unlink mkdir rmdir rename link symlink chmod chown lchown \
         truncate creat execve chdir statfs statfs64 getxattr lgetxattr setxattr utime utimes mknod",
    ),
    (
        Path,
        1,
        "openat openat2 newfstatat fstatat64 statx faccessat faccessat2 readlinkat unlinkat mkdirat renameat \
         renameat2 linkat fchmodat fchmodat2 fchownat utimensat execveat mknodat inotify_add_watch",
    ),
    (Path, 2, "symlinkat"),
    (
        Length,
        1,
        "mmap mmap2 munmap mremap mprotect madvise msync mlock munlock getrandom",
    ),
    (Set, 1, "poll ppoll ppoll_time64"),
    (Set, 0, "select pselect6 _newselect"),
    (Set, 2, "epoll_wait epoll_pwait epoll_pwait2"),
];

impl Drives {
    /// `number` is the raw argument or result: bytes, names in the path or descriptors in the set.
    pub fn class(self, descriptor: Option<DescriptorKind>, number: Option<u64>) -> Class {
        let mut class = Class {
            descriptor,
            ..Class::default()
        };
        let number = number.map(|number| self.rounded(number));
        match self {
            Bytes | Length => class.size = number,
            Path => class.depth = number,
            Set => class.set = number,
            Descriptor => {}
        }
        class
    }

    /// Sizes and sets are rounded down to a power of two.
    pub fn rounded(self, number: u64) -> u64 {
        match self {
            Bytes | Length | Set => power_below(number),
            Path | Descriptor => number,
        }
    }
}

/// What drives the cost of a call, with the position of its argument; `None` if the cost hardly depends on arguments. `name` must not
/// include a gate such as `(i386)`.
pub fn drives(name: &str) -> Option<(Drives, u8)> {
    static BY_NAME: LazyLock<HashMap<&str, (Drives, u8)>> = LazyLock::new(|| names().collect());
    BY_NAME.get(name).copied()
}

fn names() -> impl Iterator<Item = (&'static str, (Drives, u8))> {
    TABLE.iter().flat_map(|(drives, argument, names)| {
        let names = names.split_whitespace();
        names.map(|name| (name, (*drives, *argument)))
    })
}

/// How many names there are between slashes.
pub fn depth(path: &[u8]) -> u64 {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_name_is_known_and_stands_once() {
        let names: Vec<&str> = names().map(|(name, _)| name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(
            names
                .iter()
                .find(|name| !crate::syscall_names::is_known(name)),
            None
        );
    }

    #[test]
    fn arguments_become_classes() {
        assert_eq!(drives("read"), Some((Bytes, 0)));
        assert_eq!(drives("getpid"), None);
        assert_eq!(drives("futex"), None);
        assert_eq!(
            ["/", "", "a", "/usr//lib/x.so", "./a/"].map(|path| depth(path.as_bytes())),
            [0, 0, 1, 3, 2]
        );
    }

    #[test]
    fn sizes_are_rounded_down_to_powers_of_two() {
        assert_eq!(
            [0, 1, 2, 3, 4096, 5000].map(power_below),
            [0, 1, 2, 2, 4096, 4096]
        );
    }

    #[test]
    fn one_decoder_puts_numbers_into_classes() {
        fn class(name: &str, number: Option<u64>) -> Class {
            drives(name).unwrap().0.class(None, number)
        }

        assert_eq!(class("select", Some(5)).set, Some(4));
        assert_eq!(class("read", None).size, None);
        assert_eq!(class("openat", Some(3)).depth, Some(3));
        assert_eq!(class("close", Some(7)), Class::default());
    }
}
