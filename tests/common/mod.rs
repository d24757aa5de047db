//! What the whole-program tests share: the binary, a private place to run it in, and a loud way to skip.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses its own part of this"
)]

use measure::plan::{Choices, Subject, select};
use measure::runner::{Interrupt, RunDirectory, Workers, read_catalogue};
use model::{Operation, Planned};
use nix::sys::signal::{SigHandler, signal};
use snapbox::data::DataFormat;
use std::os::unix::ffi::OsStrExt;
use sys::affinity::{Placement, Wanted};

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

pub const EMULATOR: &str = "qemu-system-x86_64";

/// The name of an environment whose kernel can be booted here, or says that `test` is skipped. It is Linux 6.1, whose counts
/// repeat exactly.
pub fn emulated_kernel() -> Option<String> {
    emulated_kernel_of("6.1", "x86_64")
}

/// The same of a series, for a processor as `uname -m` shows it. The name says which by the image's header only.
pub fn emulated_kernel_of(series: &str, architecture: &str) -> Option<String> {
    let emulator = format!("qemu-system-{architecture}");
    match measure::guest::images::find(series, architecture) {
        Ok(image) if measure::runner::on_path(&emulator).is_some() => {
            return Some(format!("linux:{}", image.path.display()));
        }
        Ok(_) => skip(&format!("no {emulator} on PATH")),
        Err(reason) => skip(&format!("{reason:#}")),
    }
    None
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

/// Fails unless the JSON `document` is valid by the schema `name`.
pub fn expect_valid(name: &str, document: &(impl ToString + ?Sized)) {
    let document: Value = serde_json::from_str(&document.to_string()).unwrap();
    static COMPILED: Mutex<BTreeMap<String, Arc<jsonschema::Validator>>> =
        Mutex::new(BTreeMap::new());
    let compile = || Arc::new(jsonschema::validator_for(&schema(name)).unwrap());
    let mut compiled = COMPILED.lock().unwrap();
    let validator = compiled.entry(name.into()).or_insert_with(compile).clone();
    drop(compiled);
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
    assert!(
        !validator.is_valid(&Value::Null),
        "the schema accepts anything"
    );
}

pub fn schema(name: &str) -> Value {
    let mut all = cli::schemas::all().into_iter();
    let found = all.find(|(kind, schema)| name == schema_name(kind, schema));
    found.unwrap_or_else(|| panic!("no schema {name}")).1
}

pub fn schema_name(kind: &str, schema: &Value) -> String {
    let id = schema["properties"]["schema"]["const"].as_str().unwrap();
    format!("{kind}-{}", id.split_once('/').unwrap().1)
}

/// Compares `actual` with the golden file at `path`, below the repository.
pub fn expect_file(path: impl AsRef<Path>, actual: &str) {
    let golden = snapbox::Data::read_from(&root().join(path), Some(DataFormat::Text)).raw();
    snapbox::assert_data_eq!(actual, golden);
}

/// Reads `bytes` as a file. The message of a failure must be one printable line that names the file; what follows is returned.
pub fn read_as<T, E: std::fmt::Display>(
    bytes: &[u8],
    read: impl Fn(&Path) -> Result<T, E>,
) -> Result<T, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    read(file.path()).map_err(|error| {
        let message = error.to_string();
        let is_line = !message.chars().any(char::is_control) && message.len() < 1500;
        assert!(is_line, "{message}");
        let name = file.path().to_str().unwrap();
        message
            .strip_prefix(name)
            .unwrap_or_else(|| panic!("{message}"))
            .to_string()
    })
}

/// Compares what is said of each mistake with the golden file mistakes-NAME, but for where it stands, which a new field moves.
pub fn expect_mistakes(name: &str, messages: &[String]) {
    let place = regex_lite::Regex::new("line [0-9]+, column [0-9]+, ").unwrap();
    let text = place
        .replace_all(&(messages.join("\n") + "\n"), "")
        .into_owned();
    expect_file(format!("tests/golden/mistakes-{name}.txt"), &text);
}

/// A command line, as a shell reads it or word by word.
pub trait Line {
    fn words(&self) -> Vec<String>;
}

impl Line for str {
    fn words(&self) -> Vec<String> {
        shell_words::split(self).unwrap_or_else(|error| panic!("{self}: {error}"))
    }
}

impl Line for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<S: AsRef<str>> Line for [S] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_string()).collect()
    }
}

