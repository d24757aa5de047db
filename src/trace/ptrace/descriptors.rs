//! A cache of the kinds of a process's descriptors.
//!
//! Looking one up takes microseconds (stat(2) of /proc/PID/fd/N). The cache is cleared at every call that is not known
//! to leave descriptors alone, so a call that is missing from the list costs time, not correctness. Used by `tree`.

use crate::model::DescriptorKind;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

/// What a call does to the descriptors of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    /// Closes its first argument.
    Closes,
    /// Returns a new one.
    Opens,
    /// May change any descriptor.
    Unknown,
}

/// Calls that do not change which descriptors are open.
const LEAVE_ALONE: &str = "\
    read write pread64 pwrite64 readv writev preadv pwritev lseek _llseek fstat fstat64 stat stat64 lstat \
    lstat64 newfstatat fstatat64 statx access faccessat faccessat2 readlink readlinkat getdents getdents64 poll \
    ppoll select pselect6 epoll_wait epoll_pwait epoll_ctl recvfrom sendto sendmsg getsockopt setsockopt mmap \
    mmap2 munmap mprotect madvise mremap brk futex futex_time64 getpid gettid getppid getuid geteuid getgid \
    getegid umask clock_gettime clock_nanosleep nanosleep gettimeofday time rt_sigaction rt_sigprocmask \
    rt_sigreturn sched_yield fsync fdatasync ftruncate unlink unlinkat rename mkdir chdir wait4 getrandom uname";
/// Calls that return a new descriptor.
const OPEN: &str = "\
    open openat openat2 creat dup socket accept accept4 epoll_create epoll_create1 eventfd eventfd2 \
    timerfd_create memfd_create inotify_init inotify_init1 pidfd_open";

/// What the call `name` does to descriptors.
pub fn effect(name: &str) -> Effect {
    let is_in = |list: &str| list.split_whitespace().any(|listed| listed == name);
    match name {
        "close" => Effect::Closes,
        _ if is_in(LEAVE_ALONE) => Effect::None,
        _ if is_in(OPEN) => Effect::Opens,
        _ => Effect::Unknown,
    }
}

#[derive(Debug, Default)]
pub struct Descriptors(HashMap<i32, DescriptorKind>);

impl Descriptors {
    /// The kind of `descriptor` of the stopped process `pid`.
    pub fn kind(&mut self, pid: i32, descriptor: i32) -> DescriptorKind {
        if descriptor < 0 {
            return DescriptorKind::None;
        }
        if let Some(known) = self.0.get(&descriptor) {
            return *known;
        }
        let kind = look_up(pid, descriptor);
        // A closed one may be opened by the next call.
        if kind != DescriptorKind::None {
            self.0.insert(descriptor, kind);
        }
        kind
    }

    /// Updates the cache for a call: its effect, its descriptor argument, and its result, if it did not fail.
    pub fn note(&mut self, effect: Effect, argument: i32, result: Option<i64>) {
        match effect {
            Effect::None => {}
            Effect::Closes => drop(self.0.remove(&argument)),
            Effect::Opens => {
                if let Some(opened) = result.and_then(|result| i32::try_from(result).ok()) {
                    self.0.remove(&opened);
                }
            }
            Effect::Unknown => self.0.clear(),
        }
    }
}

fn look_up(pid: i32, descriptor: i32) -> DescriptorKind {
    // Through /proc, this is the file itself, whatever its name is by now.
    match std::fs::metadata(format!("/proc/{pid}/fd/{descriptor}")) {
        Ok(facts) => kind_of(facts.mode(), facts.rdev()),
        Err(_) => DescriptorKind::None,
    }
}

/// Majors of terminals (Documentation/admin-guide/devices.txt): consoles, serial lines, pseudo-terminals.
const TERMINALS: [std::ops::RangeInclusive<u32>; 2] = [4..=5, 136..=143];

/// The major number as Linux encodes it (linux/kdev_t.h); other systems differ, and nothing is traced there.
fn major(device: u64) -> u32 {
    (device >> 8 & 0xfff | device >> 32 & !0xfff) as u32
}

fn kind_of(mode: u32, device: u64) -> DescriptorKind {
    match mode as libc::mode_t & libc::S_IFMT {
        libc::S_IFREG => DescriptorKind::File,
        libc::S_IFDIR => DescriptorKind::Directory,
        libc::S_IFIFO => DescriptorKind::Pipe,
        libc::S_IFSOCK => DescriptorKind::Socket,
        libc::S_IFCHR if TERMINALS.iter().any(|majors| majors.contains(&major(device))) => DescriptorKind::Terminal,
        libc::S_IFCHR | libc::S_IFBLK => DescriptorKind::Device,
        // eventfd and the like have no type.
        _ => DescriptorKind::Event,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn kinds_of_our_own_descriptors() {
        let pid = std::process::id().cast_signed();
        let kind = |file: &dyn AsRawFd| Descriptors::default().kind(pid, file.as_raw_fd());
        let (reader, _writer) = std::io::pipe().unwrap();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(kind(&tempfile::tempfile().unwrap()), DescriptorKind::File);
        assert_eq!(kind(&std::fs::File::open("/").unwrap()), DescriptorKind::Directory);
        assert_eq!(kind(&std::fs::File::open("/dev/null").unwrap()), DescriptorKind::Device);
        assert_eq!((kind(&reader), kind(&socket)), (DescriptorKind::Pipe, DescriptorKind::Socket));
        assert_eq!(kind_of(libc::S_IFCHR, libc::makedev(136, 3)), DescriptorKind::Terminal);
        assert_eq!(kind_of(0, 0), DescriptorKind::Event);
        assert_eq!(Descriptors::default().kind(pid, -1), DescriptorKind::None);
    }

    #[test]
    fn what_a_call_may_have_changed_is_forgotten() {
        let known = || Descriptors(HashMap::from([(3, DescriptorKind::File), (4, DescriptorKind::Pipe)]));
        let after = |name: &str, argument, result| {
            let mut descriptors = known();
            descriptors.note(effect(name), argument, result);
            let mut left: Vec<i32> = descriptors.0.into_keys().collect();
            left.sort_unstable();
            left
        };
        assert_eq!(after("read", 3, Some(1)), [3, 4]);
        assert_eq!(after("close", 3, Some(0)), [4]);
        assert_eq!(after("openat", -100, Some(4)), [3]);
        assert_eq!(after("openat", -100, None), [3, 4]);
        assert_eq!(after("dup2", 3, Some(4)), Vec::<i32>::new());
    }
}
