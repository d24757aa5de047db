//! Reads the bytes of a file, up to a limit. Independent of JSON; `store::read` calls it.

use super::error::Problem;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Most bytes in a file. A run of 120 cases with 1,500 samples each has 2 MB.
pub const MAX_BYTES: u64 = 1 << 30;

/// All bytes of `path` (`-`: standard input).
///
/// # Errors
/// If it cannot be read or has more than `limit` bytes.
pub fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Problem> {
    if path == Path::new("-") {
        return limited(io::stdin().lock(), 0, limit);
    }
    let file = File::open(path).map_err(problem)?;
    let facts = file.metadata().map_err(problem)?;
    if facts.is_dir() {
        return Err(Problem::Directory);
    }
    limited(file, facts.len(), limit)
}

/// Reads to the end. `expected` is the size from the file system: 0 for a pipe, and a file may still grow.
fn limited(source: impl Read, expected: u64, limit: u64) -> Result<Vec<u8>, Problem> {
    if expected > limit {
        return Err(Problem::TooLarge(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    source.take(limit + 1).read_to_end(&mut bytes).map_err(problem)?;
    match bytes.len() as u64 > limit {
        true => Err(Problem::TooLarge(limit)),
        false => Ok(bytes),
    }
}

fn problem(error: io::Error) -> Problem {
    match error.kind() {
        ErrorKind::NotFound => Problem::Missing,
        ErrorKind::PermissionDenied => Problem::Denied,
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
        assert!(matches!(limited(&b"12345"[..], 0, 4), Err(Problem::TooLarge(4))));
        assert!(matches!(limited(&b""[..], 5, 4), Err(Problem::TooLarge(4))));
    }
}
