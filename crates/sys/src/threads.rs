//! Threads that the system may refuse (a limit of processes, no memory): `std::thread::spawn` would panic then.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::{self, Builder, JoinHandle, Scope};
use std::time::Duration;

/// An error names the limits to raise.
pub fn start<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().spawn(work).map_err(refused)
}

/// Ends before `scope` does.
pub fn start_in<'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    Builder::new()
        .spawn_scoped(scope, work)
        .map(drop)
        .map_err(refused)
}

fn refused(error: io::Error) -> io::Error {
    let kind = error.kind();
    io::Error::new(
        kind,
        format!("cannot start a thread ({error}): allow more processes (ulimit -u) or memory"),
    )
}

pub struct Lookout {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lookout {
    /// Calls `look` after each `period`, as long as it returns true.
    pub fn start(
        period: Duration,
        mut look: impl FnMut() -> bool + Send + 'static,
    ) -> io::Result<Lookout> {
        let (done, waiting) = channel();
        Ok(Lookout {
            done: Some(done),
            thread: Some(start(move || {
                while waiting.recv_timeout(period) == Err(RecvTimeoutError::Timeout) && look() {}
            })?),
        })
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        drop(self.done.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Calls `work` with each number below `count` on all CPUs, and hands the results to `take` in order. A thread waits until its result is
/// taken, so that there is one result for each thread in memory. The caller's thread does the work of those that cannot be started.
pub fn in_order<T: Send, E>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(count);
    on_threads([threads, threads], count, &work, take)
}

/// As `in_order`; a test lets only the first `most` threads be started.
fn on_threads<T: Send, E>(
    [threads, most]: [usize; 2],
    count: usize,
    work: &(impl Fn(usize) -> T + Sync),
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    thread::scope(|scope| {
        let receivers: Vec<Option<Receiver<T>>> = (0..threads)
            .map(|first| {
                let (sender, receiver) = sync_channel(0);
                let is_started = first < most
                    && start_in(scope, move || {
                        let _ = (first..count)
                            .step_by(threads)
                            .try_for_each(|index| sender.send(work(index)));
                    })
                    .is_ok();
                is_started.then_some(receiver)
            })
            .collect();
        (0..count).try_for_each(|index| match &receivers[index % threads] {
            // A thread that panicked sends nothing: the scope passes that on.
            Some(receiver) => receiver.recv().map_or(Ok(()), &mut take),
            None => take(work(index)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn results_are_the_same_with_fewer_threads_or_none() {
        for most in 0..=3 {
            let mut taken = Vec::new();
            let Ok(()) = on_threads([3, most], 5, &|index| index * index, |result| {
                taken.push(result);
                Ok::<(), Infallible>(())
            });
            assert_eq!(taken, [0, 1, 4, 9, 16]);
        }
    }

    #[test]
    fn the_first_refusal_ends_it() {
        let mut taken = 0;
        let refused = in_order(
            1000,
            |index| index,
            |index| {
                taken += 1;
                if index == 7 { Err("seven") } else { Ok(()) }
            },
        );
        assert_eq!((refused, taken), (Err("seven"), 8));
        assert_eq!(in_order(0, |index| index, |_| Err("none")), Ok(()));
    }
}
