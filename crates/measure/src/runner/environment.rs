//! Environments: how the probe and C snippets are built and started, from `environments/<name>.toml`.

mod command;
mod header;
mod name;
mod start;

use super::cache::Cache;
use super::directory::write_program;
use super::{key, on_path};
use anyhow::{Context, Result, anyhow, bail, ensure};
use assets::build::{confine, programs};
use assets::{ENVIRONMENTS, PROBE};
pub use command::{Meeting, free_name};
use include_dir::Dir;
use model::Unit;
use nix::unistd::geteuid;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use sys::limits::advice;
use sys::output::output;
use sys::private;
use sys::process::is_executable;

pub use header::image_architecture;
/// In MiB; any kernel needs more.
const LEAST_MEMORY: u32 = 16;

fn memory(mib: &str) -> Result<u32> {
    let number = mib
        .parse()
        .ok()
        .filter(|mib| (LEAST_MEMORY..=1 << 20).contains(mib));
    number.with_context(|| format!("memory={mib} is not a number of MiB, {LEAST_MEMORY} or more"))
}

#[cfg(test)]
pub use header::least_image;
pub use name::Kernel;
pub use start::{FILES_DIRECTORY, Files, Places};

pub use model::NATIVE;
pub const SANDBOXES: &str = "sandboxes";

/// environments/README.md describes the keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    #[serde(skip)]
    pub name: String,
    pub title: String,
    pub what: String,
    /// Other names by which users ask for it.
    #[serde(default)]
    pub keywords: Vec<String>,
    #[serde(default, rename = "sandbox")]
    pub is_sandbox: bool,
    #[serde(default)]
    pub compilers: Vec<String>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default, rename = "static")]
    pub is_static: bool,
    #[serde(default, rename = "dynamic")]
    pub is_dynamic: bool,
    #[serde(default, rename = "guest")]
    pub is_guest: bool,
    pub machine: Option<String>,
    pub own_kernel: Option<String>,
    #[serde(skip)]
    pub kernel: Option<Kernel>,
    pub cpu: Option<String>,
    pub disk: Option<Vec<String>>,
    #[serde(skip)]
    pub append: String,
    #[serde(skip)]
    pub memory_mib: Option<u32>,
    /// The way of probe/extra/confine.c that the name asks for, its words separated by colons.
    #[serde(skip)]
    pub confine: Option<String>,
    #[serde(default = "unchanged")]
    pub run: Vec<String>,
    /// For a command of the user's, if not as `run`.
    pub command: Option<Vec<String>>,
    #[serde(default)]
    pub unaccounted: bool,
    pub lacks: Option<String>,
    #[serde(default)]
    pub translates: bool,
    /// podman keeps containers until it is asked to remove them, by the label `syscost={run}`.
    #[serde(default)]
    pub keeps_containers: bool,
    #[serde(default)]
    pub cpus: Cpus,
    #[serde(default)]
    pub relays: bool,
    #[serde(default)]
    pub settle_s: f64,
    #[serde(default)]
    pub needs: BTreeMap<String, String>,
    pub toolchain: Option<String>,
    /// Besides, for an ordinary user; each with the package to install.
    #[serde(default)]
    pub user_needs: BTreeMap<String, String>,
    pub unverified: Option<String>,
    #[serde(default)]
    pub switches: bool,
    #[serde(default)]
    pub unit: Unit,
    #[serde(default)]
    pub misleads: Vec<String>,
    #[serde(skip)]
    pub meeting: Meeting,
}

const PROGRAM: &str = "{program}";

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cpus {
    #[default]
    Measuring,
    /// The driver's CPUs: the starter moves its program to the measuring one by itself (`{measuring}`).
    Driver,
    All,
}

fn unchanged() -> Vec<String> {
    vec![PROGRAM.to_string()]
}

