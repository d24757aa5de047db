//! One worker process. Unless they say otherwise, functions fail with the probe's error, that it
//! ended, or that it took longer than its timeout.

use super::directory::create_private;
use super::noise::Noise;
use super::protocol::{expect, parse_facts};
use super::{Interrupt, RunDirectory, Singles, add_line, failure_in, parse_ready, parse_sampled};
use model::{Facts, Failure, ModeSamples, Reply, SingleCalls};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};
use sys::clock::{ThreadClock, process_cpu_ns};
use sys::private::RUN_VARIABLE;
use sys::proc_stat::{self, ProcStat};
use sys::process::{ending_text, kill_group, wait_readable};
use sys::tracee::wait_for_end;
use sys::{libraries, limits};

pub type ErrorWording = Rc<dyn Fn(&str) -> String>;

/// Dropping it ends its whole process group and removes its directory.
pub struct Child {
    process: std::process::Child,
    unread: Vec<u8>,
    directory: PathBuf,
    run: Rc<RefCell<RunDirectory>>,
    interrupt: Interrupt,
    timeout: Duration,
    wording: Option<ErrorWording>,
    orderly: bool,
    by_cpu_time: bool,
    hello: Option<Facts>,
}

/// Longer than any line, and more batches than any request asks for (probe.c, MOST_BATCHES).
const MOST_OF_LINE: usize = 64 << 10;
const MOST_BATCHES: usize = 4096;
const MOST_OF_ANSWER: usize = 4 << 20;
const ECHO: &str =
    "the command echoes its input: it uses a terminal (leave out -t), or does not start a probe";
const MOST_WRITTEN_TO_STDERR: u64 = 16 << 20;

/// A wait of which only a part counts may take so many times as long as its timeout.
const BUSY: u32 = 20;
const LOOK: Duration = Duration::from_millis(100);
const SHORTEST: Duration = Duration::from_millis(1);

#[derive(Clone, Copy)]
pub struct Deadline {
    began: Instant,
    timeout: Duration,
    counts: Counts,
}

/// The part of a wait that counts towards its timeout. Times are those of the worker when the wait began.
#[derive(Clone, Copy)]
enum Counts {
    All,
    /// The CPU time that the worker uses, from this on.
    Cpu(Duration),
    /// Neither running nor waiting for a CPU. This is the sum of both at the start.
    Blocked(Duration),
}

fn is_over(elapsed: Duration, counted: Duration, timeout: Duration) -> bool {
    elapsed >= timeout && (counted >= timeout || elapsed >= timeout * BUSY)
}

impl Child {
    /// `command` gets the worker's own directory; its standard error goes to a file there. It leads a process group.
    pub fn start(
        command: impl FnOnce(&Path) -> Command,
        run: &Rc<RefCell<RunDirectory>>,
        interrupt: &Interrupt,
        timeout: Duration,
        wording: Option<ErrorWording>,
    ) -> Result<Child, Failure> {
        fn cannot(what: &str, e: &dyn std::fmt::Display) -> Failure {
            Failure::start(format!("{what}: {e}"))
        }

        let directory = run
            .borrow_mut()
            .worker_directory()
            .map_err(|e| cannot("no directory for a worker", &e))?;
        let errors = create_private(&directory.join(STDERR), 0o600)
            .map_err(|e| cannot("no file for standard error", &e))?;
        let mut command = command(&directory);
        // A group of its own, so that ^C at the terminal reaches the driver alone, which then ends workers in order.
        if command.get_current_dir().is_none() {
            command.current_dir(&directory);
        }
        command.process_group(0);
        if !command
            .get_envs()
            .any(|(name, value)| name == RUN_VARIABLE && value.is_none())
        {
            command.env(RUN_VARIABLE, run.borrow().number());
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors);
        let name = command.get_program().to_string_lossy().into_owned();
        let process = command.spawn().map_err(|e| {
            let library = libraries::advice(&e, Path::new(&name));
            let limit = limits::advice(&e);
            cannot(
                &format!("cannot start {name}"),
                &format!("{e}{library}{limit}"),
            )
        })?;
        // At once: until the janitor knows the group, a kill of this process would leave it behind.
        run.borrow_mut().group_started(process.id());
        let (run, interrupt) = (Rc::clone(run), interrupt.clone());
        Ok(Child {
            process,
            unread: Vec::new(),
            directory,
            run,
            interrupt,
            timeout,
            wording,
            orderly: true,
            by_cpu_time: false,
            hello: None,
        })
    }

