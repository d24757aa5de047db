//! The arguments of a call as strace prints them, and the class that follows from them. `import::strace_log` calls it.

use crate::model::{Class, DescriptorKind, Drives, Selector, depth, drives, selector};

/// The arguments, split at commas outside strings and brackets.
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

/// The class of a call with these arguments; `bytes` is what it moved, if it moves any and that is known.
pub fn class(name: &str, arguments: &[&str], bytes: Option<u64>, returned: bool) -> Class {
    let at = |position: u8| arguments.get(usize::from(position)).copied();
    let operation = selector(name).and_then(|selector| operation(selector, arguments));
    let Some(drives) = drives(name) else { return Class { operation, ..Class::default() } };
    let (descriptor, number) = match drives {
        Drives::Bytes { descriptor } => (at(descriptor).and_then(descriptor_kind), bytes),
        Drives::Descriptor { argument } => (at(argument).and_then(descriptor_kind), None),
        Drives::Path { argument } => (None, at(argument).and_then(path).map(|path| depth(path.as_bytes()))),
        Drives::Length { argument } | Drives::Set { argument } => (None, at(argument).and_then(number)),
    };
    let listed = name.starts_with("getdents") && returned;
    let descriptor = if listed { Some(DescriptorKind::Directory) } else { descriptor };
    Class { operation, ..drives.class(descriptor, number) }
}

/// What the call's selector selects. strace names the arguments of clone, and orders them in its own way.
fn operation(selector: &Selector, arguments: &[&str]) -> Option<String> {
    let named = arguments.iter().find_map(|argument| argument.strip_prefix("flags="));
    selector.operation_of_symbols(named.or_else(|| arguments.get(usize::from(selector.argument)).copied())?)
}

/// The text between quotes, still escaped.
fn path(argument: &str) -> Option<&str> {
    argument.strip_prefix('"')?.split('"').next()
}

fn number(argument: &str) -> Option<u64> {
    match argument.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => argument.parse().ok(),
    }
}

/// The kind from what `strace -y` appends to a descriptor: `3</etc/passwd>`, `4<pipe:[17]>`; -1 is none.
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
        // Only strace -yy appends the device number: any other path in /dev may be a file.
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
    fn the_class_follows_from_the_arguments() {
        assert_eq!(class("openat", &["AT_FDCWD", "\"/etc/ld.so.cache\""], None, true).depth, Some(2));
        assert_eq!(class("mmap", &["NULL", "39047"], None, true).size, Some(32768));
        assert_eq!(
            class("futex", &["0x1", "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME"], None, true).operation.unwrap(),
            "wait_bitset"
        );
        assert_eq!(class("poll", &["[{fd=1}]", "5"], None, true).set, Some(4));
        assert_eq!(class("select", &["5"], None, true).set, Some(4));
        assert_eq!(class("read", &["4<pipe:[17]>"], None, true).descriptor, Some(DescriptorKind::Pipe));
        assert_eq!(class("close", &["3"], None, true), Class::default());
    }
}
