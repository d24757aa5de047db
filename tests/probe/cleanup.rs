//! Nothing stays behind, whatever ends a run: no process, no file, no kernel object. And what ends badly is told well.

use crate::common::*;
/// Operations that have partners, children, threads, and objects that outlive processes; the latter first, so that they
/// exist while entries are counted.
const SET: [&str; 5] = [
    "ipc.sysv_queue",
    "mem.shmat_shmdt",
    "ipc.posix_queue",
    "process.fork_wait",
    "sync",
];

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Proving,
    Measuring,
}

/// A run that will not end by itself, at `stage`, and what it had made by then.
struct Begun {
    job: Job,
    objects: BTreeSet<Object>,
}

fn begin(place: &Place, stage: Stage, more: impl Line) -> Begun {
    let arguments = ("run --time 600 --precision 0.0001 --format json", SET, more);
    let job = place.start(&arguments);
    let wanted = if stage == Stage::Measuring { 2 } else { 1 };
    let reached = wait_for(|| {
        let objects = objects(place);
        (is_at(stage, &place.processes()) && objects.len() >= wanted).then_some(objects)
    });
    match reached {
        Some(objects) => Begun { job, objects },
        None => panic!(
            "the run did not come so far; it has {:?}",
            place.processes()
        ),
    }
}

/// Entries are counted case by case, under a tracer; for measuring, all workers are there at once.
fn is_at(stage: Stage, processes: &[Process]) -> bool {
    let workers: BTreeSet<u32> = processes.iter().filter_map(|p| p.worker).collect();
    let traced = processes.iter().any(|p| p.traced);
    match stage {
        Stage::Proving => traced,
        Stage::Measuring => !traced && workers.len() > SET.len(),
    }
}

fn objects(place: &Place) -> BTreeSet<Object> {
    run_numbers(&place.tmp())
        .into_iter()
        .flat_map(objects_of)
        .collect()
}

/// Whether the kernel still has it: the second column of /proc/sysvipc/KIND.
fn exists((kind, id): &Object) -> bool {
    let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap();
    table
        .lines()
        .skip(1)
        .any(|line| line.split_whitespace().nth(1) == Some(id.to_string().as_str()))
}

/// POSIX queues, where they can be seen. Their names hold the run's number.
fn queues() -> Option<BTreeSet<String>> {
    let entries = fs::read_dir("/dev/mqueue").ok()?;
    Some(
        entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect(),
    )
}

fn expect_nothing_left(place: &Place, objects: &BTreeSet<Object>) {
    let clean = || {
        place.processes().is_empty()
            && place.left_behind().is_empty()
            && !objects.iter().any(exists)
    };
    if wait_for(|| clean().then_some(())).is_none() {
        let left: Vec<&Object> = objects.iter().filter(|object| exists(object)).collect();
        panic!(
            "left behind: {:?}, {:?}, {left:?}",
            place.processes(),
            place.left_behind()
        );
    }
}

fn end_by(signal: Signal, stage: Stage, out: &Path) -> Output {
    let place = Place::new();
    let begun = begin(&place, stage, format!("--out {}", out.display()));
    assert!(begun.objects.iter().all(exists), "{:?}", begun.objects);
    match signal {
        // The terminal signals the whole group, a user's `kill` one process.
        Signal::SIGINT => killpg(begun.job.pid(), signal).unwrap(),
        _ => kill(begun.job.pid(), signal).unwrap(),
    }
    let output = begun.job.output();
    expect_nothing_left(&place, &begun.objects);
    output
}

