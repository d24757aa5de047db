//! Where file systems are mounted: lines of proc_pid_mountinfo(5).

use std::collections::BTreeMap;
use sys::proc_stat;

#[derive(Debug, PartialEq)]
pub struct Mount<'a> {
    pub id: &'a str,
    pub device: u32,
    pub root: String,
    pub place: String,
    pub kind: &'a str,
}

pub fn read() -> String {
    proc_stat::read("/proc/self/mountinfo").unwrap_or_default()
}

pub fn mount(line: &str) -> Option<Mount<'_>> {
    const MINOR_BITS: u32 = 20;
    let mut words = line.split_ascii_whitespace();
    let id = words.next()?;
    let (major, minor) = words.nth(1)?.split_once(':')?;
    let device = major.parse::<u32>().ok()? << MINOR_BITS | minor.parse::<u32>().ok()?;
    let (root, place) = (plain(words.next()?), plain(words.next()?));
    // After a number of optional fields.
    let kind = words.skip_while(|word| *word != "-").nth(1)?;
    Some(Mount {
        id,
        device,
        root,
        place,
        kind,
    })
}

/// Some characters are three octal digits after a backslash.
fn plain(word: &str) -> String {
    let mut parts = word.split('\\');
    let mut text = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
        {
            Some(byte) => text.extend(std::iter::once(byte).chain(part.bytes().skip(3))),
            None => text.extend(std::iter::once(b'\\').chain(part.bytes())),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Where each device is mounted from its root; of several places, the first.
pub fn by_device(text: &str) -> BTreeMap<u32, String> {
    let whole = text
        .lines()
        .filter_map(mount)
        .filter(|mount| mount.root == "/");
    whole
        .map(|mount| (mount.device, mount.place.trim_end_matches('/').to_string()))
        .rev()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_have_a_device_a_root_and_a_place() {
        let found =
            mount("24 22 8:1 /part /a\\040b rw,noatime shared:1 master:2 - ext4 /dev/sda1 rw")
                .unwrap();
        let (root, place) = ("/part".to_string(), "/a b".to_string());
        assert_eq!(
            found,
            Mount {
                id: "24",
                device: 8 << 20 | 1,
                root,
                place,
                kind: "ext4"
            }
        );
        assert_eq!(
            ["", "24 22", "24 22 8 / /", "24 22 8:1 / / rw"].map(mount),
            [const { None }; 4]
        );
    }

    /// Each character once: what is left of a backslash begins no other one.
    #[test]
    fn all_characters_that_are_written_by_number_come_back() {
        let words = [
            ("\\040\\011\\012\\134\\043", " \t\n\\#"),
            ("\\134040", "\\040"),
            ("a\\", "a\\"),
            ("\\9b\\400", "\\9b\\400"),
        ];
        for (word, text) in words {
            assert_eq!(plain(word), text);
        }
    }

    #[test]
    fn a_device_is_where_its_root_is_mounted_first() {
        let text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /a\\040b rw - tmpfs t rw\n\
                    24 22 8:1 / /again rw - ext4 x rw\n25 22 0:6 /part /c rw - tmpfs t rw\nbroken";
        assert_eq!(
            by_device(text),
            BTreeMap::from([(8 << 20 | 1, String::new()), (5, "/a b".to_string())])
        );
    }
}
