//! The state of a machine that has booted and settled, kept in the cache of builds: each guest begins there, so that a count is the same
//! whatever else is asked. What is asked is in the emulator's configuration device (`probe/question.c`), which is no part of the state.
//!
//! A state is kept under a key of the emulator, its options, the kernel and the first file system. It is the machine's memory, a file that
//! each guest maps privately, and the state of all else, a migration into a file.

use super::Monitor;
use super::console::{BOOT, Console, INIT};
use super::files::Files;
use super::states::{self, BEGINNING, MEMORY};
use crate::runner::{self, Workers, digest, key};
use anyhow::{Context, Result, anyhow};
use model::Failure;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use sys::output::output;
use sys::process::inherit;
use sys::{open, private};

/// Tells init to wait for a question, so that the state can be kept there.
pub(super) const BOOT_PARAMETER: &str = "SYSCOST_KEPT=1";
const DEVICES: &str = "devices";
/// Names by address, of each kernel, in a directory beside the states'.
const FUNCTIONS: &str = "functions";
/// Names the file to the shell that the emulator writes through.
const VARIABLE: &str = "SYSCOST_STATE";
const LOOK: Duration = Duration::from_millis(2);
const PAUSED: [&str; 2] = ["guest-panicked", "paused"];
/// Which a guest pauses its machine with, and where there is one: elsewhere it goes on until it is told to stop.
const PAUSE: (&str, [&str; 2]) = ("x86_64", ["-device", "pvpanic"]);

#[derive(Debug)]
pub(super) struct State {
    command: Vec<OsString>,
    memory_mib: u32,
    directory: PathBuf,
    /// The digest of its image.
    kernel: String,
}

impl State {
    /// The state of the machine `is` that `command` boots from `files`; if it is not in the cache, the machine boots now.
    pub fn get(
        workers: &Workers,
        mut command: Vec<OsString>,
        is: &str,
        memory_mib: u32,
        files: &Files,
    ) -> Result<State> {
        let pauses = is == PAUSE.0;
        if pauses {
            command.extend(PAUSE.1.map(OsString::from));
        }
        let words: Vec<String> = command.iter().map(|word| files.anywhere(word)).collect();
        let version = output(private::asking(&command[0]).arg("--version"))?.stdout;
        let (words, initramfs) = (words.join("\n"), digest(&files.initramfs())?);
        let key = key(&[words.as_bytes(), &version, initramfs.as_bytes()]);
        let kernel = digest(&files.kernel)?;
        let name = format!("{BEGINNING}{kernel}-{key}");
        let directory = workers.kept(&name, |directory| {
            let made = make(workers, &command, memory_mib, pauses, directory);
            made.map_err(|failure| anyhow!(failure.message))
        })?;
        // The time of its last use.
        fs::File::open(&directory)
            .and_then(|file| file.set_modified(SystemTime::now()))
            .and_then(|()| states::forget_oldest(&directory))
            .with_context(|| format!("{}", directory.display()))?;
        Ok(State {
            command,
            memory_mib,
            directory,
            kernel,
        })
    }

    /// Lines about the functions of the kernel, which `ask` gets from a guest. They lie at the same addresses in each guest:
    /// kernels start with `nokaslr`, and guests load no modules.
    pub fn functions(
        &self,
        workers: &Workers,
        ask: impl Fn() -> Result<Vec<String>, Failure>,
    ) -> Result<Vec<String>, Failure> {
        let name = format!("{BEGINNING}{}-{FUNCTIONS}", self.kernel);
        let kept = workers.kept(&name, |directory| {
            let lines = ask().map_err(|failure| anyhow!(failure.message))?;
            Ok(fs::write(directory.join(FUNCTIONS), lines.join("\n"))?)
        });
        match kept.map(|directory| fs::read_to_string(directory.join(FUNCTIONS))) {
            Ok(Ok(text)) => Ok(text.lines().map(str::to_string).collect()),
            _ => ask(),
        }
    }

