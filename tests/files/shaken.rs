//! Sound files with other numbers and texts in them: whatever a field may hold, without a strategy for each type.

use crate::common::*;
use crate::hostile::files::WORDS;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Fields that are in a file only in the order, or within the bounds, of others: nearly every other number is refused.
const BOUND: [&str; 7] = [
    "launch",
    "iterations",
    "fewer",
    "all",
    "preempted",
    "durations",
    "batches",
];

const WHOLE: [u64; 9] = [
    0,
    1,
    999,
    1_000_000_000,
    1 << 53,
    1 << 62,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];
/// Up to 2^64; the last two are refused.
const FRACTIONS: [f64; 11] = [
    0.0,
    5e-324,
    1e-300,
    1e-9,
    0.5,
    1.0 / 3.0,
    250.0,
    1e15,
    18_446_744_073_709_551_616.0,
    1e300,
    -1.0,
];
const TEXTS: [&str; 5] = [
    "x",
    "\u{1b}[31m\u{202e}\u{0}\r\n",
    "é 日本",
    "a\"b\\c",
    "\u{e0001}<b>=1",
];

pub struct Shaker {
    random: ChaCha8Rng,
}

impl Shaker {
    pub fn new(seed: u64) -> Shaker {
        Shaker {
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// A copy in which one in `rarity` of the numbers and texts is another one.
    pub fn shaken(&mut self, sound: &Value, rarity: u32) -> Value {
        let mut copy = sound.clone();
        self.shake(&mut copy, rarity);
        copy
    }

    fn shake(&mut self, value: &mut Value, rarity: u32) {
        match value {
            Value::Object(fields) => {
                let free = |name: &String| {
                    !WORDS.contains(&name.as_str()) && !BOUND.contains(&name.as_str())
                };
                let fields = fields.iter_mut().filter(|(name, _)| free(name));
                fields.for_each(|(_, field)| self.shake(field, rarity));
            }
            Value::Array(all) => all.iter_mut().for_each(|one| self.shake(one, rarity)),
            Value::Number(own) if self.random.random_ratio(1, rarity) => {
                *value = if own.is_f64() {
                    let refused = if self.random.random_ratio(1, 50) {
                        0
                    } else {
                        2
                    };
                    FRACTIONS[self.random.random_range(0..FRACTIONS.len() - refused)].into()
                } else {
                    WHOLE[self.random.random_range(0..WHOLE.len())].into()
                };
            }
            Value::String(own) if self.random.random_ratio(1, rarity) => {
                *own = TEXTS[self.random.random_range(0..TEXTS.len())].to_string();
            }
            _ => {}
        }
    }
}
