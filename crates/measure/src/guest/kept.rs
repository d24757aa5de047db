//! The state of a machine that has booted and settled, kept in the cache of builds: each guest begins there, so that a count is the same
//! whatever else is asked. What is asked is in the emulator's configuration device (`probe/question.c`), which is no part of the state.
//!
//! A state is kept under a key of the emulator, its options, the kernel and the first file system. It is a migration into a file: it needs
//! no disk that could hold a snapshot.

use super::Monitor;
use super::console::{Console, INIT};
use super::machine::BOOT;
use crate::runner::{Workers, digest, key};
use anyhow::{Context, Result};
use model::Failure;
use serde_json::json;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use sys::output::output;
use sys::{open, private};

/// Tells init to wait for a question, so that the state can be kept there.
pub(super) const BOOT_PARAMETER: &str = "SYSCOST_KEPT=1";
const STATE: &str = "state";
/// Names the file to the shell that the emulator writes through.
const VARIABLE: &str = "SYSCOST_STATE";
const BEGINNING: &str = "machine-";
const LOOK: Duration = Duration::from_millis(10);
/// The state is saved while the machine is paused; with this, a guest that starts from it runs at once.
const BEGINS: [&str; 2] = ["-global", "migration.store-global-state=off"];
/// Of all states together; those that were not used for longest are removed.
const MOST_BYTES: u64 = 4 << 30;

#[derive(Debug)]
pub(super) struct State {
    command: Vec<OsString>,
    directory: PathBuf,
}

impl State {
    /// The state of the machine that `command` boots from the files `of`; if it is not in the cache, the machine boots now.
    pub fn of(workers: &Workers, command: Vec<OsString>, of: &[PathBuf]) -> Result<State> {
        let run = workers.directory();
        let words = command.iter().map(|word| word.to_string_lossy());
        let words: Vec<String> = words
            .map(|word| word.replace(&*run.to_string_lossy(), ""))
            .collect();
        let version = output(private::asking(&command[0]).arg("--version"))?.stdout;
        let mut parts = vec![words.join("\n").into_bytes(), version];
        for file in of {
            let digest = digest(file).with_context(|| format!("cannot read {}", file.display()))?;
            parts.push(digest.into_bytes());
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let directory = workers.kept(&(BEGINNING.to_string() + &key(&parts)), |directory| {
            let bytes = make(workers, &command, &directory.join(STATE));
            bytes.map_err(|failure| anyhow::anyhow!(failure.message))
        })?;
        // The time of its last use.
        let now = fs::File::open(&directory).and_then(|file| file.set_modified(SystemTime::now()));
        now.and_then(|()| forget_oldest(&directory))
            .with_context(|| format!("{}", directory.display()))?;
        Ok(State { command, directory })
    }

    /// The command that goes on from the state, and the file that it reads.
    pub fn asked(&self, workers: &Workers, question: &str) -> Result<(Vec<OsString>, File)> {
        let path = workers.directory().join("question");
        fs::write(&path, question).with_context(|| format!("cannot write {}", path.display()))?;
        let state = self.directory.join(STATE);
        let state =
            open::regular(&state).with_context(|| format!("cannot read {}", state.display()))?;
        let mut command = self.command.clone();
        command.extend(device(&[b"file=", path.as_os_str().as_bytes()].concat()));
        let descriptor = format!("fd:{}", state.as_raw_fd());
        command.extend(BEGINS.map(OsString::from));
        command.extend(["-incoming".into(), descriptor.into()]);
        Ok((command, state))
    }
}

/// The question's entry in the configuration device.
fn device(contents: &[u8]) -> [OsString; 2] {
    let contents = String::from_utf8_lossy(contents).replace(',', ",,");
    [
        "-fw_cfg".into(),
        format!("name=opt/syscost,{contents}").into(),
    ]
}

fn make(workers: &Workers, command: &[OsString], path: &Path) -> Result<(), Failure> {
    let socket = workers.directory().join("keeping");
    let _ = fs::remove_file(&socket);
    let start = |_: &Path| {
        let mut start = Command::new(&command[0]);
        start.args(&command[1..]).args(device(b"string=-"));
        start.args(BEGINS);
        start.args(Monitor::arguments(&socket)).env(VARIABLE, path);
        start
    };
    let mut emulator = workers.start_program(start)?;
    emulator.wait_by_cpu_time();
    let mut console = Console::new(emulator, "");
    let said = console.line(INIT, workers.timeout * BOOT)?;
    if said != "quiet" {
        return Err(Failure::failed(said));
    }
    let mut monitor = Monitor::connect(&socket, workers.timeout)?;
    monitor.execute("stop", json!({}))?;
    monitor.execute(
        "migrate-set-parameters",
        json!({"max-bandwidth": 1u64 << 40}),
    )?;
    let uri = format!("exec:cat > \"${VARIABLE}\"");
    monitor.execute("migrate", json!({"uri": uri}))?;
    let deadline = Instant::now() + workers.timeout * BOOT;
    while Instant::now() < deadline && !workers.interrupt.is_set() {
        let status = monitor.execute("query-migrate", json!({}))?;
        match status["status"].as_str() {
            Some("completed") => return Ok(()),
            Some("failed" | "cancelled") => {
                return Err(Failure::failed(format!(
                    "the emulator cannot write its state: {}",
                    status["error-desc"]
                )));
            }
            _ => std::thread::sleep(LOOK),
        }
    }
    Err(Failure::timeout("the emulator does not write its state"))
}

fn forget_oldest(newest: &Path) -> std::io::Result<()> {
    let root = newest.parent().unwrap_or(newest);
    let mut states = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        let is_state = path
            .file_name()
            .is_some_and(|name| name.as_bytes().starts_with(BEGINNING.as_bytes()));
        if let Ok(facts) = fs::symlink_metadata(path.join(STATE))
            && is_state
        {
            states.push((fs::metadata(&path)?.modified()?, facts.len(), path));
        }
    }
    states.sort();
    let mut bytes: u64 = states.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, own, path) in states {
        if bytes <= MOST_BYTES || path == newest {
            break;
        }
        // Another run may have removed it already. One that is about to open it fails, and says which file is missing.
        let _ = fs::remove_dir_all(path);
        bytes -= own;
    }
    Ok(())
}