    /// The command of a machine that goes on from the state once [`load`] was called.
    pub fn asked(&self, question: &Path) -> Result<(Vec<OsString>, Loading)> {
        let open = |name| {
            let path = self.directory.join(name);
            open::regular(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let (memory, devices) = (open(MEMORY)?, open(DEVICES)?);
        let mut command = self.command.clone();
        command.extend(device(
            &[b"file=", question.as_os_str().as_bytes()].concat(),
        ));
        // By its descriptor: in the place of a file that is gone the emulator would make an empty one.
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        command.extend(memory_from(path.as_ref(), self.memory_mib, "off"));
        command.extend(["-incoming".into(), "defer".into()]);
        Ok((command, Loading { memory, devices }))
    }
}

pub(super) struct Loading {
    memory: File,
    devices: File,
}

impl Loading {
    pub fn inherit(self, command: &mut Command) -> String {
        let uri = format!("fd:{}", self.devices.as_raw_fd());
        inherit(command, self.memory);
        inherit(command, self.devices);
        uri
    }
}

pub(super) fn load(workers: &Workers, monitor: &mut Monitor, uri: &str) -> Result<(), Failure> {
    leave_memory(monitor)?;
    monitor.execute("migrate-incoming", json!({"uri": uri}))?;
    until(workers, monitor, "query-status", &PAUSED)?;
    monitor.execute("cont", json!({}))?;
    Ok(())
}

fn leave_memory(monitor: &mut Monitor) -> Result<(), Failure> {
    let capability = json!({"capability": "x-ignore-shared", "state": true});
    let arguments = json!({"capabilities": [capability]});
    monitor.execute("migrate-set-capabilities", arguments)?;
    Ok(())
}

fn device(contents: &[u8]) -> [OsString; 2] {
    let entry = [b"name=opt/syscost,", &*escaped(contents)].concat();
    ["-fw_cfg".into(), OsString::from_vec(entry)]
}

fn memory_from(path: &OsStr, mib: u32, is_shared: &str) -> [OsString; 4] {
    let size = format!("memory-backend-file,id=memory,size={mib}M,share={is_shared},mem-path=");
    let object = [size.as_bytes(), &escaped(path.as_bytes())].concat();
    let object = OsString::from_vec(object);
    let machine = "memory-backend=memory".into();
    ["-object".into(), object, "-machine".into(), machine]
}

fn escaped(value: &[u8]) -> Vec<u8> {
    value
        .iter()
        .flat_map(|byte| std::iter::repeat_n(*byte, 1 + usize::from(*byte == b',')))
        .collect()
}

fn make(
    workers: &Workers,
    command: &[OsString],
    memory_mib: u32,
    pauses: bool,
    directory: &Path,
) -> Result<(), Failure> {
    let memory = directory.join(MEMORY);
    let mut start = runner::command(command);
    start.args(device(b"string=-"));
    start.args(memory_from(memory.as_os_str(), memory_mib, "on"));
    start.args(["-action", "panic=pause"]);
    start.env(VARIABLE, directory.join(DEVICES));
    let monitor = Monitor::attached_to(&mut start, workers.timeout);
    let mut monitor = monitor.map_err(|error| Failure::start(error.to_string()))?;
    let mut emulator = workers.start_program(|_| start)?;
    emulator.wait_by_cpu_time();
    let mut console = Console::new(emulator, "");
    let said = console.line(INIT, workers.timeout * BOOT)?;
    if said != "quiet" {
        return Err(Failure::failed(said));
    }
    monitor.begin()?;
    if !pauses {
        monitor.execute("stop", json!({}))?;
    }
    until(workers, &mut monitor, "query-status", &PAUSED)?;
    leave_memory(&mut monitor)?;
    let uri = format!("exec:cat > \"${VARIABLE}\"");
    monitor.execute("migrate", json!({"uri": uri}))?;
    until(workers, &mut monitor, "query-migrate", &["completed"])
}

fn until(
    workers: &Workers,
    monitor: &mut Monitor,
    ask: &str,
    wanted: &[&str],
) -> Result<(), Failure> {
    let deadline = Instant::now() + workers.timeout * BOOT;
    while Instant::now() < deadline && !workers.interrupt.is_set() {
        let answer = monitor.execute(ask, json!({}))?;
        match answer["status"].as_str() {
            Some(status) if wanted.contains(&status) => return Ok(()),
            Some("failed" | "cancelled") => {
                let why = &answer["error-desc"];
                let text = format!("the emulator cannot write its state: {why}");
                return Err(Failure::failed(text));
            }
            _ => std::thread::sleep(LOOK),
        }
    }
    Err(Failure::timeout("the emulator does not save its state"))
}
