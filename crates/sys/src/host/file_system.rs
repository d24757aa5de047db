//! The file system of a path: its kind, by the kernel's magic number, and its free space.

use std::path::Path;

/// Magic numbers, from `linux/magic.h` and the file systems' sources. ext2 and ext3 share ext4's, and usually its
/// driver; virtiofs shares FUSE's.
const KINDS: &[(u32, &str)] = &[
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x794c_7630, "overlay"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0xf2f5_2010, "f2fs"),
    (0x6573_5546, "fuse"),
    (0x6969, "nfs"),
    (0x0102_1997, "9p"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x517b, "smb"),
    (0x00c3_6400, "ceph"),
    (0x2011_bab0, "exfat"),
    (0x4d44, "vfat"),
    (0x7366_746e, "ntfs3"),
    (0xf15f, "ecryptfs"),
    (0x7371_7368, "squashfs"),
    (0xe0f5_e1e2, "erofs"),
    (0x5265_4973, "reiserfs"),
    (0x3153_464a, "jfs"),
];

/// Such as `ext4`; the magic number in hexadecimal if it is not in the table.
pub fn file_system(path: &Path) -> Option<String> {
    magic(path).map(name)
}

fn magic(path: &Path) -> Option<u32> {
    Some(nix::sys::statfs::statfs(path).ok()?.filesystem_type().0 as u32)
}

pub fn file_system_kind(magic: u64) -> Option<String> {
    u32::try_from(magic).ok().map(name)
}

/// Free space for users other than root.
#[derive(Clone, Copy)]
pub struct Room {
    pub bytes: u64,
    /// `None` if the number of files is not limited, as on btrfs.
    pub files: Option<u64>,
}

/// `None` if it cannot be read.
#[allow(clippy::useless_conversion, reason = "the types differ by system")]
pub fn room(path: &Path) -> Option<Room> {
    let facts = nix::sys::statvfs::statvfs(path).ok()?;
    Some(Room {
        bytes: u64::from(facts.blocks_available()).saturating_mul(u64::from(facts.fragment_size())),
        files: if facts.files() > 0 {
            Some(u64::from(facts.files_available()))
        } else {
            None
        },
    })
}

/// Kernels keep 32 bits in a field that is wider on some systems, and may sign-extend them.
fn name(magic: u32) -> String {
    KINDS
        .iter()
        .find(|(number, _)| *number == magic)
        .map_or_else(|| format!("0x{magic:x}"), |(_, name)| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_and_names_are_unique() {
        let numbers: HashSet<u32> = KINDS.iter().map(|(number, _)| *number).collect();
        let names: HashSet<&str> = KINDS.iter().map(|(_, name)| *name).collect();
        assert_eq!((numbers.len(), names.len()), (KINDS.len(), KINDS.len()));
    }

    #[test]
    fn a_number_that_is_not_known_is_shown() {
        assert_eq!(
            (name(0xef53), name(0xabc)),
            ("ext4".to_string(), "0xabc".to_string())
        );
    }
}
