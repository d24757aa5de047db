//! The status file of a process or task (proc_pid_status(5)).

use super::proc_stat;
use std::path::Path;
use std::str::FromStr;

pub struct Status(pub(super) String);

impl Status {
    /// `self` or the ID of a process or thread; without fields if it has ended.
    pub fn of_task(id: impl std::fmt::Display) -> Status {
        Status::read(format!("/proc/{id}/status")).unwrap_or(Status(String::new()))
    }

    /// `None` if it cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Option<Status> {
        proc_stat::read(path).ok().map(Status)
    }

    /// The text of a field, by its whole name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    }

    /// The first number of a field, without its unit.
    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.numbers(name).next()
    }

    /// `Uid` has four, and `NSpid` one for each PID namespace.
    pub fn numbers<T: FromStr>(&self, name: &str) -> impl DoubleEndedIterator<Item = T> {
        self.field(name)
            .unwrap_or_default()
            .split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let status =
            Status("Name:\tUid:\nUid:\t1 2\t3\nVmHWM:\t  12 kB\nNSpid:\t812\t4\n".to_string());
        assert_eq!(
            (
                status.field("Name"),
                status.field("Ui"),
                status.field("Gid")
            ),
            (Some("Uid:"), None, None)
        );
        assert_eq!(
            (
                status.numbers("Uid").collect::<Vec<u32>>(),
                status.number("VmHWM")
            ),
            (vec![1, 2, 3], Some(12))
        );
        assert_eq!(
            (
                status.numbers("NSpid").next_back(),
                status.number::<u32>("Name")
            ),
            (Some(4), None)
        );
    }

    /// The kernel writes names as they are.
    #[test]
    fn a_process_whose_name_is_no_text_has_a_status() {
        let mut named = std::process::Command::new("sh");
        named.args(["-c", "printf '\\377' > /proc/self/comm; kill -STOP $$"]);
        let mut named = named.spawn().unwrap();
        while !Status::of_task(named.id())
            .field("State")
            .is_some_and(|state| state.starts_with('T'))
        {
            std::thread::yield_now();
        }
        let actual = (
            Status::of_task(named.id()).number("Tgid"),
            proc_stat::text(named.id()).is_empty(),
        );
        named.kill().and_then(|()| named.wait()).unwrap();
        assert_eq!(actual, (Some(named.id()), false));
    }
}