/// The table that was asked for comes, with what was measured until then; so does the result file.
fn expect_partial_result(output: &Output, out: &Path, stage: Stage) {
    expect_status(output, 130);
    let document = json(output);
    assert_eq!(document["complete"], false);
    let records = list(&document["records"]);
    assert!(records.len() > SET.len(), "{document:#}");
    let kinds: BTreeSet<&str> = records
        .iter()
        .filter_map(|r| r["error"]["kind"].as_str())
        .collect();
    assert!(
        kinds.is_subset(&BTreeSet::from(["interrupted", "unsupported"])),
        "{document:#}"
    );
    if stage == Stage::Proving {
        assert!(kinds.contains("interrupted"), "{document:#}");
    }
    let file: Value = serde_json::from_slice(&fs::read(out).unwrap()).unwrap();
    assert_eq!(file["complete"], false);
    assert!(!store::read(out).unwrap().complete);
}

fn ends_in_order(signal: Signal, stage: Stage) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.json");
    expect_partial_result(&end_by(signal, stage, &out), &out, stage);
    let files: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(files, ["run.json"]);
}

fn is_killed(stage: Stage) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.json");
    let output = end_by(Signal::SIGKILL, stage, &out);
    assert!(
        !out.exists() || !store::read(&out).unwrap().complete,
        "a whole file or none"
    );
    assert_eq!(output.status.code(), None);
    assert_eq!(stdout(&output), "");
}

#[test]
fn interrupted_while_entries_are_counted() {
    ends_in_order(Signal::SIGINT, Stage::Proving);
}

#[test]
fn interrupted_while_measuring() {
    ends_in_order(Signal::SIGINT, Stage::Measuring);
}

#[test]
fn terminated_while_entries_are_counted() {
    ends_in_order(Signal::SIGTERM, Stage::Proving);
}

#[test]
fn terminated_while_measuring() {
    ends_in_order(Signal::SIGTERM, Stage::Measuring);
}

#[test]
fn killed_while_entries_are_counted() {
    is_killed(Stage::Proving);
}

#[test]
fn killed_while_measuring() {
    is_killed(Stage::Measuring);
}

#[test]
fn posix_queues_are_gone_after_a_kill() {
    if queues().is_none_or(|_| !mounted("/dev/mqueue")) {
        return skip("/dev/mqueue is not mounted, so queues cannot be seen");
    }
    let place = Place::new();
    let begun = begin(&place, Stage::Measuring, "");
    let numbers = run_numbers(&place.tmp());
    assert_eq!(numbers.len(), 1);
    kill(begun.job.pid(), Signal::SIGKILL).unwrap();
    drop(begun.job.output());
    expect_nothing_left(&place, &begun.objects);
    let left = queues().unwrap();
    assert!(
        !left
            .iter()
            .any(|queue| queue.contains(&format!("{:08x}", numbers[0]))),
        "{left:?}"
    );
}

fn mounted(point: &str) -> bool {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    mounts
        .lines()
        .any(|line| line.split(' ').nth(1) == Some(point))
}

/// Operations that take no more than a moment; every run has its baselines behind them.
const QUICK: [&str; 3] = ["id.umask", "file.fstat", "call.getpid"];
/// With the panel, of which id.umask is one.
const WITH_BASELINES: usize = 14;

/// Stops the worker of one of the operations that were asked for, which then hangs; returns the run's output.
fn with_a_hanging_worker(
    arguments: impl Line,
    victim: impl Fn(&[Process]) -> Option<Process>,
) -> Output {
    let place = Place::new();
    let brief = "run --timeout 4 --time 3 --precision 50 --format json";
    let job = place.start((brief, QUICK, arguments));
    let stopped = wait_for(|| {
        let found = victim(&place.processes())?;
        killpg(Pid::from_raw(found.group), Signal::SIGSTOP).ok()
    });
    assert!(stopped.is_some(), "no worker could be stopped");
    let output = job.output();
    expect_nothing_left(&place, &BTreeSet::new());
    output
}

