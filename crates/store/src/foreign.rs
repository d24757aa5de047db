//! Files of other programs, recognised by their beginning so that the message about one names it.

/// A pattern at the beginning of each format, and the name of the format. The first match wins.
const BEGINNINGS: [(&str, &str); 5] = [
    ("PERFILE2", "a recording of 'perf record'"),
    ("\u{7f}ELF", "a program"),
    ("SYSCALL(args)", "output of dtruss"),
    ("Attaching ", "output of bpftrace"),
    ("<", "HTML or XML"),
];
const PARTS: [(&str, &str); 9] = [
    ("* gVisor *", GVISOR),
    (" ms): ", PERF_TRACE),
    ("# Samples: ", "output of 'perf report'"),
    (" syscalls:sys_enter_", "output of 'perf script'"),
    ("Performance counter stats for", "output of 'perf stat'"),
    ("Time (mean ± ", HYPERFINE),
    ("\"mean\":", HYPERFINE),
    (" CALL  ", "output of kdump"),
    ("\n@[", "output of bpftrace"),
];
const GVISOR: &str = "a log of gVisor without system calls";
const HYPERFINE: &str = "output of hyperfine";
const PERF_TRACE: &str = "output of 'perf trace'";
const TABLE: &str = "CSV";
const TEXT: &str = "text of an unknown format";

const FIRST_BYTES: usize = 1 << 14;

/// `looks like output of hyperfine, which is not read: ...`; `None` for syscost's own files, and for binary data.
pub fn described(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(FIRST_BYTES)]);
    if text.contains("\"syscost.") {
        return None;
    }
    let what = kind(text.trim_start())?;
    let instead = match what {
        HYPERFINE => "time the commands with 'syscost race -o FILE'",
        PERF_TRACE => {
            "trace with 'perf trace -s', whose tables are read, or with 'syscost trace -o FILE'"
        }
        GVISOR => "log with 'runsc --strace', and read the file whose name ends in .boot.txt",
        TABLE => "name the JSON file that it was made from",
        _ => "record the program with 'syscost trace -o FILE' or 'strace -f -T -ttt -o FILE'",
    };
    Some(format!("looks like {what}, which is not read: {instead}"))
}

fn kind(text: &str) -> Option<&'static str> {
    let known = BEGINNINGS
        .iter()
        .find(|(begin, _)| text.starts_with(begin))
        .or_else(|| PARTS.iter().find(|(part, _)| text.contains(part)));
    let first = text.lines().next()?;
    match known {
        Some((_, what)) => Some(what),
        None if !first.starts_with(char::is_alphanumeric) => None,
        None if first.contains(',') && !first.contains(' ') => Some(TABLE),
        None => Some(TEXT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_are_named() {
        for (text, expected) in [
            (
                "     0.043 ( 0.012 ms): ls/4242 openat(dfd: CWD, filename: 0x1) = 3\n",
                "'perf trace', which is not read: trace with 'perf trace -s', whose tables are read",
            ),
            (
                "# Total Lost Samples: 0\n#\n# Samples: 842  of event 'cpu-clock:ppp'\n",
                "'perf report', which is not read: record the program with 'syscost trace -o FILE'",
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
            (
                "I1130 08:38:12.643461   32 cli.go:210] ******** gVisor ********\n",
                "without system calls, which is not read: log with 'runsc --strace'",
            ),
            ("PERFILE2\u{0}h", "'perf record', which is not read: record"),
            ("call,calls\nread,3\n", "CSV, which is not read: name"),
        ] {
            let actual = described(text.as_bytes()).unwrap();
            assert!(actual.contains(expected), "{text}: {actual}");
        }
        assert!(described(b"hello world\n").is_some());
        assert_eq!(
            described(b"{\"schema\": \"syscost.result/1\", \"mean\": }"),
            None
        );
    }
}
