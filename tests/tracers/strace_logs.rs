//! Logs of the strace that is installed: a matrix of options and programs, each read as a log and as the table that the same strace
//! counted (-C). The counts are equal, those of calls that the program makes a known number of, and those of our own tracer.

use crate::common::*;
use crate::support::{TRACERS, build, count, trace};
use model::{By, Profile};
use std::fs::File;

/// Options that change what a line looks like, each alone and some together.
const OPTIONS: [&str; 24] = [
    "",
    "-q",
    "-qq",
    "-r",
    "-t",
    "-tt",
    "-ttt -T",
    "-r -ttt",
    "--absolute-timestamps=unix,ns --syscall-times=ns",
    "--relative-timestamps=ns -n",
    "--relative-timestamps=s --syscall-times=s",
    "-i",
    "-n -i -r",
    "-y",
    "-yy -T",
    "-Y",
    "-Y -yy -tt",
    "-x",
    "-xx -yy",
    "-v -s 200",
    "-s 0 -a 1",
    "-X raw",
    "-X verbose",
    "-e raw=all",
];

type Program = (Vec<String>, Option<u64>);

fn programs(place: &Place) -> Vec<Program> {
    let small = "-DEACH=10";
    let tree = build(place, "tree", small).expect("cc builds tests/trace/tree.c");
    let of = |program: &Path, words: &[&str], calls| {
        let words = words.iter().map(|word| (*word).to_string());
        (
            [program.to_str().unwrap().to_string()]
                .into_iter()
                .chain(words)
                .collect(),
            calls,
        )
    };
    let prints = "echo 'read(3) = 5'; printf 'no end'; ls -d / /nosuch; echo 'an error (x) = 7' >&2; printf '<unfinished ...>'";
    let mut programs = vec![
        of(&tree, &[], Some(100)),
        of(&tree, &["forks", "12"], Some(12)),
        of(&tree, &["signals"], Some(10)),
        of(&tree, &["classes"], Some(0)),
        of(&tree, &["killed"], Some(0)),
        of(Path::new("sh"), &["-c", prints], None),
    ];
    match build(place, "tree32", &format!("-m32 {small}")) {
        Some(tree) => programs.push(of(&tree, &[], Some(100))),
        None => skip("cc has no -m32"),
    }
    programs
}

fn strace(options: &str, log: &Path, is_alone: bool) -> Command {
    let mut command = Command::new("strace");
    let table = if options.contains("-c") { "-f" } else { "-fC" };
    command
        .arg(table)
        .args(options.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if is_alone {
        command.arg("-o").arg(log);
    } else {
        let file = File::create(log).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
    }
    command
}

fn returned(profile: &Profile) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for total in profile.totals(By::Call) {
        let count = total.count;
        *counts
            .entry(count.call.trim_end_matches("(i386)").to_string())
            .or_insert(0) += count.calls - count.unfinished;
    }
    counts.retain(|_, calls| *calls > 0);
    counts
}

