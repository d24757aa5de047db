use super::error::Problem;
use super::{installed, strace};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// A run of 120 cases with 1,500 samples each has 2 MB.
pub const MAX_BYTES: u64 = 1 << 30;
const FIRST_BYTES: u64 = strace::FIRST_BYTES as u64;

/// Only the first bytes if these are neither JSON nor text, so that a large file of something else is refused at once.
pub fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Problem> {
    if path == Path::new("-") {
        return limited(io::stdin().lock(), 0, limit);
    }
    if let Some(bytes) = installed::file(path) {
        return Ok(bytes.to_vec());
    }
    let file = File::open(path).map_err(problem)?;
    let facts = file.metadata().map_err(problem)?;
    if facts.is_dir() {
        return Err(Problem::Directory);
    }
    limited(file, facts.len(), limit)
}

/// `expected` is the size from the file system: 0 for a pipe, and a file may still grow.
fn limited(source: impl Read, expected: u64, limit: u64) -> Result<Vec<u8>, Problem> {
    if expected > limit {
        return Err(Problem::TooLarge(limit));
    }
    // One byte more than allowed shows that there is too much, without reading all of it.
    let mut source = source.take(limit + 1);
    let mut bytes = Vec::new();
    source
        .by_ref()
        .take(FIRST_BYTES)
        .read_to_end(&mut bytes)
        .map_err(problem)?;
    if let Some(encoding) = encoding(&bytes) {
        return Err(Problem::Other(encoding.into()));
    }
    if !may_begin_json(&bytes) && !strace::begins(&bytes) && !is_text(&bytes) {
        return Ok(bytes);
    }
    bytes.reserve_exact(
        usize::try_from(expected)
            .unwrap_or(0)
            .saturating_sub(bytes.len()),
    );
    source.read_to_end(&mut bytes).map_err(problem)?;
    if bytes.len() as u64 > limit {
        Err(Problem::TooLarge(limit))
    } else {
        Ok(bytes)
    }
}

/// As editors and shells of Windows write text; `None` for UTF-8 without a mark.
fn encoding(first: &[u8]) -> Option<&'static str> {
    match first {
        [0xef, 0xbb, 0xbf, ..] => {
            Some("begins with a byte order mark (BOM): remove its first three bytes (tail -c +4)")
        }
        // Zero bytes between ASCII characters are UTF-16 without a mark.
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [1..=127, 0, 1..=127, 0, ..] => {
            Some("is UTF-16 text: convert it with 'iconv -f UTF-16 -t UTF-8'")
        }
        _ => None,
    }
}

/// Files of ours are objects; other JSON is read whole as well, because cut off it would be called truncated, and not foreign.
fn may_begin_json(first: &[u8]) -> bool {
    first
        .trim_ascii_start()
        .first()
        .is_some_and(|byte| byte.is_ascii_digit() || b"{[\"-tfn".contains(byte))
}

/// The table of `strace -c` comes after all that the program printed.
fn is_text(first: &[u8]) -> bool {
    first.contains(&b'\n') && !first.contains(&0)
}

fn problem(error: io::Error) -> Problem {
    match error.kind() {
        ErrorKind::NotFound => Problem::Other("no such file: check its name".into()),
        ErrorKind::PermissionDenied => Problem::Other(
            "cannot be opened (permission denied): ask its owner for access, or copy it where you may read it".into(),
        ),
        ErrorKind::IsADirectory => Problem::Directory,
        _ => Problem::Read(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_may_have_as_many_bytes_as_the_limit_and_no_more() {
        assert_eq!(limited(&b"1234"[..], 0, 4).unwrap(), b"1234");
        assert_eq!(limited(&b" {\"a\": 1}"[..], 0, 9).unwrap(), b" {\"a\": 1}");
        assert!(matches!(
            limited(&b"12345"[..], 0, 4),
            Err(Problem::TooLarge(4))
        ));
        assert!(matches!(limited(&b""[..], 5, 4), Err(Problem::TooLarge(4))));
    }

    #[test]
    fn what_cannot_be_json_is_read_no_further() {
        fn endless(byte: u8) -> u64 {
            limited(io::repeat(byte), 0, MAX_BYTES).unwrap().len() as u64
        }

        assert_eq!([endless(0), endless(b' '), endless(b'x')], [FIRST_BYTES; 3]);
        assert_eq!(
            limited(io::repeat(b'1').take(3 * FIRST_BYTES), 0, MAX_BYTES)
                .unwrap()
                .len() as u64,
            3 * FIRST_BYTES
        );
    }
}
