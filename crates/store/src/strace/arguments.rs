use model::{Class, DescriptorKind, Drives, depth, drives, selector};

/// Without the names of -N; split at commas outside of strings, brackets, and what -y appends to descriptors.
pub fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
    let (mut level, mut last) = (0i32, b' ');
    while let Some(byte) = text.as_bytes().get(at).copied() {
        let rest = &text.as_bytes()[at..];
        at += match byte {
            b'"' => string(rest),
            // An annotation follows a descriptor or AT_FDCWD; `1<<CAP_CHOWN` is a shift.
            b'<' if (last.is_ascii_digit() || last == b'D') && rest.get(1) != Some(&b'<') => {
                annotation(rest)
            }
            b',' if level <= 0 => {
                parts.push(unnamed(&text[begin..at]));
                begin = at + 1;
                1
            }
            _ => {
                level += i32::from(b"([{".contains(&byte)) - i32::from(b")]}".contains(&byte));
                1
            }
        };
        last = byte;
    }
    parts.extend(Some(unnamed(&text[begin..])).filter(|last| !last.is_empty()));
    parts
}

fn string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        at += if *byte == b'\\' { 2 } else { 1 };
        if *byte == b'"' {
            break;
        }
    }
    at.min(text.len())
}

/// The length of `</dev/null<char 1:3>>` or `<TCP:[127.0.0.1:1->127.0.0.1:2]>`.
fn annotation(text: &[u8]) -> usize {
    let mut level = 0;
    let end = (0..text.len()).find(|at| {
        match text[*at] {
            b'<' => level += 1,
            // The arrow between two addresses does not close the annotation.
            b'>' if text[*at - 1] != b'-' => level -= 1,
            _ => {}
        }
        level == 0
    });
    end.map_or(text.len(), |end| end + 1)
}

/// But for the name that strace always prints and `operation` looks for.
fn unnamed(text: &str) -> &str {
    fn is_name(name: &str) -> bool {
        name.bytes()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
    }

    let text = text.trim();
    let named = text
        .split_once('=')
        .filter(|(name, _)| is_name(name) && *name != "flags");
    named.map_or(text, |(_, value)| value)
}

/// `bytes` is what the call moved, if it moves any and that is known.
pub fn class(name: &str, arguments: &[&str], bytes: Option<u64>, returned: bool) -> Class {
    let operation = operation(name, arguments);
    let Some((drives, at)) = drives(name) else {
        return Class {
            operation,
            ..Class::default()
        };
    };
    let argument = arguments.get(usize::from(at)).copied();
    let (descriptor, number) = match drives {
        Drives::Bytes => (argument.and_then(descriptor_kind), bytes),
        Drives::Descriptor => (argument.and_then(descriptor_kind), None),
        Drives::Path => (None, argument.and_then(path).map(|path| depth(&path))),
        Drives::Length | Drives::Set => (None, argument.and_then(number)),
    };
    // Only directories can be listed, even if the log does not show the descriptor.
    let listed = name.starts_with("getdents") && returned;
    let descriptor = if listed {
        Some(DescriptorKind::Directory)
    } else {
        descriptor
    };
    Class {
        operation,
        ..drives.class(descriptor, number)
    }
}

/// strace names the arguments of clone, and orders them in its own way.
fn operation(name: &str, arguments: &[&str]) -> Option<String> {
    let selector = selector(name)?;
    let named = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("flags="));
    let argument = named.or_else(|| arguments.get(usize::from(selector.argument)).copied())?;
    match number(argument) {
        Some(bits) => selector.operation(bits as u32),
        None => selector.operation_of_symbols(argument),
    }
}

/// `None` if the arguments do not show it.
pub fn makes_thread(arguments: &str) -> Option<bool> {
    let flags = arguments
        .split_once("flags=")
        .map(|(_, flags)| flags.split([',', '}']).next().unwrap_or(flags))?;
    // CLONE_THREAD in include/uapi/linux/sched.h, if flags are printed as a number.
    Some(number(flags).map_or(flags.contains("CLONE_THREAD"), |bits| bits & 0x1_0000 != 0))
}

