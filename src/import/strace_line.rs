//! Parts of lines that strace and perf trace share: headers, names of calls, returned values.

/// The first words of a table's header.
const HEADER: [&str; 3] = ["%", "time", "seconds"];

/// Whether this is the first line of a table.
pub fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    words == HEADER
}

/// `32 bit` of `[ Process PID=21618 runs in 32 bit mode. ]`; 64-bit mode is the default.
pub fn other_mode(line: &str) -> Option<&str> {
    let mode = line.trim().strip_prefix("[ Process PID=")?.strip_suffix(" mode. ]")?.split_once(" runs in ")?.1;
    Some(mode)
}

/// A system call's name; strace prints `syscall_0x1ff` for calls without one.
pub fn call_name(text: &str) -> Option<String> {
    let named = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (named && begins && text.len() <= 64).then(|| text.to_string())
}

/// A returned value. Addresses in the upper half wrap to negative numbers.
pub fn number_of(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|value| value as i64),
        None => text.parse().ok(),
    }
}
