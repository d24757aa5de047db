//! Operations done by several at once: by processes with objects of their own, or by threads on the same ones.

use crate::common::*;
use measure::runner::{RunDirectory, read_catalogue};
use model::Operation;

/// Each thread needs a CPU of its own.
fn too_few_cpus() -> bool {
    let few = std::thread::available_parallelism().map_or(1, usize::from) < 2;
    if few {
        skip("one CPU only");
    }
    few
}

fn records(place: &Place, arguments: impl Line) -> Vec<Value> {
    let fixed = "--time 1 --quiet --format json";
    let output = place.run(("run", arguments, &fixed));
    json(&output)["records"]
        .as_array()
        .expect("records")
        .clone()
}

const OWN_OBJECTS: [&str; 8] = [
    "file.creat_unlink",
    "dir.mkdir_rmdir",
    "fd.close",
    "signal.pause_pingpong",
    "mem.mremap",
    "ipc.sysv_queue",
    "sync.cond_pingpong",
    "process.fork_wait",
];

#[test]
fn processes_have_objects_of_their_own() {
    if too_few_cpus() {
        return;
    }
    let place = Place::new();
    let both = records(&place, (OWN_OBJECTS, "--no-verify --threads 2"));
    let failed: Vec<&Value> = both.iter().filter(|r| !r["error"].is_null()).collect();
    assert_eq!(
        (both.len(), failed.len()),
        (OWN_OBJECTS.len(), 0),
        "{failed:?}"
    );
    assert!(both.iter().all(|r| r["params"]["threads"] == 2));
    assert_eq!((place.left_behind(), place.processes().len()), (vec![], 0));
}

#[test]
fn threads_share_the_leaders_objects() {
    if too_few_cpus() {
        return;
    }
    let place = Place::new();
    let shared = ["--threads", "2", "--param", "shared=1"];
    let of = |operation: &str| records(&place, [&[operation], &shared[..]].concat()).remove(0);
    let both = of("fd.dup_close");
    assert_eq!(
        (
            &both["error"],
            &both["entries"]["dup"],
            &both["entries"]["close"]
        ),
        (&Value::Null, &1.into(), &1.into())
    );
}

fn answer(run: &RunDirectory, operation: &Operation, params: &str, batches: usize) -> String {
    let place = tempfile::tempdir().unwrap();
    let mut child = Command::new("timeout")
        .arg("60")
        .arg(run.probe())
        .current_dir(&place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let n = operation.limit.unwrap_or(7).min(7);
    let requests = format!("{n} 2\n").repeat(batches);
    let requests = format!("op {}{params}\n{requests}", operation.id);
    // It may have ended before it read all.
    let _ = child.stdin.take().unwrap().write_all(requests.as_bytes());
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const SHARED: &str = " threads=2 shared=1";

fn answered(answer: &str) -> usize {
    let totals = answer.lines().filter(|line| line.starts_with("total "));
    totals.count()
}

/// What an iteration makes, removes, moves or uses up is each thread's own; the rest is shared.
#[test]
fn threads_get_into_nobodys_way() {
    if too_few_cpus() {
        return;
    }
    let run = RunDirectory::create().unwrap();
    for operation in read_catalogue(&run.probe())
        .unwrap()
        .iter()
        .filter(|operation| operation.available)
    {
        let together = answer(&run, operation, SHARED, 2);
        // Signals between processes are sent to a process and not to a thread.
        let refused = operation.id == "signal.pause_pingpong"
            && together.starts_with("error ENOTSUP parameter shared");
        if !refused && answered(&together) != 2 && answered(&answer(&run, operation, "", 2)) == 2 {
            panic!("{}: {together}", operation.id);
        }
    }
}

/// A signal to the process may reach the thread that waits for its next batch.
#[test]
fn signals_end_no_companion() {
    if too_few_cpus() {
        return;
    }
    let run = RunDirectory::create().unwrap();
    let catalogue = read_catalogue(&run.probe()).unwrap();
    let to_itself = catalogue.iter().find(|o| o.id == "signal.kill_self");
    let all = answer(&run, to_itself.unwrap(), SHARED, 2000);
    assert_eq!(answered(&all), 2000);
}

#[test]
fn more_threads_than_cpus_and_none_are_refused() {
    let place = Place::new();
    let many = records(&place, "id.getppid --threads 1024").remove(0);
    let message = many["error"]["message"]
        .as_str()
        .expect("an error")
        .to_string();
    assert!(
        message.contains("more threads than CPUs") || message.contains("Resource"),
        "{message}"
    );
    place.refusals(
        "threads",
        "",
        &[
            "run id.getppid --threads 0",
            "run perl:1 --threads 2",
            "explain id.getppid --param threads=2",
            "run io.read_zero --param size=1,2M",
            "run fd.close_range --param fds=0",
        ],
    );
}