/// The path of a call, and the directory that `strace -y` shows for a relative one. `None` for a call on a descriptor.
pub fn used_path(name: &str, arguments: &[&str]) -> Option<(String, Option<String>)> {
    let Some((Drives::Path, at)) = drives(name) else {
        return None;
    };
    let at = usize::from(at);
    let text = string_in(arguments.get(at)?).filter(|text| !text.is_empty())?;
    let before = at.checked_sub(1).and_then(|before| arguments.get(before));
    let directory = before.and_then(|before| before.split_once('<')?.1.strip_suffix('>'));
    match directory {
        Some(directory) if !text.starts_with('/') => {
            Some((format!("{directory}/{text}"), Some(directory.to_string())))
        }
        _ => Some((text, None)),
    }
}

/// The argument that names the descriptor of a call.
pub fn descriptor<'a>(name: &str, arguments: &[&'a str]) -> Option<&'a str> {
    match drives(name)? {
        (Drives::Bytes | Drives::Descriptor, at) => arguments.get(usize::from(at)).copied(),
        _ => None,
    }
}

/// The object of `3</etc/passwd>`, which `strace -y` shows.
pub fn described(descriptor: &str) -> Option<String> {
    let (_, rest) = descriptor.split_once('<')?;
    Some(String::from_utf8_lossy(&unescaped(rest.strip_suffix('>')?)).into_owned())
}

/// Whether the path is hidden, by -e raw or because it cannot be read.
pub fn is_hidden_path(name: &str, arguments: &[&str]) -> bool {
    let Some((Drives::Path, at)) = drives(name) else {
        return false;
    };
    let path = arguments.get(usize::from(at));
    path.is_some_and(|text| text.starts_with("0x"))
}

/// Its last component, cut to the 15 bytes that the kernel keeps.
pub fn program(arguments: &[&str]) -> Option<String> {
    let path = arguments.iter().find_map(|argument| path(argument))?;
    let name: String = String::from_utf8_lossy(&path)
        .rsplit('/')
        .next()?
        .chars()
        .take(15)
        .collect();
    (!name.is_empty()).then_some(name)
}

/// The text of a string's argument.
pub fn string_in(argument: &str) -> Option<String> {
    path(argument).map(|text| String::from_utf8_lossy(&text).into_owned())
}

fn path(argument: &str) -> Option<Vec<u8>> {
    argument.strip_prefix('"')?;
    argument
        .get(1..string(argument.as_bytes()).saturating_sub(1))
        .map(unescaped)
}

/// The bytes behind `\x2f` (of -x and -xx), `\57`, `\"` and the like.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = if *first == b'\\' { escape(after) } else { None };
        let (byte, length) = escaped.unwrap_or((*first, 0));
        bytes.push(byte);
        rest = &after[length..];
    }
    bytes
}

/// And how long it is, after a backslash.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    fn digits(text: &[u8], most: usize, base: u32) -> Option<(u8, usize)> {
        let length = text
            .iter()
            .take(most)
            .take_while(|byte| char::from(**byte).is_digit(base))
            .count();
        let value = std::str::from_utf8(&text[..length])
            .ok()
            .and_then(|text| u32::from_str_radix(text, base).ok());
        value.map(|value| (value as u8, length))
    }

    match text.first()? {
        b'x' => digits(&text[1..], 2, 16).map(|(byte, length)| (byte, length + 1)),
        b'0'..=b'7' => digits(text, 3, 8),
        other => Some((*other, 1)),
    }
}