/// Records without a time, which all others have, and records without entries.
fn expect_unknown(output: &Output, [times, entries]: [usize; 2]) {
    let document = json(output);
    assert_eq!(document["complete"], true);
    let records = list(&document["records"]);
    let failed: Vec<&Value> = records.iter().filter(|r| !r["error"].is_null()).collect();
    let stopped = |record: &&Value| record["entries_reason"].to_string().contains("stopped");
    assert_eq!(
        [
            records.len(),
            failed.len(),
            records.iter().filter(stopped).count()
        ],
        [QUICK.len(), times, entries],
        "{document:#}"
    );
    assert!(
        failed
            .iter()
            .all(|record| record["error"]["kind"] == "timeout"),
        "{document:#}"
    );
    let others = records
        .iter()
        .chain(list(&document["baselines"]))
        .filter(|r| r["error"].is_null());
    assert!(
        others
            .into_iter()
            .all(|r| r["median_ns"].as_f64().is_some()),
        "{document:#}"
    );
}

#[test]
fn a_worker_that_hangs_while_measuring_is_a_row() {
    // Workers are numbered as they are launched: where they all stem from one launch, the operations that were asked
    // for have the lowest numbers.
    let output = with_a_hanging_worker("--no-verify", |processes| {
        let workers: BTreeSet<u32> = processes.iter().filter_map(|p| p.worker).collect();
        let (first, last) = (*workers.first()?, *workers.last()?);
        let of_one_launch =
            workers.len() == WITH_BASELINES && last - first + 1 == WITH_BASELINES as u32;
        of_one_launch.then(|| processes.iter().find(|p| p.worker == Some(first)).cloned())?
    });
    expect_status(&output, 3);
    expect_unknown(&output, [1, 0]);
}

#[test]
fn a_worker_that_hangs_while_its_entries_are_counted_has_a_time_without_entries() {
    let output = with_a_hanging_worker("", |processes| {
        processes
            .iter()
            .find(|p| p.traced && p.worker == Some(1))
            .cloned()
    });
    expect_status(&output, 0);
    expect_unknown(&output, [0, 1]);
}

/// One line that names the file, and nothing that looks like a result.
fn expect_refusal(output: &Output, file: &str, status: i32) {
    let message = stderr(output);
    expect_status(output, status);
    assert!(
        message.starts_with("syscost: ") && message.contains(file),
        "{message}"
    );
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert_eq!(stdout(output), "");
}

fn run_into(place: &Place, out: &str) -> Output {
    place.run(format!("run id.umask --time 0.1 --quiet --out {out}"))
}

#[test]
fn a_missing_directory_is_named_before_anything_is_measured() {
    let place = Place::new();
    expect_refusal(&run_into(&place, "missing/run.json"), "missing/run.json", 2);
    expect_refusal(&run_into(&place, "."), "--out .", 2);
    assert!(place.left_behind().is_empty());
}

#[test]
fn a_directory_without_permission_is_named_before_anything_is_measured() {
    let place = Place::new();
    let folder = place.path().join("closed");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    let file = folder.join("run.json").to_string_lossy().into_owned();
    let output = place
        .command_without_rights(format!("run id.umask --time 0.1 --out {file}"))
        .output()
        .unwrap();
    expect_refusal(&output, &file, 2);
}

/// Whether what the file holds after a failed write is said as it is.
#[test]
fn a_result_file_that_cannot_be_finished_holds_the_last_look_and_that_is_said() {
    let place = Place::new();
    let out = place.path().join("out.json");
    let job = place.start(format!(
        "run id.getppid --time 3 --precision 0.0001 --quiet --no-verify --out {}",
        out.display()
    ));
    wait_until(|| out.exists());
    let limit = [
        "--fsize=512:512".to_string(),
        format!("--pid={}", job.pid()),
    ];
    if !Command::new("prlimit")
        .args(limit)
        .status()
        .is_ok_and(|status| status.success())
    {
        return skip("needs prlimit(1)");
    }
    let output = job.output();
    expect_status(&output, 1);
    let expected = "cannot be written (File too large (os error 27)): make room, or choose another place; the file holds \
                    the results up to the last write, marked incomplete\n";
    assert!(stderr(&output).ends_with(expected), "{}", stderr(&output));
    let held: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(held["complete"], false);
    assert!(
        stdout(&output).contains("id.getppid"),
        "the table is shown all the same"
    );
}
