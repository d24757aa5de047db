//! Guests: other kernels in machines of their own. They need an emulator and an image that 'syscost kernel fetch' got.

use crate::common::*;
use crate::machines::{self, boot};
use measure::runner::{Environment, RunDirectory, Workers, on_path};
use measure::session::{Readiness, readiness};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn workers() -> Workers {
    machines::workers(RunDirectory::create().unwrap())
}

#[test]
fn a_guest_answers_on_several_channels() {
    let name = needs!(emulated_kernel());
    let workers = workers();
    let guest = boot(&workers, &name, "audit=0").unwrap();
    assert!(guest.file("/proc/cmdline").unwrap()[0].ends_with("audit=0"));
    assert_eq!(
        guest.file("/proc/sys/kernel/osrelease").unwrap(),
        [guest.release.as_str()]
    );
    let (first, second) = (
        guest.channel("op id.getppid").unwrap(),
        guest.channel("op id.umask").unwrap(),
    );
    for channel in [&second, &first, &second] {
        let reply = channel.request(100, 3).unwrap();
        assert_eq!(reply.batches.len(), 3);
        assert!(
            reply
                .batches
                .iter()
                .all(|batch| (2_000..10_000_000).contains(&batch.ns)),
            "{reply:?}"
        );
    }
    let none = guest.channel("op no.such").err().unwrap();
    assert_eq!(none.message, "no such operation");
    let missing = guest.file("/no/such").unwrap_err();
    assert_eq!(
        missing.message,
        "the guest answered: ENOENT /no/such: No such file or directory"
    );
    drop(second);
    assert_eq!(first.request(1, 1).unwrap().batches.len(), 1);
    assert!(guest.is_alive());
}

#[test]
fn kernel_entries_are_counted_inside_the_guest() {
    let name = needs!(emulated_kernel());
    let workers = workers();
    let guest = boot(&workers, &name, "").unwrap();
    let more = |greeting: &str, call: &str| {
        let traced = guest.traced(greeting).unwrap();
        let counts = [10, 30].map(|n| traced.request(n).unwrap().get(call).copied().unwrap_or(0));
        counts[1] - counts[0]
    };
    assert_eq!(more("op id.getppid", "getppid"), 20);
    assert_eq!(more("op id.getppid", "getpid"), 0);
    assert_eq!(more("op call.int80", "getpid(i386)"), 20);
    // Children and threads are followed, and their partners waited for.
    assert_eq!(more("op process.fork_wait", "exit_group"), 20);
    assert_eq!(more("op process.thread", "exit"), 20);
    assert_eq!(more("op ipc.pipe", "read"), 40);
    let none = guest.traced("op no.such").err().unwrap();
    assert_eq!(none.message, "no such operation");
    assert!(guest.is_alive());
}

pub fn records(place: &Place, arguments: impl Line) -> (Vec<Value>, bool) {
    let output = place.run(("run --out run.json", arguments));
    let written = fs::read(place.path().join("run.json"));
    let written = written.unwrap_or_else(|_| panic!("{}{}", stdout(&output), stderr(&output)));
    let run: Value = serde_json::from_slice(&written).unwrap();
    (list(&run["records"]).clone(), output.status.success())
}

#[test]
fn operations_and_snippets_have_entries_there_as_they_have_here() {
    let name = needs!(emulated_kernel());
    let wrong = "c:*(volatile char *)0 = 1;";
    let operations =
        format!("file.open_close time.clock_gettime c:getpid() c:close(dup(0)); '{wrong}'");
    let (records, all) = records(&Place::new(), (&operations, format!("--env '{name}'")));
    assert!(!all, "one of them is wrong");
    let of = |operation: &str| {
        records
            .iter()
            .find(|record| record["operation"] == operation)
            .unwrap()
    };
    let entries = |operation: &str| {
        let record = of(operation);
        assert_eq!(
            (&record["entries_status"], &record["warnings"]),
            (&json!("verified"), &json!([])),
            "{record}"
        );
        record["entries"].clone()
    };
    assert_eq!(entries("file.open_close"), json!({"openat": 1, "close": 1}));
    assert_eq!(entries("time.clock_gettime"), json!({}));
    assert_eq!(entries("getpid()"), json!({"getpid": 1}));
    assert_eq!(entries("close(dup(0));"), json!({"dup": 1, "close": 1}));
    let error = of("*(volatile char *)0 = 1;")["error"]["message"].to_string();
    expect_in(&error, "killed by signal 11");
}

