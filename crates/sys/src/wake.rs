//! Wakes a thread that waits in waitid(2) when it is time to stop: a flag alone would not be checked before the next
//! event. Used by `trace`.

#![allow(unsafe_code)]

use super::threads::Lookout;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::gettid;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Once flag or deadline is reached, a thread sets the flag and interrupts the one that created this, repeatedly: a single signal
/// might arrive just before the wait.
pub struct Waker {
    _lookout: Lookout,
}

const PERIOD: Duration = Duration::from_millis(20);
/// Nothing else uses it, and it is ignored by default.
const SIGNAL: Signal = Signal::SIGURG;

extern "C" fn nothing(_: libc::c_int) {}

impl Waker {
    /// Wakes the calling thread once `stop` is set, and sets `stop` after the time `after`, if given.
    pub fn start(stop: Arc<AtomicBool>, after: Option<Duration>) -> io::Result<Waker> {
        let action = SigAction::new(
            SigHandler::Handler(nothing),
            SaFlags::empty(),
            SigSet::empty(),
        );
        // SAFETY: the handler does nothing, which is always safe. Without SA_RESTART it interrupts waits. The only
        // possible error is an invalid signal.
        let _ = unsafe { sigaction(SIGNAL, &action) };
        let waiting = gettid();
        let deadline = after.map(|time| Instant::now() + time);
        Ok(Waker {
            _lookout: Lookout::start(PERIOD, move || {
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    stop.store(true, Ordering::SeqCst);
                }
                if stop.load(Ordering::SeqCst) {
                    interrupt(waiting.as_raw());
                }
                true
            })?,
        })
    }
}

fn interrupt(tid: i32) {
    // SAFETY: tgkill(2) takes numbers only; the thread is one of our own process.
    unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), tid, SIGNAL as i32) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;

    #[test]
    fn a_wait_ends_at_the_deadline() {
        let stop = Arc::new(AtomicBool::new(false));
        let _waker = Waker::start(Arc::clone(&stop), Some(Duration::from_millis(30))).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let waited = crate::tracee::wait(crate::tracee::Whose::One(child.id().cast_signed()), 0);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(waited, Err(Errno::EINTR));
        assert!(stop.load(Ordering::SeqCst));
    }
}
