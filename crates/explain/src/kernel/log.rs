//! The emulator's log of what it executes, as addresses of instructions in order. Pure.
//!
//! qemu (`log exec,nochain`, one instruction a block) writes a line before it executes a block:
//!
//! ```text
//! Trace 0: 0x7f00d6ab9fc0 [0000000000000000/ffffffff81c00eb0/0040c2b0/ff020201] entry_SYSCALL_64
//! Stopped execution of TB chain before 0x7f00d6ac0180 [ffffffff81a026ac]
//! cpu_io_recompile: rewound execution of TB to ffffffff8106aa02
//! ```
//!
//! The second and the third take the block before them back: it did not run, or runs again.

use super::emulator::Sink;

pub struct Log {
    addresses: Vec<u64>,
    most: usize,
    overflow: bool,
}

impl Log {
    pub fn new(most: usize) -> Log {
        Log {
            addresses: Vec::new(),
            most,
            overflow: false,
        }
    }

    pub fn addresses(self) -> Option<Vec<u64>> {
        (!self.overflow).then_some(self.addresses)
    }
}

impl Sink for Log {
    fn line(&mut self, line: &str) {
        match Line::read(line) {
            Some(Line::Executes(address)) if self.addresses.len() < self.most => {
                self.addresses.push(address);
            }
            Some(Line::Executes(_)) => self.overflow = true,
            Some(Line::TakesBack(address)) if self.addresses.last() == Some(&address) => {
                self.addresses.pop();
            }
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line {
    Executes(u64),
    TakesBack(u64),
}

impl Line {
    pub fn read(line: &str) -> Option<Line> {
        if line.starts_with("Trace ") {
            let address = line.split_once('[')?.1.split('/').nth(1)?;
            return hexadecimal(address).map(Line::Executes);
        }
        if let Some(rest) = line.strip_prefix("Stopped execution of TB chain before ") {
            let (address, _) = rest.split_once('[')?.1.split_once(']')?;
            return hexadecimal(address).map(Line::TakesBack);
        }
        let address = line.strip_prefix("cpu_io_recompile: rewound execution of TB to ")?;
        hexadecimal(address.trim()).map(Line::TakesBack)
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str], most: usize) -> Option<Vec<u64>> {
        let mut log = Log::new(most);
        lines.iter().for_each(|line| log.line(line));
        log.addresses()
    }

    const A: &str =
        "Trace 0: 0x7f00d6ab9fc0 [0000000000000000/ffffffff81c00eb0/0040c2b0/ff020201] ";
    const B: &str = "Trace 0: 0x7f00d6aba100 [0000000000000000/ffffffff81c00eb3/0040c2b0/ff020201] entry_SYSCALL_64";

    #[test]
    fn each_trace_line_is_an_instruction() {
        let other = "Linking TBs 0x7f00d6ab9fc0 [ffffffff81c00eb0] index 0 -> 0x7f00d6aba100 [ffffffff81c00eb3]";
        assert_eq!(
            read(
                &[
                    A,
                    other,
                    B,
                    "",
                    "Trace",
                    "Trace 0: x [1",
                    "Trace 0: x [1/g/"
                ],
                9
            )
            .unwrap(),
            [0xffff_ffff_81c0_0eb0, 0xffff_ffff_81c0_0eb3]
        );
    }

    #[test]
    fn what_did_not_run_or_runs_again_is_taken_back() {
        let stopped = "Stopped execution of TB chain before 0x7f00d6aba100 [ffffffff81c00eb3] ";
        assert_eq!(read(&[A, B, stopped], 9).unwrap().len(), 1);
        let rewound = "cpu_io_recompile: rewound execution of TB to ffffffff81c00eb3";
        assert_eq!(read(&[A, B, rewound, B], 9).unwrap().len(), 2);
        assert_eq!(read(&[A, rewound], 9).unwrap().len(), 1, "another block");
    }

    #[test]
    fn more_than_fits_is_no_recording() {
        assert_eq!(read(&[A, B], 1), None);
    }
}
