//! What calls wait for, by name: programs of tests/waiting/waits.c, as root and as nobody.

use crate::common::*;
/// A program, and what `why` says of its waits: as root, where BPF is there, or as nobody.
struct Waits {
    output: String,
    document: Value,
}

fn waits(as_root: bool, words: impl Line) -> Option<Waits> {
    if as_root && !has_bpf() {
        return None;
    }
    let place = Place::new();
    let program = place.tmp().join("waits");
    let line = format!(
        "-O1 -pthread -o {} tests/waiting/waits.c",
        program.display()
    );
    assert!(cc(line));
    let report = place.tmp().join("why.json");
    let [report, program] = [&report, &program].map(|path| path.to_str().unwrap());
    let words = (
        format!("why --format json --report {report} -- {program}"),
        words,
    );
    let mut command = if as_root {
        place.command(&words)
    } else {
        place.command_without_rights(&words)
    };
    let done = command.output().unwrap();
    expect_status(&done, 0);
    let document = fs::read(report).unwrap();
    Some(Waits {
        output: stdout(&done),
        document: serde_json::from_slice(&document).unwrap(),
    })
}

impl Waits {
    fn longest(&self, call: &str) -> &Value {
        let waits = self.document["waits"].as_array().unwrap();
        waits
            .iter()
            .find(|wait| wait["name"] == call)
            .unwrap_or_else(|| panic!("no {call}: {waits:#?}"))
    }
}

#[test]
fn a_socket_has_its_peer() {
    for as_root in [true, false] {
        let Some(found) = waits(as_root, "ask") else {
            continue;
        };
        let wait = found.longest("recvfrom");
        assert_eq!(
            (&wait["reason"], wait["on"].as_str()),
            (&"socket".into(), found.output.lines().next()),
            "{wait}"
        );
        assert!(wait["blocked_s"].as_f64().unwrap() > 0.05, "{wait}");
        let by = if as_root {
            "answering".into()
        } else {
            Value::Null
        };
        assert_eq!(wait["by"], by, "{wait}");
        let child = found.longest("wait4");
        assert_eq!(child["by"], "answering", "{child}");
    }
}

#[test]
fn an_interrupt_in_the_middle_of_another_call_is_nobody() {
    let found = needs!(waits(true, "sleep-beside-calls"));
    let waits = list(&found.document["waits"]);
    let mut sleeps = waits
        .iter()
        .filter(|wait| wait["name"] == "clock_nanosleep")
        .peekable();
    assert!(sleeps.peek().is_some(), "{waits:#?}");
    assert!(sleeps.all(|wait| wait["by"].is_null()), "{waits:#?}");
}

#[test]
fn a_sync_has_its_file() {
    for as_root in [true, false] {
        // Of a file in memory, it does not wait.
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        let path = file.path().to_str().unwrap();
        if !as_root {
            chown(path, Some(65534), Some(65534)).unwrap_or_default();
        }
        let Some(found) = waits(as_root, format!("disk {path}")) else {
            continue;
        };
        let waits = found.document["waits"].as_array().unwrap();
        let Some(wait) = waits.iter().find(|wait| wait["name"] == "fdatasync") else {
            skip("no sync waited");
            continue;
        };
        assert_eq!(
            (&wait["reason"], &wait["by"]),
            (&"disk".into(), &Value::Null),
            "{wait}"
        );
        assert!(wait["on"].as_str().unwrap().starts_with(path), "{wait}");
    }
}

/// Its holder released it, so nobody holds it when tracing ends.
#[test]
fn a_lock_on_a_file_has_the_process_that_gave_it_up() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let lock = place.path().join("lock").display().to_string();
    let script = format!("flock {lock} sleep 0.3 & sleep 0.1; flock {lock} true");
    place.write("locks.sh", script);
    let done = place.run("why --format json --report why.json -- sh locks.sh");
    expect_status(&done, 0);
    let found = Waits {
        output: String::new(),
        document: place.parsed("why.json"),
    };
    let wait = found.longest("flock");
    assert_eq!(
        (&wait["reason"], &wait["on"], &wait["by"]),
        (&"lock".into(), &lock.into(), &"flock".into()),
        "{wait}"
    );
}

#[test]
fn a_lock_of_the_kernel_has_the_function_that_wanted_it() {
    if !Path::new("/sys/kernel/tracing/events/lock/contention_begin").exists() {
        return skip("no tracepoints at locks of the kernel");
    }
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    let path = file.path().to_str().unwrap();
    let found = needs!(waits(true, format!("kernel-locks {path}")));
    let locks = list(&found.document["locks"]);
    for (lock, call, function) in [
        ("mmap_lock", "munmap", "munmap"),
        ("i_rwsem", "pwrite64", "write_iter"),
    ] {
        let own = locks
            .iter()
            .find(|own| own["lock"] == lock && own["call"] == call)
            .unwrap_or_else(|| panic!("no {lock}: {locks:#?}"));
        let wanted_by = own["function"].as_str().unwrap();
        assert!(wanted_by.contains(function), "{own}");
        assert!(own["waited_ns"].as_u64() > Some(0) && own["waits"].as_u64() > Some(0));
    }
    // None is left without its function, and each wait is one of a call.
    assert!(
        locks.iter().all(|lock| lock["function"].is_string()),
        "{locks:#?}"
    );
}

