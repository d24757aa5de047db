//! A cache of the kinds of the descriptors of all traced processes: looking one up (stat(2) of /proc/PID/fd/N) takes microseconds.
//! It is cleared at every call that is not known to leave descriptors alone, so a call that is missing from the list costs time,
//! not correctness; for all processes, since some share their descriptors.

use model::DescriptorKind;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

/// Calls that change neither which descriptors are open nor the working directory.
const LEAVE_ALONE: &str = "\
    read write pread64 pwrite64 readv writev preadv pwritev lseek _llseek fstat fstat64 stat stat64 lstat \
    lstat64 newfstatat fstatat64 statx access faccessat faccessat2 readlink readlinkat getdents getdents64 poll \
    ppoll select pselect6 epoll_wait epoll_pwait epoll_ctl recvfrom sendto sendmsg getsockopt setsockopt mmap \
    mmap2 munmap mprotect madvise mremap brk futex futex_time64 getpid gettid getppid getuid geteuid getgid \
    getegid umask clock_gettime clock_nanosleep nanosleep gettimeofday time rt_sigaction rt_sigprocmask \
    rt_sigreturn sched_yield fsync fdatasync ftruncate unlink unlinkat rename mkdir wait4 getrandom uname";

pub fn leaves_alone(name: &str) -> bool {
    LEAVE_ALONE.split_whitespace().any(|listed| listed == name)
}

pub type Descriptors = HashMap<(i32, i32), DescriptorKind>;

/// Looked up unless it is known; `thread` is process and thread.
pub fn kind(known: &mut Descriptors, thread: (i32, i32), descriptor: i32) -> DescriptorKind {
    let (process, tid) = thread;

    *known
        .entry((process, descriptor))
        .or_insert_with(|| look_up(tid, descriptor))
}

fn look_up(tid: i32, descriptor: i32) -> DescriptorKind {
    // Through /proc, this is the file itself, whatever its name is by now.
    match std::fs::metadata(format!("/proc/{tid}/fd/{descriptor}")) {
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
        libc::S_IFCHR
            if TERMINALS
                .iter()
                .any(|majors| majors.contains(&major(device))) =>
        {
            DescriptorKind::Terminal
        }
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
        fn kind(file: &dyn AsRawFd) -> DescriptorKind {
            look_up(std::process::id().cast_signed(), file.as_raw_fd())
        }

        fn open(path: &str) -> std::fs::File {
            std::fs::File::open(path).unwrap()
        }

        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let all: [(&dyn AsRawFd, _); 6] = [
            (&tempfile::tempfile().unwrap(), DescriptorKind::File),
            (&open("/"), DescriptorKind::Directory),
            (&open("/dev/null"), DescriptorKind::Device),
            (&std::io::pipe().unwrap().0, DescriptorKind::Pipe),
            (&socket, DescriptorKind::Socket),
            (&-1, DescriptorKind::None),
        ];
        for (file, expected) in all {
            assert_eq!(kind(file), expected);
        }
        let terminal = kind_of(libc::S_IFCHR, libc::makedev(136, 3));
        assert_eq!(terminal, DescriptorKind::Terminal);
        assert_eq!(kind_of(0, 0), DescriptorKind::Event);
    }
}
