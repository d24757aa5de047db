//! Instructions of arm64 that do not go on to the next one, as in Arm's Architecture Reference Manual for A-profile, C4.1 (branches,
//! exception generating and system instructions).

use super::{Kind, Step};

/// Bits that are looked at, their value, what the instruction does, and where its displacement in words is: lowest bit and width,
/// or a width of 0 if a register or the system says where it goes.
type Row = (u32, u32, Kind, (u32, u32));

const TABLE: &[Row] = &[
    (0xfc00_0000, 0x1400_0000, Kind::Jump, (0, 26)), // b
    (0xfc00_0000, 0x9400_0000, Kind::Call, (0, 26)), // bl
    (0xff00_0000, 0x5400_0000, Kind::Branch, (5, 19)), // b.cond, bc.cond
    (0x7e00_0000, 0x3400_0000, Kind::Branch, (5, 19)), // cbz, cbnz
    (0x7e00_0000, 0x3600_0000, Kind::Branch, (5, 14)), // tbz, tbnz
    (0xfee0_0000, 0xd600_0000, Kind::Jump, (0, 0)),  // br, braa, brab
    (0xfee0_0000, 0xd620_0000, Kind::Call, (0, 0)),  // blr, blraa, blrab
    (0xfee0_0000, 0xd640_0000, Kind::Return, (0, 0)), // ret, retaa, retab
    (0xfee0_0000, 0xd680_0000, Kind::Return, (0, 0)), // eret, eretaa, eretab
    (0xffe0_001f, 0xd400_0001, Kind::Call, (0, 0)),  // svc
];

pub fn step(bytes: &[u8], address: u64) -> Option<Step> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let (kind, field) = TABLE
        .iter()
        .find(|(mask, value, ..)| word & mask == *value)
        .map_or((Kind::Next, (0, 0)), |(_, _, kind, field)| (*kind, *field));
    Some(Step {
        kind,
        next: address.wrapping_add(4),
        target: target(word, address, field),
    })
}

fn target(word: u32, address: u64, field: (u32, u32)) -> Option<u64> {
    let (lowest, width) = field;

    if width == 0 {
        return None;
    }
    // The field's highest bit is its sign: it goes to the top, and back.
    let above = 32_u32.checked_sub(lowest + width)?;
    let words = (word << above).cast_signed() >> (32 - width);
    Some(address.wrapping_add_signed(i64::from(words) * 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_as_an_assembler_writes_them() {
        const AT: u64 = 0x1_0000;
        for (word, kind, target) in [
            (0x1400_0002_u32, Kind::Jump, Some(AT + 8)),  // b .+8
            (0x17ff_ffff, Kind::Jump, Some(AT - 4)),      // b .-4
            (0x9400_0400, Kind::Call, Some(AT + 0x1000)), // bl .+0x1000
            (0x5400_0041, Kind::Branch, Some(AT + 8)),    // b.ne .+8
            (0xb4ff_ffe0, Kind::Branch, Some(AT - 4)),    // cbz x0, .-4
            (0x3500_0043, Kind::Branch, Some(AT + 8)),    // cbnz w3, .+8
            (0x3607_ffe0, Kind::Branch, Some(AT - 4)),    // tbz w0, #0, .-4
            (0xb740_0040, Kind::Branch, Some(AT + 8)),    // tbnz x0, #40, .+8
            (0xd61f_0200, Kind::Jump, None),              // br x16
            (0xd63f_0020, Kind::Call, None),              // blr x1
            (0xd65f_03c0, Kind::Return, None),            // ret
            (0xd65f_0bff, Kind::Return, None),            // retaa
            (0xd69f_03e0, Kind::Return, None),            // eret
            (0xd400_0001, Kind::Call, None),              // svc #0
            (0xd400_0002, Kind::Next, None),              // hvc #0
            (0xd503_201f, Kind::Next, None),              // nop
            (0xf100_0421, Kind::Next, None),              // subs x1, x1, #1
        ] {
            let expected = Step {
                kind,
                next: AT + 4,
                target,
            };
            assert_eq!(step(&word.to_le_bytes(), AT), Some(expected), "{word:#x}");
        }
        assert_eq!(step(&[0x1f, 0x20, 0x03], AT), None, "no whole instruction");
    }
}
