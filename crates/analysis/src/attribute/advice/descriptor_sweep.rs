//! Calls on descriptors that are not open, one after the other.

use super::caller::Rule;
use super::failures::failing;

pub static RULE: Rule = Rule {
    name: "descriptor-sweep",
    least: 0.01,
    phrase: "{calls} on descriptors that are not open",
    change: "close_range closes or marks all of them at once; /proc/self/fd lists the open ones",
    find: |caller| failing(caller, "EBADF").into_iter().collect(),
};
