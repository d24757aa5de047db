//! A guest's machine, started as its environment says.

use super::console::{BOOT, Console, INIT};
use super::files::Files;
use super::initramfs::{Facts as FileFacts, Initramfs, PROGRAM};
use super::kept::{self, Loading, State};
use super::{Channel, CommandFiles, Monitor, Program, Traced, images};
use crate::runner::{Environment, Kernel, Workers, command, image_architecture, replaced};
use anyhow::{Context, Result, bail, ensure};
use assets::CONFINE;
use model::{Counted, Facts, Failure, FailureKind, Unit};
use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;
use sys::output::output;
use sys::owner::{Trust, doubt, doubt_place};
use sys::{open, private};

#[derive(Clone)]
pub struct Options {
    /// Unless the environment's name says.
    pub memory_mib: u32,
    /// Where the guest's random numbers begin, if its machine is emulated.
    pub seed: u32,
    pub arguments: Vec<OsString>,
    /// Each with its name in the guest, for [`Guest::channel`] with the first line `run NAME`. They
    /// speak the protocol on descriptors 3 and 4.
    pub programs: Vec<(String, PathBuf)>,
    pub command: Option<Rc<CommandFiles>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_mib: 256,
            seed: 1,
            arguments: Vec::new(),
            programs: Vec::new(),
            command: None,
        }
    }
}

/// Starts guests: from the kept state of a machine that has settled, or, where none can be kept, by booting.
pub struct Machine {
    environment: Environment,
    probe: PathBuf,
    options: Options,
    files: Files,
    state: Option<State>,
    pub note: Option<String>,
}

impl Machine {
    pub fn new(workers: &Workers, name: &str, options: &Options) -> Result<Machine, Failure> {
        let environment = workers.environment(name)?;
        let files = kernel(&environment).and_then(|kernel| Files::new(kernel, workers));
        let files = files.map_err(|error| failed(name, &error))?;
        let mut machine = Machine {
            environment,
            probe: workers.probe_of(name)?,
            options: options.clone(),
            files,
            state: None,
            note: None,
        };
        // A machine that keeps time would go on with the clock of the hour in which its state was saved.
        if machine.is_emulated() && machine.environment.disk.is_none() {
            match machine.keep(workers) {
                Ok(state) => machine.state = Some(state),
                Err(_) if workers.interrupt.is_set() => return Err(Failure::interrupted()),
                Err(why) => {
                    machine.note = Some(format!(
                        "{name} boots for each question, since its state cannot be kept: {why:#}"
                    ))
                }
            }
        }
        Ok(machine)
    }

    fn keep(&self, workers: &Workers) -> Result<State> {
        let append = format!("{} {}", kept::BOOT_PARAMETER, self.environment.append);
        let command = self.command(&append, None)?;
        let is = machine(&self.environment);
        State::get(workers, command, is, self.memory_mib(), &self.files)
    }

    fn is_emulated(&self) -> bool {
        self.environment.unit == Unit::Instructions
    }

    fn memory_mib(&self) -> u32 {
        let of_its_name = self.environment.memory_mib;
        of_its_name.unwrap_or(self.options.memory_mib)
    }

    pub fn is_kept(&self) -> bool {
        self.state.is_some()
    }

    /// The kernel's functions with their addresses. The `guest` is asked, which takes seconds, unless one of the same kernel was.
    pub fn functions(
        &self,
        workers: &Workers,
        guest: &Guest,
    ) -> Result<Vec<(u64, String)>, Failure> {
        let ask = || guest.ask("kallsyms");
        let lines = match &self.state {
            Some(state) => state.functions(workers, ask)?,
            None => ask()?,
        };
        Ok(functions(&lines))
    }

