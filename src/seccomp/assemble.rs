//! Rules to instructions, laid out as libseccomp does unless asked for a search tree: one comparison after another, calls without
//! conditions first (seccomp_attr_set(3), SCMP_FLTATR_CTL_OPTIMIZE), each jump to the action beyond the comparisons. Within these two
//! groups the order is that of the numbers. Numbers of x32 get the default action.

use super::bpf::{
    AND, ARCHITECTURE, IF_EQUAL, IF_GREATER, IF_GREATER_OR_EQUAL, Instruction, JUMP, KILL_THREAD, LOAD, NUMBER, RETURN,
    argument,
};
use super::rules::{Alternatives, Comparison, Condition};
use anyhow::{Result, ensure};
use std::collections::BTreeMap;

/// A jump reaches 255 instructions; a list is cut in blocks of so many.
const BLOCK: usize = 250;
const REACH: usize = 255;
/// The bit of x32 numbers (asm/unistd.h, __X32_SYSCALL_BIT).
const X32: u32 = 0x4000_0000;
const X86_64: u32 = 0xC000_003E;

/// The program for calls by architecture; those of any other kill, as libseccomp has it.
///
/// # Errors
/// If a call has more conditions than a jump can skip.
pub fn program(architectures: &[(u32, BTreeMap<u32, Alternatives>)], default: u32) -> Result<Vec<Instruction>> {
    let mut program = vec![Instruction::plain(LOAD, ARCHITECTURE)];
    for (audit, calls) in architectures {
        let block = block(*audit, calls, default)?;
        program.push(Instruction { code: IF_EQUAL, if_true: 1, if_false: 0, k: *audit });
        program.push(Instruction::plain(JUMP, block.len() as u32));
        program.extend(block);
    }
    program.push(Instruction::plain(RETURN, KILL_THREAD));
    Ok(program)
}

fn block(audit: u32, calls: &BTreeMap<u32, Alternatives>, default: u32) -> Result<Vec<Instruction>> {
    let mut block = vec![Instruction::plain(LOAD, NUMBER)];
    if audit == X86_64 {
        block.push(Instruction { code: IF_GREATER_OR_EQUAL, if_true: 0, if_false: 1, k: X32 });
        block.push(Instruction::plain(RETURN, default));
    }
    let mut plain: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (number, alternatives) in calls {
        if let [(conditions, action)] = &alternatives[..]
            && conditions.is_empty()
        {
            plain.entry(*action).or_default().push(*number);
        }
    }
    // The action of most calls first: in an allow list, those that are allowed.
    let mut groups: Vec<(u32, Vec<u32>)> = plain.into_iter().collect();
    groups.sort_by_key(|(_, numbers)| std::cmp::Reverse(numbers.len()));
    block.extend(groups.iter().flat_map(|(action, numbers)| if_among(numbers, *action)));
    for (number, alternatives) in calls.iter().filter(|(_, alternatives)| !alternatives[0].0.is_empty()) {
        block.extend(looked_at(*number, alternatives, default)?);
    }
    block.push(Instruction::plain(RETURN, default));
    Ok(block)
}

/// The action if what was loaded is among the numbers.
fn if_among(numbers: &[u32], action: u32) -> Vec<Instruction> {
    let one = |numbers: &[u32]| {
        let compare = |(i, number): (usize, &u32)| {
            let to_the_action = (numbers.len() - i) as u8;
            Instruction { code: IF_EQUAL, if_true: to_the_action, if_false: 0, k: *number }
        };
        let compared: Vec<Instruction> = numbers.iter().enumerate().map(compare).collect();
        compared.into_iter().chain([Instruction::plain(JUMP, 1), Instruction::plain(RETURN, action)])
    };
    numbers.chunks(BLOCK).flat_map(one).collect()
}

/// A call whose arguments decide.
fn looked_at(number: u32, alternatives: &Alternatives, default: u32) -> Result<Vec<Instruction>> {
    let mut body: Vec<Instruction> = alternatives.iter().flat_map(|(all, action)| alternative(all, *action)).collect();
    body.push(Instruction::plain(RETURN, default));
    ensure!(body.len() <= REACH, "call {number} has more conditions than a filter's jump can skip");
    let skip = Instruction { code: IF_EQUAL, if_true: 0, if_false: body.len() as u8, k: number };
    Ok(std::iter::once(skip).chain(body).collect())
}

/// Where a jump leads, from within a condition.
#[derive(Clone, Copy)]
enum To {
    Next,
    /// Past the condition: it holds.
    Holds,
    /// Past the action.
    Fails,
}

/// Returns the action if all conditions hold, else goes on after it.
fn alternative(conditions: &[Condition], action: u32) -> Vec<Instruction> {
    let parts: Vec<Vec<(Instruction, To, To)>> = conditions.iter().map(compared).collect();
    let total: usize = parts.iter().map(Vec::len).sum();
    let (mut at, mut end, mut program) = (0, 0, Vec::new());
    for part in parts {
        end += part.len();
        for (instruction, if_true, if_false) in part {
            at += 1;
            let distance = |to| match to {
                To::Next => 0,
                To::Holds => (end - at) as u8,
                To::Fails => (total + 1 - at) as u8,
            };
            program.push(Instruction { if_true: distance(if_true), if_false: distance(if_false), ..instruction });
        }
    }
    program.push(Instruction::plain(RETURN, action));
    program
}

/// A comparison of 64 bits: the upper half decides unless it is equal.
fn compared(condition: &Condition) -> Vec<(Instruction, To, To)> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let holds_if = |yes| if yes { To::Holds } else { To::Fails };
    let turned = matches!(condition.comparison, NotEqual | Less | LessOrEqual);
    let (yes, no) = (holds_if(!turned), holds_if(turned));
    let (upper, lower) = ((condition.value >> 32) as u32, condition.value as u32);
    let half = |is_upper: bool| {
        let mask = if is_upper { (condition.mask >> 32) as u32 } else { condition.mask as u32 };
        let loaded = [Instruction::plain(LOAD, argument(condition.index, is_upper))];
        let masked = (mask != u32::MAX).then(|| Instruction::plain(AND, mask));
        loaded.into_iter().chain(masked).map(|instruction| (instruction, To::Next, To::Next))
    };
    let mut program: Vec<(Instruction, To, To)> = half(true).collect();
    let last = match condition.comparison {
        Equal | NotEqual => IF_EQUAL,
        Greater | LessOrEqual => IF_GREATER,
        GreaterOrEqual | Less => IF_GREATER_OR_EQUAL,
    };
    if last != IF_EQUAL {
        program.push((Instruction::plain(IF_GREATER, upper), yes, To::Next));
    }
    program.push((Instruction::plain(IF_EQUAL, upper), To::Next, no));
    program.extend(half(false));
    program.push((Instruction::plain(last, lower), yes, no));
    program
}
