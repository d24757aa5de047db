//! What the launcher of environments (probe/extra/confine.c) promises: the program runs under the condition that was asked
//! for, a refusal is a row with its reason, and nothing stays behind.

use crate::common::{Place, json, run_numbers, skip, stderr, stdout, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// As the build made it.
const LAUNCHER: &str = concat!(env!("OUT_DIR"), "/confine");
const OPERATIONS: [&str; 2] = ["id.getppid", "file.open_close"];
/// How long a run may take to begin, and what it leaves to vanish.
const BEGINNING: Duration = Duration::from_secs(60);
const VANISHING: Duration = Duration::from_secs(10);

/// The words between the launcher and `--` in each environment that it makes, by the environment's name.
fn ways() -> BTreeMap<String, Vec<String>> {
    let files = fs::read_dir(crate::common::root().join("environments")).unwrap().map(|entry| entry.unwrap().path());
    let way = |path: std::path::PathBuf| {
        let table: toml::Table = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let words = table.get("run")?.as_array()?.iter().map(|word| word.as_str().unwrap());
        // After what starts the launcher.
        let own = words.skip_while(|word| *word != "{confine}").map(|word| word.replace("{measuring}", "0"));
        let mut own: Vec<String> = own.skip(1).collect();
        (own.pop()? == "{program}").then_some((path.file_stem()?.to_str()?.to_string(), own))
    };
    files.filter_map(way).collect()
}

/// The launcher with these words before its program, which it starts in `at`.
fn launcher(at: &Path, way: &[String], program: &[&str]) -> Command {
    let mut command = Command::new(LAUNCHER);
    command.args(way).args(program).current_dir(at).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn started(command: &mut Command) -> Child {
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    child
}

/// A shell's output in a fresh place, once it was given a line.
fn run(way: &[String], script: &str) -> Output {
    let place = Place::new();
    let output = started(&mut launcher(&place.path(), way, &["sh", "-c", script])).wait_with_output().unwrap();
    assert_eq!(loops_of(&place.path()), Vec::<String>::new());
    output
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_string).collect()
}

/// Why this machine does not permit it, as the launcher says it.
fn refusal(way: &[String]) -> Option<String> {
    let output = run(way, "exit 0");
    let said = stdout(&output);
    if said.is_empty() {
        return None;
    }
    let lacking = ["error ENOTSUP ", "error EPERM ", "error EACCES ", "error ENOSYS "];
    assert!(lacking.iter().any(|start| said.starts_with(start)), "{way:?}: {said}{}", stderr(&output));
    Some(said.trim_end().to_string())
}

/// The ways that are permitted here; the others are skipped loudly.
fn permitted(test: &str) -> BTreeMap<String, Vec<String>> {
    let mut all = ways();
    all.retain(|name, way| match refusal(way) {
        Some(reason) => {
            skip(&format!("{test}, {name}"), &reason);
            false
        }
        None => true,
    });
    all
}

/// Loop devices whose file is, or was, in `place`.
fn loops_of(place: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let files = devices.filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    files.filter(|file| Path::new(file).starts_with(place)).collect()
}

#[test]
fn there_is_an_environment_for_every_way() {
    let source = fs::read_to_string(crate::common::root().join("probe/extra/confine.c")).unwrap();
    let table = source.split_once("ways[] = {").unwrap().1.split_once("};").unwrap().0;
    let used: Vec<String> = ways().into_values().map(|way| way[0].clone()).collect();
    for entry in table.split('{').skip(1) {
        let name = entry.split('"').nth(1).unwrap();
        assert!(used.iter().any(|used| used == name), "{name}");
    }
    assert!(used.len() >= 18, "{used:?}");
}

/// What a shell finds in each of them.
const FOUND: [(&str, &str, &str); 18] = [
    ("seccomp", "sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status", "2"),
    ("seccomp-arguments", "sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status", "2"),
    ("seccomp-docker", "unshare -m true 2>/dev/null || echo refused", "refused"),
    ("landlock", "unshare -m true 2>/dev/null || echo refused", "refused"),
    ("landlock-stacked", "unshare -m true 2>/dev/null || echo refused", "refused"),
    // Two programs and their two attachments, in the only child.
    ("bpf-agent", "read go; read child </proc/$$/task/$$/children; ls -l /proc/$child/fd | grep -c bpf", "4"),
    ("userns-idmapped", "grep -c '/mounted [^ ]*,idmapped' /proc/self/mountinfo", "1"),
    ("tmpfs-casefold", "grep -c '/mounted tmpfs [^ ]*casefold' /proc/self/mounts", "1"),
    ("loop-ext4-casefold", "stat -f -c %T .", "ext2/ext3"),
    ("namespaces", "echo $$ $(sed -n 's/^Pid:[[:space:]]*//p' /proc/1/status)", "1 1"),
    ("strace", "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status", "0"),
    ("ptrace", "grep -c '^TracerPid:.*[1-9]' /proc/self/status", "1"),
    ("tmpfs", "stat -f -c %T .", "tmpfs"),
    ("overlay", "stat -f -c %T .", "overlayfs"),
    ("fuse", "echo text > file; cat ../files/file", "text"),
    ("loop-ext4", "stat -f -c %T .", "ext2/ext3"),
    ("loop-xfs", "stat -f -c %T .", "xfs"),
    ("loop-btrfs", "stat -f -c %T .", "btrfs"),
];

#[test]
fn the_program_runs_under_the_condition() {
    for (name, way) in permitted("the_program_runs_under_the_condition") {
        let Some((_, script, expected)) = FOUND.iter().find(|(known, _, _)| *known == name) else {
            assert!(["ssbd", "spec-ib"].contains(&name.as_str()), "{name}");
            continue;
        };
        let output = run(&way, script);
        assert_eq!(stdout(&output).trim_end(), *expected, "{name}: {}", stderr(&output));
    }
}

/// BPF programs and attachments among the descriptors of a process.
fn bpf_objects(pid: &str) -> usize {
    let descriptors =
        fs::read_dir(format!("/proc/{pid}/fd")).unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    descriptors.filter(|link| link.to_string_lossy().contains("bpf")).count()
}

#[test]
fn a_bpf_agent_is_attached_from_a_request_to_its_answer_only() {
    let test = "a_bpf_agent_is_attached_from_a_request_to_its_answer_only";
    let Some(way) = permitted(test).remove("bpf-agent") else { return };
    let place = Place::new();
    let script =
        "read go; read child </proc/$$/task/$$/children; ls -l /proc/$child/fd >attached; echo $child; read end";
    let mut child = started(&mut launcher(&place.path(), &way, &["sh", "-c", script]));
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut helper = String::new();
    output.read_line(&mut helper).unwrap();
    let during = fs::read_to_string(place.path().join("attached")).unwrap();
    assert_eq!((during.matches("bpf").count(), bpf_objects(helper.trim())), (4, 2), "{during}");
    drop(child.stdin.take());
    child.wait().unwrap();
    output.read_to_end(&mut Vec::new()).unwrap();
    assert!(wait_for(VANISHING, || place.processes().is_empty().then_some(())).is_some(), "{:?}", place.processes());
}

#[test]
fn the_exit_status_is_the_programs() {
    for (name, way) in permitted("the_exit_status_is_the_programs") {
        assert_eq!(run(&way, "read line; [ \"$line\" = go ] && exit 7").status.code(), Some(7), "{name}");
        if name != "namespaces" {
            // Process 1 of a namespace ignores signals from itself.
            assert_eq!(run(&way, "kill -TERM $$").status.signal(), Some(15), "{name}");
        }
    }
}

#[test]
fn the_launcher_becomes_the_program_unless_it_must_stay() {
    for (name, way) in permitted("the_launcher_becomes_the_program_unless_it_must_stay") {
        let place = Place::new();
        let child = started(&mut launcher(&place.path(), &way, &["sh", "-c", "echo $$"]));
        let pid = child.id().to_string();
        let said = stdout(&child.wait_with_output().unwrap());
        assert_eq!(said.trim_end() == pid, !["namespaces", "ptrace"].contains(&name.as_str()), "{name}");
    }
}

#[test]
fn a_program_ends_with_its_launcher() {
    for (name, way) in permitted("a_program_ends_with_its_launcher") {
        let place = Place::new();
        let mut child = started(&mut launcher(&place.path(), &way, &["sh", "-c", "echo up; read a; read b"]));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n", "{name}");
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).unwrap();
        // The end of its output comes when nobody has it open any more.
        output.read_to_end(&mut Vec::new()).unwrap();
        child.wait().unwrap();
        let gone = || (place.processes().is_empty() && loops_of(&place.path()).is_empty()).then_some(());
        assert!(wait_for(VANISHING, gone).is_some(), "{name}: {:?}", place.processes());
    }
}

