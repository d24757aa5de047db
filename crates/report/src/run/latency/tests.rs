use super::*;
use crate::{Format, Screen, write_document};
use analysis::summary::summarize;
use model::fixtures::{record, run, times};
use model::{Record, Role, SingleCalls};

fn calls(all: &[(u64, u64)], preempted: &[(u64, u64)]) -> SingleCalls {
    SingleCalls {
        timer: Nanos(20.0),
        tick: Nanos(0.5),
        spent_ns: 200_000_000,
        all: times(all),
        preempted: Some(times(preempted)),
        interrupted: Some(times(&[])),
        ..SingleCalls::default()
    }
}

fn timed(operation: &str, latency: Result<SingleCalls, String>) -> Record {
    Record {
        latency: Some(latency),
        ..record(operation, 300)
    }
}

fn summary() -> Summary {
    let long = calls(&[(320, 99_000), (521, 980), (90_048, 20)], &[(90_048, 15)]);
    let few = SingleCalls {
        preempted: None,
        interrupted: None,
        ..calls(&[(5020, 50)], &[])
    };
    let spin = Record {
        role: Role::Baseline,
        ..timed("call.spin", Ok(calls(&[(120, 100_000)], &[])))
    };
    summarize(&run(vec![
        timed("file.lstat", Ok(long)),
        timed("ipc.pipe", Ok(few)),
        timed("id.getppid", Ok(calls(&[(95, 1000)], &[]))),
        timed("io.read", Err("EIO: read".into())),
        spin,
    ]))
}

fn text(row: usize, column: &str) -> String {
    let table = latency_table(&summary()).unwrap();
    let at = table
        .columns()
        .iter()
        .position(|c| c.title == column)
        .unwrap();
    table.rows()[row][at].text.clone()
}

#[test]
fn a_row_has_percentiles_without_the_timer() {
    let row = [
        "p50",
        "p99",
        "p99.9",
        "max",
        "preempted",
        "rest p99.9",
        "rest max",
    ]
    .map(|column| text(0, column));
    assert_eq!(
        row,
        ["300.0", "300.0", "501.0", "90,028", "15", "501.0", "90,028"]
    );
}

#[test]
fn a_row_without_percentiles_says_why_and_has_no_times() {
    let because = |row| text(row, "no percentiles because");
    assert_eq!(
        because(2),
        "too short: 75.0 ns is under 5 x the timer's 20.0 ns"
    );
    assert_eq!(
        (because(3).as_str(), text(2, "p50"), text(3, "max")),
        ("EIO: read", String::new(), String::new())
    );
}

#[test]
fn percentiles_of_too_few_calls_are_dashes_and_what_is_not_told_apart_is_empty() {
    assert_eq!(
        (
            text(1, "p50").as_str(),
            text(1, "p99").as_str(),
            text(1, "max").as_str()
        ),
        ("5,000", "-", "5,000")
    );
    assert_eq!(
        (text(1, "preempted"), text(1, "interrupted")),
        (String::new(), String::new())
    );
}

#[test]
fn the_last_row_is_work_in_user_mode_and_notes_say_what_is_not_known() {
    assert_eq!(text(4, "operation"), "call.spin");
    let notes = latency_table(&summary()).unwrap().notes;
    for words in [
        "20.0 ns, is subtracted",
        "slow: over 4 x",
        "call.spin stays in user mode",
    ] {
        assert!(notes.iter().any(|note| note.contains(words)), "{notes:?}");
    }
    assert!(
        notes.contains(&"-: fewer than 10 calls took longer: ipc.pipe".to_string()),
        "{notes:?}"
    );
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("slow calls are not classified")
                && note.ends_with(": ipc.pipe")),
        "{notes:?}"
    );
}

#[test]
fn a_run_without_single_calls_says_how_to_have_some() {
    let plain = summarize(&run(vec![record("file.lstat", 300)]));
    let mut out = Vec::new();
    write_document(
        &latency_document(&plain, None),
        Format::Text,
        Screen::PLAIN,
        &mut out,
    )
    .unwrap();
    let said = "this run timed no single calls: measure again with 'syscost run --latency'\n";
    assert_eq!(String::from_utf8(out).unwrap(), said);
}
