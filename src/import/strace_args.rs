//! The arguments of a call as strace prints them, and the class that they tell. `import::strace_log` calls it.

use crate::model::{Class, DescriptorKind, power_below};
use crate::trace::classes::{Drives, depth, drives};

/// The arguments, apart at commas that stand in no string and no bracket.
pub fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut level, mut string, mut escaped) = (0, 0i32, false, false);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            _ if string => {}
            b'(' | b'[' | b'{' => level += 1,
            b')' | b']' | b'}' => level -= 1,
            b',' if level <= 0 => {
                parts.push(text[begin..i].trim());
                begin = i + 1;
            }
            _ => {}
        }
    }
    let last = text[begin..].trim();
    parts.extend((!last.is_empty()).then_some(last));
    parts
}

/// The class of a call with these arguments; its size is that of `returned` where bytes are moved, which the caller adds.
pub fn class(name: &str, arguments: &[&str], returned: Option<i64>) -> Class {
    let at = |position: u8| arguments.get(usize::from(position)).copied();
    let mut class = Class::default();
    match drives(name) {
        Some(Drives::Bytes { descriptor } | Drives::Descriptor { argument: descriptor }) => {
            class.descriptor = at(descriptor).and_then(descriptor_kind);
        }
        Some(Drives::Path { argument }) => class.depth = at(argument).and_then(path).map(|path| depth(path.as_bytes())),
        Some(Drives::Length { argument }) => class.size = at(argument).and_then(number).map(power_below),
        Some(Drives::Futex { argument }) => class.operation = at(argument).map(futex),
        Some(Drives::Set { argument }) => {
            let whole = matches!(name, "select" | "pselect6" | "_newselect");
            class.set = at(argument).and_then(number).map(|n| if whole { n } else { power_below(n) });
        }
        None => {}
    }
    if name.starts_with("getdents") && returned.is_some() {
        class.descriptor = Some(DescriptorKind::Directory);
    }
    class
}

/// The text between quotes; what strace escapes counts as other characters do.
fn path(argument: &str) -> Option<&str> {
    argument.strip_prefix('"')?.split('"').next()
}

fn number(argument: &str) -> Option<u64> {
    match argument.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => argument.parse().ok(),
    }
}

/// `wait` of `FUTEX_WAIT_PRIVATE` and of `FUTEX_WAIT|FUTEX_CLOCK_REALTIME`.
fn futex(argument: &str) -> String {
    let name = argument.split('|').next().unwrap_or(argument);
    let name = name.trim().trim_start_matches("FUTEX_").trim_end_matches("_PRIVATE").to_lowercase();
    let known = crate::trace::classes::FUTEX.contains(&name.as_str());
    if known { name } else { "unknown".to_string() }
}

/// What `strace -y` writes behind a descriptor: `3</etc/passwd>`, `4<pipe:[17]>`; -1 is none.
fn descriptor_kind(argument: &str) -> Option<DescriptorKind> {
    let Some((_, rest)) = argument.split_once('<') else {
        return (argument == "-1").then_some(DescriptorKind::None);
    };
    let target = rest.strip_suffix('>').unwrap_or(rest);
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| target.starts_with(prefix));
    Some(match () {
        () if begins(&["pipe:"]) => DescriptorKind::Pipe,
        () if begins(&["socket:", "TCP", "UDP", "UNIX", "NETLINK"]) => DescriptorKind::Socket,
        () if begins(&["anon_inode:"]) => DescriptorKind::Event,
        () if begins(&["/dev/pts/", "/dev/tty"]) => DescriptorKind::Terminal,
        // strace -yy tells the device's number behind it: a path in /dev alone may be a file.
        () if begins(&["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]) => DescriptorKind::Device,
        () if target.starts_with('/') && !target.starts_with("/dev/") => DescriptorKind::File,
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_outside_of_strings_and_brackets() {
        let text = r#"3, "a, \"b\" (c", {x=1, y=[2, 3]}, 0666"#;
        assert_eq!(split(text), ["3", r#""a, \"b\" (c""#, "{x=1, y=[2, 3]}", "0666"]);
        assert_eq!(split(""), Vec::<&str>::new());
    }

    #[test]
    fn arguments_tell_the_class() {
        assert_eq!(class("openat", &["AT_FDCWD", "\"/etc/ld.so.cache\""], Some(3)).depth, Some(2));
        assert_eq!(class("mmap", &["NULL", "39047"], Some(0)).size, Some(32768));
        assert_eq!(
            class("futex", &["0x1", "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME"], None).operation.unwrap(),
            "wait_bitset"
        );
        assert_eq!(class("poll", &["[{fd=1}]", "5"], None).set, Some(4));
        assert_eq!(class("select", &["5"], None).set, Some(5));
        assert_eq!(class("read", &["4<pipe:[17]>"], None).descriptor, Some(DescriptorKind::Pipe));
        assert_eq!(class("close", &["3"], None), Class::default());
    }
}
