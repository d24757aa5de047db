//! Tasks on several threads, each taken when a thread is free, with what is left of the time.

use model::prose::counted;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Instant;
use sys::threads;

/// Runs `jobs` tasks at once and returns their results in the order of the tasks. The iterator of tasks runs on this thread, one task
/// ahead of the others; if no thread can be started, the tasks run on this thread too.
pub fn in_parallel<T: Send, R: Send>(
    jobs: usize,
    tasks: impl Iterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    // Without a buffer, so that a task is made only when a thread waits for it.
    let (give, take) = mpsc::sync_channel(0);
    let (take, done) = (Mutex::new(take), Mutex::new(Vec::new()));
    let next = || take.lock().ok()?.recv().ok();
    let make = |(number, task)| {
        let made = (number, work(task));
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(made);
    };
    std::thread::scope(|scope| {
        if (0..jobs.max(1))
            .filter(|_| {
                threads::start_in(scope, || {
                    while let Some(task) = next() {
                        make(task);
                    }
                })
                .is_ok()
            })
            .count()
            == 0
        {
            return tasks.enumerate().for_each(make);
        }
        for task in tasks.enumerate() {
            if give.send(task).is_err() {
                break;
            }
        }
        drop(give);
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, made)| made).collect()
}

/// The number of parallel tasks: as asked, else one per CPU.
pub fn jobs(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into))
}

pub struct Pace {
    all: usize,
    done: Mutex<usize>,
    begun: Instant,
}

impl Pace {
    pub fn new(all: usize) -> Pace {
        Pace {
            all,
            done: Mutex::new(0),
            begun: Instant::now(),
        }
    }

    pub fn all(&self) -> usize {
        self.all.max(1)
    }

    /// `2 of 9`, and about how long the others will take.
    pub fn step(&self) -> String {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        progress_text(*done, self.all, self.begun.elapsed().as_secs_f64())
    }
}

fn progress_text(done: usize, all: usize, seconds: f64) -> String {
    let left = (seconds / done as f64 * (all - done.min(all)) as f64).ceil();
    match (done >= all, left < 120.0) {
        (true, _) => format!("{done} of {all}"),
        (false, true) => format!(
            "{done} of {all}, about {} left",
            counted(left as usize, "second")
        ),
        (false, false) => format!(
            "{done} of {all}, about {} left",
            counted((left / 60.0).round() as usize, "minute")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_is_done_once() {
        let twice = in_parallel(3, 0..20, |task| 2 * task);
        assert_eq!(twice, (0..20).map(|task| 2 * task).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_left_is_told_in_seconds_or_minutes() {
        assert_eq!(progress_text(2, 4, 30.0), "2 of 4, about 30 seconds left");
        assert_eq!(progress_text(1, 11, 60.0), "1 of 11, about 10 minutes left");
        assert_eq!(progress_text(4, 4, 30.0), "4 of 4");
    }
}
