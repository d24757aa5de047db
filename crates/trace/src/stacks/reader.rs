//! Stacks on a thread of their own: a file system that does not answer holds that thread, and not the tracer.

use super::Stacks;
use nix::unistd::{Pid, gettid};
use std::cell::Cell;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use sys::proc_stat::{self, ProcStat};
use sys::threads;

/// Seconds that the thread may be held by a file.
const PATIENCE_S: u64 = 5;

type Job = Box<dyn FnOnce(&mut Stacks) + Send>;

#[derive(Default)]
pub struct Reader {
    thread: Option<(Pid, Sender<Job>)>,
    is_held: Cell<bool>,
}

impl Reader {
    /// Ends when this is dropped.
    pub fn start() -> io::Result<Reader> {
        let (jobs, received) = channel::<Job>();
        let (number, numbered) = channel();
        threads::start(move || {
            let _ = number.send(gettid());
            let mut stacks = Stacks::default();
            for job in received {
                job(&mut stacks);
            }
        })?;
        Ok(Reader {
            thread: numbered.recv().ok().map(|thread| (thread, jobs)),
            is_held: Cell::new(false),
        })
    }

    /// Lets the thread answer a question; `None` if there was no answer in time, and to all questions after that.
    pub fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Stacks) -> T + Send + 'static,
    ) -> Option<T> {
        let thread = if self.is_held.get() {
            None
        } else {
            self.thread.as_ref()
        };
        let (thread, jobs) = thread?;
        let (answer, answered) = channel();
        let sent = jobs
            .send(Box::new(move |stacks| {
                let _ = answer.send(question(stacks));
            }))
            .ok();
        let answer = sent.and_then(|()| wait(*thread, &answered));
        self.is_held.set(answer.is_none());
        answer
    }

    /// A line for the user if files could not be read, or not all of them.
    pub fn warning(&self) -> Option<String> {
        if self.is_held.get() {
            return Some(format!(
                "functions without names: a file that a program mapped could not be read within {PATIENCE_S} s"
            ));
        }
        self.ask(|stacks| stacks.warning()).flatten()
    }
}

/// Waits for an answer. A thread that runs, or waits for a CPU, is not held: its seconds do not count.
fn wait<T>(thread: Pid, answer: &Receiver<T>) -> Option<T> {
    let mut left_s = PATIENCE_S;
    while left_s > 0 {
        match answer.recv_timeout(Duration::from_secs(1)) {
            Err(RecvTimeoutError::Timeout) => {
                let text = proc_stat::read(format!("/proc/self/task/{thread}/stat"));
                let text = text.unwrap_or_default();
                let is_running = ProcStat::parse(&text).is_some_and(|it| it.state() == Some("R"));
                // Work is limited by the budget of CPU time: only a thread that is blocked or starved is waiting for a file system.
                left_s -= u64::from(!is_running);
            }
            answer => return answer.ok(),
        }
    }
    None
}