impl<S: AsRef<str>, const N: usize> Line for [S; N] {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl<S: AsRef<str>> Line for Vec<S> {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

/// One after the other.
impl<A: Line, B: Line> Line for (A, B) {
    fn words(&self) -> Vec<String> {
        [self.0.words(), self.1.words()].concat()
    }
}

impl<A: Line, B: Line, C: Line> Line for (A, B, C) {
    fn words(&self) -> Vec<String> {
        [self.0.words(), self.1.words(), self.2.words()].concat()
    }
}

impl<T: Line + ?Sized> Line for &T {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}

/// A directory of its own for one run of the program, which uses it as TMPDIR. Anybody may write into it, as into /tmp.
pub struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        // A shell starts what runs in the background with ^C ignored, and the programs under test would inherit that.
        // SAFETY: no handler is installed.
        unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) }.unwrap();
        let directory = tempfile::Builder::new()
            .prefix("syscost-test-")
            .tempdir()
            .unwrap();
        let place = Place { directory };
        fs::create_dir(place.tmp()).unwrap();
        for (path, mode) in [(place.path(), 0o755), (place.tmp(), 0o1777)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        place
    }

    /// What shows the rows of all result files in a directory, as a shell names them.
    pub fn rows_of(&self, directory: &str) -> String {
        let entries = fs::read_dir(self.path().join(directory))
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let names = entries.map(|name| format!("{directory}/{}", name.to_str().unwrap()));
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
        names.sort();
        format!("show --format rows {}", names.join(" "))
    }

    /// With run.json, a run that was kept.
    pub fn with_run() -> Place {
        let place = Place::new();
        fs::copy(file(RUN), place.path().join("run.json")).unwrap();
        place
    }

    /// With a directory `d` of three hosts' runs, each with a label of its own.
    pub fn with_hosts() -> Place {
        let place = Place::new();
        let mut run = parsed(RUN);
        fs::create_dir(place.path().join("d")).unwrap();
        for name in ["a", "b", "c"] {
            run["host"]["name"] = name.into();
            run["labels"] = json!({ name: "x" });
            fs::write(place.path().join(format!("d/{name}.json")), run.to_string()).unwrap();
        }
        place
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// Lets every user write files into it.
    pub fn opened(self) -> Place {
        fs::set_permissions(self.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        self
    }

    pub fn write(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// The program with `arguments`, in this place and with nothing of the caller's that changes its output.
    pub fn command(&self, line: impl Line) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_syscost")), line)
    }

    fn command_of(&self, program: &Path, line: impl Line) -> Command {
        let mut command = Command::new(program);
        command
            .args(line.words())
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
            .env("TMPDIR", self.tmp())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("LC_ALL", "C.UTF-8");
        for name in ["COLUMNS", "NO_COLOR", "XDG_RUNTIME_DIR"] {
            command.env_remove(name);
        }
        command
    }

    /// The program as an ordinary user: a copy that others may execute. Only where the tests run as root.
    pub fn command_as_nobody(&self, line: impl Line) -> Command {
        let copy = self.path().join("syscost");
        copy_program(env!("CARGO_BIN_EXE_syscost"), &copy);
        let mut command = self.command_of(&copy, line);
        command.uid(NOBODY).gid(NOBODY);
        command
    }

    /// The program as an ordinary user, whoever runs the tests.
    pub fn command_without_rights(&self, line: impl Line) -> Command {
        if geteuid().is_root() {
            self.command_as_nobody(line)
        } else {
            self.command(line)
        }
    }

    /// Fails unless each of these command lines ends with its status, leaves nothing behind, and prints nothing but messages with
    /// these words: ours, or the parser's with how the command is used.
    pub fn refuses(&self, start: &str, cases: &[(&str, i32, &str)]) {
        for (arguments, status, words) in cases {
            let line = format!("{start} {arguments}");
            let output = self.run(&line);
            let message = stderr(&output);
            let found = (output.status.code(), stdout(&output));
            assert_eq!(found, (Some(*status), String::new()), "{line}: {message}");
            assert!(message.contains(words), "{line}: {message}");
            let is_ours = message.lines().all(|line| line.starts_with("syscost: "));
            assert!(
                is_ours || message.starts_with("error: "),
                "{line}: {message}"
            );
            assert_eq!(self.left_behind(), Vec::<PathBuf>::new(), "{line}");
        }
    }

    /// Fails unless these command lines are refused as tests/golden/refused-NAME.txt has it: with its exit status and the first line
    /// of its message. Nothing else is printed, and nothing left behind.
    pub fn refusals(&self, name: &str, start: &str, lines: &[&str]) {
        let mut text = String::new();
        for line in lines {
            let line = format!("{start} {line}");
            let output = self.run(&line);
            let (message, status) = (stderr(&output), output.status.code());
            let first = message.lines().next().unwrap_or_default();
            let is_ours = message.lines().all(|line| line.starts_with("syscost: "));
            assert!(
                is_ours || message.starts_with("error: "),
                "{line}: {message}"
            );
            assert_eq!(
                (stdout(&output), self.left_behind()),
                Default::default(),
                "{line}"
            );
            text += &format!("$ {}\n{}: {first}\n", line.trim(), status.unwrap());
        }
        let repository = root().display().to_string();
        expect_file(
            format!("tests/golden/refused-{name}.txt"),
            &text.replace(&repository, "."),
        );
    }

    pub fn document(&self, line: impl Line) -> Value {
        json(
            &self
                .command(line)
                .args(["--format", "json"])
                .output()
                .unwrap(),
        )
    }

    pub fn run(&self, line: impl Line) -> Output {
        self.command(line).output().unwrap()
    }

    /// Standard output of a command that must succeed without a word on standard error, on a screen of 80 columns.
    pub fn printed(&self, line: impl Line) -> String {
        succeeded(self.command(line).env("COLUMNS", "80"))
    }

    /// Fails unless each command prints what its golden file has, which is `files` with a name for `*`. Between the name and the
    /// command line is the width of the screen.
    pub fn prints(&self, files: &str, cases: &[(&str, usize, &str)]) {
        for (name, width, line) in cases {
            let text = succeeded(self.command(line).env("COLUMNS", width.to_string()));
            expect_file(files.replace('*', name), &text);
        }
    }

    pub fn parsed(&self, name: impl AsRef<Path>) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Starts the program in a process group of its own, as a shell starts a job.
    pub fn start(&self, line: impl Line) -> Job {
        let mut command = self.command(line);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        Job {
            child: Some(command.spawn().unwrap()),
        }
    }

    /// The processes that run in this place, run a program from it or were told of it (as the janitor is), other than
    /// those that only wait to be reaped.
    pub fn processes(&self) -> Vec<Process> {
        let tmp = self.tmp();
        let numbered = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        numbered
            .filter_map(|pid| Process::within(pid, &tmp))
            .collect()
    }

    /// Waits until no process and no file of a run is left.
    #[track_caller]
    pub fn expect_clean(&self) {
        let is_clean = || self.processes().is_empty() && self.left_behind().is_empty();
        let clean = wait_for(|| is_clean().then_some(()));
        let left = (self.processes(), self.left_behind());
        assert!(clean.is_some(), "{left:?}");
    }

    pub fn left_behind(&self) -> Vec<PathBuf> {
        fs::read_dir(self.tmp())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }
}

/// A process of a run, as /proc shows it.
#[derive(Clone, Debug)]
pub struct Process {
    pub pid: i32,
    pub group: i32,
    pub traced: bool,
    /// `worker-7`, where it is a worker or was started by one.
    pub worker: Option<u32>,
    pub directory: PathBuf,
}

impl Process {
    fn within(pid: i32, place: &Path) -> Option<Process> {
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).ok();
        let (directory, program) = (link("cwd")?, link("exe")?);
        if !directory.starts_with(place) && !program.starts_with(place) && !is_told(pid, place) {
            return None;
        }
        let name = directory
            .file_name()
            .unwrap_or_default()
            .to_str()?
            .to_string();
        let worker = name
            .strip_prefix("worker-")
            .and_then(|rest| rest.split(' ').next()?.parse().ok());
        Some(Process {
            pid,
            group: group(pid)?,
            traced: is_traced(pid)?,
            worker,
            directory,
        })
    }
}

