//! The time of threads, what holds them up, and hung ones: programs of tests/waiting/threads.c.

use crate::common::*;

fn program(place: &Place) -> String {
    let program = place.tmp().join("threads");
    let program = program.to_str().unwrap();
    assert!(cc(format!(
        "-O1 -pthread -o {program} tests/waiting/threads.c"
    )));
    program.to_string()
}

/// What `why` prints as JSON of a command, and the command's output.
fn why(place: &Place, mode: &str) -> (Value, String) {
    let program = program(place);
    let output = place.run(format!(
        "why --format json --report why.json -o p.json -- {program} {mode}"
    ));
    expect_status(&output, 0);
    let document = fs::read(place.path().join("why.json")).unwrap();
    (serde_json::from_slice(&document).unwrap(), stdout(&output))
}

/// A program that runs on, and has printed its first line.
fn running(place: &Place, mode: &str) -> (Job, String) {
    let mut command = Command::new(program(place));
    command.arg(mode).stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    (Job::of(child), line.trim().to_string())
}

fn ns(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

fn parts(document: &Value) -> &Vec<Value> {
    list(&document["threads"]["parts"])
}

/// Those that are blocked for this reason.
fn because<'a>(document: &'a Value, because: &str) -> Vec<&'a Value> {
    let parts = parts(document).iter();
    parts.filter(|part| part["because"] == because).collect()
}

#[test]
fn the_time_of_threads_is_that_of_the_scheduler() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let (found, output) = why(&place, "compute");
    let numbers = |line: &str| -> Vec<u64> {
        let words = line.split_whitespace();
        words.map(|word| word.parse().unwrap()).collect()
    };
    let mut expected = [0, 0];
    for line in output.lines().map(numbers) {
        expected[0] += line[0];
        expected[1] += line[1];
    }
    let profile: Value =
        serde_json::from_slice(&fs::read(place.path().join("p.json")).unwrap()).unwrap();
    let threads = list(&profile["threads"]);
    let main = |thread: &&Value| thread["tid"] != thread["pid"];
    let sum = |field: &str| -> u64 {
        let own = threads.iter().filter(main);
        own.map(|thread| ns(&thread[field])).sum()
    };
    for (field, expected) in [("ran_ns", expected[0]), ("runnable_ns", expected[1])] {
        // What a thread does before it begins and after it has read its accounting.
        let slack = expected / 50 + 4 * 2_000_000;
        // Beside other load it waits for a CPU once more after that.
        let later = if field == "runnable_ns" {
            4 * 20_000_000
        } else {
            0
        };
        let range = expected - slack.min(expected)..expected + slack + later;
        assert!(
            range.contains(&sum(field)),
            "{field}: {range:?} {profile:#}"
        );
    }
    let time = &profile["usage"]["thread_time"];
    for field in ["ran_ns", "runnable_ns", "blocked_ns"] {
        let all: u64 = threads.iter().map(|thread| ns(&thread[field])).sum();
        assert_eq!(all, ns(&time[field]), "{field}");
    }
    let whole = found["threads"]["thread_s"].as_f64().unwrap();
    let seconds = parts(&found)
        .iter()
        .map(|part| part["seconds"].as_f64().unwrap());
    assert!(
        (seconds.sum::<f64>() - whole).abs() < 1e-6 * whole,
        "{found:#}"
    );
}

#[test]
fn a_deadlock_is_named_with_its_threads_and_function() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let (job, _) = running(&place, "deadlock");
    let pid = job.pid();
    // Until both wait for each other.
    std::thread::sleep(Duration::from_millis(100));
    let words = format!("why --format json --report why.json -p {pid} --for 0.3");
    expect_status(&place.run(words), 0);
    let found = fs::read(place.path().join("why.json")).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    let first = &found["hung"][0];
    assert_eq!(list(&first["cycle"]).len(), 3, "{found:#}");
    assert_eq!(first["function"], "transfer", "{first:#}");
    assert_eq!(because(&found, "lock").len(), 2, "{found:#}");
    let output = place.run(format!("why -p {pid} --for 0.3"));
    let text = stderr(&output);
    assert!(
        text.contains(&format!("process {pid} (threads): "))
            && text.contains("Deadlock of 2 threads since before tracing began: "),
        "{text}"
    );
}

