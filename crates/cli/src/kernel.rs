//! `syscost kernel`: images of kernels for `--env linux-VERSION`, and an atlas of what operations execute in them.

mod atlas;

use super::error::usage;
use super::exit::Exit;
use super::messages::Notes;
use super::output::tables;
use super::terminal;
use anyhow::{Context, Result, bail};
use measure::guest::images::{ARCHITECTURES, Architecture, Facts, Image, Images, Mirror, Package};
use measure::runner::Interrupt;
use report::{Cell, Format, Spec, Style, Table, write_table};
use std::io::Write;
use std::path::PathBuf;

/// Fetch kernels for 'run --env linux-VERSION', and count operations in all of them.
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
    of: ForArgs,
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
    of: ForArgs,
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
        let name = self
            .architecture
            .as_deref()
            .unwrap_or(std::env::consts::ARCH);
        let all = || {
            ARCHITECTURES
                .map(|architecture| architecture.debian)
                .join(" or ")
        };
        Architecture::find(name)
            .with_context(|| format!("--arch: there are no kernels for '{name}': give {}", all()))
    }
}

pub fn run(args: &KernelArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let interrupt = Interrupt::on_signals()?;
    let done = match &args.command {
        KernelCommand::Fetch(args) => fetch(args, &interrupt, notes, out),
        KernelCommand::List(args) => list(args, &interrupt, notes, out),
        KernelCommand::Remove(args) => remove(args),
        KernelCommand::Atlas(args) => atlas::run(args, &interrupt, notes, out),
    };
    // Whatever it failed at then is a consequence.
    if interrupt.is_set() && done.is_err() {
        Ok(Exit::Interrupted)
    } else {
        done
    }
}

fn fetch(
    args: &FetchArgs,
    interrupt: &Interrupt,
    notes: Notes,
    out: &mut dyn Write,
) -> Result<Exit> {
    let architecture = usage(args.of.architecture())?;
    let other = args
        .versions
        .iter()
        .find(|version| !version.starts_with(|first: char| first.is_ascii_digit()));
    usage(other.map_or(Ok(()), |other| {
        bail!("'{other}' is not a kernel version, such as 6.1")
    }))?;
    let images = Images::open()?;
    let tell = |doing: &str| notes.tell(&doing);
    let mut mirror = Mirror::open(&images, architecture, interrupt, &tell)?;
    // All of them before the first is fetched: a misspelt one should not be found out last.
    let packages = args
        .versions
        .iter()
        .map(|version| find(&mut mirror, version))
        .collect::<Result<Vec<Package>>>()?;
    let fetched = packages
        .iter()
        .map(|package| mirror.fetch(package))
        .collect::<Result<Vec<Image>>>()?;
    let is_asked = |kernel: &Kernel| {
        fetched
            .iter()
            .any(|image| image.facts.release == kernel.facts.release)
    };
    write(
        fetched_kernels(&images)
            .into_iter()
            .filter(is_asked)
            .collect(),
        args.of.format,
        out,
    )
}

fn find(mirror: &mut Mirror, version: &str) -> Result<Package> {
    let found = mirror.find(version)?;
    usage(found.with_context(|| {
        format!(
            "the mirror has no kernel '{version}': it has {}",
            mirror.served()
        )
    }))
}

fn list(args: &ListArgs, interrupt: &Interrupt, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let images = Images::open()?;
    let fetched = fetched_kernels(&images);
    if !args.available {
        return write(fetched, args.of.format, out);
    }
    let architecture = usage(args.of.architecture())?;
    let tell = |doing: &str| notes.tell(&doing);
    let mut mirror = Mirror::open(&images, architecture, interrupt, &tell)?;
    let of = |package: &Package| {
        let here = fetched
            .iter()
            .find(|kernel| kernel.facts.release == package.release)
            .cloned();
        here.unwrap_or_else(|| Kernel::available(package.clone(), architecture))
    };
    let kernels = mirror.all()?.iter().map(of).collect();
    mirror
        .unread()
        .iter()
        .for_each(|why| notes.tell(&format_args!("not read: {why}")));
    write(kernels, args.of.format, out)
}

fn remove(args: &RemoveArgs) -> Result<Exit> {
    let images = Images::open()?;
    let all = || {
        fetched_kernels(&images)
            .into_iter()
            .map(|kernel| kernel.facts.release)
            .collect()
    };
    let releases: Vec<String> = if args.all {
        all()
    } else {
        args.releases.clone()
    };
    for release in &releases {
        let removed = images.remove(release)?;
        let missing =
            format!("no kernel '{release}' was fetched: 'syscost kernel list' shows the releases");
        usage(removed.then_some(()).context(missing))?;
    }
    Ok(Exit::Success)
}

/// A kernel that was fetched or can be. Facts that are not known are empty.
#[derive(Clone, Default)]
struct Kernel {
    facts: Facts,
    /// The image; null if it was not fetched.
    path: Option<PathBuf>,
    /// Why the image cannot be used; null if it can, or was not fetched.
    error: Option<String>,
}

impl Kernel {
    fn available(package: Package, architecture: Architecture) -> Kernel {
        let Package {
            name,
            release,
            version,
            suite,
        } = package;
        let architecture = architecture.machine.to_string();
        Kernel {
            facts: Facts {
                release,
                architecture,
                package: name,
                version,
                suite,
                ..Facts::default()
            },
            ..Kernel::default()
        }
    }

    fn damaged(release: String) -> Kernel {
        let error = Some("damaged: fetch it again, or remove it".to_string());
        Kernel {
            facts: Facts {
                release,
                ..Facts::default()
            },
            error,
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

/// The images, complete ones first.
fn fetched_kernels(images: &Images) -> Vec<Kernel> {
    let damaged = images.damaged().into_iter().map(Kernel::damaged);
    let fetched = |Image { path, facts }| Kernel {
        facts,
        path: Some(path),
        error: None,
    };
    images
        .all()
        .into_iter()
        .map(fetched)
        .chain(damaged)
        .collect()
}

fn write(kernels: Vec<Kernel>, format: Format, out: &mut dyn Write) -> Result<Exit> {
    let specs = [
        Spec::same("release", |k: &Kernel| k.facts.release.clone()),
        Spec::same("architecture", |k: &Kernel| k.facts.architecture.clone()),
        Spec::same("suite", |k: &Kernel| k.facts.suite.clone()),
        Spec::left("image", Kernel::state)
            .wrapping()
            .text("package", |k| k.facts.package.clone())
            .text("version", |k| k.facts.version.clone())
            .text("bytes", |k| {
                (k.facts.bytes > 0).then(|| k.facts.bytes.to_string())
            })
            .text("path", |k| Some(k.path.as_ref()?.display().to_string()))
            .text("error", |k| k.error.clone()),
    ];
    let none = kernels
        .is_empty()
        .then(|| "no kernel has been fetched: 'syscost kernel fetch 6.1' gets one".to_string());
    write_table(
        &Table::of(&specs, &kernels).noted(none.into_iter().collect()),
        format,
        terminal::screen(),
        out,
    )?;
    Ok(Exit::Success)
}