    /// For an emulator, which computes all the time, but may get little of a busy CPU.
    pub fn wait_by_cpu_time(&mut self) {
        self.by_cpu_time = true;
    }

    pub fn deadline(&self, timeout: Duration) -> Deadline {
        let used = if self.by_cpu_time {
            self.cpu_time()
        } else {
            None
        };
        Deadline {
            began: Instant::now(),
            timeout,
            counts: used.map_or(Counts::All, Counts::Cpu),
        }
    }

    fn is_over(
        &self,
        Deadline {
            began,
            timeout,
            counts,
        }: Deadline,
    ) -> bool {
        let elapsed = began.elapsed();
        let counted = match counts {
            Counts::All => None,
            Counts::Cpu(then) => self.cpu_time().and_then(|now| now.checked_sub(then)),
            Counts::Blocked(then) => self
                .worked()
                .and_then(|now| elapsed.checked_sub(now.checked_sub(then)?)),
        };
        is_over(elapsed, counted.unwrap_or(elapsed), timeout)
    }

    fn worked(&self) -> Option<Duration> {
        let time = ThreadClock::open(self.process.id().cast_signed())?.read()?;
        Some(Duration::from_nanos(time.cpu_ns + time.waiting_ns))
    }

    fn cpu_time(&self) -> Option<Duration> {
        process_cpu_ns(self.process.id().cast_signed())
            .ok()
            .map(Duration::from_nanos)
    }

