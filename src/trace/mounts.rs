//! Where file systems are mounted: lines of proc_pid_mountinfo(5). Pure but for reading those of this process.

use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Eq)]
pub struct Mount<'a> {
    pub id: &'a str,
    /// Numbered as inside the kernel.
    pub device: u32,
    /// What of the file system is mounted.
    pub root: String,
    pub place: String,
}

/// The mounts that this process sees, as text; empty where /proc does not show them.
pub fn read() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
}

pub fn mount(line: &str) -> Option<Mount<'_>> {
    const MINOR_BITS: u32 = 20;
    let mut words = line.split_ascii_whitespace();
    let id = words.next()?;
    let (major, minor) = words.nth(1)?.split_once(':')?;
    let device = major.parse::<u32>().ok()? << MINOR_BITS | minor.parse::<u32>().ok()?;
    let plain = |word: &str| word.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\");
    Some(Mount { id, device, root: plain(words.next()?), place: plain(words.next()?) })
}

/// Where each device is mounted from its root; of several places, the first.
pub fn by_device(text: &str) -> BTreeMap<u32, String> {
    let whole = text.lines().filter_map(mount).filter(|mount| mount.root == "/");
    whole.map(|mount| (mount.device, mount.place.trim_end_matches('/').to_string())).rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_have_a_device_a_root_and_a_place() {
        let found = mount("24 22 8:1 /part /a\\040b rw,noatime - ext4 /dev/sda1 rw").unwrap();
        assert_eq!(found, Mount { id: "24", device: 8 << 20 | 1, root: "/part".into(), place: "/a b".into() });
        assert_eq!(["", "24 22", "24 22 8 / /"].map(mount), [None, None, None]);
    }

    #[test]
    fn a_device_is_where_its_root_is_mounted_first() {
        let text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /a\\040b rw - tmpfs t rw\n\
                    24 22 8:1 / /again rw - ext4 x rw\n25 22 0:6 /part /c rw - tmpfs t rw\nbroken";
        assert_eq!(by_device(text), BTreeMap::from([(8 << 20 | 1, String::new()), (5, "/a b".to_string())]));
    }
}
