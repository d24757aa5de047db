//! A guest's console: sorts lines by channel, keeps the kernel's own, and says why a guest does not
//! answer.

use crate::runner::Child;
use itertools::Itertools;
use model::{Failure, FailureKind};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub(super) const INIT: u32 = 0;
pub(super) const BOOT: u32 = 6;
const KEPT: usize = 100;
const SHOWN: usize = 3;

const EMPTY: &str = "its console is empty: too little memory (try a name such as 'linux-6.1 memory=512'), or a kernel without a serial console";

pub(super) struct Console {
    child: Child,
    /// The secret of the run, so that programs in the guest cannot print such lines.
    beginning: String,
    lines: BTreeMap<u32, VecDeque<String>>,
    messages: VecDeque<String>,
    pub messages_so_far: u64,
    ended: Option<Failure>,
}

impl Console {
    pub fn new(child: Child, secret: &str) -> Console {
        Console {
            child,
            beginning: format!("@{secret}"),
            lines: BTreeMap::new(),
            messages: VecDeque::new(),
            messages_so_far: 0,
            ended: None,
        }
    }

    pub fn send(&mut self, channel: u32, text: &str) -> Result<(), Failure> {
        self.check()?;
        self.child
            .send(&format!("{}{channel} {text}", self.beginning))
            .map_err(|failure| self.explained(failure))
    }

    pub fn line(&mut self, channel: u32, timeout: Duration) -> Result<String, Failure> {
        let deadline = self.child.deadline(timeout);
        loop {
            if let Some(line) = self.lines.get_mut(&channel).and_then(VecDeque::pop_front) {
                return Ok(line);
            }
            self.check()?;
            match self.child.line(deadline) {
                Ok(line) => self.sort(line),
                Err(failure) if failure.kind == FailureKind::Timeout => {
                    return Err(self.silent(timeout));
                }
                Err(failure) => return Err(self.explained(failure)),
            }
        }
    }

    pub fn give_up(&mut self, failure: &Failure) {
        self.ended.get_or_insert_with(|| failure.clone());
    }

    pub fn is_alive(&self) -> bool {
        self.ended.is_none()
    }

    pub fn forget(&mut self, channel: u32) {
        self.lines.remove(&channel);
    }

    fn check(&self) -> Result<(), Failure> {
        self.ended.clone().map_or(Ok(()), Err)
    }

    fn sort(&mut self, line: String) {
        let line = line.trim_end_matches('\r');
        let (message, answer) = told_apart(line, &self.beginning);
        if let Some((channel, text)) = answer {
            self.lines
                .entry(channel)
                .or_default()
                .push_back(text.to_string());
        }
        if !message.trim().is_empty() {
            self.messages.push_back(message.trim().to_string());
            self.messages_so_far += 1;
            if self.messages.len() > KEPT {
                self.messages.pop_front();
            }
        }
    }

    fn silent(&self, timeout: Duration) -> Failure {
        let waited = timeout.as_secs_f64();
        let text = format!(
            "the guest did not answer within {waited:.0} s (--timeout allows more){}",
            self.last_words()
        );
        Failure::timeout(text)
    }

    fn explained(&mut self, failure: Failure) -> Failure {
        if failure.kind == FailureKind::Interrupted {
            return failure;
        }
        let text = failure.message.replacen("the probe", "the guest", 1) + &self.last_words();
        let failure = Failure::new(failure.kind, text);
        self.give_up(&failure);
        failure
    }

    /// The last of those after the first `so_far`; empty if there are none.
    pub fn said_since(&self, so_far: u64) -> String {
        let new = usize::try_from(self.messages_so_far - so_far).unwrap_or(SHOWN);
        let said = self.last(new.min(SHOWN));
        if said.is_empty() {
            said
        } else {
            format!("; the console says: {said}")
        }
    }

    fn last(&self, lines: usize) -> String {
        let first = self.messages.len().saturating_sub(lines);
        self.messages.range(first..).cloned().join(" | ")
    }

    fn last_words(&self) -> String {
        let said = self
            .messages
            .iter()
            .find(|line| line.contains("Kernel panic"))
            .cloned()
            .unwrap_or_else(|| self.last(SHOWN));
        if said.is_empty() {
            format!("; {EMPTY}")
        } else {
            format!("; its console says: {said}")
        }
    }
}

/// The kernel's message, and the line of a channel behind it: a program that prints no end of a
/// line does not swallow the next one.
fn told_apart<'a>(line: &'a str, beginning: &str) -> (&'a str, Option<(u32, &'a str)>) {
    fn answer(text: &str) -> Option<(u32, &str)> {
        let (number, text) = text.split_once(' ')?;
        Some((number.parse().ok()?, text))
    }

    let (message, rest) = line.split_once(beginning).unwrap_or((line, ""));
    answer(rest).map_or((line, None), |answer| (message, Some(answer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_channels_begin_with_the_secret_and_their_number() {
        fn apart(line: &str) -> (&str, Option<(u32, &str)>) {
            told_apart(line, "@5ec7e7.")
        }

        assert_eq!(
            apart("@5ec7e7.12 ready pid=3"),
            ("", Some((12, "ready pid=3")))
        );
        assert_eq!(apart("@5ec7e7.0 : "), ("", Some((0, ": "))));
        assert_eq!(
            apart("printed@5ec7e7.1 ran 0 7"),
            ("printed", Some((1, "ran 0 7")))
        );
        for line in [
            "",
            "@",
            "@5ec7e7.1",
            "@5ec7e7.x y",
            "@1 ran 0 777",
            "[    0.1] @1 x",
        ] {
            assert_eq!(apart(line), (line, None), "{line}");
        }
    }
}
