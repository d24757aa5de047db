//! Processes that commands leave running: they are named once, and left alone or ended. This process adopts them, so it finds them
//! among its own children.

use crate::kernel::process::{adopt_orphans, children, name_of};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::thread::sleep;
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(20);

/// What was left so far.
pub struct Left {
    /// Whether it is ended.
    ends: bool,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Children that no command left, or that have been named.
    known: BTreeSet<i32>,
    /// Those seen once: they may be about to end. By the command's text.
    seen: BTreeMap<i32, String>,
    /// Names of programs by the text of the command that left them.
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Left {
    /// Nothing yet; what is left from now on is ended if `ends`.
    pub fn new(ends: bool) -> Left {
        adopt_orphans();
        let left = Left { ends, state: RefCell::default() };
        left.accept();
        left
    }

    /// Leaves alone what is there now, such as the server that a preparation has started.
    pub fn accept(&self) {
        let mut state = self.state.borrow_mut();
        let new = state.unknown();
        state.known.extend(new);
    }

    /// Reaps what has ended.
    pub fn reap(&self) {
        self.state.borrow().unknown();
    }

    /// Takes note of what the command that has just ended has left.
    pub fn look(&self, command: &str) {
        let mut state = self.state.borrow_mut();
        for pid in state.unknown() {
            if self.ends || state.seen.contains_key(&pid) {
                let command = state.seen.remove(&pid).unwrap_or_else(|| command.to_string());
                state.named.entry(command).or_default().insert(name_of(pid));
                state.known.extend((!self.ends).then_some(pid));
            } else {
                state.seen.insert(pid, command.to_string());
            }
        }
        if self.ends {
            state.end();
        }
    }

    /// The names of what each command has left, by its text.
    pub fn named(&self) -> BTreeMap<String, BTreeSet<String>> {
        // Those seen for the first time get a moment to end.
        self.look("");
        sleep(MOMENT);
        self.look("");
        self.state.borrow().named.clone()
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if self.ends {
            self.state.borrow_mut().end();
        }
    }
}

impl State {
    /// Children that are not known and have not ended; those that have are reaped.
    fn unknown(&self) -> Vec<i32> {
        let all = children(process::id().cast_signed()).into_iter().filter(|pid| !self.known.contains(pid));
        let runs = |pid: &i32| waitpid(Pid::from_raw(*pid), Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive);
        all.filter(runs).collect()
    }

    /// Kills what was left, and what it has started, which then become children of this process.
    fn end(&mut self) {
        loop {
            let left = self.unknown();
            if left.is_empty() {
                return;
            }
            for pid in left.into_iter().map(Pid::from_raw) {
                // One that has gained privileges may not be killed.
                if kill(pid, Signal::SIGKILL).and_then(|()| waitpid(pid, None)) == Err(Errno::EPERM) {
                    self.known.insert(pid.as_raw());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Tests of other modules start children of this process at the same time, which are not to be touched: in a process of its own.
    #[test]
    fn what_outlives_a_command_is_named_and_ended() {
        const INNER: &str = "SYSCOST_TEST_LEFT";
        if std::env::var_os(INNER).is_none() {
            let name = "race::left::tests::what_outlives_a_command_is_named_and_ended";
            let alone = Command::new(std::env::current_exe().unwrap()).args(["--exact", name]).env(INNER, "1").output();
            let alone = alone.unwrap();
            return assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stdout));
        }
        let run = |code: &str| assert!(Command::new("sh").args(["-c", code]).status().unwrap().success());
        let names =
            |left: &Left| left.named().into_iter().map(|(text, names)| (text, names.into_iter().collect::<Vec<_>>()));
        let left = Left::new(false);
        // A shell's child has the shell's name at first.
        let all_are = |name: &str, known: usize| {
            let names = || children(process::id().cast_signed()).into_iter().skip(known).map(name_of);
            while !(names().count() > 0 && names().all(|own| own == name)) {
                sleep(Duration::from_millis(1));
            }
        };
        run("sleep 61.75 & setsid sleep 62.75 &");
        all_are("sleep", 0);
        left.look("x");
        assert_eq!(names(&left).collect::<Vec<_>>(), [("x".to_string(), vec!["sleep".to_string()])]);
        assert_eq!(children(process::id().cast_signed()).len(), 2, "those are left alone");
        drop(left);
        let left = Left::new(true);
        run("setsid sh -c 'sleep 63.75; true' &");
        all_are("sh", 2);
        left.look("y");
        assert_eq!(names(&left).next(), Some(("y".to_string(), vec!["sh".to_string()])));
        assert_eq!(children(process::id().cast_signed()).len(), 2, "the others are ended, with what they started");
        Left { ends: true, state: RefCell::default() };
        assert!(children(process::id().cast_signed()).is_empty());
    }
}