#[test]
fn requests_of_io_uring_are_told_by_how_they_complete() {
    if !Path::new("/sys/kernel/tracing/events/io_uring/io_uring_submit_req").exists() {
        return skip("no tracepoints at requests of io_uring");
    }
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let program = place.tmp().join("rings");
    let program = program.to_str().unwrap();
    if !cc(format!("-O1 -o {program} tests/waiting/rings.c")) {
        return skip("no linux/io_uring.h");
    }
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    let path = file.path().to_str().unwrap();
    let output = place.run(format!(
        "why --format json --report why.json -- {program} {path}"
    ));
    if output.status.code() == Some(3) {
        return skip("no io_uring");
    }
    expect_status(&output, 0);
    let found = place.parsed("why.json");
    let rings = list(&found["rings"]).iter();
    let rows: Vec<_> = rings
        .map(|row| (&row["operation"], &row["way"], &row["requests"]))
        .map(|(operation, way, requests)| json!([operation, way, requests]))
        .collect();
    let expected = [
        json!(["nop", "inline", 8]),
        json!(["fsync", "worker", 3]),
        json!(["read", "later", 1]),
    ];
    assert_eq!(rows, expected, "{found:#}");
    let read = &list(&found["rings"])[2];
    assert!(read["elapsed_ns"].as_u64() > Some(10_000_000), "{read}");
}

#[test]
fn answers_behind_delayed_acknowledgements_are_seen_at_their_sockets() {
    let found = needs!(waits(true, "answer-in-two"));
    let advice = list(&found.document["advice"]);
    let own = advice.iter().find(|own| own["rule"] == "delayed-acks");
    let own = own.unwrap_or_else(|| panic!("{advice:#?}"));
    // Of 640 answers, a connection's first ones are acknowledged at once.
    let items = own["items"].as_u64().unwrap();
    assert!((100..=640).contains(&items), "{own}");
    assert_eq!(own["names"], json!(["sendto"]), "{own}");
}

/// A control group that may use a twentieth of a CPU.
fn limited() -> Option<ControlGroup> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    for mount in mounts.lines() {
        let fields: Vec<&str> = mount.split(' ').collect();
        let (file, quota) = match fields[2] {
            "cgroup2" => ("cpu.max", "5000 100000"),
            "cgroup" if fields[3].split(',').any(|name| name == "cpu") => {
                ("cpu.cfs_quota_us", "5000")
            }
            _ => continue,
        };
        let name = format!("syscost-test-quota-{}", std::process::id());
        let group = Path::new(fields[1]).join(name);
        if fs::create_dir(&group).is_err() {
            continue;
        }
        let group = ControlGroup(group);
        if group.0.join(file).exists() && fs::write(group.0.join(file), quota).is_ok() {
            return Some(group);
        }
    }
    skip("no control group with a quota of CPU time can be made here");
    None
}

#[test]
fn a_quota_that_is_used_up_has_its_file() {
    let group = needs!(limited());
    let mut busy = group.run("while cd /; do :; done");
    let pid = busy.id();
    let place = Place::new();
    let by = format!("throttled by {}/cpu.", group.0.display());
    let line = format!("why -q --format json --report found.json -p {pid} --for 1");
    expect_status(&place.run(line), 0);
    let found = place.parsed("found.json");
    let parts = list(&found["time"]["parts"]);
    let waiting = parts
        .iter()
        .find(|part| part["kind"] == "waiting_for_cpu")
        .unwrap();
    expect_in(waiting["what"][0].as_str().unwrap(), by.as_str());
    let mut advice = list(&found["advice"]).iter();
    let quota = advice.find(|advice| advice["rule"] == "cpu-quota");
    let quota = quota.unwrap_or_else(|| panic!("{found:#}"));
    let saved_s = quota["saved_s"]["value"].as_f64();
    assert!(saved_s > Some(0.0), "{quota}");
    assert!(saved_s <= waiting["wall_s"].as_f64(), "{quota}");
    let printed = stderr(&place.run(format!("trace -q -p {pid} --for 1")));
    expect_in(
        printed.replace('\n', " "),
        &format!("Waiting for a CPU: {by}"),
    );
    drop(group);
    busy.wait().unwrap();
}

#[test]
fn a_lock_has_the_thread_that_gave_it_up() {
    let found = needs!(waits(true, "lock"));
    let wait = found.longest("futex");
    assert_eq!(
        (&wait["reason"], &wait["by"]),
        (&"lock".into(), &"thread holding".into())
    );
    assert!(
        wait["on"].as_str().unwrap().starts_with("futex 0x")
            && wait["on"].as_str().unwrap().ends_with(" lock"),
        "{wait}"
    );
    assert!(wait["blocked_s"].as_f64().unwrap() > 0.05, "{wait}");
}

#[test]
fn a_pipe_has_the_process_at_its_other_end() {
    for as_root in [true, false] {
        let Some(found) = waits(as_root, "partner-on-one-cpu") else {
            continue;
        };
        let Some(wait) = found.document["waits"]
            .as_array()
            .unwrap()
            .iter()
            .find(|wait| wait["name"] == "read")
        else {
            skip("no read waited long enough");
            continue;
        };
        assert_eq!(
            (&wait["reason"], &wait["by"]),
            (&"pipe".into(), &"waits".into()),
            "{wait}"
        );
    }
}
