//! Result files as their users meet them: what is written can be read, and what cannot be read is explained in a line.

pub mod data;

use crate::common::*;
use crate::hostile;
use crate::shaken::Shaker;
use data::{emulated, example, json, published, repeat};
use model::{Counted, Outcome, Record, Run};

fn read_bytes(bytes: &[u8]) -> Result<Run, String> {
    read_as(bytes, store::read)
}

#[test]
fn every_run_is_read_as_it_was_written() {
    let mut shaker = Shaker::new(1);
    let is_sound = |rarity: &u32| {
        let shaken = shaker.shaken(&hostile::files::run(), *rarity).to_string();
        let Ok(run) = read_bytes(shaken.as_bytes()) else {
            return false;
        };
        let text = json(&run);
        expect_valid("result-1", &text);
        assert_eq!(read_bytes(text.as_bytes()).unwrap(), run);
        true
    };
    let step = if cfg!(feature = "heavy") { 1 } else { 3 };
    let sound = (2..62).step_by(step).filter(is_sound).count();
    assert!(sound > 5, "{sound}");
}

#[test]
fn a_file_that_was_cut_off_is_said_to_be() {
    let text = json(&example());
    for end in (1..text.trim_end().len()).step_by(3) {
        let message = read_bytes(&text.as_bytes()[..end]).unwrap_err();
        expect_in(&message, "the file is incomplete (line ");
    }
}