#[test]
fn what_cannot_be_done_is_a_line_of_the_protocol() {
    let root = geteuid().is_root();
    for (way, expected) in [
        ("nonsense --", "error - confine: no such way\n"),
        ("seccomp --", "error - confine: no such filter\n"),
        ("loop xfs --", "error - confine: loop needs TYPE MEBIBYTES MKFS...\n"),
        ("tmpfs", "error - confine WAY [ARGUMENT...] -- PROGRAM [ARGUMENT...]\n"),
    ] {
        let output = run(&words(way), "exit 0");
        assert_eq!((stdout(&output).as_str(), output.status.code()), (expected, Some(1)), "{way}");
    }
    let place = Place::new();
    let way = words("seccomp numbers --");
    let output = started(&mut launcher(&place.path(), &way, &["./no-such-program"])).wait_with_output().unwrap();
    assert_eq!(stdout(&output), "error ENOENT ./no-such-program: No such file or directory\n");
    if !root || refusal(&words("loop ext4 64 mkfs.ext4 -q -F --")).is_some() {
        return skip("what_cannot_be_done_is_a_line_of_the_protocol", "needs root and loop devices for the rest");
    }
    for (way, expected) in [
        (
            "loop nofs 8 true --",
            "error ENOTSUP mount of nofs, which this kernel does not have: No such device: Operation not supported\n",
        ),
        ("loop ext4 8 false --", "error EIO false ended with status 1: Input/output error\n"),
        ("loop ext4 8 no-such-mkfs --", "error ENOTSUP no-such-mkfs cannot be started: Operation not supported\n"),
    ] {
        assert_eq!(stdout(&run(&words(way), "exit 0")), expected, "{way}");
    }
}

