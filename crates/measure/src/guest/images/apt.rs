//! `apt` with a configuration, a state and a cache of its own below one directory: it needs no
//! privilege, and verifies what it gets with the system's keys.
//!
//! Of the system's configuration, which may hold hooks that change the system, only what says how
//! to get and to trust (`Acquire`, keys, proxies, passwords) is handed on.

use super::sources::{Source, Suites};
use crate::runner::{digest, on_path};
use anyhow::{Context, Error, Result, anyhow, ensure};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use sys::output::output_within;
use sys::private;

pub struct Apt {
    directory: PathBuf,
    architecture: &'static str,
    sources: Vec<Source>,
}

const LONGEST: Duration = Duration::from_secs(900);

const KEPT: [&str; 4] = [
    "Acquire::",
    "Dir::Etc::trusted",
    "Dir::Etc::netrc",
    "Dir::Bin::",
];
const NOT_KEPT: [&str; 3] = [
    "Acquire::IndexTargets",
    "Acquire::Languages",
    "Acquire::GzipIndexes",
];

const CONFIGURATION: &str = "apt.conf";

const NO_APT: &str = "kernel images are fetched from Debian packages with apt, and";
const OWN_IMAGE: &str = "any kernel image can be measured with 'syscost run --env linux:PATH'";

