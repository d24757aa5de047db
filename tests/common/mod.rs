//! What the whole-program tests share: the binary, a private place to run it in, and a loud way to skip.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses its own part of this"
)]

mod expectations;
mod line;
mod machine;
mod place;

pub use expectations::*;
pub use line::*;
pub use machine::*;
pub use place::*;

// What most tests use of other crates: `use crate::common::*` has it all.
pub use nix::sys::signal::{Signal, kill, killpg};
pub use nix::unistd::{Pid, geteuid};
pub use serde_json::{Value, json};
pub use std::collections::{BTreeMap, BTreeSet};
pub use std::fs::{self, Permissions};
pub use std::io::{BufRead, BufReader, Read, Write};
pub use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
pub use std::os::unix::process::CommandExt;
pub use std::path::{Path, PathBuf};
pub use std::process::{Child, Command, Output, Stdio};
pub use std::sync::{Arc, LazyLock, Mutex, OnceLock};
pub use std::thread::sleep;
pub use std::time::{Duration, Instant};

/// The user that "as an ordinary user" means where the tests run as root.
pub const NOBODY: u32 = 65534;

/// What a test cannot go on without: where there is none, which was said to be skipped, the test ends.
macro_rules! needs {
    ($found:expr) => {
        match $found {
            Some(found) => found,
            None => return,
        }
    };
}

pub(crate) use needs;

/// Whether an environment of `list --envs` can be used, built first if it is not; otherwise it is skipped, with the reason.
pub fn is_usable(place: &Place, listed: &Value) -> bool {
    let text = |key: &str| listed[key].as_str().unwrap_or_default();
    let (name, mut status, mut reason) = (text("name"), text("status"), text("reason").to_string());
    if status == "not_built" {
        let output = place.run(format!("run call.spin --no-verify --time 0.1 --env {name}"));
        if output.status.success() {
            status = "ready";
        } else {
            reason = stderr(&output);
        }
    }
    if status != "ready" {
        skip(&format!("{name}: {status}: {reason}"));
    }
    status == "ready"
}

/// Says that this test, or a part of it, was not done; `.ci/run` counts these.
pub fn skip(reason: &str) {
    say(&format!("SKIPPED: {}: {reason}", this_test()));
}

fn this_test() -> String {
    let thread = std::thread::current();
    thread.name().unwrap_or("a thread of a test").to_string()
}

fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("\n{line}\n").as_bytes());
}

/// What a test walks over: all of `every` with the feature `heavy`, otherwise `kinds`, which has one of each kind. `.ci/run`
/// counts what is left out.
pub fn one_of_each_kind<'a>(every: &[&'a str], kinds: &[&str]) -> Vec<&'a str> {
    let unknown: Vec<_> = kinds.iter().filter(|kind| !every.contains(kind)).collect();
    assert!(unknown.is_empty(), "{unknown:?} is not in {every:?}");
    if cfg!(feature = "heavy") {
        return every.to_vec();
    }
    let (taken, left) = every
        .iter()
        .partition::<Vec<_>, _>(|one| kinds.contains(one));
    say(&format!(
        "HEAVY: {}: {} of {}",
        this_test(),
        left.len(),
        every.len()
    ));
    taken
}

/// Whether only `.ci/heavy` tries this, which is said.
pub fn is_left_to_heavy(what: &str) -> bool {
    let is_left = !cfg!(feature = "heavy");
    if is_left {
        say(&format!("HEAVY: {}: {what}", this_test()));
    }
    is_left
}

/// What ends a run at once, and what lets it clean up.
pub fn kill_and_interrupt() -> &'static [Signal] {
    if is_left_to_heavy("an interrupt") {
        return &[Signal::SIGKILL];
    }
    &[Signal::SIGKILL, Signal::SIGINT]
}

pub fn environment_files() -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(root().join("environments"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    })
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn file(name: &str) -> String {
    root().join(name).display().to_string()
}

/// A real run that was kept, made by tests/golden/make-run.sh.
pub const RUN: &str = "tests/golden/run.json";

pub fn parsed(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file(name)).unwrap()).unwrap()
}

/// Whether eBPF can be used here; says that `test` is skipped where not.
pub fn has_bpf() -> bool {
    let refused = sys::bpf::available().err();
    refused.as_ref().inspect(|why| skip(why)).is_none()
}

/// Runs the C compiler in the repository; whether it builds this.
pub fn cc(line: impl Line) -> bool {
    let mut compiler = Command::new("cc");
    compiler
        .args(line.words())
        .current_dir(root())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    compiler.status().is_ok_and(|status| status.success())
}

/// By another process: a file that this one writes may be open in a child that another test just forked, and cannot be executed
/// until that child's own execve.
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(from.as_ref()).arg(to);
    assert!(install.status().unwrap().success(), "{install:?}");
}

pub fn write_program(path: &Path, text: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, text).unwrap();
    copy_program(&file, path);
}

/// A started program. Whatever the test does, it does not outlive it.
pub struct Job {
    child: Option<Child>,
}

impl Job {
    pub fn of(child: Child) -> Job {
        Job { child: Some(child) }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.as_ref().unwrap().id()).unwrap())
    }

    pub fn output(mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.child.is_some() {
            let _ = killpg(self.pid(), Signal::SIGKILL);
        }
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }
}

/// How long anything may take, however busy the machine is: what takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The first answer of `look`, which is asked again until it has one, or hangs.
pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() > deadline {
            return None;
        }
        sleep(Duration::from_millis(1));
    }
}

/// Waits until this is so; fails if it hangs.
#[track_caller]
pub fn wait_until(is_so: impl Fn() -> bool) {
    assert!(wait_for(|| is_so().then_some(())).is_some(), "it hangs");
}

/// `command` as another program starts it, whose words go before its own.
pub fn behind(line: impl Line, command: &Command) -> Command {
    let words = line.words();
    let mut outer = Command::new(&words[0]);
    outer.args(&words[1..]);
    outer.arg(command.get_program()).args(command.get_args());
    outer.stdin(Stdio::null());
    if let Some(directory) = command.get_current_dir() {
        outer.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// `command` as a shell starts it, where `script` has `"$@"` for it.
pub fn in_shell(script: &str, command: &Command) -> Command {
    behind(["sh", "-c", script, "sh"], command)
}

/// Standard output of a command that must succeed without a word on standard error.
pub fn succeeded(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{command:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn list(value: &Value) -> &Vec<Value> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"))
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)))
}