    /// Starts a guest that counts the cases of these lines before it takes any input; [`Guest::planned`] returns them.
    pub fn ask(&self, workers: &Workers, plan: &[String]) -> Result<Guest, Failure> {
        let secret = format!("{:016x}.", rand::random::<u64>());
        let lines: String = plan.iter().map(|line| format!("{line}\n")).collect();
        let way = self.environment.confine.as_deref().unwrap_or_default();
        let asked = self.asked(&format!("{secret} {way}\n{lines}"));
        let (mut words, state) = asked.map_err(|error| failed(&self.environment.name, &error))?;
        words.extend(self.options.arguments.iter().cloned());
        let mut start = command(&words);
        let state = state.map(|state| state.inherit(&mut start));
        let mut monitor = None;
        if self.is_emulated() {
            let own = Monitor::attached_to(&mut start, workers.timeout);
            monitor = Some(own.map_err(|error| Failure::start(error.to_string()))?);
        }
        let mut emulator = workers.start_program(|_| start)?;
        if self.is_emulated() {
            emulator.wait_by_cpu_time();
        }
        let mut console = Console::new(emulator, &secret);
        let begun = monitor
            .as_mut()
            .map_or(Ok(()), |monitor| begin(workers, monitor, state));
        if let Err(failure) = begun {
            // An emulator that refuses its command says why on the console, and ends.
            let said = console.line(INIT, workers.timeout).err();
            let said = said.filter(|said| said.kind != FailureKind::Timeout);
            return Err(said.unwrap_or(failure));
        }
        let hello = console.line(INIT, workers.timeout * BOOT)?;
        Ok(Guest {
            console: Rc::new(RefCell::new(console)),
            monitor,
            release: hello.strip_prefix("guest ").unwrap_or(&hello).to_string(),
            program: words[0].clone(),
            command: words.iter().map(|word| self.files.anywhere(word)).collect(),
            channels: Cell::new(plan.len() as u32),
            timeout: workers.timeout,
        })
    }

    fn asked(&self, question: &str) -> Result<(Vec<OsString>, Option<Loading>)> {
        let Some(state) = &self.state else {
            return Ok((
                self.command(&self.environment.append, Some(question))?,
                None,
            ));
        };
        let path = self.files.directory.join(QUESTION);
        fs::write(&path, question).with_context(|| format!("cannot write {}", path.display()))?;
        let (command, loading) = state.asked(&path)?;
        Ok((command, Some(loading)))
    }

    fn command(&self, append: &str, question: Option<&str>) -> Result<Vec<OsString>> {
        let environment = &self.environment;
        let directory = &self.files.directory;
        let initramfs = self.files.initramfs();
        write_archive(&initramfs, &self.probe, question, &self.options)
            .context("the first file system of the guest")?;
        let disk = environment
            .disk
            .as_ref()
            .map(|words| make_disk(words, directory))
            .transpose()?
            .unwrap_or_default();
        let memory = self.memory_mib().to_string();
        let seed = self.options.seed.to_string();
        let holes = [
            ("{kernel}", self.files.kernel.as_os_str()),
            ("{initramfs}", initramfs.as_os_str()),
            ("{disk}", disk.as_os_str()),
            ("{memory}", memory.as_ref()),
            ("{seed}", seed.as_ref()),
            (
                "{cpu}",
                environment.cpu.as_deref().unwrap_or_default().as_ref(),
            ),
            ("{append}", append.as_ref()),
            ("{run}", directory.as_os_str()),
        ];
        Ok(environment
            .run
            .iter()
            .map(|word| replaced(word, &holes))
            .collect())
    }
}

fn failed(name: &str, error: &anyhow::Error) -> Failure {
    Failure::start(format!("environment {name}: {error:#}"))
}

fn begin(workers: &Workers, monitor: &mut Monitor, state: Option<String>) -> Result<(), Failure> {
    monitor.begin()?;
    state.map_or(Ok(()), |state| kept::load(workers, monitor, &state))
}

pub struct Guest {
    console: Rc<RefCell<Console>>,
    pub monitor: Option<Monitor>,
    pub release: String,
    program: OsString,
    /// `{run}` stands for the directory of its files.
    pub command: Vec<String>,
    channels: Cell<u32>,
    timeout: Duration,
}

