//! Inputs out of others: the same ones for the same seed.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const WORDS: [&str; 36] = [
    "0",
    "-1",
    "1e308",
    "-0.0",
    "NaN",
    "inf",
    "18446744073709551615",
    "9223372036854775808",
    "4294967296",
    "1e-320",
    "null",
    "true",
    "{}",
    "[]",
    "[[",
    "\"\"",
    "\\u0000",
    "\u{1b}[31m",
    "\u{202e}",
    "\u{fffd}",
    "\n",
    "\r",
    "\t",
    "\0",
    " ",
    "/",
    "..",
    "x1",
    "x?",
    "{size}",
    "x{n}",
    ": ",
    "= ",
    "(",
    ")",
    "error ",
];

/// Longer inputs are cut: what is found in them is found in shorter ones.
const LONGEST: usize = 64 << 10;

pub struct Mutator {
    random: ChaCha8Rng,
}

impl Mutator {
    pub fn new(seed: u64) -> Mutator {
        Mutator {
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// One of `seeds`, changed in one place or several.
    pub fn next(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..1 << self.below(4) {
            let other = &seeds[self.below(seeds.len())];
            self.change(&mut bytes, other);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let (from, to) = self.range(bytes.len());
        match self.below(9) {
            0 => self.flip(bytes),
            1 => drop(bytes.drain(from..to)),
            2 => repeat(bytes, from, to),
            3 => insert(bytes, from, WORDS[self.below(WORDS.len())].as_bytes()),
            4 => {
                let (start, end) = self.range(other.len());
                insert(bytes, from, &other[start..end]);
            }
            5 => bytes.truncate(from),
            6 => self.number(bytes),
            7 => drop(bytes.splice(
                from..to.min(from + 4),
                self.random.random::<u32>().to_le_bytes(),
            )),
            _ => self.line(bytes),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            self.random.random_range(0..end)
        }
    }

    fn range(&mut self, length: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 16 };
        (from, (from + self.below(most + 1)).min(length))
    }

    fn flip(&mut self, bytes: &mut [u8]) {
        let (at, bit) = (self.below(bytes.len()), self.below(8));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }

    fn number(&mut self, bytes: &mut Vec<u8>) {
        let start = self.below(bytes.len());
        let Some(at) = bytes[start..]
            .iter()
            .position(u8::is_ascii_digit)
            .map(|at| start + at)
        else {
            return;
        };
        let count = bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        bytes.splice(at..at + count, WORDS[self.below(10)].bytes());
    }

    fn line(&mut self, bytes: &mut Vec<u8>) {
        let place = self.below(bytes.len());
        let from = bytes[..place]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let to = bytes[place..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(bytes.len(), |at| place + at + 1);
        if self.below(2) == 0 {
            repeat(bytes, from, to)
        } else {
            drop(bytes.drain(from..to))
        }
    }
}

fn repeat(bytes: &mut Vec<u8>, from: usize, to: usize) {
    let copy = bytes[from..to].to_vec();
    insert(bytes, to, &copy);
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}