impl Environment {
    /// `name` may include a guest's kernel and boot parameters.
    ///
    /// # Errors
    /// No such environment, or words after the name that do not apply to it.
    pub fn find(name: &str) -> Result<Environment> {
        let parts =
            name::parse(name, |name| file(name).is_some()).with_context(|| no_environment(name))?;
        let mut environment = match &parts.kernel {
            Some(Kernel::File(path)) => Environment::read(&parts.file)?.for_image(path)?,
            _ => Environment::read(&parts.file)?,
        };
        let fits = match &parts.kernel {
            None => true,
            Some(Kernel::File(_)) => environment.run.iter().any(|word| word.contains("{kernel}")),
            Some(Kernel::Version(_)) => environment.machine.is_some(),
        };
        // A name with a kernel is unknown to environments that cannot boot one.
        ensure!(fits, no_environment(name));
        let file = &parts.file;
        ensure!(
            (parts.append.is_empty() && parts.memory.is_none()) || environment.is_guest,
            "environment {file}: boot parameters and memory are for emulated machines only, e.g. 'linux-6.12 audit=1'; others take confine=WAY (docs/options.md)"
        );
        ensure!(
            parts.cpu.is_none() || environment.cpu.is_some(),
            "environment {file}: its processor cannot be chosen"
        );
        if let Some(way) = &parts.confine
            && !environment.is_guest
        {
            ensure!(
                !environment.has_starter(),
                "environment {file}: it has a launcher of its own"
            );
            let words = ["{confine}"].into_iter().chain(way.split(':'));
            environment.run = words.chain(["--", PROGRAM]).map(String::from).collect();
            environment.relays = way.starts_with("bpf") || way.starts_with("agent");
        }
        Ok(Environment {
            name: name.to_string(),
            kernel: parts.kernel,
            cpu: parts.cpu.or(environment.cpu),
            memory_mib: parts.memory.map(|mib| memory(&mib)).transpose()?,
            confine: parts.confine,
            append: parts.append,
            ..environment
        })
    }

    /// The default processor has few of the flaws that kernels mitigate, so that a choice of mitigations changes little.
    pub fn idle_mitigations(&self) -> Option<String> {
        let mut parameters = self.append.split(' ');
        let is_chosen = parameters.any(|word| word.starts_with("mitigations="));
        (is_chosen && self.cpu.as_deref() == Some("qemu64")).then(|| {
            "the emulated processor qemu64 needs few or no mitigations: add cpu=Skylake-Server (docs/environments.md#mitigations)".to_string()
        })
    }

    fn read(stem: &str) -> Result<Environment> {
        let text = file(stem)
            .and_then(|file| file.contents_utf8())
            .context("not text")?;
        let mut environment: Environment =
            toml::from_str(text).with_context(|| format!("environments/{stem}.toml"))?;
        // Cross compilers are for machines of other processors.
        if environment.machine.as_deref() == Some(std::env::consts::ARCH) {
            environment.compilers.clear();
        }
        environment.find_in_sbin();
        Ok(environment)
    }

    /// The PATH of an ordinary user and of some services lacks programs for root.
    fn find_in_sbin(&mut self) {
        const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
        for (need, package) in std::mem::take(&mut self.needs) {
            let sbin_path = SBIN
                .map(|directory| format!("{directory}/{need}"))
                .into_iter()
                .find(|path| is_executable(Path::new(path)) && on_path(&need).is_none());
            if let Some(path) = &sbin_path {
                self.run
                    .iter_mut()
                    .chain(self.disk.iter_mut().flatten())
                    .filter(|word| **word == need)
                    .for_each(|word| word.clone_from(path));
            }
            self.needs.insert(sbin_path.unwrap_or(need), package);
        }
    }

    /// The environment for the processor of the kernel image at `path`. This one if there is
    /// none, or no image: the boot then fails with a message of its own.
    fn for_image(self, path: &Path) -> Result<Environment> {
        let Ok(architecture) = image_architecture(path) else {
            return Ok(self);
        };
        if self.machine.is_none() || self.emulates(architecture) {
            return Ok(self);
        }
        let all = Environment::names()
            .into_iter()
            .map(Environment::read)
            .collect::<Result<Vec<_>>>()?;
        Ok(all
            .into_iter()
            .find(|environment| environment.emulates(architecture))
            .unwrap_or(self))
    }

    fn emulates(&self, architecture: &str) -> bool {
        self.machine.as_deref() == Some(architecture)
    }

