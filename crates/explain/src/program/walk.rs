//! Which instructions a block of the emulator's consists of. Pure.
//!
//! The log has where blocks begin. A block ends at a branch, and earlier at the end of a page, at some instructions of the system, or
//! where the emulator's budget of instructions was used up: then the next one begins in the middle of what would have been one block,
//! which is seen. A fault in the middle of a block is not: all of it is counted.

use crate::kernel::flow::{Code64, Kind, Step};

/// The emulator makes no longer blocks.
const MOST: usize = 512;

/// The instructions that the block at `block` executed, which was followed by the one at `next`.
pub fn executed(code: &Code64, block: u64, next: u64) -> Vec<u64> {
    let mut all = vec![block];
    let mut step = code.step(block);
    while let Some(at) = step.filter(|step| goes_on(step) && all.len() < MOST) {
        all.push(at.next);
        step = code.step(at.next);
    }
    if step.is_some_and(|last| leads_to(&last, next)) {
        return all;
    }
    let cut = all
        .iter()
        .skip(1)
        .position(|address| *address == next)
        .map_or(all.len(), |at| at + 1);
    all.truncate(cut);
    all
}

fn goes_on(step: &Step) -> bool {
    step.kind == Kind::Next && step.target.is_none()
}

/// Whether the bytes of a block's last instruction name the next block.
fn leads_to(step: &Step, next: u64) -> bool {
    match step.kind {
        Kind::Branch | Kind::Next => step.next == next || step.target == Some(next),
        Kind::Jump | Kind::Call => step.target == Some(next),
        Kind::Return => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// nop; inc eax; jne back to the inc; rep stosq; ret
    fn code() -> Code64 {
        let mut code = Code64::of("x86_64");
        code.add(
            0x1000,
            vec![0x90, 0xff, 0xc0, 0x75, 0xfc, 0xf3, 0x48, 0xab, 0xc3],
        );
        code
    }

    #[test]
    fn a_block_reaches_to_its_branch() {
        assert_eq!(executed(&code(), 0x1000, 0x1005), [0x1000, 0x1001, 0x1003]);
        assert_eq!(
            executed(&code(), 0x1000, 0x1001),
            [0x1000, 0x1001, 0x1003],
            "back into its own middle"
        );
        assert_eq!(
            executed(&code(), 0x1008, 0x9999),
            [0x1008],
            "a return leads anywhere"
        );
        assert_eq!(
            executed(&code(), 0x1000, 0xffff),
            [0x1000, 0x1001, 0x1003],
            "interrupted behind it"
        );
    }

    #[test]
    fn one_that_ended_early_reaches_to_the_next() {
        assert_eq!(executed(&code(), 0x1000, 0x1003), [0x1000, 0x1001]);
        assert_eq!(
            executed(&code(), 0x2000, 0x3000),
            [0x2000],
            "code that is not known"
        );
    }

    #[test]
    fn repeated_instructions_are_blocks_of_their_own() {
        assert_eq!(executed(&code(), 0x1005, 0x1005), [0x1005]);
        assert_eq!(executed(&code(), 0x1005, 0x1008), [0x1005]);
    }
}