fn names() -> Vec<String> {
    ways().into_keys().collect()
}

/// A record for each operation in each of the environments, with a time.
fn expect_rows(output: &Output, environments: &[String]) {
    let document = json(output);
    for record in document["records"].as_array().unwrap() {
        assert!(record["median_ns"].as_f64().is_some_and(|ns| ns > 1.0), "{record:#}");
        assert_eq!(
            record["entries"].as_object().is_some(),
            !["ptrace", "strace"].contains(&record["environment"].as_str().unwrap()),
            "{record:#}"
        );
    }
    assert_eq!(document["records"].as_array().unwrap().len(), environments.len() * OPERATIONS.len());
}

/// Measures in all of them; those that are refused, a line each, are skipped, and the others have rows.
fn expect_rows_or_lines(test: &str, place: &Place, run: impl Fn(&[&str]) -> Output) {
    let measured = |environments: &[String]| {
        let environments = environments.join(",");
        let more = ["--env", &environments, "--time", "3", "--precision", "50", "--format", "json", "--quiet"];
        run(&[&["run"], &more[..], &OPERATIONS].concat())
    };
    let mut environments = names();
    let mut output = measured(&environments);
    if output.status.code() == Some(2) {
        let said = stderr(&output);
        environments.retain(|name| {
            let refused = said.lines().find_map(|line| line.strip_prefix(&format!("syscost: environment {name}: ")));
            refused.inspect(|reason| skip(&format!("{test}, {name}"), reason)).is_none()
        });
        assert_eq!(said.lines().count(), names().len() - environments.len(), "{said}");
        output = measured(&environments);
    }
    expect_rows(&output, &environments);
    expect_nothing_left(place);
}

#[test]
fn a_run_has_a_row_in_each_of_them_and_leaves_nothing() {
    let place = Place::new();
    let test = "a_run_has_a_row_in_each_of_them";
    expect_rows_or_lines(test, &place, |arguments| place.run(arguments));
    if geteuid().is_root() {
        let as_nobody = |arguments: &[&str]| place.command_as_nobody(arguments).output().unwrap();
        expect_rows_or_lines(&format!("{test}, as nobody"), &place, as_nobody);
    }
}

/// Processes, directories, loop devices and mounts of this place.
fn left(place: &Place) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let here = place.path().to_string_lossy().into_owned();
    let processes = place.processes().into_iter().map(|process| format!("{process:?}"));
    let directories = place.left_behind().into_iter().map(|path| path.display().to_string());
    let mounts = mounts.lines().filter(|line| line.contains(&here)).map(str::to_string).collect::<Vec<_>>();
    processes.chain(directories).chain(mounts).chain(loops_of(&place.path())).collect()
}

fn expect_nothing_left(place: &Place) {
    if wait_for(VANISHING, || left(place).is_empty().then_some(())).is_none() {
        panic!("left behind: {:#?}", left(place));
    }
}

/// Ends a run by `signal` once all workers of the environments have been started together, for measuring.
fn end_by(signal: Signal, environments: &[String]) {
    let place = Place::new();
    let all = environments.join(",");
    let job = place.start(&[
        "run",
        "id.getppid",
        "--env",
        &all,
        "--time",
        "600",
        "--precision",
        "0.0001",
        "--no-verify",
        "--format",
        "json",
    ]);
    let loops = environments.iter().filter(|name| name.starts_with("loop-")).count();
    let workers =
        |place: &Place| place.processes().iter().filter(|process| process.directory.ends_with("mounted")).count();
    let unmounted = ["namespaces", "ptrace", "bpf-agent"];
    let mounted = environments.iter().filter(|name| !unmounted.contains(&name.as_str())).count();
    let begun = || (loops_of(&place.path()).len() >= loops && workers(&place) >= mounted).then_some(());
    assert!(wait_for(BEGINNING, begun).is_some(), "{:?}", left(&place));
    assert_eq!(run_numbers(&place.tmp()).len(), 1);
    kill(job.pid(), signal).unwrap();
    let output = job.output();
    if signal == Signal::SIGINT {
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    }
    expect_nothing_left(&place);
}

/// Those that have mounts, servers or processes of their own.
fn with_more_than_the_program(test: &str) -> Vec<String> {
    let mut all = permitted(test);
    let plain = ["seccomp", "landlock", "ssbd", "spec-ib"];
    all.retain(|name, _| !plain.iter().any(|plain| name.starts_with(plain)));
    all.into_keys().collect()
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    end_by(Signal::SIGINT, &with_more_than_the_program("nothing_is_left_after_an_interrupt"));
}

#[test]
fn nothing_is_left_after_the_driver_was_killed() {
    end_by(Signal::SIGKILL, &with_more_than_the_program("nothing_is_left_after_the_driver_was_killed"));
}