    /// The name of the environment that users also call so.
    pub fn with_keyword(word: &str) -> Option<&'static str> {
        Environment::names().into_iter().find(|name| {
            Environment::read(name)
                .is_ok_and(|environment| environment.keywords.iter().any(|one| one == word))
        })
    }

    /// Alphabetical.
    pub fn names() -> Vec<&'static str> {
        assets::names(&ENVIRONMENTS)
    }

    /// Whether this machine has the programs that they need or not.
    pub fn sandboxes() -> Vec<Environment> {
        Environment::names()
            .into_iter()
            .filter_map(|name| Environment::find(name).ok())
            .filter(|environment| environment.is_sandbox)
            .collect()
    }

    /// Whether programs for it are those of the host's own compiler and flags.
    pub fn is_built_natively(&self) -> bool {
        self.compilers.is_empty() && self.flags.is_empty() && !self.is_static
    }

    /// Whether another program starts the worker's program.
    pub fn has_starter(&self) -> bool {
        self.run != unchanged()
    }

    /// Our own launcher, `confine`, starts it.
    pub fn is_launched(&self) -> bool {
        self.run.first().is_some_and(|word| word == "{confine}")
    }

    /// Refuses an environment whose programs are not on PATH, with the package to install.
    pub fn check_needs(&self) -> Result<()> {
        // A kernel that the user names replaces the one that the environment needs.
        let of_all = self.needs.iter().filter(|(program, _)| {
            !(self.kernel.is_some() && self.own_kernel.as_ref() == Some(*program))
        });
        let of_user = if geteuid().is_root() {
            None
        } else {
            Some(&self.user_needs)
        };
        match of_all
            .chain(of_user.into_iter().flatten())
            .find(|(program, _)| on_path(program).is_none())
        {
            Some((missing, package)) => bail!(
                "environment {}: {missing} is not on PATH; install {package}",
                self.name,
            ),
            None => Ok(()),
        }
    }

    fn to_install(&self) -> String {
        self.toolchain
            .as_ref()
            .map(|toolchain| format!("; install {toolchain}"))
            .unwrap_or_default()
    }

    /// # Errors
    /// No compiler for it is on PATH.
    pub fn compiler(&self) -> Result<Vec<OsString>> {
        if self.compilers.is_empty() {
            return Ok(vec![c_compiler()?.into()]);
        }
        self.compilers
            .iter()
            .find_map(|command| {
                let mut words = command.split_whitespace();
                let program = on_path(words.next()?)?.into_os_string();
                Some(
                    std::iter::once(program)
                        .chain(words.map(OsString::from))
                        .collect(),
                )
            })
            .with_context(|| {
                format!(
                    "environment {}: none of {} is on PATH{}",
                    self.name,
                    self.compilers.join(", "),
                    self.to_install()
                )
            })
    }

    /// Versions of syscost and of the compiler, for the atlas.
    pub fn probe_text(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let Ok(mut words) = self.compiler() else {
            return format!("syscost {version}, compiler unknown");
        };
        let asked = output(
            private::asking(&words[0])
                .args(&words[1..])
                .arg("--version"),
        );
        let answer = asked.map(|done| done.stdout).unwrap_or_default();
        let answer = String::from_utf8_lossy(&answer);
        // Without its directory, which differs between machines with the same compiler.
        words[0] = Path::new(&words[0]).file_name().unwrap_or_default().into();
        let spelled = words.join(OsStr::new(" "));
        format!(
            "syscost {version}, {}: {}",
            spelled.to_string_lossy(),
            answer.lines().next().unwrap_or("version unknown").trim()
        )
    }

    /// Built if the cache has none.
    ///
    /// # Errors
    /// The compiler is missing or fails.
    pub fn probe(&self, cache: &Cache) -> Result<PathBuf> {
        let compiler = self.compiler()?;
        let built = cache.get(&self.key(&compiler), |directory| {
            self.build(cache, &compiler, directory)
        })?;
        Ok(built.join("probe"))
    }

    /// Building takes seconds.
    pub fn is_unbuilt(&self, cache: &Cache) -> bool {
        !self.is_built_natively()
            && self
                .compiler()
                .is_ok_and(|compiler| !cache.holds(&self.key(&compiler)))
    }

    fn key(&self, compiler: &[OsString]) -> String {
        let (flags, compiler, sources) = (
            self.flags.join(" "),
            compiler.join(OsStr::new(" ")),
            probe_sources(),
        );
        let version = env!("CARGO_PKG_VERSION");
        let recipe = [
            b"probe",
            version.as_bytes(),
            flags.as_bytes(),
            compiler.as_bytes(),
            assets::COMPILER.as_bytes(),
        ];
        let texts = sources.iter().map(|(_, text)| text.as_bytes());
        key(&recipe.into_iter().chain(texts).collect::<Vec<_>>())
    }

    fn build(&self, cache: &Cache, compiler: &[OsString], directory: &Path) -> Result<()> {
        let sources = probe_sources();
        write_sources(&sources, directory)?;
        let c_files: Vec<String> = sources
            .into_iter()
            .map(|(path, _)| path)
            // Those in `extra` are programs of their own, which `programs` lists.
            .filter(|p| p.ends_with(".c") && !p.starts_with("extra/"))
            .collect();
        // The probe and the programs that some operations start; optional ones may fail to build.
        let mut programs = programs(".", &c_files, ".", self.is_static);
        if self.is_guest {
            programs.push(confine(".", true));
        }
        for program in programs {
            let mut command = cache.compiler(&compiler[0], directory);
            command.args(&compiler[1..]);
            // A static probe still starts a dynamically linked program.
            if !self.is_static || program.name != "tiny-dynamic" {
                command.args(&self.flags);
            }
            command.args(&program.arguments).args(["-o", program.name]);
            self.check(&mut command, program.optional)?;
        }
        Ok(())
    }

    fn check(&self, command: &mut Command, optional: bool) -> Result<()> {
        let output = output(command.stdin(Stdio::null()))
            .map_err(|e| anyhow!("cannot start the C compiler: {e}{}", advice(&e)))?;
        ensure!(
            output.status.success() || optional,
            "{}",
            self.cannot_build(&first_error(&output))
        );
        Ok(())
    }

    /// The message for a compiler that is there and fails, usually because a library for the target is missing.
    pub fn cannot_build(&self, message: &str) -> String {
        format!(
            "environment {}: the C compiler cannot build for it ({}){}",
            self.name,
            message.trim(),
            self.to_install()
        )
    }
}

