//! `syscost kernel bisect` on result files, and what `git bisect run` gets to see where nothing is booted. Counts of real kernels
//! are `guest`'s tests.
//!
//! `SNAPSHOTS=overwrite cargo test --test bisect_kernels` rewrites tests/golden/bisect-kernels*.

use crate::common::{Place, expect_file, json, root, stderr};
use serde_json::{Value, json};
use std::fs;

/// A result file of counts: operation, environment, instructions per operation.
fn write(place: &Place, name: &str, releases: &[(&str, &str)], counts: &[(&str, &str, Option<u64>)]) {
    let text = fs::read_to_string(root().join("tests/golden/run.json")).unwrap();
    let mut run: Value = serde_json::from_str(&text).unwrap();
    let of = |(operation, environment, count): &(&str, &str, Option<u64>)| {
        let mut record = json!({"operation": operation, "environment": environment, "role": "asked",
            "entries_status": "unverified", "entries_reason": "a guest"});
        match count {
            Some(each) => record["counted"] = json!({"fewer": 100, "more": 200, "batches": [[900, 900 + 100 * each]]}),
            None => record["error"] = json!({"kind": "unsupported", "message": "openat2: ENOSYS"}),
        }
        record
    };
    run["records"] = counts.iter().map(of).collect();
    run["environments"] =
        releases.iter().map(|(name, kernel)| json!({"name": name, "unit": "instructions", "kernel": kernel})).collect();
    fs::write(place.path().join(name), run.to_string()).unwrap();
}

fn place() -> Place {
    let place = Place::new();
    let (old, new) = (("linux-5.10", "5.10.0-46-cloud-amd64"), ("linux-6.1", "6.1.0-56-cloud-amd64"));
    write(
        &place,
        "new.json",
        &[new, ("linux-6.12", "6.12.117")],
        &[
            ("file.fstat", "linux-6.1", Some(2731)),
            ("file.fstat", "linux-6.12", Some(1118)),
            ("id.getppid", "linux-6.1", Some(329)),
            ("id.getppid", "linux-6.12", Some(324)),
            ("file.openat2", "linux-6.1", Some(4000)),
            ("file.openat2", "linux-6.12", Some(4500)),
        ],
    );
    write(
        &place,
        "old.json",
        &[old],
        &[
            ("file.fstat", "linux-5.10", Some(2482)),
            ("id.getppid", "linux-5.10", Some(244)),
            ("file.openat2", "linux-5.10", None),
        ],
    );
    place
}

#[test]
fn steps_between_kernels_of_several_files() {
    let place = place();
    let files = ["kernel", "bisect", "--from", "new.json", "--from", "old.json"];
    for (format, ending) in [("text", "txt"), ("csv", "csv"), ("markdown", "md"), ("json", "json")] {
        let printed = place.printed(&[&files[..], &["--format", format]].concat());
        expect_file(format!("tests/golden/bisect-kernels.{ending}"), &printed);
    }
    let few = json(&place.run(&[&files[..], &["--format", "json", "--threshold", "20", "getppid", "id"]].concat()));
    let steps = few["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &steps[0]["operation"]), (1, &"id.getppid".into()), "{few}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let place = place();
    fs::copy(root().join("tests/golden/run.json"), place.path().join("times.json")).unwrap();
    let expect = |arguments: &[&str], status: i32, said: &str| {
        let output = place.run(&[&["kernel", "bisect"], arguments].concat());
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    };
    expect(&["--from", "old.json"], 2, "fewer than two kernels were counted");
    expect(&["--from", "times.json"], 2, "fewer than two kernels were counted");
    expect(&["--from", "new.json", "--from", "new.json"], 2, "file.fstat is there twice in linux-6.1");
    expect(&["--from", "nofile.json"], 1, "nofile.json");
    expect(&["file.fstat", "--env", "linux-6.1"], 2, "two different kernels or more");
    expect(&["file.fstat", "--env", "linux-6.1,linux-6.1"], 2, "two different kernels or more");
    expect(&["file.fstat", "--env", "toaster,linux-6.1"], 2, "toaster");
    expect(&["file.fstat", "--good", "1", "--bad", "2"], 2, "--image");
}

/// A status from 1 to 127 but 125 would call a sound kernel bad.
#[test]
fn errors_are_no_verdicts_for_git() {
    let place = place();
    fs::write(place.path().join("no-image"), "#!/bin/sh\n").unwrap();
    let status = |arguments: &[&str]| {
        let output = place.run(&[&["kernel", "bisect"], arguments].concat());
        assert!(!stderr(&output).is_empty());
        output.status.code()
    };
    let levels = ["--good", "1115", "--bad", "2731"];
    assert_eq!(status(&[&["file.fstat", "--image", "nofile"], &levels[..]].concat()), Some(125));
    assert_eq!(status(&[&["file.fstat", "--image", "no-image"], &levels[..]].concat()), Some(125));
    assert_eq!(status(&[&["file.fstat", "--image=nofile", "--nonsense"], &levels[..]].concat()), Some(255));
    assert_eq!(status(&["file.fstat", "--image", "nofile", "--good", "1115"]), Some(255));
}
