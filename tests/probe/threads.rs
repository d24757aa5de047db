//! Operations done by several at once: by processes with objects of their own, or by threads on the same ones.

use crate::common::{Place, json, skip};
use serde_json::Value;

/// Each thread needs a CPU of its own.
fn too_few_cpus(test: &str) -> bool {
    let few = std::thread::available_parallelism().map_or(1, usize::from) < 2;
    if few {
        skip(test, "one CPU only");
    }
    few
}

fn records(place: &Place, arguments: &[&str]) -> Vec<Value> {
    let fixed = ["--time", "1", "--quiet", "--format", "json"];
    let output = place.run(&[&["run"], arguments, &fixed].concat());
    json(&output)["records"].as_array().expect("records").clone()
}

/// Operations whose objects two could not share: names, descriptors, partners, kernel objects.
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
    if too_few_cpus("processes_have_objects_of_their_own") {
        return;
    }
    let place = Place::new();
    let both = records(&place, &[&OWN_OBJECTS[..], &["--no-verify", "--threads", "2"]].concat());
    let failed: Vec<&Value> = both.iter().filter(|r| !r["error"].is_null()).collect();
    assert_eq!((both.len(), failed.len()), (OWN_OBJECTS.len(), 0), "{failed:?}");
    assert!(both.iter().all(|r| r["params"]["threads"] == 2));
    assert_eq!((place.left_behind(), place.processes().len()), (vec![], 0));
}

#[test]
fn threads_share_the_leaders_objects() {
    if too_few_cpus("threads_share_the_leaders_objects") {
        return;
    }
    let place = Place::new();
    let shared = ["--threads", "2", "--param", "shared=1"];
    let of = |operation: &str| records(&place, &[&[operation], &shared[..]].concat()).remove(0);
    let both = of("fd.dup_close");
    assert_eq!(
        (&both["error"], &both["entries"]["dup"], &both["entries"]["close"]),
        (&Value::Null, &1.into(), &1.into())
    );
    // Two that make and remove one name get into each other's way: an error, not a time.
    let clash = of("dir.mkdir_rmdir");
    assert_eq!((&clash["error"]["kind"], &clash["median_ns"]), (&"failed".into(), &Value::Null));
}

#[test]
fn more_threads_than_cpus_and_none_are_refused() {
    let place = Place::new();
    let many = records(&place, &["id.getppid", "--threads", "1024"]).remove(0);
    let message = many["error"]["message"].as_str().expect("an error").to_string();
    assert!(message.contains("more threads than CPUs") || message.contains("Resource"), "{message}");
    let cases: [(&[&str], i32, &str); 3] = [
        (&["run", "id.getppid", "--threads", "0"], 2, "one thread is the fewest"),
        (&["run", "perl:1", "--threads", "2"], 2, "none of the chosen cases has it"),
        (&["explain", "id.getppid", "--param", "threads=2"], 2, "explain follows one thread"),
    ];
    place.refuses(&[], &cases);
}