    /// The process ID, which is also that of its group.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes a line to the worker's standard input. If it has ended, the failure says how.
    pub fn send(&mut self, line: &str) -> Result<(), Failure> {
        let input = self.process.stdin.as_mut();
        let written = input.map(|input| input.write_all(format!("{line}\n").as_bytes()));
        // A broken pipe says nothing: the reason is in how the worker ended.
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// A probe that a user's command started (probe/alone.h). Skips the lines that the command prints before the answer.
    pub fn meet(&mut self, request: &str) -> Result<(), Failure> {
        let mut noise = Noise::default();
        let deadline = self.deadline(self.timeout);
        let sent = self.send(request);
        if sent.is_err() {
            // It takes no request any more, but may have said why.
            while self
                .line(deadline)
                .is_ok_and(|line| noise.add(&line) <= MOST_OF_LINE)
            {}
        }
        let met = sent.and_then(|()| self.answer_to_hello(request, deadline, &mut noise));
        let facts =
            met.map_err(|failure| noise.added_to(of_command(failure), last_line(&self.errors())))?;
        self.hello = Some(facts);
        Ok(())
    }

    fn answer_to_hello(
        &mut self,
        request: &str,
        deadline: Deadline,
        noise: &mut Noise,
    ) -> Result<Facts, Failure> {
        loop {
            let line = self.line(deadline)?;
            // A terminal on the way adds carriage returns.
            let line = line.trim_end_matches('\r');
            // A terminal sends back what it gets: no probe would ever read the request.
            if line == request {
                self.orderly = false;
                return Err(Failure::crashed(ECHO));
            }
            if line.starts_with("hello pid=") || line.starts_with("error ") {
                return parse_facts("hello", line);
            }
            if noise.add(line) > MOST_OF_LINE {
                return Err(self.flood("more than 64 KiB of other lines"));
            }
        }
    }

    fn errors(&self) -> String {
        read_errors(&self.directory.join(STDERR)).unwrap_or_default()
    }

    /// The answer to the greeting, if the worker was started by a user's command.
    pub fn hello(&self) -> Option<&Facts> {
        self.hello.as_ref()
    }

    /// Returns the lines before one that is just `end`.
    pub fn ask(&mut self, request: &str, end: &str) -> Result<Vec<String>, Failure> {
        self.send(request)?;
        let deadline = self.deadline(self.timeout);
        let mut lines = Vec::new();
        let mut bytes = 0;
        loop {
            let line = self.line(deadline)?;
            bytes += line.len();
            match line {
                line if line == end => return Ok(lines),
                line if lines.is_empty() && line.starts_with("error ") => {
                    return Err(failure_in(&line));
                }
                _ if bytes > MOST_OF_ANSWER => {
                    return Err(self.flood(&format!("more than {MOST_OF_ANSWER} bytes")));
                }
                line => lines.push(line),
            }
        }
    }

    /// An orderly worker then ends.
    pub fn end_input(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Waits until the worker has prepared its operation, and returns its facts. A probe's time on a CPU does not count towards the
    /// timeout, because an operation may touch gigabytes first; a user's code may be in an endless loop.
    pub fn ready(&mut self) -> Result<Facts, Failure> {
        let mut deadline = self.deadline(self.timeout);
        if let (None, Counts::All, Some(worked)) = (&self.wording, deadline.counts, self.worked()) {
            deadline.counts = Counts::Blocked(worked);
        }
        parse_ready(&self.line(deadline)?)
    }

    pub fn request(&mut self, n: u64, k: u32) -> Result<Reply, Failure> {
        self.send(&format!("{n} {k}"))?;
        self.reply()
    }

    pub fn reply(&mut self) -> Result<Reply, Failure> {
        let deadline = self.deadline(self.timeout);
        let mut reply = Reply::default();
        while !add_line(&mut reply, &self.line(deadline)?)? {
            if reply.batches.len() > MOST_BATCHES {
                return Err(self.flood(&format!("lines of more than {MOST_BATCHES} batches")));
            }
        }
        Ok(reply)
    }

    /// `time` is sent in whole milliseconds.
    pub fn sample(&mut self, time: Duration) -> Result<ModeSamples, Failure> {
        parse_sampled(&self.answer(&format!("sample {}", time.as_millis()))?)
    }

    /// The untimed part is done before the answer.
    pub fn prepare_count(&mut self, n: u64) -> Result<(), Failure> {
        expect("prepared", &self.answer(&format!("count {n}"))?)
    }

    pub fn run_count(&mut self) -> Result<(), Failure> {
        expect("counted", &self.answer("run")?)
    }

    fn answer(&mut self, request: &str) -> Result<String, Failure> {
        self.send(request)?;
        self.line(self.deadline(self.timeout))
    }

    /// Times `calls` single calls, for at most `time`, which is sent in whole milliseconds and does not count towards the timeout.
    pub fn singles(&mut self, calls: u64, time: Duration) -> Result<SingleCalls, Failure> {
        self.send(&format!("single {calls} {}", time.as_millis()))?;
        let deadline = self.deadline(time + self.timeout);
        let mut singles = Singles::default();
        while !singles.add_line(&self.line(deadline)?)? {}
        Ok(singles.calls())
    }

    /// The next line of standard output, without its end.
    pub fn line(&mut self, deadline: Deadline) -> Result<String, Failure> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.unread.len() > MOST_OF_LINE {
                return Err(self.flood(&format!("{} bytes without a line end", self.unread.len())));
            }
            self.wait_for_output(deadline)?;
            self.read_output()?;
        }
    }

    fn flood(&mut self, what: &str) -> Failure {
        self.orderly = false;
        let text = format!("the worker printed {what}, which is not part of the protocol: stopped");
        Failure::crashed(text)
    }

    fn wait_for_output(&mut self, deadline: Deadline) -> Result<(), Failure> {
        let Some(output) = &self.process.stdout else {
            return Err(self.ended());
        };
        loop {
            if self.interrupt.is_set() {
                self.orderly = false;
                return Err(Failure::interrupted());
            }
            if self.is_over(deadline) {
                self.orderly = false;
                let waited = deadline.timeout.as_secs_f64();
                let text =
                    format!("no answer within {waited:.0} s: stopped (--timeout allows more)");
                return Err(Failure::timeout(text));
            }
            if wait_readable(
                output,
                deadline
                    .timeout
                    .saturating_sub(deadline.began.elapsed())
                    .clamp(SHORTEST, LOOK),
            ) {
                return Ok(());
            }
            if fs::metadata(self.directory.join(STDERR))
                .is_ok_and(|facts| facts.len() > MOST_WRITTEN_TO_STDERR)
            {
                return Err(self.flood("more than 16 MiB of error messages"));
            }
        }
    }