fn no_environment(name: &str) -> String {
    if let Some(other) = Environment::with_keyword(name) {
        return format!("there is no environment '{name}': its name is '{other}'");
    }
    format!(
        "there is no environment '{name}'; available: {}",
        Environment::names().join(", ")
    )
}

fn file(stem: &str) -> Option<&'static include_dir::File<'static>> {
    ENVIRONMENTS.get_file(format!("{stem}.toml"))
}

/// The paths and texts of the probe's sources, sorted by path.
pub fn probe_sources() -> Vec<(String, &'static str)> {
    sources(&PROBE)
}

fn sources(directory: &'static Dir) -> Vec<(String, &'static str)> {
    let files = directory
        .files()
        .filter_map(|f| Some((f.path().display().to_string(), f.contents_utf8()?)));
    let below = directory.dirs().flat_map(sources);
    let mut all: Vec<_> = files.chain(below).collect();
    all.sort();
    all
}

/// The first line with the word `error`, else the first.
pub fn first_error(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    errors
        .lines()
        .find(|line| line.contains("error"))
        .or(errors.lines().next())
        .unwrap_or("no message")
        .trim()
        .to_string()
}

/// # Errors
/// A file exists already, or cannot be written.
pub fn write_sources(sources: &[(String, &str)], directory: &Path) -> Result<()> {
    for (path, text) in sources {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
        write_program(&path, text.as_bytes())?;
    }
    Ok(())
}

/// $CC, else the first of the usual names.
///
/// # Errors
/// None is on PATH.
pub fn c_compiler() -> Result<PathBuf> {
    std::env::var("CC")
        .ok()
        .as_deref()
        .into_iter()
        .chain(["cc", "gcc", "clang"])
        .filter_map(on_path)
        .next()
        .context("no C compiler on PATH (usual package: gcc)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_compiler_is_missing_no_program_that_is_there_is_to_be_installed() {
        for name in Environment::names() {
            let environment = Environment::find(name).unwrap();
            let advice = environment.to_install();
            let mut packages = environment.needs.values();
            assert!(
                !packages.any(|package| advice.contains(package)),
                "{advice}"
            );
            let builds = !environment.is_built_natively();
            assert_eq!(builds, environment.toolchain.is_some(), "{name}");
        }
    }

    #[test]
    fn mitigations_of_a_processor_that_needs_few_are_noted() {
        for (name, is_idle) in [
            ("linux-6.12 mitigations=off", true),
            ("linux-6.12 audit=1", false),
            ("linux-6.12 mitigations=off cpu=Skylake-Server", false),
            ("native", false),
        ] {
            let environment = Environment::find(name).unwrap();
            assert_eq!(environment.idle_mitigations().is_some(), is_idle, "{name}");
        }
    }

    #[test]
    fn environments_are_found_by_name() {
        for name in Environment::names() {
            assert_eq!(Environment::find(name).unwrap().name, name);
        }
        let error = Environment::find("gvisor-systrap").unwrap_err();
        let expected = "there is no environment 'gvisor-systrap': its name is 'gvisor'";
        assert_eq!(error.to_string(), expected);
        let error = Environment::find("toaster").unwrap_err().to_string();
        let all = Environment::names().join(", ");
        assert_eq!(
            error,
            format!("there is no environment 'toaster'; available: {all}")
        );
    }
}
