//! Where file systems are mounted, as this process sees it.

use std::collections::BTreeMap;

/// A place for each device that is mounted from its root. Devices are numbered as inside the kernel.
pub type Mounts = BTreeMap<u32, String>;

/// Those of now; none where /proc does not tell.
pub fn read() -> Mounts {
    parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// Lines of proc_pid_mountinfo(5): the third to fifth words are the device, the root of the mount and its place.
fn parse(text: &str) -> Mounts {
    const MINOR_BITS: u32 = 20;
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(2);
        let (major, minor) = words.next()?.split_once(':')?;
        let device = major.parse::<u32>().ok()? << MINOR_BITS | minor.parse::<u32>().ok()?;
        let is_whole = words.next()? == "/";
        let place = words.next()?.replace("\\040", " ");
        is_whole.then(|| (device, place.trim_end_matches('/').to_string()))
    };
    // Of several places, the first.
    text.lines().filter_map(line).rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_where_its_root_is_mounted_first() {
        let text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /a\\040b rw - tmpfs t rw\n\
                    24 22 8:1 / /again rw - ext4 x rw\n25 22 0:6 /part /c rw - tmpfs t rw\nbroken";
        assert_eq!(parse(text), Mounts::from([(8 << 20 | 1, String::new()), (5, "/a b".to_string())]));
    }
}
