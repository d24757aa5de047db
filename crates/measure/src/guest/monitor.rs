//! The emulator's monitor, by which `explain` lets qemu log instructions: QMP, a JSON object a line
//! over a Unix socket.
//!
//! Rejected: single steps over the gdb stub. They take 270 us each where the log takes about one,
//! and they stop the guest's timers, without which operations that sleep never end.

use model::Failure;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub struct Monitor {
    stream: BufReader<UnixStream>,
}

const MOST_OF_LINE: u64 = 4 << 20;
const MOST_EVENTS: usize = 1000;

impl Monitor {
    pub fn arguments(path: &Path) -> Vec<OsString> {
        let mut socket = OsString::from("unix:");
        // A comma ends an option, two stand for one.
        socket.push(path.to_string_lossy().replace(',', ",,"));
        socket.push(",server=on,wait=off");
        vec!["-qmp".into(), socket]
    }

    pub fn connect(path: &Path, timeout: Duration) -> Result<Monitor, Failure> {
        let stream = UnixStream::connect(path)
            .map_err(|error| failed(&format!("cannot connect to it: {error}")))?;
        let limits = stream
            .set_read_timeout(Some(timeout))
            .and_then(|()| stream.set_write_timeout(Some(timeout)));
        limits.map_err(|error| failed(&error.to_string()))?;
        let mut monitor = Monitor {
            stream: BufReader::new(stream),
        };
        if monitor.read()?.get("QMP").is_none() {
            return Err(failed("it does not speak QMP"));
        }
        monitor.execute("qmp_capabilities", json!({}))?;
        Ok(monitor)
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

    /// Executes a command of the monitor for people, and returns what it prints, errors included.
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

/// The result or the error of a command; `None` for an event.
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

    #[test]
    fn a_comma_in_the_path_does_not_end_the_option() {
        assert_eq!(
            Monitor::arguments(Path::new("/t/a,b"))[1],
            "unix:/t/a,,b,server=on,wait=off"
        );
    }
}
