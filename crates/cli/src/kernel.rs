//! `syscost kernel`: images of kernels for `--env linux-VERSION`, and an atlas of what operations execute in them.

mod atlas;
mod diff;
mod parallel;
mod steps;

use super::error::{bail_usage, usage_error};
use super::exit::Exit;
use super::messages::note;
use super::output::tables;
use super::terminal::screen;
use anyhow::Result;
use measure::guest::images::{ARCHITECTURES, Architecture, Facts, Image, Images, Mirror, Package};
use measure::runner::Interrupt;
use report::{Cell, Columns, Format, Style, write_table};
use std::io::Write;
use std::path::PathBuf;

/// Fetch kernels for 'run --env linux-VERSION', compare two, and count operations in all of them.
#[derive(clap::Args)]
pub struct KernelArgs {
    #[command(subcommand)]
    command: KernelCommand,
}

#[derive(clap::Subcommand)]
enum KernelCommand {
    Fetch(FetchArgs),
    List(ListArgs),
    Remove(RemoveArgs),
    Atlas(atlas::AtlasArgs),
    Diff(diff::DiffArgs),
}

/// Fetch kernels from the packages of the Debian mirror that this machine uses.
///
/// apt downloads and verifies them in a private directory. Nothing on the system changes and no privilege is needed:
/// only the mirror, its keys and the proxies are read from the system's configuration.
#[derive(clap::Args)]
#[command(after_help = FETCH_EXAMPLES)]
struct FetchArgs {
    /// A version (6.1: its newest release on the mirror) or a release (6.1.0-54-cloud-amd64).
    #[arg(value_name = "VERSION", required = true)]
    versions: Vec<String>,
    #[command(flatten)]
    machine: ForArgs,
}

const FETCH_EXAMPLES: &str = "\
Examples:
  syscost kernel fetch 6.1 6.12
  syscost kernel fetch 6.12 --arch arm64
  syscost kernel list --available";

/// List fetched kernels, or those that can be fetched.
#[derive(clap::Args)]
struct ListArgs {
    /// List what the mirror has; downloads about 50 MB of package lists.
    #[arg(long)]
    available: bool,
    #[command(flatten)]
    machine: ForArgs,
}

/// Remove fetched kernels.
#[derive(clap::Args)]
struct RemoveArgs {
    /// Releases as 'syscost kernel list' shows them.
    #[arg(value_name = "RELEASE", required_unless_present = "all")]
    releases: Vec<String>,
    /// Remove all.
    #[arg(long, conflicts_with = "releases")]
    all: bool,
}

#[derive(clap::Args)]
struct ForArgs {
    /// Architecture to fetch for: amd64 or arm64 [default: this machine's].
    #[arg(long = "arch", value_name = "ARCHITECTURE")]
    architecture: Option<String>,
    /// Output format.
    #[arg(long, value_parser = tables(), default_value = "text")]
    format: Format,
}

impl ForArgs {
    fn architecture(&self) -> Result<Architecture> {
        find_architecture(
            self.architecture
                .as_deref()
                .unwrap_or(std::env::consts::ARCH),
        )
    }
}

fn find_architecture(name: &str) -> Result<Architecture> {
    Architecture::find(name).ok_or_else(|| {
        let all = ARCHITECTURES
            .map(|architecture| architecture.debian)
            .join(" or ");
        usage_error!("--arch: no kernels exist for '{name}': give {all}")
    })
}

/// Errors after an interrupt are reported as the interrupt.
pub fn run(args: &KernelArgs, out: &mut dyn Write) -> Result<Exit> {
    let interrupt = Interrupt::on_signals()?;
    let done = match &args.command {
        KernelCommand::Fetch(args) => fetch(args, out).map(Exit::from),
        KernelCommand::List(args) => list(args, out).map(Exit::from),
        KernelCommand::Remove(args) => remove(args).map(Exit::from),
        KernelCommand::Atlas(args) => atlas::run(args, &interrupt, out),
        KernelCommand::Diff(args) => diff::run(args, &interrupt, out),
    };
    // Whatever it failed at then is a consequence.
    if interrupt.is_set() && done.is_err() {
        Ok(Exit::Interrupted)
    } else {
        done
    }
}