/// The number in `0x2000`, `39047` or, of -X verbose, `0x22 /* MAP_PRIVATE|MAP_ANONYMOUS */`.
fn number(argument: &str) -> Option<u64> {
    let word = argument.split(' ').next()?;
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// `3</etc/passwd>`, `4<pipe:[17]>` of `strace -y`; -1 is none.
pub fn descriptor_kind(argument: &str) -> Option<DescriptorKind> {
    let Some((_, rest)) = argument.split_once('<') else {
        return (argument == "-1").then_some(DescriptorKind::None);
    };
    let target = String::from_utf8_lossy(&unescaped(rest)).into_owned();
    if let Some((_, kind)) = KINDS
        .iter()
        .find(|(prefixes, _)| prefixes.iter().any(|prefix| target.starts_with(prefix)))
    {
        return Some(*kind);
    }
    // Only -yy appends the device number: without it, any other path in /dev may be a file.
    if target.contains("<char ") || target.contains("<block ") {
        Some(DescriptorKind::Device)
    } else {
        (target.starts_with('/') && !target.starts_with("/dev/")).then_some(DescriptorKind::File)
    }
}

/// Beginnings of the annotations that strace appends to descriptors.
const KINDS: [(&[&str], DescriptorKind); 5] = [
    (&["pipe:"], DescriptorKind::Pipe),
    (
        &["socket:", "TCP", "UDP", "UNIX", "NETLINK"],
        DescriptorKind::Socket,
    ),
    (
        &["anon_inode:", "signalfd:", "pid:", "{eventfd"],
        DescriptorKind::Event,
    ),
    (&["/dev/pts/", "/dev/tty"], DescriptorKind::Terminal),
    (
        &[
            "/dev/null",
            "/dev/zero",
            "/dev/full",
            "/dev/random",
            "/dev/urandom",
        ],
        DescriptorKind::Device,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_outside_of_strings_brackets_and_annotations() {
        let cases: [(&str, &[&str]); 6] = [
            (
                r#"3, "a, \"b\" (c", {x=1, y=[2, 3]}, 0666"#,
                &["3", r#""a, \"b\" (c""#, "{x=1, y=[2, 3]}", "0666"],
            ),
            ("", &[]),
            ("AT_FDCWD</a, b>, \"c\"", &["AT_FDCWD</a, b>", "\"c\""]),
            (
                "3<TCP:[127.0.0.1:1->[::1]:2]>, 1<<CAP_CHOWN|1<<CAP_KILL, 1",
                &[
                    "3<TCP:[127.0.0.1:1->[::1]:2]>",
                    "1<<CAP_CHOWN|1<<CAP_KILL",
                    "1",
                ],
            ),
            (
                "1</dev/null<char 1:3>>, 2",
                &["1</dev/null<char 1:3>>", "2"],
            ),
            (
                "dirfd=AT_FDCWD, pathname=\"x=y\", flags=O_RDONLY",
                &["AT_FDCWD", "\"x=y\"", "flags=O_RDONLY"],
            ),
        ];
        for (text, parts) in cases {
            assert_eq!(split(text), parts);
        }
    }

    #[test]
    fn the_class_follows_from_the_arguments() {
        fn class_of(name: &str, arguments: &str) -> Class {
            class(name, &split(arguments), None, true)
        }

        let depths = [
            r#"AT_FDCWD, "/etc/ld.so.cache""#,
            r#"AT_FDCWD</x>, "\x2f\x65\x2f\x6c""#,
            r#"dfd=AT_FDCWD, filename="/a/\"b""#,
        ];
        assert!(
            depths
                .iter()
                .all(|text| class_of("openat", text).depth == Some(2))
        );
        assert_eq!(
            (
                class_of("poll", "[{fd=1}], 5").set,
                class_of("select", "5").set
            ),
            (Some(4), Some(4))
        );
        for (text, kind) in [
            ("4<pipe:[17]>", DescriptorKind::Pipe),
            (r"3<\x2f\x61>", DescriptorKind::File),
            ("3</dev/x<char 1:9>>", DescriptorKind::Device),
            ("-1", DescriptorKind::None),
        ] {
            assert_eq!(class_of("read", text).descriptor, Some(kind));
        }
        assert_eq!(class_of("close", "3"), Class::default());
        assert_eq!(
            [
                makes_thread("{flags=0x3d0f00, x=1}"),
                makes_thread("child_stack=0, flags=CLONE_VM|SIGCHLD"),
                makes_thread("0x7ff, 88")
            ],
            [Some(true), Some(false), None]
        );
    }
}
