//! Reads and writes the files of an atlas: JSON, compressed, the same bytes for the same contents.

use crate::installed;
use anyhow::{Context, Result, anyhow, ensure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use model::atlas::{
    ATLAS_KERNEL, ATLAS_STEPS, Atlas, AtlasKernel, AtlasMachine, AtlasSteps, oldest_first,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use sys::open;

const ENDING: &str = ".json.gz";
const STEPS: &str = "steps";
const ABOUT: &str = "README";
/// Bytes of all files once they are unpacked: 184 of 211 operations have 2.4 MB.
const MOST: u64 = 64 << 20;

/// All kernels, oldest first, and the steps between neighbours.
///
/// # Errors
/// Fails at the first file that cannot be read, or if all files together are too large.
pub fn read(directory: &Path) -> Result<Atlas> {
    read_within(directory, MOST)
}

fn read_within(directory: &Path, mut room: u64) -> Result<Atlas> {
    let kernels = paths(directory)?;
    let kernels = kernels
        .iter()
        .map(|path| read_as(path, &mut room, ATLAS_KERNEL))
        .collect::<Result<Vec<_>>>()?;
    ensure!(
        !kernels.is_empty(),
        "{}: no files of an atlas (RELEASE{ENDING})",
        directory.display()
    );
    let below = directory.join(STEPS);
    let steps = if has_directory(&below)? {
        paths(&below)?
    } else {
        Vec::new()
    };
    let steps = steps
        .iter()
        .map(|path| read_as(path, &mut room, ATLAS_STEPS))
        .collect::<Result<Vec<_>>>()?;
    Ok(sorted(Atlas { kernels, steps }))
}

fn has_directory(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(installed::files(path).is_some()),
        facts => Ok(facts
            .with_context(|| format!("{}", path.display()))?
            .is_dir()),
    }
}

fn sorted(mut atlas: Atlas) -> Atlas {
    atlas.kernels.sort_by(|a, b| {
        oldest_first(&a.release, &b.release).then_with(|| a.machine.cmp(&b.machine))
    });
    atlas.steps.sort_by(|a, b| {
        oldest_first(&a.after, &b.after)
            .then_with(|| oldest_first(&a.before, &b.before))
            .then_with(|| a.machine.cmp(&b.machine))
    });
    atlas
}

fn paths(directory: &Path) -> Result<Vec<PathBuf>> {
    let files = match installed::files(directory) {
        Some(files) => files,
        None => {
            let entries = fs::read_dir(directory)
                .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
            entries.with_context(|| format!("{}", directory.display()))?
        }
    };
    let mut paths: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(ENDING) && !name.starts_with('.')
        })
        .collect();
    paths.sort();
    Ok(paths)
}

pub fn read_kernel(path: &Path) -> Result<AtlasKernel> {
    read_as(path, &mut { MOST }, ATLAS_KERNEL)
}

pub fn read_steps(path: &Path) -> Result<AtlasSteps> {
    read_as(path, &mut { MOST }, ATLAS_STEPS)
}

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

/// Reduces `room` by the number of unpacked bytes, so that a small packed file cannot fill the memory.
fn read_as<T: DeserializeOwned>(path: &Path, room: &mut u64, expected: &str) -> Result<T> {
    unpacked(path, room)
        .and_then(|bytes| parsed(&bytes, expected))
        .map_err(|error| anyhow!("{}: {error:#}", path.display()))
}

fn unpacked(path: &Path, room: &mut u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let packed: Box<dyn Read> = match installed::file(path) {
        Some(bytes) => Box::new(bytes),
        None => Box::new(open::regular(path)?),
    };
    GzDecoder::new(packed)
        .take(*room + 1)
        .read_to_end(&mut bytes)?;
    let left = room.checked_sub(bytes.len() as u64);
    *room =
        left.with_context(|| format!("all files together have more than {} MiB", MOST >> 20))?;
    Ok(bytes)
}

fn parsed<T: DeserializeOwned>(bytes: &[u8], expected: &str) -> Result<T> {
    fn not_an_atlas(error: serde_json::Error) -> anyhow::Error {
        anyhow!("not a file of an atlas: {error}")
    }

    let Schema { schema } = serde_json::from_slice(bytes).map_err(not_an_atlas)?;
    ensure!(
        schema == expected,
        "its schema is '{schema}', not '{expected}'"
    );
    serde_json::from_slice(bytes).map_err(not_an_atlas)
}

/// `usual` is the processor that its architecture has if no other is asked for.
pub fn kernel_path(
    directory: &Path,
    release: &str,
    machine: &AtlasMachine,
    usual: &str,
) -> PathBuf {
    directory.join(format!("{release}{}{ENDING}", variant(machine, usual)))
}

/// `BEFORE..AFTER` in a subdirectory.
pub fn steps_path(
    directory: &Path,
    [before, after]: [&str; 2],
    machine: &AtlasMachine,
    usual: &str,
) -> PathBuf {
    directory.join(STEPS).join(format!(
        "{before}..{after}{}{ENDING}",
        variant(machine, usual)
    ))
}