fn is_told(pid: i32, place: &Path) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments
        .split(|byte| *byte == 0)
        .any(|argument| argument == place.as_os_str().as_bytes())
}

/// The numbers of the runs whose directories are in `place`: each directory's name ends with one.
pub fn run_numbers(place: &Path) -> Vec<u32> {
    let names = fs::read_dir(place)
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter_map(|name| u32::from_str_radix(name.strip_prefix("syscost-run-")?, 16).ok())
        .collect()
}

/// A System V object: `msg` or `shm`, and its id.
pub type Object = (&'static str, i32);

/// The objects under the keys of the run with this number, as /proc/sysvipc has them: key and id come first.
pub fn objects_of(run: u32) -> BTreeSet<Object> {
    const KEYS: u32 = 1 << 11;
    let of_run = |line: &str| {
        let mut fields = line
            .split_whitespace()
            .map_while(|field| field.parse::<i64>().ok());
        let (key, id) = (fields.next()?, fields.next()?);
        (key as u32 / KEYS == run / KEYS).then_some(id as i32)
    };
    let of_kind = |kind: &'static str| {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap();
        table
            .lines()
            .filter_map(of_run)
            .map(|id| (kind, id))
            .collect::<Vec<_>>()
    };
    ["msg", "shm"].into_iter().flat_map(of_kind).collect()
}

