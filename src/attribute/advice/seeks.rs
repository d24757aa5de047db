//! Seeks before reads and writes.

use super::caller::{OPENS, SEEKS};
use super::repeats::{repeat, repeats};
use super::rule::Rule;

pub static RULE: Rule = Rule {
    name: "seeks",
    least: 0.05,
    phrase: "{calls}",
    change: "pread and pwrite take the offset, and need no seek",
    find: |caller| repeats(caller, &RULE, &[repeat(SEEKS, &[OPENS, OPENS])], 0.0),
};