/// As editors and shells of Windows write text.
#[test]
fn the_encodings_of_windows_are_named() {
    let text = json(&example());
    let wide = |mark: &str| -> Vec<u8> {
        let units = mark.encode_utf16().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for (bytes, name) in [
        (marked, "byte order mark (BOM)"),
        (wide("\u{feff}"), "UTF-16"),
        (wide(""), "UTF-16"),
    ] {
        expect_in(read_bytes(&bytes).unwrap_err(), name);
        expect_in(read_as(&bytes, store::read_profile).unwrap_err(), name);
    }
}

#[test]
fn each_mistake_has_its_own_message() {
    let text = json(&example());
    let swap = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let texts = [
        "".to_string(),
        "hello".to_string(),
        "[1, 2]".to_string(),
        r#"{"a": 1}"#.to_string(),
        r#"{"schema": "syscost.summary/1"}"#.to_string(),
        swap("result/1", "result/2"),
        r#"{"schema": "syscost.result/7", "records": 1}"#.to_string(),
        swap("4096", "\"4096\""),
        swap("1902114", "-1"),
        swap("58.25", "1e999"),
        swap("\"asked\"", "\"a\\nsked\""),
        swap("\"seed\"", "\"sead\""),
        swap("4096", "0"),
        swap("\"file.lstat\"", "\"\""),
        swap("native", &"n".repeat(5000)),
        swap("58.25", "1e300"),
        swap("58.25", "-58.25"),
        swap("\"error\":{", "\"other\":{"),
        swap(
            "\"samples\":{",
            "\"figure\":{\"ns_per_op\":1,\"as_printed\":\"\"},\"samples\":{",
        ),
        swap(
            "\"entries_reason\":\"ptrace: EPERM\"",
            "\"entries_reason\":null",
        ),
    ];
    let messages = texts.map(|text| read_bytes(text.as_bytes()).unwrap_err());
    expect_mistakes("result", &messages);
}

#[test]
fn what_no_run_measures_is_refused() {
    let mut run: Value = serde_json::from_str(&json(&example())).unwrap();
    run["records"][0]["entries"] = json!({"read": 1e18});
    let message = read_bytes(run.to_string().as_bytes()).unwrap_err();
    expect_in(&message, "is 1e18, must be a number from 0 to 10^9");
    // An interrupt leaves a reason, and batches that were preempted are kept.
    let samples = &mut run["records"][0]["samples"];
    (samples["blocks"], samples["preempted_ns"]) = (json!([]), json!([]));
    run["records"][0]["entries"] = json!({});
    let message = read_bytes(run.to_string().as_bytes()).unwrap_err();
    expect_in(&message, "samples: are 0, must be from 1 to 10000000");
}

#[test]
fn figures_are_times() {
    for wrong in ["-1.0", "1e290"] {
        let text = json(&published()).replacen("464.0", wrong, 1);
        assert!(
            read_bytes(text.as_bytes())
                .unwrap_err()
                .contains("figure.ns_per_op: is "),
            "{text}"
        );
    }
}

#[test]
fn repeats_that_make_no_sense_have_their_messages() {
    let first = example();
    let again = || repeat(&first, 43, vec![first.records[0].outcome.clone()], vec![]);
    let text = json(&Run {
        repeats: vec![again(), again()],
        ..first.clone()
    });
    assert_eq!(
        read_bytes(text.as_bytes())
            .unwrap()
            .runs()
            .map(|run| run.plan.seed)
            .collect::<Vec<_>>(),
        [42, 43, 43]
    );
    let results = text.split("\"results\":").nth(1).unwrap();
    let swap = |from: &str, to: &str| {
        assert!(results.contains(from), "{from}");
        text.replacen(results, &results.replacen(from, to, 1), 1)
    };
    let texts = [
        swap("{\"error\":{", "{\"other\":{"),
        swap("4096", "0"),
        swap("4096", "\"x\""),
        swap(",{\"error\"", "],\"x\":[{\"error\""),
        text.replacen("\"seed\":43", "\"sead\":43", 1),
    ];
    let messages = texts.map(|text| read_bytes(text.as_bytes()).unwrap_err());
    expect_mistakes("repeats", &messages);
}

#[test]
fn instructions_may_be_counted_again() {
    let again = |instructions: u64| {
        let counted = Counted {
            fewer: 1,
            more: 11,
            batches: vec![(50, 50 + instructions)],
        };
        let run = emulated();
        let record = Record {
            outcome: Outcome::Counted(counted),
            ..run.records[0].clone()
        };
        Run {
            records: vec![record],
            ..run
        }
    };
    let whole = Run {
        repeats: vec![again(3370), again(3380)],
        ..emulated()
    };
    let text = json(&whole);
    expect_valid("result-1", &text);
    assert_eq!(read_bytes(text.as_bytes()).unwrap(), whole);
    let edits = [
        ("\"fewer\":1,", "\"fewer\":0,"),
        ("\"more\":11,", "\"more\":1,"),
        ("[[50,3420]]", "[]"),
        (
            "\"counted\":{\"fewer\":1,",
            "\"error\":{\"kind\":\"failed\",\"message\":\"x\"},\"counted\":{\"fewer\":1,",
        ),
        ("\"name\":\"linux-6.1\"", "\"name\":\"\""),
    ];
    let messages = edits.map(|(from, to)| {
        assert!(text.contains(from), "{from}\n{text}");
        read_bytes(text.replacen(from, to, 1).as_bytes()).unwrap_err()
    });
    expect_mistakes("counted", &messages);
}

#[test]
fn repeats_of_long_code_are_refused_before_they_fill_the_memory() {
    let mut first = example();
    first.records[1].case.language = Some("perl".into());
    first.records[1].case.operation = "x".repeat(1 << 20);
    let lone = Run {
        records: vec![first.records[1].clone()],
        ..first
    };
    let many = vec![repeat(&lone, 1, vec![], vec![]); 300];
    let error = store::write_to(
        &Run {
            repeats: many,
            ..lone
        },
        &mut std::io::sink(),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("bytes of names and code, more than 268435456"),
        "{error}"
    );
}

#[test]
fn too_many_samples_are_refused_by_the_record_that_has_them() {
    let many = "7,".repeat(10_000_001);
    let text = json(&example()).replacen(
        "\"preempted_ns\":[",
        &format!("\"preempted_ns\":[{many}"),
        1,
    );
    let message = read_bytes(text.as_bytes()).unwrap_err();
    expect_in(
        &message,
        "records[0] (file.lstat depth=4): samples: are 10000008, must be from 1 to",
    );
}

#[test]
fn fields_of_later_additions_are_ignored() {
    let mut text = json(&example());
    for start in [
        "{\n",
        "{\"operation\"",
        "{\"iterations\"",
        "{\"launch\"",
        "{\"user_ns\"",
        "{\"kind\"",
    ] {
        assert!(text.contains(start), "{start}");
        text = text.replace(start, &start.replacen('{', "{\"later\":{\"deep\":[1]},", 1));
    }
    expect_valid("result-1", &text);
    assert_eq!(read_bytes(text.as_bytes()).unwrap(), example());
}

#[test]
fn a_file_is_laid_out_one_record_a_line() {
    let lines = json(&example());
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.contains("\"operation\":"))
            .count(),
        2
    );
    assert_eq!(lines.lines().next_back(), Some("}"));
}