fn variant(machine: &AtlasMachine, usual: &str) -> String {
    let cpu = if machine.cpu != usual {
        Some(format!("cpu={}", machine.cpu))
    } else {
        None
    };
    let words: Vec<String> = cpu
        .into_iter()
        .chain(machine.append.split_whitespace().map(str::to_string))
        .collect();
    let words: String = words
        .join("+")
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "=_-,+".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    if words.is_empty() {
        words
    } else {
        format!(".{words}")
    }
}

/// Replaces the file atomically. Equal documents give equal bytes, so that version control shows no change for repeated builds.
pub fn write(path: &Path, document: &impl Serialize) -> Result<()> {
    let parent = path.parent().context("no directory")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    // No time and no name in the header.
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&serde_json::to_vec(document)?)?;
    Ok(crate::write_bytes(path, &packed.finish()?)?)
}

/// The README of the directory, with its licence.
pub fn write_about(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(crate::write_bytes(
        &directory.join(ABOUT),
        include_bytes!("atlas.txt"),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::atlas::{AtlasCell, AtlasCount};

    fn kernel(release: &str) -> AtlasKernel {
        let count = Some(AtlasCount {
            mode: 329.0,
            least: 329.0,
            most: 331.5,
        });
        let counted = AtlasCell {
            operation: "id.getppid".into(),
            count,
            reason: None,
        };
        let refused = AtlasCell {
            operation: "file.openat2".into(),
            count: None,
            reason: Some("ENOSYS".into()),
        };
        AtlasKernel {
            schema: ATLAS_KERNEL.into(),
            release: release.into(),
            machine: machine("qemu64", ""),
            cells: vec![counted, refused],
            ..AtlasKernel::default()
        }
    }

    fn machine(cpu: &str, append: &str) -> AtlasMachine {
        AtlasMachine {
            architecture: "x86_64".into(),
            cpu: cpu.into(),
            append: append.into(),
        }
    }

    #[test]
    fn what_was_written_is_read_the_oldest_first_and_the_bytes_repeat() {
        let place = tempfile::tempdir().unwrap();
        let at =
            |release: &str| kernel_path(place.path(), release, &machine("qemu64", ""), "qemu64");
        for release in ["6.12.1-cloud-amd64", "6.1.0-9-cloud-amd64"] {
            write(&at(release), &kernel(release)).unwrap();
        }
        let pair = ["6.1.0-9-cloud-amd64", "6.12.1-cloud-amd64"];
        let steps = AtlasSteps {
            schema: ATLAS_STEPS.into(),
            before: pair[0].into(),
            after: pair[1].into(),
            ..AtlasSteps::default()
        };
        write(
            &steps_path(place.path(), pair, &machine("qemu64", ""), "qemu64"),
            &steps,
        )
        .unwrap();
        write_about(place.path()).unwrap();
        let expected = Atlas {
            kernels: pair.map(kernel).to_vec(),
            steps: vec![steps],
        };
        assert_eq!(read(place.path()).unwrap(), expected);
        let first = fs::read(at(pair[0])).unwrap();
        write(&at(pair[0]), &kernel(pair[0])).unwrap();
        assert_eq!(fs::read(at(pair[0])).unwrap(), first);
    }

    #[test]
    fn a_bad_file_is_named_in_one_line() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("6.1.json.gz");
        let said = || read(place.path()).unwrap_err().to_string();
        assert!(said().contains("no files of an atlas"), "{}", said());
        let other = AtlasKernel {
            schema: "syscost.other/1".into(),
            ..kernel("6.1")
        };
        write(&path, &other).unwrap();
        let end = "6.1.json.gz: its schema is 'syscost.other/1', not 'syscost.atlas-kernel/1'";
        assert!(
            said().ends_with(end) && !said().contains('\n'),
            "{}",
            said()
        );
        let is_named = || said().starts_with(&format!("{}: ", path.display()));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(is_named(), "{}", said());
        fs::remove_file(&path).unwrap();
        sys::process::make_fifo(&path).unwrap();
        assert!(is_named(), "{}", said());
    }

    #[test]
    fn files_have_a_limit_together() {
        let place = tempfile::tempdir().unwrap();
        let at = |number: u64| place.path().join(format!("6.{number}.json.gz"));
        (1..=3).for_each(|number| write(&at(number), &kernel("6.1")).unwrap());
        let all = 3 * serde_json::to_vec(&kernel("6.1")).unwrap().len() as u64;
        assert_eq!(read_within(place.path(), all).unwrap().kernels.len(), 3);
        let said = read_within(place.path(), all - 1).unwrap_err().to_string();
        assert!(
            said.ends_with("6.3.json.gz: all files together have more than 64 MiB"),
            "{said}"
        );
    }

    #[test]
    fn an_unusual_machine_is_in_the_name() {
        fn name(machine: &AtlasMachine) -> String {
            kernel_path(Path::new(""), "6.1", machine, "qemu64")
                .display()
                .to_string()
        }

        assert_eq!(name(&machine("qemu64", "")), "6.1.json.gz");
        assert_eq!(
            name(&machine("Haswell,-avx", "audit=1 a=/b")),
            "6.1.cpu=Haswell,-avx+audit=1+a=_b.json.gz"
        );
    }
}