impl Apt {
    pub fn new(directory: &Path, architecture: &'static str) -> Result<Apt> {
        for program in ["apt-get", "apt-cache", "apt-config", "dpkg-deb", "tar"] {
            ensure!(
                on_path(program).is_some(),
                "{NO_APT} {program} is not on PATH; {OWN_IMAGE}"
            );
        }
        for made in [
            "lists/partial",
            "cache/archives/partial",
            "sources",
            "downloads",
            "kernel",
        ] {
            fs::create_dir_all(directory.join(made))
                .context("cannot write the directory for apt")?;
        }
        fs::write(directory.join("status"), "")?;
        let mut apt = Apt {
            directory: directory.to_path_buf(),
            architecture,
            sources: Vec::new(),
        };
        let system = apt.output("apt-config", &["dump"])?;
        let places = [
            "shell",
            "list",
            "Dir::Etc::sourcelist/f",
            "parts",
            "Dir::Etc::sourceparts/d",
        ];
        apt.sources = system_sources(&apt.output("apt-config", &places)?);
        let none = "no package source on this machine is a Debian mirror";
        ensure!(!apt.sources.is_empty(), "{NO_APT} {none}; {OWN_IMAGE}");
        fs::write(apt.path(CONFIGURATION), apt.configuration(&system))?;
        Ok(apt)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn configuration(&self, system: &str) -> String {
        fn begins(line: &str, names: &[&str]) -> bool {
            names.iter().any(|name| line.starts_with(name))
        }

        let kept = system.lines().filter(|line| {
            begins(line, &KEPT) && !begins(line, &NOT_KEPT) && !line.ends_with(" \"\";")
        });
        let path = |name: &str| self.path(name).display().to_string();
        let (none, own) = ("/dev/null", path(""));
        let (sources, lists, status, cache) = (
            path("sources"),
            path("lists"),
            path("status"),
            path("cache"),
        );
        let settings = [
            ("Dir::Etc::Main", none),
            ("Dir::Etc::Parts", none),
            ("Dir::Etc::preferences", none),
            ("Dir::Etc::preferencesparts", none),
            ("Dir::Etc::sourcelist", none),
            ("Dir::Etc::sourceparts", &sources),
            ("Dir::State", &own),
            ("Dir::State::lists", &lists),
            ("Dir::State::status", &status),
            ("Dir::Cache", &cache),
            ("Dir::Cache::pkgcache", ""),
            ("Dir::Cache::srcpkgcache", ""),
            ("Dir::Log", &own),
            ("APT::Architecture", self.architecture),
            // The directory is private to this user, so nobody else could write there.
            ("APT::Sandbox::User", ""),
            ("APT::Get::List-Cleanup", "false"),
            ("Acquire::Languages", "none"),
            ("Acquire::GzipIndexes", "true"),
            // Whatever the system's configuration says: an archive's lists are signed, and they hold the digests of packages.
            ("Acquire::AllowInsecureRepositories", "false"),
            ("Acquire::AllowWeakRepositories", "false"),
            ("Acquire::AllowDowngradeToInsecureRepositories", "false"),
            ("Acquire::Retries", "2"),
            ("Acquire::http::Timeout", "30"),
            ("Acquire::https::Timeout", "30"),
        ];
        let settings = settings.map(|(name, value)| format!("{name} \"{value}\";\n"));
        let kept: String = kept.map(|line| format!("{line}\n")).collect();
        format!(
            "{kept}{}APT::Architectures {{ \"{}\"; }};\n",
            settings.concat(),
            self.architecture
        )
    }

    /// Reads the lists of packages of `suites`, in addition to those read before. Returns what apt
    /// says of those that it could not read: a mirror has not all of them.
    pub fn update(&self, suites: Suites) -> Result<Vec<String>> {
        let stanzas: String = self
            .sources
            .iter()
            .filter_map(|source| source.stanza(suites, self.architecture))
            .collect();
        fs::write(
            self.path("sources").join(format!("{suites:?}.sources")),
            stanzas,
        )?;
        let updated = self.run(self.program("apt-get").args(["-q", "update"]))?;
        Ok(complaints(&updated))
    }

    pub fn query(&self, arguments: &[&str]) -> Result<String> {
        self.output("apt-cache", arguments)
    }

    /// Returns the directory below which they are.
    pub fn unpack(&self, name: &str, version: &str, patterns: &[&str]) -> Result<PathBuf> {
        let wanted = format!("{name}={version}");
        let package = self.download(&wanted)?;
        self.check(&wanted, &package)?;
        let kernel = self.path("kernel");
        let mut contents = self.program("dpkg-deb");
        contents
            .arg("--fsys-tarfile")
            .arg(&package)
            .stdout(Stdio::piped());
        let mut contents = contents.spawn().context("cannot start dpkg-deb")?;
        let mut tar = self.program("tar");
        tar.args(["-x", "--no-same-owner", "--wildcards", "-C"])
            .arg(&kernel)
            .args(patterns);
        tar.stdin(contents.stdout.take().map_or_else(Stdio::null, Stdio::from));
        // One of the patterns matches nothing, which tar calls a failure.
        let unpacked = self.run(&mut tar);
        drop(tar);
        let whole = contents.wait().is_ok_and(|status| status.success());
        unpacked?;
        fs::remove_file(&package)?;
        ensure!(whole, "dpkg-deb cannot read the package {wanted}");
        Ok(kernel)
    }

    fn download(&self, wanted: &str) -> Result<PathBuf> {
        let downloads = self.path("downloads");
        let mut get = self.program("apt-get");
        let done = self.run(get.args(["-q", "download", wanted]).current_dir(&downloads))?;
        ensure!(
            done.status.success(),
            "apt-get download {wanted}: {}",
            complaints(&done).join("; ")
        );
        Ok(fs::read_dir(&downloads)?
            .flatten()
            .next()
            .context("apt-get download made no file")?
            .path())
    }

    /// Checks the digest in the signed list, as apt has done before the package had its name and
    /// place here.
    fn check(&self, wanted: &str, package: &Path) -> Result<()> {
        let shown = self.query(&["show", wanted])?;
        let digest = digest(package)?;
        let listed = shown
            .lines()
            .filter_map(|line| line.strip_prefix("SHA256:"))
            .any(|listed| listed.trim() == digest);
        ensure!(
            listed,
            "the package {wanted} is not the one in the archive's list (its SHA-256 is {digest}): fetch it again"
        );
        Ok(())
    }

    fn output(&self, name: &str, arguments: &[&str]) -> Result<String> {
        let done = self.run(self.program(name).args(arguments))?;
        ensure!(
            done.status.success(),
            "{name} {}: {}",
            arguments[0],
            complaints(&done).join("; ")
        );
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    fn program(&self, name: &str) -> Command {
        let mut command = private::helper(name, &self.directory);
        if self.path(CONFIGURATION).exists() {
            command.env("APT_CONFIG", self.path(CONFIGURATION));
        }
        command
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        command
    }

    /// Killed with its children if the user interrupts or it takes too long.
    fn run(&self, command: &mut Command) -> Result<Output> {
        let name = command.get_program().to_string_lossy().into_owned();
        output_within(command, LONGEST).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => anyhow!("{name}: interrupted"),
            ErrorKind::TimedOut => anyhow!("{name}: not finished after {} s", LONGEST.as_secs()),
            _ => Error::new(error).context(format!("cannot start {name}")),
        })
    }
}

fn complaints(done: &Output) -> Vec<String> {
    String::from_utf8_lossy(&done.stderr)
        .lines()
        .filter_map(|line| line.strip_prefix("E: ").or(line.strip_prefix("W: ")))
        .filter(|line| !line.starts_with("Some index files failed"))
        .map(str::to_string)
        .collect()
}

fn system_sources(places: &str) -> Vec<Source> {
    let place = |name: &str| {
        places
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix("='"))?
            .strip_suffix('\'')
            .map(PathBuf::from)
    };
    let mut files: Vec<PathBuf> = place("parts")
        .and_then(|directory| fs::read_dir(directory).ok())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files.retain(|file| {
        file.extension()
            .is_some_and(|end| end == "list" || end == "sources")
    });
    files.extend(place("list"));
    files
        .iter()
        .filter_map(|file| {
            Some(Source::all(
                &file.to_string_lossy(),
                &fs::read_to_string(file).ok()?,
            ))
        })
        .flatten()
        .collect()
}