/// As a command and as a process; the function was inlined.
#[test]
fn a_semaphore_that_a_program_waits_for_is_named_with_the_inlined_function() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let program = place.tmp().join("semaphore");
    let program = program.to_str().unwrap();
    assert!(cc(format!(
        "-O1 -g -pthread -o {program} tests/waiting/semaphore.c"
    )));
    let line = why_line(&format!("--for 1.5 -- {program}"));
    let of_command = left(&place, place.command(line), false);
    let job = Job::of(Command::new(program).process_group(0).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(200));
    let line = why_line(&format!("-p {} --for 0.3", job.pid()));
    expect_status(&place.run(line), 0);
    for found in [of_command, place.parsed("why.json")] {
        let first = &found["hung"][0];
        assert_eq!(first["on"], "semaphore jobs", "{found:#}");
        expect_start(first["function"].as_str().unwrap(), "fetch (semaphore.c:");
    }
}

/// The screen of `why -p` of a program that waits for what its argument names.
fn hangs(place: &Place, program: &str, argument: &Path) -> Option<String> {
    let mut command = Command::new(program);
    // What `flock` runs with the lock.
    let last: &[&str] = if program == "flock" { &["true"] } else { &[] };
    let Ok(child) = command.arg(argument).args(last).process_group(0).spawn() else {
        skip(&format!("no {program}"));
        return None;
    };
    let job = Job::of(child);
    // Until it waits.
    std::thread::sleep(Duration::from_millis(200));
    Some(stderr(
        &place.run(format!("why -p {} --for 0.3", job.pid())),
    ))
}

#[test]
fn a_lock_on_a_file_is_named_with_its_holder_and_a_fifo_as_one() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let [lock, fifo] = ["lock", "fifo"].map(|name| place.path().join(name));
    let file = fs::File::create(&lock).unwrap();
    file.lock().unwrap();
    let own = std::process::id();
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    let name = name.trim();
    let text = needs!(hangs(&place, "flock", &lock));
    expect_in(
        unwrapped(&text),
        [&*format!(
            "in flock on {}, held by {name} (process {own}).",
            lock.display()
        )],
    );
    // A lock by flock belongs to the open file: whoever inherits it holds the lock, also after the process that took it has ended.
    drop(file);
    let script = format!("(flock 9; exec sleep 60) 9>{}", lock.display());
    let mut holder = Command::new("sh");
    let holder = Job::of(
        holder
            .args(["-c", &script])
            .process_group(0)
            .spawn()
            .unwrap(),
    );
    while fs::File::open(&lock).unwrap().try_lock().is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let text = needs!(hangs(&place, "flock", &lock));
    expect_in(
        text.replace("\n  ", " "),
        ["flock (process ", "held by sleep (process "],
    );
    drop(holder);
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let text = needs!(hangs(&place, "cat", &fifo));
    let object = format!("openat on {}, a FIFO that nobody has", fifo.display());
    expect_in(unwrapped(&text), object.as_str());
    assert!(!text.contains("disk"), "{text}");
    let flags = nix::fcntl::OFlag::O_RDWR | nix::fcntl::OFlag::O_CLOEXEC;
    let end = nix::fcntl::open(&fifo, flags, nix::sys::stat::Mode::empty()).unwrap();
    let text = needs!(hangs(&place, "cat", &fifo));
    let end_of = format!("; {name} (process {own}) has its other end open for writing.");
    expect_in(text.replace("\n  ", " "), ["cat (process ", &*end_of]);
    drop(end);
}

/// What `why` found of a command that runs on, which it traced for a time or until the terminal's ^C.
fn left_command(place: &Place, words: &str, mode: &str, interrupted: bool) -> Value {
    let program = program(place);
    let line = format!("{words} -- {program} {mode}");
    left(place, place.command(why_line(&line)), interrupted)
}

pub fn why_line(words: &str) -> String {
    format!("why --format json --report why.json {words}")
}

pub fn left(place: &Place, mut command: Command, interrupted: bool) -> Value {
    command.stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let job = Job::of(child);
    let group = job.pid();
    if interrupted {
        std::thread::sleep(Duration::from_millis(1300));
        killpg(group, Signal::SIGINT).unwrap();
    }
    job.output();
    let _ = killpg(group, Signal::SIGKILL);
    place.parsed("why.json")
}