#[test]
fn what_is_no_file_to_read_is_said_to_be() {
    let dir = tempfile::tempdir().unwrap();
    let large = dir.path().join("large\nname.json");
    fs::File::create(&large)
        .unwrap()
        .set_len((1 << 30) + 1)
        .unwrap();
    let message = |path: &Path| store::read(path).unwrap_err().to_string();
    assert!(
        message(&dir.path().join("no.json")).ends_with("no.json: no such file: check its name")
    );
    assert!(message(dir.path()).ends_with(": is a directory: name a result file"));
    expect_in(message(&large), "large name.json: is larger than 1024 MiB");
}

fn names_in(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}

#[test]
fn writing_replaces_the_file_behind_a_link_and_lets_others_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link, plain) = (
        dir.path().join("run.json"),
        dir.path().join("link"),
        dir.path().join("plain"),
    );
    fs::write(&file, "old").unwrap();
    fs::write(&plain, "").unwrap();
    symlink(&file, &link).unwrap();
    store::write(&example(), &link).unwrap();
    assert!(link.is_symlink());
    assert_eq!(store::read(&file).unwrap(), example());
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&file), mode(&plain));
    assert_eq!(names_in(dir.path()).len(), 3);
}

#[test]
fn a_file_that_is_replaced_keeps_mode_and_owner() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.json");
    fs::write(&file, "old").unwrap();
    let is_root = chown(&file, Some(65534), Some(65533)).is_ok();
    for mode in [0o600, 0o664, 0o444] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let before = fs::metadata(&file).unwrap();
        store::write(&example(), &file).unwrap();
        let after = fs::metadata(&file).unwrap();
        assert_eq!(after.permissions().mode() & 0o7777, mode);
        assert_eq!(
            (after.uid(), after.gid()),
            (before.uid(), before.gid()),
            "root keeps both: {is_root}"
        );
    }
}

#[test]
fn a_run_that_no_file_may_have_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.json");
    store::write(&example(), &file).unwrap();
    let mut run = example();
    run.records[0].entries = Some([("openat".to_string(), f64::NAN)].into_iter().collect());
    let error = store::write(&run, &file).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("records[0] (file.lstat depth=4): entries.openat: is NaN"),
        "{error}"
    );
    assert_eq!(store::read(&file).unwrap(), example());
    assert_eq!(names_in(dir.path()), [file]);
}

#[test]
fn places_that_cannot_be_written_are_explained() {
    let message = |path: &str| {
        store::write(&example(), Path::new(path))
            .unwrap_err()
            .to_string()
    };
    assert!(
        message("/nowhere/run.json")
            .contains("cannot be written (its directory does not exist): make room, or")
    );
    assert!(message("/").contains("is a directory"));
    #[cfg(target_os = "linux")]
    assert!(message("/dev/full").contains("/dev/full: cannot be written (No space left on device"));
}

#[test]
fn what_the_store_writes_is_valid_and_read_as_it_was() {
    for run in [example(), published(), emulated()] {
        expect_valid("result-1", &json(&run));
        assert_eq!(read_bytes(json(&run).as_bytes()).unwrap(), run);
    }
}
