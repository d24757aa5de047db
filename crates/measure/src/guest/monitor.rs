//! The emulator's monitor, QMP: a JSON object a line over a socket that the emulator inherits. A state is saved and loaded by it, and
//! `explain` lets qemu log instructions.
//!
//! Rejected: single steps over the gdb stub. They take 270 us each where the log takes about one,
//! and they stop the guest's timers, without which operations that sleep never end.

use model::Failure;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;
use sys::process::inherit;

pub struct Monitor {
    stream: BufReader<UnixStream>,
}

const MOST_OF_LINE: u64 = 4 << 20;
const MOST_EVENTS: usize = 1000;

impl Monitor {
    pub fn attached_to(command: &mut Command, timeout: Duration) -> io::Result<Monitor> {
        let (ours, its) = UnixStream::pair()?;
        ours.set_read_timeout(Some(timeout))?;
        ours.set_write_timeout(Some(timeout))?;
        let socket = format!("socket,id=monitor,fd={}", its.as_raw_fd());
        command.args(["-chardev", &socket, "-mon", "chardev=monitor,mode=control"]);
        inherit(command, File::from(OwnedFd::from(its)));
        Ok(Monitor {
            stream: BufReader::new(ours),
        })
    }

    pub fn begin(&mut self) -> Result<(), Failure> {
        if self.read()?.get("QMP").is_none() {
            return Err(failed("it does not speak QMP"));
        }
        self.execute("qmp_capabilities", json!({}))?;
        Ok(())
    }

    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, Failure> {
        let request = json!({"execute": command, "arguments": arguments});
        let written = self
            .stream
            .get_mut()
            .write_all(format!("{request}\n").as_bytes());
        written.map_err(|error| failed(&format!("{command}: {error}")))?;
        for _ in 0..MOST_EVENTS {
            if let Some(answer) = answer(self.read()?) {
                return answer.map_err(|error| failed(&format!("{command}: {error}")));
            }
        }
        Err(failed(&format!(
            "{command}: no answer among {MOST_EVENTS} events"
        )))
    }

    /// Returns what the monitor for people prints, errors included.
    pub fn human(&mut self, line: &str) -> Result<String, Failure> {
        let printed = self.execute("human-monitor-command", json!({"command-line": line}))?;
        Ok(printed.as_str().unwrap_or_default().trim().to_string())
    }

    pub fn order(&mut self, line: &str) -> Result<(), Failure> {
        let printed = self.human(line)?;
        if printed.is_empty() {
            Ok(())
        } else {
            Err(failed(&format!("{line}: {printed}")))
        }
    }

    fn read(&mut self) -> Result<Value, Failure> {
        let mut line = String::new();
        let read = (&mut self.stream).take(MOST_OF_LINE).read_line(&mut line);
        match read {
            Ok(0) => Err(failed("it has ended")),
            Ok(_) => serde_json::from_str(&line)
                .map_err(|error| failed(&format!("it answered no JSON: {error}"))),
            Err(error) => Err(failed(&format!("no answer: {error}"))),
        }
    }
}

fn answer(mut message: Value) -> Option<Result<Value, String>> {
    if let Some(error) = message.get("error") {
        return Some(Err(error["desc"]
            .as_str()
            .unwrap_or("an error without a description")
            .to_string()));
    }
    message.get_mut("return").map(|value| Ok(value.take()))
}

fn failed(text: &str) -> Failure {
    Failure::failed(format!("the emulator's monitor: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_events() {
        assert_eq!(answer(json!({"event": "STOP", "data": {}})), None);
        assert_eq!(answer(json!({"return": "x"})), Some(Ok(json!("x"))));
        let error = json!({"error": {"class": "CommandNotFound", "desc": "The command x has not been found"}});
        assert_eq!(
            answer(error),
            Some(Err("The command x has not been found".into()))
        );
    }
}