#[test]
fn a_deadlock_of_a_command_is_named_when_it_is_left_or_ended() {
    if !has_bpf() {
        return;
    }
    for (words, interrupted) in [("--for 1.5", false), ("", true)] {
        let found = left_command(&Place::new(), words, "deadlock", interrupted);
        let first = &found["hung"][0];
        assert_eq!(list(&first["cycle"]).len(), 3, "{words}: {found:#}");
        assert_eq!(first["function"], "transfer", "{words}: {first:#}");
        assert_eq!(first["before"], false, "{words}: {first:#}");
        assert!(first["waited_s"].as_f64().unwrap() > 1.0, "{first:#}");
        expect_wait(&found, "lock", 1.0);
    }
}

fn expect_wait(found: &Value, reason: &str, least_s: f64) {
    let parts = list(&found["time"]["parts"]);
    let waits = |part: &Value| part["reason"] == reason && part["wall_s"].as_f64() > Some(least_s);
    assert!(parts.iter().any(waits), "{found:#}");
}

#[test]
fn a_command_of_one_thread_that_hangs_waits_in_its_call_and_not_outside() {
    for as_root in [true, false] {
        if as_root && !has_bpf() {
            continue;
        }
        let place = Place::new().opened();
        nix::unistd::mkfifo(&place.path().join("fifo"), nix::sys::stat::Mode::all()).unwrap();
        let line = why_line("--for 1.5 -- sh -c 'echo started; exec cat fifo'");
        let command = match as_root {
            true => place.command(&line),
            false => place.command_without_rights(&line),
        };
        let found = left(&place, command, false);
        assert_eq!(found["hung"][0]["name"], "openat", "{found:#}");
        expect_wait(&found, "pipe", 1.0);
    }
}

#[test]
fn without_root_a_process_that_hangs_is_in_its_call_since_before() {
    let place = Place::new().opened();
    let (end, _other) = std::io::pipe().unwrap();
    let mut command = Command::new("cat");
    command.stdin(end).process_group(0);
    if geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let job = Job::of(command.spawn().unwrap());
    std::thread::sleep(Duration::from_millis(200));
    let line = why_line(&format!("-p {} --for 0.5", job.pid()));
    let done = place.command_without_rights(&line).output().unwrap();
    if stderr(&done).contains("may not be traced") {
        return skip("processes of the same user may not be traced");
    }
    expect_status(&done, 0);
    let found = place.parsed("why.json");
    let first = &found["hung"][0];
    assert_eq!(
        (&first["name"], &first["before"]),
        (&json!("read"), &json!(true)),
        "{found:#}"
    );
    expect_wait(&found, "pipe", 0.4);
}

#[test]
fn waits_of_a_command_with_clients_have_their_function() {
    if !has_bpf() {
        return;
    }
    let found = left_command(&Place::new(), "--for 1", "serve-on", false);
    let waits = because(&found, "connections").into_iter();
    let functions: Vec<_> = waits.map(|part| &part["wait"]["function"]).collect();
    assert!(functions.contains(&&"serve".into()), "{found:#}");
    let clients = because(&found, "clients")[0];
    let connections = ns(&clients["wait"]["connections"]);
    let requests = ns(&found["threads"]["requests"]["requests"]);
    assert!(
        connections > 1 && requests.div_ceil(200) == connections,
        "{found:#}"
    );
}

#[test]
fn shoot_downs_have_their_call() {
    if !Path::new("/sys/kernel/tracing/events/tlb/tlb_flush").exists() {
        return skip("no tracepoint at flushes of TLBs");
    }
    if !has_bpf() {
        return;
    }
    if std::thread::available_parallelism().unwrap().get() == 1 {
        return skip("one CPU");
    }
    // On a busy machine the threads may not run at the same time.
    let tries = (0..10).map(|_| why(&Place::new(), "protect").0);
    let mut counts = tries.map(|found| {
        let all = list(&found["shoot_downs"]).iter();
        let own = all.filter(|own| own["call"] == "mprotect");
        own.map(|own| ns(&own["count"])).sum::<u64>()
    });
    assert!(counts.any(|count| count > 0));
}

