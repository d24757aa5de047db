//! States of machines that are kept: counts that begin in one are the same.

use crate::common::*;
use crate::guest::records;

/// Alone, with others, in any order, and whatever the host does meanwhile: each begins in one and the same state.
#[test]
fn a_count_does_not_depend_on_what_else_is_counted() {
    let name = needs!(emulated_kernel());
    let operations = [
        "file.create",
        "mem.mmap_munmap",
        "process.fork_wait",
        "socket.socketpair_close",
        "id.getppid",
    ];
    let place = Place::new();
    let batches = |operations: &[&str]| -> BTreeMap<String, Value> {
        let (records, all) = records(&place, (operations, format!("--env '{name}' --no-verify")));
        assert!(all, "{records:?}");
        let count = |record: &Value| (record["operation"].to_string(), record["counted"].clone());
        records.iter().map(count).collect()
    };
    let all = batches(&operations);
    let mut backwards = operations;
    backwards.reverse();
    std::thread::scope(|scope| {
        let runs = [
            &operations[..],
            &backwards,
            &operations[..1],
            &operations[3..],
        ]
        .map(|some| scope.spawn(move || batches(some)));
        for run in runs {
            for (operation, counted) in run.join().unwrap() {
                assert_eq!(all[&operation], counted, "{operation}");
            }
        }
    });
}

/// A run that counts in an emulated kernel, with a cache of its own.
fn counting(place: &Place, name: &str) -> Command {
    let mut run = place.command(format!(
        "run id.getppid file.create --env '{name}' --no-verify --quiet --format csv"
    ));
    run.env("XDG_CACHE_HOME", place.path().join("cache"));
    run
}

/// That file of a state in that cache, also of one that is being made.
fn kept_file(place: &Place, beginning: &str, name: &str) -> Option<PathBuf> {
    let kept = fs::read_dir(place.path().join("cache/syscost")).ok()?;
    let paths = kept.map(|entry| entry.unwrap().path());
    let mut own = paths.filter(|path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(beginning)
    });
    own.find_map(|path| Some(path.join(name)).filter(|file| file.exists()))
}

fn kept_memory(place: &Place, beginning: &str) -> Option<PathBuf> {
    kept_file(place, beginning, "memory")
}

fn state_memory(place: &Place) -> PathBuf {
    kept_memory(place, "machine-").expect("a state")
}

fn counts_of(place: &Place, name: &str) -> String {
    let output = counting(place, name).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    counts(&output)
}

fn counts(output: &Output) -> String {
    let csv = stdout(output);
    let instructions = csv.lines().skip(1).map(|row| row.split(',').nth(16));
    let instructions: Option<Vec<&str>> = instructions.collect();
    instructions.expect("a count in each row").join(" ")
}

/// A state that was changed, or that is not whole, would count something else. Whoever makes it, and however many do at once, its
/// memory is the same, and so are counts.
#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn a_state_is_whole_and_the_same_whoever_makes_it() {
    let name = needs!(emulated_kernel());
    let place = Place::new();
    let mut killed = counting(&place, &name).spawn().unwrap();
    wait_until(|| kept_memory(&place, ".building-").is_some());
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(kept_memory(&place, "machine-"), None);

    let count = || counts_of(&place, &name);
    let before = count();
    let digest = || {
        let digests = fs::read_to_string(state_memory(&place).with_file_name(".manifest")).unwrap();
        let mut lines = digests.lines().map(str::to_string);
        lines.find(|line| line.contains("memory"))
    };
    let first = digest();
    fs::write(state_memory(&place), "no state").unwrap();
    std::thread::scope(|scope| {
        for run in [scope.spawn(count), scope.spawn(count)] {
            assert_eq!(run.join().unwrap(), before);
        }
    });
    assert_eq!(digest(), first);
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn a_state_that_is_removed_while_it_is_used_gives_the_same_counts_or_an_error() {
    let name = needs!(emulated_kernel());
    let place = Place::new();
    let before = counts_of(&place, &name);
    let mut run = counting(&place, &name);
    let run = run
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    fs::remove_dir_all(state_memory(&place).parent().unwrap()).unwrap();
    let output = run.wait_with_output().unwrap();
    if output.status.success() {
        assert_eq!(counts(&output), before);
    } else {
        // The row of a case has the reason.
        let text = stdout(&output) + &stderr(&output);
        expect_in(text, ["cannot read", "machine-"]);
    }

    // Another emulator would have to make one of its own.
    for machine in ["x86_64", "aarch64"] {
        let emulator = place.path().join(format!("qemu-system-{machine}"));
        write_program(
            &emulator,
            "#!/bin/sh\n[ \"$1\" = --version ] && echo another\n",
        );
    }
    let mut run = counting(&place, &name);
    let output = run.env("PATH", place.path()).output().unwrap();
    assert!(!output.status.success(), "{}", stdout(&output));
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn a_machine_whose_state_cannot_be_kept_boots_and_says_so() {
    let name = needs!(emulated_kernel());
    let place = Place::new();
    let asked = place.command(format!(
        "run id.getppid --no-verify --view wide --env '{name}'"
    ));
    // Files of 40 MiB at most.
    let mut limited = Command::new("bash");
    limited.args(["-c", "ulimit -f 40960 && exec \"$@\"", "bash"]);
    limited.arg(asked.get_program()).args(asked.get_args());
    limited.env("XDG_CACHE_HOME", place.path().join("cache"));
    let output = limited.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    expect_in(
        stdout(&output)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        "boots for each question, since its state cannot be kept",
    );
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn names_of_functions_are_kept_beside_the_state() {
    let name = needs!(emulated_kernel());
    let place = Place::new();
    let explained = || {
        let mut explain = place.command(format!("explain id.getppid --env '{name}' --format json"));
        let output = explain
            .env("XDG_CACHE_HOME", place.path().join("cache"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let first = explained();
    expect_in(&first, ["_sys_getppid"]);
    let functions = kept_file(&place, "machine-", "functions").expect("names of functions");
    assert_eq!(explained(), first);
    fs::write(functions, "").unwrap();
    assert_eq!(explained(), first);
}

/// The directory's own time changes at each run, and the command does not see it.
#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn a_command_with_the_same_files_does_not_boot_again() {
    let name = needs!(emulated_kernel());
    let place = Place::new();
    let machines = || {
        let mut explain = place.command(format!("explain --env '{name}' -- /bin/true"));
        explain.env("XDG_CACHE_HOME", place.path().join("cache"));
        explain.env("TMPDIR", place.path());
        let output = explain.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let kept = fs::read_dir(place.path().join("cache/syscost")).unwrap();
        let names = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with("machine-"))
            .collect::<BTreeSet<_>>()
    };
    let first = machines();
    assert_eq!(machines(), first);
}