fn fetch(args: &FetchArgs, out: &mut dyn Write) -> Result<()> {
    let architecture = args.machine.architecture()?;
    for version in &args.versions {
        if !version.starts_with(|first: char| first.is_ascii_digit()) {
            bail_usage!("'{version}' is not a kernel version, such as 6.1");
        }
    }
    let images = Images::open()?;
    let mut mirror = Mirror::open(&images, architecture, &note::<str>)?;
    // All of them before the first is fetched: a misspelt one should not be found out last.
    let mut packages = Vec::new();
    for version in &args.versions {
        packages.push(mirror.find(version)?.ok_or_else(|| {
            usage_error!(
                "the mirror has no kernel '{version}': it has {}",
                mirror.served()
            )
        })?);
    }
    let fetched = packages
        .iter()
        .map(|package| Ok(mirror.fetch(package)?.facts.release))
        .collect::<Result<Vec<String>>>()?;
    let mut kernels = fetched_kernels(&images);
    kernels.retain(|kernel| fetched.contains(&kernel.facts.release));
    write(&kernels, args.machine.format, out)
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<()> {
    let images = Images::open()?;
    let fetched = fetched_kernels(&images);
    if !args.available {
        return write(&fetched, args.machine.format, out);
    }
    let architecture = args.machine.architecture()?;
    let mut mirror = Mirror::open(&images, architecture, &note::<str>)?;
    let kernels: Vec<Kernel> = mirror
        .all()?
        .iter()
        .map(|package| {
            fetched
                .iter()
                .find(|kernel| kernel.facts.release == package.release)
                .cloned()
                .unwrap_or_else(|| Kernel::available(package.clone(), architecture))
        })
        .collect();
    note_unread(&mirror);
    write(&kernels, args.machine.format, out)
}

fn note_unread(mirror: &Mirror) {
    for why in &mirror.unread {
        note(&format_args!("not read: {why}"));
    }
}

fn remove(args: &RemoveArgs) -> Result<()> {
    let images = Images::open()?;
    let mut releases = args.releases.clone();
    if args.all {
        let all = fetched_kernels(&images).into_iter();
        releases.extend(all.map(|kernel| kernel.facts.release));
    }
    for release in &releases {
        if !images.remove(release)? {
            bail_usage!(
                "no kernel '{release}' was fetched: 'syscost kernel list' shows the releases"
            );
        }
    }
    Ok(())
}

/// A kernel that was fetched or can be. Facts that are not known are empty.
#[derive(Clone, Default)]
struct Kernel {
    facts: Facts,
    path: Option<PathBuf>,
    error: Option<String>,
}

impl Kernel {
    fn available(package: Package, architecture: Architecture) -> Kernel {
        Kernel {
            facts: Facts {
                release: package.release,
                architecture: architecture.machine.to_string(),
                package: package.name,
                version: package.version,
                suite: package.suite,
                ..Facts::default()
            },
            ..Kernel::default()
        }
    }

    fn damaged(release: String) -> Kernel {
        Kernel {
            facts: Facts {
                release,
                ..Facts::default()
            },
            error: Some("damaged: fetch it again, or remove it".to_string()),
            ..Kernel::default()
        }
    }

    fn state(&self) -> Cell {
        match (&self.error, &self.path) {
            (Some(error), _) => Cell::styled(error.clone(), Style::Warning),
            (None, Some(path)) => Cell::from(path.display().to_string()),
            (None, None) => Cell::styled("not fetched", Style::Faint),
        }
    }
}

fn fetched_kernels(images: &Images) -> Vec<Kernel> {
    let damaged = images.damaged().into_iter().map(Kernel::damaged);
    images
        .all()
        .into_iter()
        .map(|Image { path, facts }| Kernel {
            facts,
            path: Some(path),
            error: None,
        })
        .chain(damaged)
        .collect()
}

fn write(kernels: &[Kernel], format: Format, out: &mut dyn Write) -> Result<()> {
    let mut table = Columns::new(kernels)
        .same("release", |k| &k.facts.release)
        .same("architecture", |k| &k.facts.architecture)
        .same("suite", |k| &k.facts.suite)
        .left("image", Kernel::state)
        .wrapping()
        .field("package", |k| &k.facts.package)
        .field("version", |k| &k.facts.version)
        .field("bytes", |k| {
            if k.facts.bytes > 0 {
                Some(k.facts.bytes.to_string())
            } else {
                None
            }
        })
        .field("path", |k| Some(k.path.as_ref()?.display().to_string()))
        .field("error", |k| k.error.as_ref())
        .table();
    if kernels.is_empty() {
        let none = "no kernel has been fetched: 'syscost kernel fetch 6.1' gets one";
        table = table.noted([none]);
    }
    write_table(&table, format, screen(), out)
}
