//! Maps with values of 64-bit words: what programs and we share.

use super::sys::{self, MapSpec, MapType};
use anyhow::{Context, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A map whose lengths are known here, so that nothing too short is ever passed to the kernel.
pub struct Map {
    fd: OwnedFd,
    name: String,
    key_size: usize,
    /// Bytes that a lookup fills: of all processors together.
    filled: usize,
}

impl Map {
    /// # Errors
    /// What the kernel refuses.
    pub fn create(spec: &MapSpec) -> Result<Map> {
        let fd = sys::create_map(spec).with_context(|| format!("the kernel refuses BPF map '{}'", spec.name))?;
        let copies = if spec.kind == MapType::PerCpuArray { possible_cpus()? } else { 1 };
        let filled = spec.value_size as usize * copies;
        Ok(Map { fd, name: spec.name.to_string(), key_size: spec.key_size as usize, filled })
    }

    /// For instructions that name the map.
    pub fn fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// The value of `key` as words; of all processors, one after the other, where each has its own.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn read(&self, key: &[u8]) -> Result<Option<Vec<u64>>> {
        self.check(key, None)?;
        let mut value = vec![0; self.filled];
        let found = sys::lookup(self.fd.as_fd(), key, &mut value).with_context(|| self.failed("read"))?;
        Ok(found.then(|| words(&value)))
    }

    /// # Errors
    /// What the kernel refuses.
    pub fn write(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check(key, Some(value))?;
        sys::update(self.fd.as_fd(), key, value).with_context(|| self.failed("written"))
    }

    /// Writes the value of a key that has none; false, and nothing written, where it has one or what the key
    /// names has ended.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.check(key, Some(value))?;
        sys::insert(self.fd.as_fd(), key, value).with_context(|| self.failed("written"))
    }

    /// Writes zero as the value of `key`.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn zero(&self, key: &[u8]) -> Result<()> {
        self.write(key, &vec![0; self.filled])
    }

    /// All keys with their values, in the kernel's order. Nothing may write to the map meanwhile.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn entries(&self) -> Result<Vec<(Vec<u8>, Vec<u64>)>> {
        let mut entries: Vec<(Vec<u8>, Vec<u64>)> = Vec::new();
        let mut key = vec![0; self.key_size];
        while sys::next_key(self.fd.as_fd(), entries.last().map(|(key, _)| key.as_slice()), &mut key)
            .with_context(|| self.failed("listed"))?
        {
            let value = self.read(&key)?.with_context(|| self.failed("read: it changes meanwhile"))?;
            entries.push((key.clone(), value));
        }
        Ok(entries)
    }

    /// Takes everything out of a hash.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn clear(&self) -> Result<()> {
        for (key, _) in self.entries()? {
            sys::delete(self.fd.as_fd(), &key).with_context(|| self.failed("cleared"))?;
        }
        Ok(())
    }

    fn check(&self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let fits = key.len() == self.key_size && value.is_none_or(|value| value.len() == self.filled);
        anyhow::ensure!(fits, "BPF map '{}' is used with lengths that are not its own", self.name);
        Ok(())
    }

    fn failed(&self, what: &str) -> String {
        format!("BPF map '{}' cannot be {what}", self.name)
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))).collect()
}

/// How many processors the kernel keeps values for: those that could ever be plugged in.
///
/// # Errors
/// A file that cannot be read or says something else than ranges.
pub fn possible_cpus() -> Result<usize> {
    const FILE: &str = "/sys/devices/system/cpu/possible";
    let text = std::fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    count(text.trim()).with_context(|| format!("{FILE} says '{}', which is no list of ranges", text.trim()))
}

/// One more than the highest number in `0-3,8-11`.
fn count(ranges: &str) -> Option<usize> {
    let last = ranges.rsplit([',', '-']).next()?;
    last.parse::<usize>().ok().map(|last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_to_the_highest() {
        assert_eq!(["0", "0-1", "0-3,8-11", "0,2"].map(count), [Some(1), Some(2), Some(12), Some(3)]);
        assert_eq!((count(""), count("all")), (None, None));
    }

    #[test]
    fn words_are_little_endian_whole_or_not() {
        assert_eq!(words(&[1, 0, 0, 0, 0, 0, 0, 1, 7]), [0x0100_0000_0000_0001, 7]);
    }
}
