//! Files of other programs, recognised by their beginning so that the message about one names it.

/// What a file of each looks like, and what it is. The first that holds wins.
const KNOWN: [(fn(&str) -> bool, &str); 13] = [
    (
        |text| text.starts_with("PERFILE2"),
        "a recording of 'perf record'",
    ),
    (|text| text.starts_with("\u{7f}ELF"), "a program"),
    (
        |text| text.starts_with("\u{1f}"),
        "compressed: unpack it first",
    ),
    (|text| text.starts_with("SYSCALL(args)"), "output of dtruss"),
    (|text| has(text, " ms): "), "output of 'perf trace'"),
    (
        |text| has(text, "Summary of events:"),
        "output of 'perf trace -s'",
    ),
    (
        |text| has(text, "Performance counter stats for"),
        "output of 'perf stat'",
    ),
    (
        |text| has(text, "Time (mean ± ") || has(text, "\"mean\":"),
        "output of hyperfine",
    ),
    (
        |text| has(text, " CALL  ") || has(text, " RET   "),
        "output of kdump",
    ),
    (
        |text| text.starts_with("Attaching ") || has(text, "\n@["),
        "output of bpftrace",
    ),
    (|text| text.trim_start().starts_with('<'), "HTML or XML"),
    (
        |text| {
            text.lines()
                .next()
                .is_some_and(|line| line.contains(',') && !line.contains(' '))
        },
        "CSV",
    ),
    (
        |text| text.trim_start().starts_with(char::is_alphanumeric),
        "text of an unknown format",
    ),
];

const FIRST_BYTES: usize = 1 << 14;

fn has(text: &str, words: &str) -> bool {
    text.contains(words)
}

/// `looks like output of hyperfine, which ...`: what to do instead; `None` for one of ours, or binary data.
pub fn described(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(FIRST_BYTES)]);
    if text.contains("\"syscost.") {
        return None;
    }
    let (_, what) = KNOWN.iter().find(|(is_it, _)| is_it(&text))?;
    let instead = match *what {
        "output of hyperfine" => "time the commands with 'syscost race -o FILE'",
        "HTML or XML" | "CSV" => "name the JSON file that it was made from",
        _ => "record the program with 'syscost trace -o FILE' or 'strace -f -T -ttt -o FILE'",
    };
    Some(format!("looks like {what}, which is not read: {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_are_named() {
        for (text, expected) in [
            (
                "     0.043 ( 0.012 ms): ls/4242 openat(dfd: CWD, filename: 0x1) = 3\n",
                "'perf trace'",
            ),
            (
                "SYSCALL(args) \t\t = return\nopen(\".\\0\", 0x0, 0x1)\t\t = 3 0\n",
                "dtruss",
            ),
            (
                "Benchmark 1: sleep 0.1\n  Time (mean ± σ):     101.9 ms\n",
                "hyperfine, which is not read: time",
            ),
            (
                "{\"results\": [{\"command\": \"true\", \"mean\": 0.1}]}",
                "hyperfine",
            ),
            ("PERFILE2\u{0}h", "'perf record', which is not read: record"),
            ("call,calls\nread,3\n", "CSV, which is not read: name"),
        ] {
            let found = described(text.as_bytes()).unwrap();
            assert!(found.contains(expected), "{text}: {found}");
        }
        assert!(described(b"hello world\n").is_some());
        assert_eq!(
            described(b"{\"schema\": \"syscost.result/1\", \"mean\": }"),
            None
        );
    }
}
