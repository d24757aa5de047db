//! Threads, where the system may refuse them (a limit of processes, no memory): `std::thread::spawn` would panic then.

use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, Builder, JoinHandle, Scope};

pub fn start<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().spawn(work).map_err(refused)
}

/// It ends before `scope` does.
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

/// Hands what `work` makes of each of `count` to `take`, in order. A thread waits until its result is taken, so that there is one
/// for each thread in memory. What a thread that cannot be started would have done is done by the caller's.
pub fn in_order<T: Send, E>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(count);
    on_threads(threads, count, &work, take, |scope, job| {
        start_in(scope, job).is_ok()
    })
}

fn on_threads<'env, T: Send + 'env, E>(
    threads: usize,
    count: usize,
    work: &'env (impl Fn(usize) -> T + Sync),
    mut take: impl FnMut(T) -> Result<(), E>,
    spawn: impl for<'scope> Fn(&'scope Scope<'scope, 'env>, Box<dyn FnOnce() + Send + 'scope>) -> bool,
) -> Result<(), E> {
    thread::scope(|scope| {
        let begin = |first: usize| {
            let (sender, receiver) = sync_channel(0);
            let job = move || {
                let _ = (first..count)
                    .step_by(threads)
                    .try_for_each(|index| sender.send(work(index)));
            };
            spawn(scope, Box::new(job)).then_some(receiver)
        };
        let receivers: Vec<Option<Receiver<T>>> = (0..threads).map(begin).collect();
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The results of five, where only the first `most` threads can be started.
    fn with_at_most(most: usize) -> (Vec<usize>, usize) {
        let (mut taken, started) = (Vec::new(), AtomicUsize::new(0));
        let take = |result| {
            taken.push(result);
            Ok::<(), Infallible>(())
        };
        let square = |index: usize| index * index;
        let Ok(()) = on_threads(3, 5, &square, take, |scope, job| {
            started.load(Ordering::SeqCst) < most && {
                started.fetch_add(1, Ordering::SeqCst);
                start_in(scope, job).is_ok()
            }
        });
        (taken, started.into_inner())
    }

    #[test]
    fn results_are_the_same_with_fewer_threads_or_none() {
        for most in 0..=3 {
            assert_eq!(with_at_most(most), (vec![0, 1, 4, 9, 16], most));
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