/// Such as /proc/kallsyms, takes long over a console.
const FILE: u32 = 12;
const QUESTION: &str = "question";
const COMPANIONS: [&str; 3] = ["tiny-static", "bare", CONFINE];
/// Numbers of channels in init.c end before this.
const CHANNELS: u32 = 4096;

impl Guest {
    /// Of the environment `name`, e.g. `linux-6.1`, once it has settled.
    pub fn boot(workers: &Workers, name: &str, options: &Options) -> Result<Guest, Failure> {
        Machine::new(workers, name, options)?.ask(workers, &[])
    }

    pub fn emulator(&self) -> Option<String> {
        let output = output(private::asking(&self.program).arg("--version")).ok()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.lines().next()?.trim();
        // User-mode Linux tells its version alone.
        let named = !version.starts_with(|first: char| first.is_ascii_digit());
        Some(if named {
            version.to_string()
        } else {
            format!("{} {version}", self.program.display())
        })
    }

    pub fn is_alive(&self) -> bool {
        self.console.borrow().is_alive()
    }

    /// A new process with this first line, e.g. `op file.lstat depth=4`.
    pub fn channel(&self, greeting: &str) -> Result<Channel, Failure> {
        self.channels.set(self.channels.get() % (CHANNELS - 1) + 1);
        Channel::open(
            &self.console,
            self.channels.get(),
            Some(greeting),
            self.timeout,
        )
    }

    /// What was counted of a case of the plan. Each can be had once.
    pub fn planned(&self, place: usize) -> Result<(Counted, Facts), Failure> {
        let number = place as u32 + 1;
        let is_last = number == self.channels.get();
        Channel::open(&self.console, number, None, self.timeout)?.counted(is_last)
    }

    pub fn traced(&self, greeting: &str) -> Result<Traced, Failure> {
        Traced::begin(self.channel(&format!("trace {greeting}"))?)
    }

    pub fn program(&self, timeout: Duration) -> Result<Program, Failure> {
        let mut channel = self.channel("program")?;
        channel.timeout = timeout;
        Ok(Program(channel))
    }

    pub fn file(&self, path: &str) -> Result<Vec<String>, Failure> {
        self.ask(&format!("read {path}"))
    }

    fn ask(&self, command: &str) -> Result<Vec<String>, Failure> {
        let mut console = self.console.borrow_mut();
        console.send(INIT, command)?;
        let mut lines = Vec::new();
        loop {
            let line = console.line(INIT, self.timeout * FILE)?;
            match line.strip_prefix(": ") {
                Some(text) => lines.push(text.to_string()),
                None if line == "end" => return Ok(lines),
                None => {
                    let text = line.strip_prefix("error ").unwrap_or(&line);
                    return Err(Failure::failed(format!("the guest answered: {text}")));
                }
            }
        }
    }
}

/// From pairs of words: how far a function lies behind the one before, and its name.
fn functions(lines: &[String]) -> Vec<(u64, String)> {
    let mut address: u64 = 0;
    let mut functions = Vec::new();
    for line in lines {
        let mut words = line.split(' ');
        while let (Some(distance), Some(name)) = (words.next(), words.next()) {
            address = address.wrapping_add(u64::from_str_radix(distance, 16).unwrap_or_default());
            functions.push((address, name.to_string()));
        }
    }
    functions
}

pub fn kernel(environment: &Environment) -> Result<PathBuf> {
    match (&environment.kernel, &environment.own_kernel) {
        (Some(Kernel::Version(wanted)), _) => Ok(images::find(wanted, machine(environment))?.path),
        (Some(Kernel::File(path)), own) => {
            let path = path
                .canonicalize()
                .with_context(|| format!("{}", path.display()))?;
            check_owner(&path)?;
            let (is_for, machine) = (image_architecture(&path), machine(environment));
            if own.is_none() {
                let is_for = is_for?;
                ensure!(
                    is_for == machine,
                    "{} is for {is_for}, the emulated machine is {machine}",
                    path.display()
                );
            }
            Ok(path)
        }
        (None, Some(program)) => Ok(program.into()),
        (None, None) => {
            let (kind, parameters) = environment
                .name
                .find(' ')
                .map_or((&*environment.name, ""), |at| environment.name.split_at(at));
            bail!(
                "it needs a kernel: '{kind}-VERSION{parameters}' ('syscost kernel list' shows versions) or '{kind}:FILE{parameters}'"
            )
        }
    }
}

