//! Where control goes after an instruction, from its bytes. Pure.

mod arm64;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};
use std::collections::BTreeMap;

/// The effect of an instruction on the flow of control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub kind: Kind,
    pub next: u64,
    /// The address of a taken branch: its own if it repeats. `None` if its bytes do not contain it.
    pub target: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// To the next one, or to itself if it repeats.
    Next,
    Branch,
    Jump,
    Call,
    Return,
}

pub struct Code64 {
    pieces: BTreeMap<u64, Vec<u8>>,
    read: fn(&[u8], u64) -> Option<Step>,
}

const LONGEST: usize = 15;

impl Code64 {
    pub fn of(machine: &str) -> Code64 {
        Code64 {
            pieces: BTreeMap::new(),
            read: if machine == "aarch64" {
                arm64::step
            } else {
                x86_step
            },
        }
    }

    pub fn add(&mut self, address: u64, bytes: Vec<u8>) {
        self.pieces.insert(address, bytes);
    }

    /// `None` if the bytes there are not known or are no instruction.
    pub fn step(&self, address: u64) -> Option<Step> {
        let (start, bytes) = self.pieces.range(..=address).next_back()?;
        (self.read)(
            bytes.get(usize::try_from(address - start).ok()?..)?,
            address,
        )
    }
}

fn x86_step(bytes: &[u8], address: u64) -> Option<Step> {
    let decoded = Decoder::with_ip(
        64,
        &bytes[..bytes.len().min(LONGEST)],
        address,
        DecoderOptions::NONE,
    )
    .decode();
    if decoded.is_invalid() {
        return None;
    }
    let repeats =
        decoded.is_string_instruction() && (decoded.has_rep_prefix() || decoded.has_repne_prefix());
    let target = if repeats {
        decoded.ip()
    } else {
        decoded.near_branch_target()
    };
    Some(Step {
        kind: kind(&decoded),
        next: decoded.next_ip(),
        target: (target > 0).then_some(target),
    })
}

fn kind(decoded: &Instruction) -> Kind {
    match decoded.flow_control() {
        _ if matches!(
            decoded.code(),
            Code::Sysretd | Code::Sysretq | Code::Sysexitd | Code::Sysexitq
        ) =>
        {
            Kind::Return
        }
        FlowControl::Next | FlowControl::XbeginXabortXend | FlowControl::Exception => Kind::Next,
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => Kind::Jump,
        FlowControl::ConditionalBranch => Kind::Branch,
        FlowControl::Return => Kind::Return,
        FlowControl::Call | FlowControl::IndirectCall | FlowControl::Interrupt => Kind::Call,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(bytes: &[u8]) -> Kind {
        let mut code = Code64::of("x86_64");
        code.add(0x1000, bytes.to_vec());
        code.step(0x1000).unwrap().kind
    }

    #[test]
    fn instructions_of_entry_and_exit() {
        for (bytes, kind) in [
            (&[0x0f, 0x05][..], Kind::Call),     // syscall
            (&[0xcd, 0x80], Kind::Call),         // int 0x80
            (&[0x48, 0x0f, 0x07], Kind::Return), // sysretq
            (&[0x48, 0xcf], Kind::Return),       // iretq
            (&[0xc3], Kind::Return),             // ret
            (&[0xff, 0xe0], Kind::Jump),         // jmp rax
            (&[0xff, 0xd0], Kind::Call),         // call rax
            (&[0x74, 0x10], Kind::Branch),       // je
            (&[0xf3, 0x48, 0xab], Kind::Next),   // rep stosq
            (&[0x0f, 0x0b], Kind::Next),         // ud2
            (&[0x0f, 0x01, 0xf8], Kind::Next),   // swapgs
        ] {
            assert_eq!(kind_of(bytes), kind, "{bytes:x?}");
        }
    }

    #[test]
    fn targets_and_gaps() {
        let mut code = Code64::of("x86_64");
        code.add(0x1000, vec![0xe8, 0xfb, 0x0f, 0, 0]);
        assert_eq!(
            code.step(0x1000),
            Some(Step {
                kind: Kind::Call,
                next: 0x1005,
                target: Some(0x2000)
            })
        );
        assert_eq!(code.step(0x1004), None, "no whole instruction");
        assert_eq!((code.step(0xfff), code.step(0x1005)), (None, None));
    }
}
