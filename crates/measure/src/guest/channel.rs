//! A probe in a guest.

use super::console::{Console, INIT};
use super::count::counted;
use crate::runner::{add_line, parse_ready};
use model::{Counted, Facts, Failure, FailureKind, Reply};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// A process in the guest that speaks the probe's protocol. Dropping it ends the process.
pub struct Channel {
    console: Rc<RefCell<Console>>,
    number: u32,
    /// Whether it is one of the guest's plan, which ends by itself.
    is_planned: bool,
    /// The console's own lines before it was opened.
    said: u64,
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
        let said = console.borrow().messages_so_far();
        let mut channel = Channel {
            console: Rc::clone(console),
            number,
            is_planned: greeting.is_none(),
            said,
            facts: Facts::default(),
            ended: Cell::new(false),
        };
        if let Some(greeting) = greeting {
            channel.send(greeting)?;
        }
        channel.facts = parse_ready(&channel.line(timeout)?)?;
        Ok(channel)
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub fn send(&self, line: &str) -> Result<(), Failure> {
        self.console.borrow_mut().send(self.number, line)
    }

    pub fn line(&self, timeout: Duration) -> Result<String, Failure> {
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
    pub fn request(&self, n: u64, k: u32, timeout: Duration) -> Result<Reply, Failure> {
        self.send(&format!("{n} {k}"))?;
        let mut reply = Reply::default();
        while !add_line(&mut reply, &self.line(timeout)?)? {}
        Ok(reply)
    }

    pub(super) fn counted(self, timeout: Duration) -> Result<(Counted, Facts), Failure> {
        Ok((counted(&self.line(timeout)?)?, self.facts.clone()))
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
            match self.line(END) {
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
