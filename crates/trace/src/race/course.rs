//! What all executions of a race have in common.

use super::command::Command;
use super::left::Left;
use super::options::Options;
use measure::runner::{Interrupt, RunDirectory};
use std::cell::RefCell;

pub struct Course<'a> {
    pub options: &'a Options,
    pub interrupt: &'a Interrupt,
    /// Whose janitor ends what runs if this process is killed.
    pub run: Option<&'a RefCell<RunDirectory>>,
    pub left: Left,
}

impl Course<'_> {
    /// A command has ended: takes note of what it has left. An environment may consist of that, and it is ended with the race.
    pub fn look(&self, command: &Command) {
        if command.inside.is_some() {
            self.left.reap()
        } else {
            self.left.look(&command.text)
        }
    }
}