#[test]
fn flushes_within_flushes_lose_no_calls() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    why(&place, "interrupt");
    let profile = fs::read(place.path().join("p.json")).unwrap();
    let profile: Value = serde_json::from_slice(&profile).unwrap();
    assert_eq!(profile["complete"], true, "{}", profile["warnings"]);
    let counts = list(&profile["calls"]).iter();
    let forgotten = counts.filter(|count| count["call"] == "madvise");
    let calls: u64 = forgotten.map(|count| ns(&count["calls"])).sum();
    assert!((200_000..200_010).contains(&calls), "{calls}");
}

#[test]
fn a_parked_thread_does_not_wait_for_a_lock() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    why(&place, "park");
    let profile = fs::read(place.path().join("p.json")).unwrap();
    let profile: Value = serde_json::from_slice(&profile).unwrap();
    let waits = list(&profile["waits"]).iter();
    let mut longest = waits.filter(|wait| {
        wait["call"] == "futex"
            && wait["by"] == "thread threads"
            && ns(&wait["blocked_ns"]) > 50_000_000
    });
    let wait = longest.next().unwrap_or_else(|| panic!("{profile:#}"));
    assert!(wait["lock"].is_null(), "{wait:#}");
}

#[test]
fn requests_are_from_a_receive_to_the_next_send() {
    if !has_bpf() {
        return;
    }
    let (found, _) = why(&Place::new(), "serve");
    let requests = &found["threads"]["requests"];
    assert_eq!(requests["requests"], 200, "{requests:#}");
    let clients = because(&found, "clients");
    assert!(!clients.is_empty(), "{found:#}");
}

#[test]
fn sockets_among_descriptors_have_their_peer() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let program = program(&place);
    let output = place.run(format!("trace --descriptors -o p.json -- {program} serve"));
    expect_status(&output, 0);
    let address = stdout(&output);
    let address = address.lines().next().unwrap();
    let profile = place.parsed("p.json");
    for (call, peer) in [
        ("connect", format!("({address})")),
        ("sendto", format!("({address})")),
        ("sendto", format!("(clients of {address})")),
        ("accept", format!("(own {address})")),
    ] {
        let mut rows = list(&profile["objects"]).iter();
        let is = |row: &Value| {
            let name = row["name"].as_str().unwrap();
            row["call"] == call && name.starts_with("socket:[") && name.ends_with(&peer)
        };
        assert!(rows.any(is), "{call} {peer}: {profile:#}");
    }
}

/// Also one that was in the set before.
#[test]
fn waits_in_epoll_are_for_the_descriptor_that_became_ready() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let (job, address) = running(&place, "serve-on");
    let words = format!(
        "why --format json --report why.json -p {} --for 1",
        job.pid()
    );
    expect_status(&place.run(words), 0);
    let found = fs::read(place.path().join("why.json")).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    let mut waits = because(&found, "connections").into_iter();
    let on = format!("own {address}");
    let wait = waits.find(|part| part["wait"]["name"] == "epoll_wait");
    let wait = wait.unwrap_or_else(|| panic!("{found:#}"));
    assert_eq!(
        (&wait["wait"]["on"], &wait["wait"]["function"]),
        (&on.into(), &"serve".into()),
        "{found:#}"
    );
}

#[test]
fn rows_by_thread_have_the_names_of_threads() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let program = place.tmp().join("waits");
    let program = program.to_str().unwrap();
    assert!(cc(format!(
        "-O1 -pthread -o {program} tests/waiting/waits.c"
    )));
    let output = place.run(format!(
        "trace --by thread --format csv -o p.json -- {program} lock"
    ));
    let text = stderr(&output);
    assert!(
        text.lines().any(|line| line.starts_with("holding,")),
        "{text}"
    );
    assert!(
        text.lines().any(|line| line.starts_with("waits,")),
        "{text}"
    );
}

#[test]
fn a_running_process_is_sampled() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let (job, _) = running(&place, "serve-on");
    let output = place.run(format!("why --sampled -p {} --for 0.5", job.pid()));
    let text = stderr(&output);
    expect_status(&output, 0);
    assert!(
        text.contains(&format!("process {} (threads)", job.pid())),
        "{text}"
    );
}