fn check_owner(path: &Path) -> Result<()> {
    let facts = open::regular(path)
        .and_then(|file| file.metadata())
        .with_context(|| format!("cannot read {}", path.display()))?;
    match doubt(&facts).or_else(|| {
        path.parent()
            .and_then(|folder| doubt_place(folder, Trust::Group))
    }) {
        Some(why) => bail!(
            "{}: {why}, and that kernel would run with your rights: make a copy of your own",
            path.display()
        ),
        None => Ok(()),
    }
}

fn machine(environment: &Environment) -> &str {
    environment
        .machine
        .as_deref()
        .unwrap_or(std::env::consts::ARCH)
}

fn write_archive(
    path: &Path,
    probe: &Path,
    question: Option<&str>,
    options: &Options,
) -> Result<()> {
    let mut archive = Initramfs::new(BufWriter::new(fs::File::create(path)?))?;
    let init = ("init".to_string(), probe.to_path_buf());
    for (name, path) in std::iter::once(&init).chain(&options.programs) {
        let contents = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        archive.file(name, PROGRAM, &contents)?;
    }
    for name in COMPANIONS {
        if let Ok(program) = fs::read(probe.with_file_name(name)) {
            archive.file(name, PROGRAM, &program)?;
        }
    }
    if let Some(question) = question {
        archive.file(QUESTION, FileFacts::default(), question.as_bytes())?;
    }
    if let Some(command) = &options.command {
        command.write(&mut archive)?;
    }
    archive.finish()?;
    Ok(())
}

const DISK_SIZE: u64 = 64 << 20;

/// Makes the image in `directory` with the command `make`, to which its path is added.
fn make_disk(make: &[String], directory: &Path) -> Result<PathBuf> {
    // Another guest of the run has a disk of its own. The run's directory is removed with everything in it.
    let path = private::temporary(directory, "disk-")?.keep().join("image");
    let made = File::create_new(&path).and_then(|file| file.set_len(DISK_SIZE));
    made.with_context(|| format!("cannot write {}", path.display()))?;
    let Some((program, arguments)) = make.split_first() else {
        return Ok(path);
    };
    let done = output(
        private::helper(program, directory)
            .args(arguments)
            .arg(&path)
            .stdin(Stdio::null()),
    );
    let done = done.with_context(|| format!("cannot start {program}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(
        done.status.success(),
        "{program} made no file system: {}",
        said.lines().next_back().unwrap_or_default()
    );
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_lie_behind_each_other() {
        let lines = [
            "ffffffff81000000 _text 50 startup".to_string(),
            "b0 verify".into(),
        ];
        let names = functions(&lines);
        let addresses: Vec<u64> = names.iter().map(|(address, _)| *address).collect();
        let first = 0xffff_ffff_8100_0000;
        assert_eq!(addresses, [first, first + 0x50, first + 0x100]);
        assert_eq!(names[2].1, "verify");
    }

    #[test]
    fn a_disk_is_what_its_command_makes_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| {
            make_disk(
                &words
                    .iter()
                    .map(|word| word.to_string())
                    .collect::<Vec<_>>(),
                directory.path(),
            )
        };
        assert_eq!(run(&["true"]).unwrap().metadata().unwrap().len(), DISK_SIZE);
        let error = |words: &[&str]| format!("{:#}", run(words).unwrap_err());
        assert_eq!(
            error(&["sh", "-c", "echo no room >&2; false"]),
            "sh made no file system: no room"
        );
        assert!(error(&["no-such-mkfs"]).starts_with("cannot start no-such-mkfs: "));
    }
}
