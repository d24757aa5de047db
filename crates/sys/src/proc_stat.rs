//! The stat file of a process or task (proc_pid_stat(5)).

use std::path::Path;

/// A stat file's fields after the name, which may contain spaces and parentheses.
pub struct ProcStat<'a>(Vec<&'a str>);

impl<'a> ProcStat<'a> {
    /// `None` if the text has no name in parentheses, as the empty one of a process that has ended.
    pub fn parse(text: &'a str) -> Option<ProcStat<'a>> {
        Some(ProcStat(
            text.rsplit_once(')')?.1.split_ascii_whitespace().collect(),
        ))
    }

    /// As numbered in proc_pid_stat(5), where the state is field 3.
    fn field(&self, number: usize) -> Option<&str> {
        self.0.get(number - 3).copied()
    }

    /// A field as numbered in proc_pid_stat(5), from 3 on; `None` if it is missing or not a number.
    pub fn number(&self, number: usize) -> Option<u64> {
        self.field(number)?.parse().ok()
    }

    /// Such as `R` if it runs and `Z` if it has ended.
    pub fn state(&self) -> Option<&str> {
        self.field(3)
    }

    /// 0 if that is outside of /proc's PID namespace.
    pub fn parent(&self) -> Option<u32> {
        self.field(4)?.parse().ok()
    }
}

/// Empty if it has ended.
pub fn text(pid: u32) -> String {
    read(format!("/proc/{pid}/stat")).unwrap_or_default()
}

/// Names of processes and files need not be UTF-8: other bytes are replaced.
pub fn read(path: impl AsRef<Path>) -> std::io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}

/// The unit of CPU times in /proc, in nanoseconds: usually 10 ms, whatever the kernel's own tick is.
pub fn tick_ns() -> u64 {
    let hertz = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)
        .ok()
        .flatten()
        .unwrap_or(100);
    1_000_000_000 / u64::try_from(hertz).unwrap_or(100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_missing_or_no_number_is_unknown() {
        assert!(ProcStat::parse("").is_none() && ProcStat::parse("7 (a").is_none());
        let short = ProcStat::parse("7 (a) R x").unwrap();
        assert_eq!((short.parent(), short.number(10)), (None, None));
        assert!(
            ProcStat::parse(&text(std::process::id()))
                .unwrap()
                .parent()
                .is_some()
        );
    }
}
