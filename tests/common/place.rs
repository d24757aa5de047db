//! A private directory in which a test runs the program, and the processes and objects that a run has there.

use super::*;
use nix::sys::signal::{SigHandler, signal};
use std::os::unix::ffi::OsStrExt;

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
