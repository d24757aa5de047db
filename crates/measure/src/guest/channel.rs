//! A probe in a guest.

use super::console::{Console, INIT};
use crate::runner::{add_line, failure_in, parse_ready};
use model::{Counted, Facts, Failure, FailureKind, Planned, Reply};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// A process in the guest that speaks the probe's protocol. Dropping it ends the process.
pub struct Channel {
    console: Rc<RefCell<Console>>,
    number: u32,
    /// A process of the guest's plan ends by itself.
    is_planned: bool,
    said: u64,
    pub(super) timeout: Duration,
    facts: Facts,
    ended: Cell<bool>,
}

const END: Duration = Duration::from_secs(2);

impl Channel {
    /// Starts one with this first line, or meets one that starts by itself.
    pub(super) fn open(
        console: &Rc<RefCell<Console>>,
        number: u32,
        greeting: Option<&str>,
        timeout: Duration,
    ) -> Result<Channel, Failure> {
        let mut channel = Channel {
            console: Rc::clone(console),
            number,
            is_planned: greeting.is_none(),
            said: console.borrow().messages_so_far,
            timeout,
            facts: Facts::default(),
            ended: Cell::new(false),
        };
        if let Some(greeting) = greeting {
            channel.send(greeting)?;
        }
        channel.facts = parse_ready(&channel.line()?)?;
        Ok(channel)
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub fn send(&self, line: &str) -> Result<(), Failure> {
        self.console.borrow_mut().send(self.number, line)
    }

    pub fn line(&self) -> Result<String, Failure> {
        self.line_within(self.timeout)
    }

    fn line_within(&self, timeout: Duration) -> Result<String, Failure> {
        let line = self.console.borrow_mut().line(self.number, timeout)?;
        let Some(how) = line.strip_prefix("ended ") else {
            return Ok(line);
        };
        self.ended.set(true);
        let said = self.console.borrow().said_since(self.said);
        Err(Failure::crashed(format!(
            "the probe ended without an answer ({how}){said}"
        )))
    }

    /// Runs k batches of n iterations. In an emulated machine, their nanoseconds are instructions.
    pub fn request(&self, n: u64, k: u32) -> Result<Reply, Failure> {
        self.send(&format!("{n} {k}"))?;
        let mut reply = Reply::default();
        while !add_line(&mut reply, &self.line()?)? {}
        Ok(reply)
    }

    /// No other case waits for the last process of a plan to end, so neither does this.
    pub(super) fn counted(self, is_last: bool) -> Result<(Counted, Facts), Failure> {
        let counted = counted(&self.line()?)?;
        self.ended.set(is_last);
        Ok((counted, self.facts.clone()))
    }

    fn end(&self) -> Result<(), Failure> {
        if self.is_planned && self.has_ended() {
            return Ok(());
        }
        for command in ["close", "kill"] {
            self.console
                .borrow_mut()
                .send(INIT, &format!("{command} {}", self.number))?;
            if self.has_ended() {
                return Ok(());
            }
        }
        Err(Failure::timeout(
            "the guest did not kill a process as requested",
        ))
    }

    fn has_ended(&self) -> bool {
        while !self.ended.get() {
            match self.line_within(END) {
                Err(failure) if failure.kind != FailureKind::Crashed => return false,
                _ => {}
            }
        }
        true
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if !self.ended.get()
            && self.console.borrow().is_alive()
            && let Err(failure) = self.end()
        {
            self.console.borrow_mut().give_up(&failure);
        }
        self.console.borrow_mut().forget(self.number);
    }
}

/// The line of a plan that counts a case. What it leaves to others counts too, in long batches, for operations of which short batches do
/// not agree.
pub fn line_to_count(planned: &Planned, greeting: &str) -> String {
    let is_deferred = planned.traits.switches || planned.traits.children;
    let kind = if is_deferred { "deferred" } else { "own" };
    format!("count {} {kind} {greeting}", planned.limit.unwrap_or(0))
}

pub(super) fn counted(line: &str) -> Result<Counted, Failure> {
    parse(line).ok_or_else(|| failure_in(line))
}

fn parse(line: &str) -> Option<Counted> {
    let mut words = line.strip_prefix("counted ")?.split(' ');
    let mut next = || words.next()?.parse().ok();
    let (fewer, more) = (next()?, next()?);
    let batches = words
        .map(|word| {
            let (few, many) = word.split_once(':')?;
            Some((few.parse().ok()?, many.parse().ok()?))
        })
        .collect::<Option<Vec<(u64, u64)>>>()?;
    (!batches.is_empty()).then_some(Counted {
        fewer,
        more,
        batches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Case, Role};

    #[test]
    fn a_case_is_one_line_and_its_count_another() {
        let mut planned = Planned::new(Case::native("file.lstat"), Role::Asked);
        planned.traits.children = true;
        let line = line_to_count(&planned, "op file.lstat depth=4");
        assert_eq!(line, "count 0 deferred op file.lstat depth=4");
        let read = counted("counted 192 768 63291:252747 63290:252746").unwrap();
        assert_eq!((read.fewer, read.more, read.batches.len()), (192, 768, 2));
        for line in [
            "",
            "counted",
            "counted 1 2",
            "counted 1 2 3",
            "counted 1 2 3:x",
            "total 1 2 3 4",
        ] {
            assert!(counted(line).is_err(), "{line:?}");
        }
    }
}
