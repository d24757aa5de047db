//! `syscost kernel atlas` with two kernels that were fetched: built, interrupted and continued, checked.

use crate::common::*;
use measure::guest::images;
use measure::runner::on_path;
use model::atlas::Atlas;

const VERSIONS: [&str; 2] = ["6.1", "6.12"];

/// A place with two kernels of this user's, and their releases; or says that `test` is skipped.
fn place() -> Option<(Place, Vec<String>)> {
    if on_path(EMULATOR).is_none() {
        skip(&format!("no {EMULATOR} on PATH"));
        return None;
    }
    let place = Place::new();
    let kernels = place.path().join("state/syscost/kernels");
    fs::create_dir_all(&kernels).unwrap();
    let mut releases = Vec::new();
    for version in VERSIONS {
        let Ok(image) = images::find(version, "x86_64").map_err(|why| skip(&format!("{why:#}")))
        else {
            return None;
        };
        copy(
            image.path.parent().unwrap(),
            &kernels.join(&image.facts.release),
        );
        releases.push(image.facts.release);
    }
    Some((place, releases))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

const BUILD: &str =
    "kernel atlas build atlas --fetched --boots 1 --jobs 1 --operations id.getppid file.fstat";

fn built(place: &Place) -> (Output, Atlas) {
    let output = place.run(BUILD);
    expect_status(&output, 0);
    (
        output,
        store::atlas::read(&place.path().join("atlas")).unwrap(),
    )
}

fn bytes(place: &Place) -> Vec<(PathBuf, Vec<u8>)> {
    let folders = ["atlas", "atlas/steps"].map(|name| place.path().join(name));
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap().flatten());
    let files = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file());
    let mut files: Vec<_> = files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn an_atlas_is_built_continued_and_checked() {
    let (place, releases) = needs!(place());
    let first = place
        .path()
        .join("atlas")
        .join(format!("{}.json.gz", releases[0]));
    let job = place.start(BUILD);
    wait_until(|| first.exists());
    kill(job.pid(), Signal::SIGINT).unwrap();
    let output = job.output();
    expect_error(&output, 130, "run the same command again to continue");
    let kept = fs::metadata(&first).unwrap().modified().unwrap();

    let (output, atlas) = built(&place);
    // The second kernel may have been counted before the interrupt arrived.
    let begun = [
        "2 kernels, 1 of them already counted",
        "2 kernels, 2 of them already counted",
    ];
    assert!(
        begun.iter().any(|begun| stderr(&output).contains(begun)),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        fs::metadata(&first).unwrap().modified().unwrap(),
        kept,
        "it was counted again"
    );
    let counted: Vec<&String> = atlas.kernels.iter().map(|kernel| &kernel.release).collect();
    assert_eq!(counted, [&releases[0], &releases[1]]);
    check_contents(&atlas);

    let before = bytes(&place);
    assert!(before.len() == 4, "{before:?}");
    built(&place);
    assert!(bytes(&place) == before, "nothing was left to do");
}

fn check_contents(atlas: &Atlas) {
    for kernel in &atlas.kernels {
        assert!(
            kernel
                .cells
                .iter()
                .all(|cell| cell.count.is_some_and(|count| count.mode > 50.0)),
            "{kernel:?}"
        );
        expect_valid("atlas-kernel-1", &serde_json::to_value(kernel).unwrap());
        assert!(
            kernel.image.len() == 64 && kernel.emulator.contains("QEMU") && kernel.boots == 1,
            "{kernel:?}"
        );
    }
    expect_valid(
        "atlas-steps-1",
        &serde_json::to_value(&atlas.steps[0]).unwrap(),
    );
    let steps = &atlas.steps[0].steps;
    let fstat = steps
        .iter()
        .find(|step| step.operation == "file.fstat")
        .unwrap();
    assert!((1..=5).contains(&fstat.functions.len()), "{fstat:?}");
}

#[test]
fn a_kernel_that_cannot_be_had_is_a_usage_error() {
    let place = Place::new();
    let output = place.run("kernel atlas build atlas --fetched");
    expect_error(&output, 2, "no kernel to count");
}