fn read(place: &Place, bytes: &[u8]) -> Profile {
    let path = place.path().join("read");
    fs::write(&path, bytes).unwrap();
    store::read_profile(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// The log, and whether it has the same counts as the table behind it.
fn compared(place: &Place, log: &Path, what: &str) -> Profile {
    let bytes = fs::read(log).unwrap();
    let table = String::from_utf8_lossy(&bytes)
        .find("% time ")
        .unwrap_or_else(|| panic!("{what}: no table in {}", log.display()));
    let whole = read(place, &bytes);
    assert_eq!(whole.tracer.kind, "strace", "{what}: {:?}", whole.warnings);
    let (mut shown, mut counted) = (returned(&whole), returned(&read(place, &bytes[table..])));
    // strace counts some of the calls whose thread an execve of another one replaced as they returned.
    for line in String::from_utf8_lossy(&bytes)
        .lines()
        .filter(|line| line.ends_with("= ? <unavailable>"))
    {
        let name = line
            .split_once("<... ")
            .and_then(|(_, call)| call.split(' ').next())
            .unwrap_or_default();
        shown.remove(name);
        counted.remove(name);
    }
    assert_eq!(shown, counted, "{what}: {}", kept(log));
    whole
}

fn kept(log: &Path) -> String {
    let kept = std::env::temp_dir().join("syscost-strace.log");
    fs::copy(log, &kept).map_or_else(|error| error.to_string(), |_| kept.display().to_string())
}

fn works(place: &Place) -> bool {
    strace("", &place.path().join("try"), true)
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
}

fn calls_of(profile: &Profile, name: &str) -> u64 {
    let totals = profile.totals(By::Call);
    totals
        .iter()
        .filter(|total| total.count.call == name)
        .map(|total| total.count.calls)
        .sum()
}

#[test]
fn every_option_and_program_has_the_counts_of_the_table() {
    let place = Place::new();
    if !works(&place) {
        return skip("strace cannot be used here");
    }
    let log = place.path().join("log");
    let programs = programs(&place);
    let options_of = |number| match number {
        // Every option with one program, and every program with some options.
        1.. if !cfg!(feature = "heavy") => OPTIONS.iter().step_by(8),
        _ => OPTIONS.iter().step_by(1),
    };
    for (number, (words, calls)) in programs.iter().enumerate() {
        for (options, is_alone) in
            options_of(number).flat_map(|options| [(*options, true), (*options, false)])
        {
            let what = format!(
                "strace {options} {}{words:?}",
                if is_alone { "-o log " } else { "" }
            );
            strace(options, &log, is_alone)
                .args(words)
                .status()
                .unwrap();
            let profile = compared(&place, &log, &what);
            assert!(
                calls.is_none_or(|calls| calls_of(&profile, "getppid") == calls),
                "{what}: {}",
                kept(&log)
            );
        }
    }
}

#[test]
fn added_lines_and_filters_change_no_count() {
    let place = Place::new();
    if !works(&place) {
        return skip("strace cannot be used here");
    }
    let log = place.path().join("log");
    let words = "sh -c 'echo out; ls -d / /nosuch; cat /dev/null'";
    let added = [
        "-k",
        "-e read=all -e write=all",
        "-e trace=%file",
        "--seccomp-bpf",
        "-e inject=getuid:error=EPERM",
        "-P /dev/null",
    ];
    for (options, is_alone) in added
        .iter()
        .flat_map(|options| [(*options, true), (*options, false)])
    {
        strace(options, &log, is_alone)
            .args(words.words())
            .status()
            .unwrap();
        compared(&place, &log, options);
    }
    for (options, is_alone) in [("-z", true), ("-Z", true), ("-Z", false)] {
        strace(options, &log, is_alone)
            .args(words.words())
            .status()
            .unwrap();
        let profile = read(&place, &fs::read(&log).unwrap());
        assert_eq!(profile.tracer.kind, "strace -c");
        assert!(
            profile
                .warnings
                .iter()
                .any(|warning| warning.contains("leave out -z, -Z")),
            "{:?}",
            profile.warnings
        );
    }
}

#[test]
fn a_log_for_each_process_and_all_together_are_the_same() {
    let place = Place::new();
    if !works(&place) {
        return skip("strace cannot be used here");
    }
    let (words, calls) = programs(&place).remove(0);
    let mut command = Command::new("strace");
    command
        .args(["-ff", "-ttt", "-o"])
        .arg(place.path().join("part"))
        .args(&words)
        .status()
        .unwrap();
    let files = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let parts: Vec<PathBuf> = files
        .filter(|path| path.to_string_lossy().contains("part."))
        .collect();
    let together: Vec<u8> = parts
        .iter()
        .flat_map(|part| fs::read(part).unwrap())
        .collect();
    let profile = read(&place, &together);
    assert_eq!(
        (Some(calls_of(&profile, "getppid")), profile.usage.processes),
        (calls, None)
    );
    let each = parts
        .iter()
        .map(|part| calls_of(&store::read_profile(part).unwrap(), "getppid"));
    assert_eq!(Some(each.sum::<u64>()), calls);
}

#[test]
fn a_process_that_strace_attaches_to_and_leaves() {
    let place = Place::new();
    if !works(&place) {
        return skip("strace cannot be used here");
    }
    let tree = build(&place, "tree", "-DEACH=10").unwrap();
    let mut endless = Command::new(tree)
        .arg("endless")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let log = place.path().join("log");
    for (options, is_alone) in ["", "-T -ttt", "-Y -n", "-c", "-c -w"]
        .iter()
        .flat_map(|options| [(*options, true), (*options, false)])
    {
        let options = format!("{options} -p {}", endless.id());
        let mut child = strace(&options, &log, is_alone).spawn().unwrap();
        sleep(Duration::from_millis(300));
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
        child.wait().unwrap();
        if options.contains("-c") {
            assert!(
                calls_of(&read(&place, &fs::read(&log).unwrap()), "getppid") > 0,
                "{options}"
            );
        } else {
            let profile = compared(&place, &log, &options);
            assert!(calls_of(&profile, "getppid") > 0, "{options}");
        }
    }
    endless.kill().unwrap();
    endless.wait().unwrap();
}

#[test]
fn logs_have_the_counts_of_our_own_tracer() {
    let place = Place::new();
    if !works(&place) {
        return skip("strace cannot be used here");
    }
    let log = place.path().join("log");
    for (words, _) in programs(&place) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        strace("", &log, true).args(&words).status().unwrap();
        let profile = read(&place, &fs::read(&log).unwrap());
        let (_, own) = trace(&place, TRACERS[1], &words);
        // Others depend on who comes first: a signal makes a clone start again.
        for name in [
            "getppid",
            "execve",
            "exit_group",
            "exit",
            "openat",
            "access",
            "write",
            "kill",
        ] {
            assert_eq!(
                calls_of(&profile, name),
                count(&own, name),
                "{name} of {words:?}"
            );
        }
    }
}