    fn read_output(&mut self) -> Result<(), Failure> {
        let mut buffer = [0; 16 << 10];
        let got = self
            .process
            .stdout
            .as_mut()
            .map_or(Ok(0), |output| output.read(&mut buffer));
        match got {
            Ok(0) => Err(self.ended()),
            Ok(length) => {
                self.unread.extend_from_slice(&buffer[..length]);
                Ok(())
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(Failure::crashed(format!("cannot read from the probe: {e}"))),
        }
    }

    fn ended(&mut self) -> Failure {
        self.orderly = false;
        self.end_input();
        // Killed at once, every ending would look like a kill.
        self.let_exit();
        // Children that the operation started may still run, and hold the pipes open.
        kill_group(self.process.id());
        // Not reaped: until then, its ID and that of its group are not reused.
        let ending = wait_for_end(self.process.id().cast_signed(), libc::WNOWAIT);
        // The terminal's signal may have ended it as well.
        if self.interrupt.is_set() {
            return Failure::interrupted();
        }
        let how = ending
            .map(|ending| format!(" ({})", ending_text(ending)))
            .unwrap_or_default();
        let errors = self.errors();
        let (who, explanation) = match &self.wording {
            Some(_) if last_line(&errors).is_empty() => (SNIPPET_ENDED, String::new()),
            Some(wording) => (SNIPPET_ENDED, wording(&errors)),
            None => (PROBE_ENDED, last_line(&errors).to_string()),
        };
        let explanation = if explanation.is_empty() {
            explanation
        } else {
            format!(": {explanation}")
        };
        Failure::crashed(format!("{who} without an answer{how}{explanation}"))
    }

    /// A process that has closed its pipes may exit by itself in a moment, with its own status.
    fn let_exit(&self) {
        for _ in 0..20 {
            if ProcStat::parse(&proc_stat::text(self.process.id()))
                .is_none_or(|stat| stat.state() == Some("Z"))
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A tracer knows the worker's replies by it, e.g. `pipe:[123]`.
    pub fn reply_pipe(&self) -> Option<PathBuf> {
        let fd = self.process.stdout.as_ref()?.as_raw_fd();
        fs::read_link(format!("/proc/self/fd/{fd}")).ok()
    }
}

const STDERR: &str = "stderr";
const SNIPPET_ENDED: &str = "the snippet ended its process";

fn last_line(errors: &str) -> &str {
    errors
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

impl Drop for Child {
    /// An orderly worker tears down and exits by itself when its input ends; an emulator has nothing to tear down. The rest of its
    /// group is killed. The process is reaped last: until then, the group's ID cannot be reused.
    fn drop(&mut self) {
        self.end_input();
        if self.orderly && !self.by_cpu_time {
            self.process
                .stdout
                .take()
                .into_iter()
                .for_each(|output| wait_for_exit(output, Duration::from_secs(2)));
        }
        kill_group(self.process.id());
        self.run.borrow_mut().group_ended(self.process.id());
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

const MOST_OF_ERRORS: u64 = 64 << 10;

fn read_errors(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut text = Vec::new();
    (&mut file).take(MOST_OF_ERRORS).read_to_end(&mut text)?;
    // The first error is usually the cause, and the last one says how it ended.
    let rest = length.saturating_sub(MOST_OF_ERRORS).max(text.len() as u64);
    file.seek(SeekFrom::Start(rest))?;
    file.take(MOST_OF_ERRORS).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Before a greeting is answered, it is unknown whether there is a probe.
fn of_command(failure: Failure) -> Failure {
    Failure {
        message: failure
            .message
            .replacen(PROBE_ENDED, "the command ended", 1),
        ..failure
    }
}

const PROBE_ENDED: &str = "the probe ended";

/// Comes with the exit and needs no polling.
fn wait_for_exit(mut output: ChildStdout, timeout: Duration) {
    let deadline = Instant::now() + timeout;
    let mut buffer = [0; 4096];
    while Instant::now() < deadline {
        if !wait_readable(&output, deadline.saturating_duration_since(Instant::now())) {
            continue;
        }
        if !matches!(output.read(&mut buffer), Ok(length) if length > 0) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
