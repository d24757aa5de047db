//! Seeks before reads and writes.

use super::caller::{OPENS, Rule, SEEKS};
use super::repeats::{repeat, repeats};

pub static RULE: Rule = Rule {
    name: "seeks",
    least: 0.05,
    phrase: "{calls}",
    change: "pread and pwrite take an offset and need no seek",
    find: |caller| repeats(caller, &[repeat(SEEKS, &[OPENS, OPENS])], 0.0),
};
