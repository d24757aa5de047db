//! Places of mounted file systems: lines of proc_pid_mountinfo(5).

use std::collections::BTreeMap;
use sys::proc_stat;

#[derive(Debug, PartialEq)]
pub struct Mount<'a> {
    pub id: &'a str,
    pub device: u32,
    pub root: String,
    pub place: String,
    pub kind: &'a str,
    /// The options of the file system, not those of the mount.
    pub options: &'a str,
}

/// One a line; empty without /proc.
pub fn read() -> String {
    proc_stat::read("/proc/self/mountinfo").unwrap_or_default()
}

/// `None` if malformed.
pub fn mount(line: &str) -> Option<Mount<'_>> {
    const MINOR_BITS: u32 = 20;
    let mut words = line.split_ascii_whitespace();
    let id = words.next()?;
    let (major, minor) = words.nth(1)?.split_once(':')?;
    // As the kernel's dev_t, not as user space packs it: the programs read it from the super block.
    let device = major.parse::<u32>().ok()? << MINOR_BITS | minor.parse::<u32>().ok()?;
    let (root, place) = (plain(words.next()?), plain(words.next()?));
    // After a number of optional fields.
    let mut words = words.skip_while(|word| *word != "-").skip(1);
    let (kind, options) = (words.next()?, words.nth(1).unwrap_or_default());
    Some(Mount {
        id,
        device,
        root,
        place,
        kind,
        options,
    })
}

/// A path as it is: the kernel writes blanks and backslashes as three octal digits after a backslash.
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

/// The mounts of each device's file systems, in the order of mountinfo.
#[derive(Debug, Default)]
pub struct Mounts(BTreeMap<u32, Vec<(String, String)>>);

impl Mounts {
    pub fn read() -> Mounts {
        Mounts::parse(&read())
    }

    fn parse(text: &str) -> Mounts {
        let mut places: BTreeMap<u32, Vec<(String, String)>> = BTreeMap::new();
        for mount in text.lines().filter_map(mount) {
            let [root, place] =
                [mount.root, mount.place].map(|path| path.trim_end_matches('/').to_string());
            places.entry(mount.device).or_default().push((root, place));
        }
        Mounts(places)
    }

    /// The path at which a file of a file system is visible here: below the mount with the shortest root, the first one if several are as
    /// short. Returns `in_file_system` if no mount shows the file.
    pub fn path(&self, device: u32, in_file_system: &str) -> String {
        let places = self.0.get(&device).into_iter().flatten();
        let seen = places
            .filter_map(|(root, place)| {
                let below = in_file_system.strip_prefix(root.as_str())?;
                let is_inside = below.is_empty() || below.starts_with('/');
                is_inside.then_some((root.len(), place, below))
            })
            .min_by_key(|(root_length, ..)| *root_length);
        let path = seen.map_or_else(
            || in_file_system.to_string(),
            |(_, place, below)| format!("{place}{below}"),
        );
        match path.trim_end_matches('/') {
            "" => "/".to_string(),
            path => path.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_have_a_device_a_root_and_a_place() {
        let actual =
            mount("24 22 8:1 /part /a\\040b rw,noatime shared:1 master:2 - ext4 /dev/sda1 rw")
                .unwrap();
        let (root, place) = ("/part".to_string(), "/a b".to_string());
        assert_eq!(
            actual,
            Mount {
                id: "24",
                device: 8 << 20 | 1,
                root,
                place,
                kind: "ext4",
                options: "rw"
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
    fn a_file_is_below_the_mount_that_shows_most_of_its_file_system() {
        let text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /a\\040b rw - tmpfs t rw\n\
                    24 22 8:1 /home /again rw - ext4 x rw\n25 22 0:6 /part/c / rw - tmpfs t rw\n\
                    26 22 0:6 /part /d rw - tmpfs t rw\n27 22 0:7 /e / rw - tmpfs t rw\nbroken";
        let mounts = Mounts::parse(text);
        for (device, path, seen) in [
            (8 << 20 | 1, "/home/x", "/home/x"),
            (8 << 20 | 1, "/", "/"),
            (5, "/", "/a b"),
            (5, "/x", "/a b/x"),
            (6, "/part/c/x", "/d/c/x"),
            (6, "/particle", "/particle"),
            (7, "/e", "/"),
            (7, "/e/x", "/x"),
            (9, "/x", "/x"),
        ] {
            assert_eq!(mounts.path(device, path), seen);
        }
    }
}