/// Instructions per operation, by operation and environment, of a run with these arguments.
fn counted(place: &Place, arguments: impl Line) -> BTreeMap<(String, String), f64> {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let per_operation = |record: &Value| {
        let counted = record.get("counted").unwrap_or_else(|| panic!("{record}"));
        let number = |value: &Value| value.as_f64().unwrap();
        let iterations = number(&counted["more"]) - number(&counted["fewer"]);
        let pairs = list(&counted["batches"]).iter();
        let mut each: Vec<f64> = pairs
            .map(|pair| (number(&pair[1]) - number(&pair[0])) / iterations)
            .collect();
        each.sort_by(f64::total_cmp);
        (
            (text(&record["operation"]), text(&record["environment"])),
            each[each.len() / 2],
        )
    };
    let (records, all) = records(place, arguments);
    assert!(all, "{records:?}");
    records.iter().map(per_operation).collect()
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn two_runs_count_the_same_and_boot_parameters_count() {
    let name = needs!(emulated_kernel());
    let place = Place::new();
    let audit = format!("{name} audit=1");
    let operations = ["id.getppid", "id.umask", "time.clock_gettime", "file.fstat"];
    let arguments = (&operations, format!("--env '{name}' --env '{audit}'"));
    let first = counted(&place, &arguments);
    // Counting kernel entries does not change what else is counted.
    let second = counted(&place, (&arguments, "--no-verify"));
    let of = |run: &BTreeMap<_, f64>, operation: &str, environment: &str| {
        run[&(operation.into(), environment.into())]
    };
    for operation in &operations[..3] {
        assert_eq!(
            of(&first, operation, &name),
            of(&second, operation, &name),
            "{operation}"
        );
    }
    // An entry and an exit that are audited, and a clock that does not enter the kernel.
    let getppid = of(&first, "id.getppid", &audit) / of(&first, "id.getppid", &name);
    assert!((1.2..3.0).contains(&getppid), "{getppid}");
    let clock = "time.clock_gettime";
    assert_eq!(of(&first, clock, &audit), of(&first, clock, &name));
    assert_eq!(
        of(&first, "call.empty_loop", &name),
        2.0,
        "one subtraction, one jump"
    );
}

/// Iterations of both lengths, and the instructions of both batches of each pair.
type Pairs = (u64, u64, Vec<(u64, u64)>);

/// What is counted of a program whose batch of n iterations takes so many `instructions`, in a shell's arithmetic.
fn counted_of_program(line: &str, instructions: &str) -> Result<Pairs, String> {
    let (place, workers) = (Place::new(), workers());
    let program = place.path().join("program");
    let script = format!(
        "#!/bin/sh\nnumber=0 calls=0\necho ready bits=64 >&4\nwhile read n k <&3; do\n while [ $k -gt 0 ]; do\n  \
         number=$((number+1)) k=$((k-1)) before=$calls calls=$((calls+n))\n  echo $(({instructions})) 0 >&4\n done\n \
         echo total 0 0 0 0 >&4\ndone\n"
    );
    write_program(&program, &script);
    let mut init = Command::new(workers.probe_of("native").unwrap());
    init.arg("--init")
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut init = init.spawn().unwrap();
    let mut input = init.stdin.take().unwrap();
    let path = program.to_str().unwrap().trim_start_matches('/');
    writeln!(input, "@1 count {line} run {path}").unwrap();
    let mut lines = BufReader::new(init.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let answer = lines
        .find(|line| !line.starts_with("@0 ") && !line.starts_with("@1 ready "))
        .unwrap();
    assert_eq!(lines.next().unwrap(), "@1 ended exit status 0");
    writeln!(input, "@0 poweroff").unwrap();
    init.wait().unwrap();
    assert!(place.path().join("channel-1").is_dir());
    let Some(counted) = answer.strip_prefix("@1 counted ") else {
        return Err(answer);
    };
    let mut words = counted.split(' ');
    let mut next = || words.next().unwrap().parse().unwrap();
    let (fewer, more) = (next(), next());
    let pair = |word: &str| {
        word.split_once(':')
            .map(|(few, many)| (few.parse().unwrap(), many.parse().unwrap()))
    };
    Ok((fewer, more, words.map(|word| pair(word).unwrap()).collect()))
}

#[test]
fn instructions_are_differences_that_agree() {
    let each = |(fewer, more, pairs): &Pairs| {
        let mut each: Vec<f64> = pairs
            .iter()
            .map(|(few, many)| (many - few) as f64 / (more - fewer) as f64)
            .collect();
        each.sort_by(f64::total_cmp);
        each[each.len() / 2]
    };
    let own = |instructions: &str| counted_of_program("0 own", instructions).unwrap();
    // What starts and ends a batch cancels: all pairs agree at once, in batches shorter than the time between timer interrupts.
    let plain = own("55 + n * 329");
    assert_eq!((each(&plain), plain.2.len()), (329.0, 8));
    assert!(
        plain.1 * 329 < 400_000 && plain.0 * 4 == plain.1 && plain.0 % 48 == 0,
        "{plain:?}"
    );
    // Interrupts are in some batches, a state that changes once in others.
    assert_eq!(
        each(&own("55 + n * 2734 + (number % 5 ? 0 : 9000)")),
        2734.0
    );
    assert_eq!(
        each(&own(
            "55 + n * 329 + (number > 10 && number < 21 ? 4584 : 0)"
        )),
        329.0
    );
    // Each 48th call makes random numbers for as many.
    let shared = each(&own("21 + n * 404 + 2818 * (calls / 48 - before / 48)"));
    assert!((shared - 404.0 - 2818.0 / 48.0).abs() < 1e-9, "{shared}");
    // Batches that never agree are long, and so are those of an operation that leaves work to others.
    let never = own("n * 5000 + number * number * 31 % 977");
    assert!(
        never.1 * 5000 > 400_000 && never.2.len() == 3 && (each(&never) - 5000.0).abs() < 1.0,
        "{never:?}"
    );
    assert!(counted_of_program("0 deferred", "55 + n * 5000").unwrap().1 * 5000 > 400_000);
    // Long operations have few iterations, and a limit holds.
    let long = own("n * 300000000");
    assert_eq!((long.0, long.1, long.2.len()), (1, 4, 2));
    let limited = counted_of_program("3 own", "n * 10").unwrap();
    assert_eq!((limited.0, limited.1, each(&limited)), (1, 3, 10.0));
    let refused = counted_of_program("1 own", "n").unwrap_err();
    expect_in(&refused, "error ENOTSUP one iteration per batch");
}

/// A kernel for arm64 that can be booted here, and its compiler; or says that `test` is skipped.
pub fn arm64_kernel() -> Option<String> {
    let name = emulated_kernel_of("6.1", "aarch64")?;
    match Environment::find(&name).unwrap().compiler() {
        Ok(_) => Some(name),
        Err(missing) => {
            skip(&missing.to_string());
            None
        }
    }
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn kernels_for_arm64_count_the_same_twice() {
    let name = needs!(arm64_kernel());
    let place = Place::new();
    let fixed = format!("{name} randomize_kstack_offset=off");
    let operations = ["id.getppid", "id.umask", "time.clock_gettime"];
    let arguments = (&operations, format!("--env '{name}' --env '{fixed}'"));
    let (first, second) = (counted(&place, &arguments), counted(&place, &arguments));
    let of = |operation: &str, environment: &str| {
        first[&(operation.to_string(), environment.to_string())]
    };
    for operation in operations {
        let case = (operation.to_string(), name.clone());
        assert_eq!(first[&case], second[&case], "{operation}");
    }
    assert!(
        (300.0..600.0).contains(&of("id.getppid", &name)),
        "{first:?}"
    );
    // A share of the random numbers that are made for 48 entries at once.
    assert!(
        of("id.getppid", &name) > of("id.getppid", &fixed) + 50.0,
        "{first:?}"
    );
    assert_eq!(
        of("time.clock_gettime", &name),
        of("time.clock_gettime", &fixed),
        "it does not enter the kernel"
    );
    assert_eq!(
        of("call.empty_loop", &name),
        2.0,
        "one subtraction, one jump"
    );
    let refused = place.run(format!("explain --env '{name}' -- true"));
    expect_in(
        stderr(&refused),
        "a command is explained in a kernel for x86_64 only",
    );
}

/// Why a run in this environment was refused, or its only operation failed.
fn failure(place: &Place, name: &str, more: impl Line) -> String {
    let arguments = (format!("run id.getppid --env '{name}' --format json"), more);
    let output = place.run(&arguments);
    if output.status.code() == Some(2) {
        return stderr(&output).trim_end().to_string();
    }
    let document = json(&output);
    let record = list(&document["records"])
        .iter()
        .find(|record| record["operation"] == "id.getppid");
    record.unwrap()["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{document}"))
        .to_string()
}

#[test]
fn what_cannot_be_booted_says_why() {
    let name = needs!(emulated_kernel());
    let place = Place::new();
    place.write("text", "no kernel\n");
    let mut old = vec![0; 0x400];
    old[0x1fe..0x206].copy_from_slice(b"\x55\xaa\0\0HdrS");
    place.write("old", old);
    let with = |parameters: &str| format!("{name} {parameters}");
    let cases: [(String, &[&str], &str); 9] = [
        ("linux:text".into(), &[], "text is not a kernel image"),
        (
            "linux:old".into(),
            &[],
            "old is for i686, the emulated machine is x86_64",
        ),
        ("linux:none".into(), &[], "none: No such file or directory"),
        (
            "linux-0.1".into(),
            &[],
            "get one with 'syscost kernel fetch 0.1'",
        ),
        (
            with("memory=3"),
            &[],
            "memory=3 is not a number of MiB, 16 or more",
        ),
        (
            with("rdinit=/nothing root=/dev/none"),
            &[],
            "Kernel panic - not syncing: ",
        ),
        (
            with("memory=32"),
            &[],
            "its console is empty: too little memory (try a name such as",
        ),
        (
            with("mem=50M"),
            &[],
            "Kernel panic - not syncing: System is deadlocked on memory",
        ),
        (
            with("rdinit=/nothing root=/dev/none panic=0"),
            &["--timeout", "3"],
            "did not answer within 18 s",
        ),
    ];
    // Those that have to boot come last.
    let tried = if is_left_to_heavy("four kernels that fail") {
        5
    } else {
        9
    };
    for (name, more, expected) in cases.into_iter().take(tried) {
        let said = failure(&place, &name, more);
        expect_in(&said, expected);
    }
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
    assert!(place.processes().is_empty());
}

#[test]
fn another_users_image_is_not_booted() {
    if !geteuid().is_root() {
        return skip("needs root");
    }
    if on_path(EMULATOR).is_none() {
        return skip(&format!("no {EMULATOR} on PATH"));
    }
    let place = Place::new();
    let folder = place.path().join("folder");
    let image = folder.join("image");
    fs::create_dir(&folder).unwrap();
    fs::write(&image, "no kernel\n").unwrap();
    let said = |of_folder: u32, of_image: u32| {
        chown(&folder, Some(of_folder), None).unwrap();
        chown(&image, Some(of_image), None).unwrap();
        failure(&place, "linux:folder/image", "")
    };
    let advice = "and that kernel would run with your rights: make a copy of your own";
    let refused = said(0, 65534);
    assert!(
        refused.contains(&format!("{}: it belongs to ", image.display()))
            && refused.ends_with(advice),
        "{refused}"
    );
    let refused = said(65534, 0);
    assert!(
        refused.contains(", could replace files in ") && refused.ends_with(advice),
        "{refused}"
    );
    let read = said(0, 0);
    expect_in(&read, "image is not a kernel image");
}

#[test]
fn without_an_emulator_it_is_named() {
    let place = Place::new();
    let output = place
        .command("run id.getppid --env linux-6.1 --format json")
        .env("PATH", place.path())
        .output()
        .unwrap();
    let said = stderr(&output);
    expect_status(&output, 2);
    expect_in(&said, "qemu-system-x86_64 is not on PATH; install ");
}

#[test]
fn boot_parameters_and_memory_without_a_guest_are_refused() {
    for name in ["native audit=1", "seccomp memory=64"] {
        let output = Place::new().run(format!("run id.getppid --env '{name}'"));
        expect_error(
            &output,
            2,
            "boot parameters and memory are for emulated machines only",
        );
    }
}

fn runs(pid: i32, program: &str) -> bool {
    fs::read_link(format!("/proc/{pid}/exe"))
        .is_ok_and(|path| path.to_string_lossy().contains(program))
}

#[test]
fn a_killed_run_leaves_no_guest() {
    let name = needs!(emulated_kernel());
    let place = Place::new();
    let job = place.start(format!("run id.getppid --env '{name}'"));
    let emulator = || {
        place
            .processes()
            .into_iter()
            .any(|process| runs(process.pid, EMULATOR))
            .then_some(())
    };
    assert!(
        wait_for(emulator).is_some(),
        "no guest was started: {:?}",
        place.processes()
    );
    kill(job.pid(), Signal::SIGKILL).unwrap();
    place.expect_clean();
}

/// A user-mode Linux that starts programs here: that of `.ci/uml`, since those of Debian up to 13 panic where there is AMX.
fn user_mode_linux() -> Option<String> {
    let place = std::env::var_os("SYSCOST_UML").map(PathBuf::from)?;
    place.is_file().then(|| format!("uml:{}", place.display()))
}

#[test]
fn user_mode_linux_is_measured_in_the_same_rounds() {
    let Some(name) = user_mode_linux() else {
        return skip("SYSCOST_UML names no user-mode Linux; .ci/uml DIRECTORY gets one");
    };
    let place = Place::new();
    let output = place.run(format!(
        "run id.getppid --env native --env '{name}' --time 4 --format json"
    ));
    expect_status(&output, 0);
    let document = json(&output);
    let records = list(&document["records"]);
    let median = |environment: &str| {
        let own = |record: &&Value| {
            record["operation"] == "id.getppid" && record["environment"] == environment
        };
        records.iter().find(own).unwrap()["median_ns"]
            .as_f64()
            .unwrap_or_else(|| panic!("{document}"))
    };
    assert!(
        median(&name) > 5.0 * median("native"),
        "each of its calls is a stop of ptrace"
    );
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
    assert!(place.processes().is_empty());
}

#[test]
fn a_user_mode_linux_that_is_none_says_why() {
    let place = Place::new();
    for (name, expected) in [
        ("uml:/bin/false", "ended without an answer"),
        ("uml:none", "none: No such file or directory"),
    ] {
        let said = failure(&place, name, "");
        expect_in(&said, expected);
    }
    let workers = workers();
    let environment = Environment::find("uml:/bin/false").unwrap();
    let (found, why) = readiness(&workers, &environment);
    assert!(found == Readiness::NotPermitted, "ready is what started");
    expect_in(why.unwrap(), "ended without an answer");
    let output = place.run("run id.getppid --env uml-7.2");
    expect_in(stderr(&output), "invalid value 'uml-7.2'");
}
