//! What the arguments of a call tell at its entry: its class, and whether it makes processes share descriptors.
//! Arguments that are addresses are read from the tracee's memory. Used by `tree`.

use super::descriptors::Descriptors;
use crate::kernel::linux;
use crate::kernel::syscall_stop::Call;
use crate::kernel::tracee::read_page;
use crate::model::{DescriptorKind, Drives, depth};

/// The relevant flags of clone(2).
const CLONE_FILES: u64 = linux::CLONE_FILES as u64;
const CLONE_THREAD: u64 = linux::CLONE_THREAD as u64;

/// Whether a call starts a process that shares descriptors with its parent.
pub fn shares_descriptors(tid: i32, name: &str, call: &Call) -> bool {
    let mut word = [0u8; 8];
    let flags = match name.starts_with("clone3") {
        true if read_page(tid, call.arguments[0], &mut word).is_ok() => u64::from_ne_bytes(word),
        true => CLONE_FILES,
        false => call.arguments[0],
    };
    flags & CLONE_FILES != 0 && flags & CLONE_THREAD == 0
}

/// The class of a call, as far as its entry tells: the kind of its descriptor, and what else drives its cost.
pub fn measure(
    drives: Option<Drives>,
    tid: i32,
    call: &Call,
    descriptors: &mut Descriptors,
) -> (Option<DescriptorKind>, Option<u64>) {
    let value = |argument: u8| call.arguments.get(usize::from(argument)).copied().unwrap_or(0);
    match drives {
        Some(Drives::Bytes { descriptor: argument } | Drives::Descriptor { argument }) => {
            (Some(descriptors.kind(tid, value(argument) as i32)), None)
        }
        Some(Drives::Path { argument }) => (None, names_at(tid, value(argument))),
        Some(drives @ (Drives::Length { argument } | Drives::Set { argument })) => {
            (None, Some(drives.rounded(value(argument))))
        }
        None => (None, None),
    }
}

/// How many names the path at `address` has; `None` if it cannot be read.
fn names_at(tid: i32, address: u64) -> Option<u64> {
    let mut path = [0u8; 4096];
    let mut length = 0;
    while length < path.len() {
        let read =
            read_page(tid, address.wrapping_add(length as u64), &mut path[length..]).ok().filter(|read| *read > 0)?;
        let new = &path[length..length + read];
        if let Some(end) = new.iter().position(|byte| *byte == 0) {
            return Some(depth(&path[..length + end]));
        }
        length += read;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_tracee() {
        let pid = std::process::id().cast_signed();
        let path = c"/usr/lib/x";
        assert_eq!(names_at(pid, path.as_ptr() as u64), Some(3));
        assert_eq!(names_at(pid, 0), None);
    }

    #[test]
    fn only_processes_that_share_descriptors_count_as_sharing() {
        let clone = |flags| Call { architecture: 0, number: 0, arguments: [flags, 0, 0, 0, 0, 0] };
        assert!(shares_descriptors(0, "clone", &clone(CLONE_FILES)));
        assert!(!shares_descriptors(0, "clone", &clone(CLONE_FILES | CLONE_THREAD)));
        assert!(!shares_descriptors(0, "clone", &clone(17)));
    }
}