/// The fifth field of /proc/PID/stat; the second may hold spaces and ends with the last parenthesis.
fn group(pid: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(2)?
        .parse()
        .ok()
}

pub fn is_traced(pid: i32) -> Option<bool> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let tracer = text
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"))?;
    Some(tracer.trim() != "0")
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

/// Fails, with all that it printed, unless a program ended with this exit status.
#[track_caller]
pub fn expect_status(output: &Output, status: i32) {
    assert_eq!(
        output.status.code(),
        Some(status),
        "{}{}",
        stdout(output),
        stderr(output)
    );
}

pub trait Parts {
    fn parts(&self) -> Vec<&str>;
}

impl Parts for &str {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl Parts for &&str {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl Parts for &String {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl<const N: usize> Parts for [&str; N] {
    fn parts(&self) -> Vec<&str> {
        self.to_vec()
    }
}

#[track_caller]
pub fn expect_in(text: impl AsRef<str>, parts: impl Parts) {
    for part in parts.parts() {
        assert!(
            text.as_ref().contains(part),
            "no {part:?} in\n{}",
            text.as_ref()
        );
    }
}

#[track_caller]
pub fn expect_not_in(text: impl AsRef<str>, parts: impl Parts) {
    for part in parts.parts() {
        assert!(
            !text.as_ref().contains(part),
            "{part:?} in\n{}",
            text.as_ref()
        );
    }
}

#[track_caller]
pub fn expect_start(text: impl AsRef<str>, start: impl AsRef<str>) {
    let (text, start) = (text.as_ref(), start.as_ref());
    assert!(text.starts_with(start), "{text}");
}

/// Fails unless a program ended with this exit status, and its messages have these parts.
#[track_caller]
pub fn expect_error(output: &Output, status: i32, parts: impl Parts) {
    expect_status(output, status);
    expect_in(stderr(output), parts);
}

#[track_caller]
pub fn expect_width(text: &str, width: usize) {
    let long = text.lines().find(|line| line.chars().count() > width);
    assert_eq!(long, None, "{text}");
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

/// A control group of version 2 of its own, which is removed with all that runs in it.
pub struct ControlGroup(pub PathBuf);

impl ControlGroup {
    pub fn new() -> Option<ControlGroup> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mount = mounts
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>())
            .find(|fields| fields[2] == "cgroup2");
        let group = mount
            .map(|mount| Path::new(mount[1]).join(format!("syscost-test-{}", std::process::id())));
        match group.filter(|group| fs::create_dir(group).is_ok()) {
            Some(group) => Some(ControlGroup(group)),
            None => {
                skip("no control group of version 2 can be made here");
                None
            }
        }
    }

    pub fn run(&self, line: &str) -> Child {
        let enter = format!("echo $$ > {}/cgroup.procs && {line}", self.0.display());
        Command::new("sh")
            .args(["-c", &enter])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    pub fn pids(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for pid in self.pids() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let removed = || fs::remove_dir(&self.0).ok();
        wait_for(removed);
    }
}

/// This machine as a run has it: its workers, and what the probe offers.
pub struct Machine {
    pub workers: Workers,
    catalogue: Vec<Operation>,
}

impl Machine {
    pub fn new() -> Machine {
        let directory = RunDirectory::create().unwrap();
        let catalogue = read_catalogue(&directory.probe()).unwrap();
        let placement = Placement::choose(Wanted::Best).unwrap();
        let workers = Workers::new(directory, placement, Interrupt::default(), PATIENCE);
        Machine { workers, catalogue }
    }

    pub fn planned(&self, id: &str) -> Planned {
        let operation = self.catalogue.iter().find(|operation| operation.id == id);
        let subject = Subject::Operation(operation.unwrap());
        let planned = select(&self.catalogue, &[subject], &Choices::default());
        planned.unwrap().remove(0)
    }
}
