//! One worker process: lines to its input, lines from its output with patience that ends, and its end.

use super::RunDirectory;
use super::protocol::{add_line, parse_ready, parse_sampled};
use crate::kernel::process::{kill_group, wait_readable};
use crate::model::{Facts, Failure, FailureKind, ModeSamples, Reply};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Set by ^C and SIGTERM; everything that waits looks at it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(pub Arc<AtomicBool>);

impl Interrupt {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How what a worker says on standard error is put to the user.
pub type Voice = Rc<dyn Fn(&str) -> String>;

/// A running worker. Dropping it ends its whole process group and removes its directory.
pub struct Child {
    process: std::process::Child,
    unread: Vec<u8>,
    directory: PathBuf,
    run: Rc<RefCell<RunDirectory>>,
    interrupt: Interrupt,
    voice: Option<Voice>,
    orderly: bool,
    /// How it ended, where somebody else (a tracer) was told that.
    end: Option<ExitStatus>,
}

impl Child {
    /// Starts `command` in a directory and a process group of its own. Its standard error goes to a file in there.
    ///
    /// # Errors
    /// A failure of kind `Start` that names the program.
    pub fn start(
        mut command: Command,
        run: &Rc<RefCell<RunDirectory>>,
        interrupt: &Interrupt,
        voice: Option<Voice>,
    ) -> Result<Child, Failure> {
        let cannot = |what: &str, e: &dyn std::fmt::Display| Failure::new(FailureKind::Start, format!("{what}: {e}"));
        let directory = run.borrow_mut().worker_directory().map_err(|e| cannot("no directory for a worker", &e))?;
        let errors = File::create(directory.join(STDERR)).map_err(|e| cannot("no file for standard error", &e))?;
        command.current_dir(&directory).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let name = command.get_program().to_string_lossy().into_owned();
        let process = command.spawn().map_err(|e| cannot(&format!("cannot start {name}"), &e))?;
        run.borrow_mut().group_started(process.id());
        let (run, interrupt) = (Rc::clone(run), interrupt.clone());
        Ok(Child { process, unread: Vec::new(), directory, run, interrupt, voice, orderly: true, end: None })
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Writes one line to the worker's input.
    ///
    /// # Errors
    /// Why the process ended, where it did.
    pub fn send(&mut self, line: &str) -> Result<(), Failure> {
        let input = self.process.stdin.as_mut();
        let written = input.map(|input| input.write_all(format!("{line}\n").as_bytes()));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// Tells the worker that nothing more will come.
    pub fn end_input(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Reads the `ready` line and its facts.
    ///
    /// # Errors
    /// What the probe said instead, that it ended, or that it took longer than `patience`.
    pub fn ready(&mut self, patience: Duration) -> Result<Facts, Failure> {
        let line = self.line(Instant::now() + patience)?;
        parse_ready(&line)
    }

    /// Sends the request for k batches of n iterations and reads the reply.
    ///
    /// # Errors
    /// What the probe said instead, that it ended, or that it took longer than `patience`.
    pub fn request(&mut self, n: u64, k: u32, patience: Duration) -> Result<Reply, Failure> {
        self.send(&format!("{n} {k}"))?;
        self.reply(patience)
    }

    /// Reads the reply to a request that was sent.
    ///
    /// # Errors
    /// As `request`.
    pub fn reply(&mut self, patience: Duration) -> Result<Reply, Failure> {
        let deadline = Instant::now() + patience;
        let mut reply = Reply::default();
        while !add_line(&mut reply, &self.line(deadline)?)? {}
        Ok(reply)
    }

    /// Lets the worker look where a timer interrupts the operation, for about `time` (whole milliseconds) of CPU time.
    ///
    /// # Errors
    /// As `request`.
    pub fn sample(&mut self, time: Duration, patience: Duration) -> Result<ModeSamples, Failure> {
        self.send(&format!("sample {}", time.as_millis()))?;
        parse_sampled(&self.line(Instant::now() + patience)?)
    }

    fn line(&mut self, deadline: Instant) -> Result<String, Failure> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.wait_for_output(deadline)?;
            self.read_output()?;
        }
    }

    /// Returns when there is output or it has ended.
    fn wait_for_output(&mut self, deadline: Instant) -> Result<(), Failure> {
        let started = Instant::now();
        let Some(output) = &self.process.stdout else { return Err(self.ended()) };
        loop {
            if self.interrupt.is_set() {
                self.orderly = false;
                return Err(Failure::new(FailureKind::Interrupted, "the run was interrupted"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.orderly = false;
                let waited = deadline.saturating_duration_since(started).as_secs_f64();
                let text = format!("no answer within {waited:.0} s: ended (a larger --timeout gives it more)");
                return Err(Failure::new(FailureKind::Timeout, text));
            }
            if wait_readable(output, left.min(Duration::from_millis(100))) {
                return Ok(());
            }
        }
    }

    fn read_output(&mut self) -> Result<(), Failure> {
        let mut buffer = [0; 16 << 10];
        let got = self.process.stdout.as_mut().map_or(Ok(0), |output| output.read(&mut buffer));
        match got {
            Ok(0) => Err(self.ended()),
            Ok(length) => {
                self.unread.extend_from_slice(&buffer[..length]);
                Ok(())
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(Failure::new(FailureKind::Crashed, format!("cannot read from the probe: {e}"))),
        }
    }

    /// The failure of a process that stopped answering: its exit status and the last line of its standard error.
    fn ended(&mut self) -> Failure {
        self.orderly = false;
        self.end_input();
        kill_group(self.process.id());
        // Where a tracer has taken note of its end already, there is nothing left to wait for.
        let status = self.process.wait().ok().or(self.end);
        let how = status.map(|status| format!(" ({})", describe(status))).unwrap_or_default();
        let errors = fs::read(self.directory.join(STDERR)).unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors).into_owned();
        let said = (!errors.trim().is_empty()).then(|| match &self.voice {
            Some(voice) => voice(&errors),
            None => errors.lines().next_back().unwrap_or_default().trim().to_string(),
        });
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let who = if self.voice.is_some() { "the snippet ended its process" } else { "the probe ended" };
        Failure::new(FailureKind::Crashed, format!("{who} without an answer{how}{said}"))
    }

    /// Takes note of how it ended, as its tracer was told; `None` where it runs.
    pub fn note_end(&mut self, end: Option<ExitStatus>) {
        self.end = end;
    }

    /// The pipe that replies come through, as /proc names it.
    pub fn reply_pipe(&self) -> Option<PathBuf> {
        let fd = self.process.stdout.as_ref()?.as_raw_fd();
        fs::read_link(format!("/proc/self/fd/{fd}")).ok()
    }
}

const STDERR: &str = "stderr";

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by {}", crate::kernel::process::signal_name(signal)),
        (None, None) => "status unknown".to_string(),
    }
}

impl Drop for Child {
    /// Input ends, so an orderly worker tears down and exits by itself; any other is killed. What a killed worker has
    /// left in its directory may name kernel objects: the janitor must see it.
    fn drop(&mut self) {
        self.end_input();
        if !self.orderly || !self.exits_within(Duration::from_secs(2)) {
            kill_group(self.process.id());
            self.orderly = false;
        }
        let _ = self.process.wait();
        self.run.borrow_mut().group_ended(self.process.id());
        if self.orderly {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

impl Child {
    /// Output ends when the worker does, which waits without polling for the exit status.
    fn exits_within(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let Some(mut output) = self.process.stdout.take() else { return true };
        let mut buffer = [0; 4096];
        while Instant::now() < deadline {
            if !wait_readable(&output, deadline.saturating_duration_since(Instant::now())) {
                continue;
            }
            if !matches!(output.read(&mut buffer), Ok(length) if length > 0) {
                return true;
            }
        }
        false
    }
}
