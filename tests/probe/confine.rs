//! What the launcher of environments (probe/extra/confine.c) promises: the program runs under the condition that was asked
//! for, and a refusal is a row with its reason. What runs in all environments at once, and leaves, is in environments.rs.

use crate::common::*;
use std::os::unix::process::ExitStatusExt;

const OPERATIONS: [&str; 2] = ["id.getppid", "file.open_close"];

/// The words between the launcher and `--` in each environment that it makes, by the environment's name.
fn ways() -> BTreeMap<String, Vec<String>> {
    let way = |path: PathBuf| {
        let table: toml::Table = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let words = table
            .get("run")?
            .as_array()?
            .iter()
            .map(|word| word.as_str().unwrap());
        // After what starts the launcher.
        let own = words
            .skip_while(|word| *word != "{confine}")
            .map(|word| word.replace("{measuring}", "0"));
        let mut own: Vec<String> = own.skip(1).collect();
        (own.pop()? == "{program}").then_some((path.file_stem()?.to_str()?.to_string(), own))
    };
    environment_files().filter_map(way).collect()
}

/// The launcher with these words before its program, which it starts in `at`.
fn launcher(at: &Path, way: &[String], program: &[&str]) -> Command {
    let mut command = Command::new(Path::new(assets::DIRECTORY).join(assets::CONFINE));
    let here = at.display().to_string();
    let way = way
        .iter()
        .map(|word| word.replace("{dir}", &here).replace("{run}", &here));
    command
        .args(way)
        .args(program)
        .current_dir(at)
        .process_group(0);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn started(command: &mut Command) -> Child {
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    child
}

fn run(way: &[String], script: &str) -> Output {
    let place = Place::new();
    let output = started(&mut launcher(&place.path(), way, &["sh", "-c", script]))
        .wait_with_output()
        .unwrap();
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
    let lacking = [
        "error ENOTSUP ",
        "error EPERM ",
        "error EACCES ",
        "error ENOSYS ",
    ];
    assert!(
        lacking.iter().any(|start| said.starts_with(start)),
        "{way:?}: {said}{}",
        stderr(&output)
    );
    Some(said.trim_end().to_string())
}

const KINDS: [&str; 10] = [
    "bpf-agent",
    "fuse",
    "landlock",
    "loop-ext4",
    "namespaces",
    "overlay",
    "ptrace",
    "seccomp",
    "seccomp-notify",
    "userns-idmapped",
];

fn walked() -> BTreeMap<String, Vec<String>> {
    let mut all = ways();
    let names: Vec<String> = all.keys().cloned().collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let walked = one_of_each_kind(&names, &KINDS);
    all.retain(|name, _| walked.contains(&name.as_str()));
    all
}

/// The ways that are permitted here; the others are skipped loudly.
fn permitted() -> BTreeMap<String, Vec<String>> {
    static REFUSED: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
        let refused = |(name, way): (String, Vec<String>)| Some((name, refusal(&way)?));
        walked().into_iter().filter_map(refused).collect()
    });
    let mut all = walked();
    for (name, reason) in REFUSED.iter() {
        skip(&format!("{name}: {reason}"));
        all.remove(name);
    }
    all
}

pub fn loops_of(place: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let files = devices
        .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    files
        .filter(|file| Path::new(file).starts_with(place))
        .collect()
}

#[test]
fn there_is_an_environment_for_every_way() {
    let source = fs::read_to_string(root().join("probe/extra/confine.c")).unwrap();
    let table = source
        .split_once("ways[] = {")
        .unwrap()
        .1
        .split_once("};")
        .unwrap()
        .0;
    let study = fs::read_to_string(root().join("studies/kernel-options.toml")).unwrap();
    let used: Vec<String> = ways().into_values().map(|way| way[0].clone()).collect();
    for entry in table.split('{').skip(1) {
        let name = entry.split('"').nth(1).unwrap();
        let is_hook = [':', '"'].map(|end| study.contains(&format!(" confine={name}{end}")));
        // A race joins what another launcher made.
        assert!(
            name == "join" || used.iter().any(|used| used == name) || is_hook.contains(&true),
            "{name}"
        );
    }
    assert!(used.len() >= 18, "{used:?}");
}

const FOUND: [(&str, &str, &str); 21] = [
    ("crun", "echo $$", "1"),
    ("runc", "echo $$", "1"),
    (
        "seccomp",
        "sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status",
        "2",
    ),
    (
        "seccomp-arguments",
        "sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status",
        "2",
    ),
    (
        "seccomp-docker",
        "unshare -m true 2>/dev/null || echo refused",
        "refused",
    ),
    // The supervisor is the only child, and has the descriptor that the kernel asks by.
    (
        "seccomp-notify",
        "read go; read child </proc/$$/task/$$/children; ls -l /proc/$child/fd | grep -c 'seccomp notify'",
        "1",
    ),
    (
        "landlock",
        "unshare -m true 2>/dev/null || echo refused",
        "refused",
    ),
    (
        "landlock-stacked",
        "unshare -m true 2>/dev/null || echo refused",
        "refused",
    ),
    // Two programs and their two attachments, in the only child.
    (
        "bpf-agent",
        "read go; read child </proc/$$/task/$$/children; ls -l /proc/$child/fd | grep -c bpf",
        "4",
    ),
    (
        "userns-idmapped",
        "grep -c '/mounted [^ ]*,idmapped' /proc/self/mountinfo",
        "1",
    ),
    (
        "tmpfs-casefold",
        "grep -c '/mounted tmpfs [^ ]*casefold' /proc/self/mounts",
        "1",
    ),
    ("loop-ext4-casefold", "stat -f -c %T .", "ext2/ext3"),
    (
        "namespaces",
        "echo $$ $(sed -n 's/^Pid:[[:space:]]*//p' /proc/1/status)",
        "1 1",
    ),
    (
        "strace",
        "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status",
        "0",
    ),
    (
        "ptrace",
        "grep -c '^TracerPid:.*[1-9]' /proc/self/status",
        "1",
    ),
    ("tmpfs", "stat -f -c %T .", "tmpfs"),
    ("overlay", "stat -f -c %T .", "overlayfs"),
    ("fuse", "echo text > file; cat ../files/file", "text"),
    ("loop-ext4", "stat -f -c %T .", "ext2/ext3"),
    ("loop-xfs", "stat -f -c %T .", "xfs"),
    ("loop-btrfs", "stat -f -c %T .", "btrfs"),
];

#[test]
fn the_program_runs_under_the_condition() {
    for (name, way) in permitted() {
        let Some((_, script, expected)) = FOUND.iter().find(|(known, _, _)| *known == name) else {
            assert!(["ssbd", "spec-ib"].contains(&name.as_str()), "{name}");
            continue;
        };
        let output = run(&way, script);
        assert_eq!(
            stdout(&output).trim_end(),
            *expected,
            "{name}: {}",
            stderr(&output)
        );
    }
}

fn bpf_objects(pid: &str) -> usize {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    descriptors
        .filter(|link| link.to_string_lossy().contains("bpf"))
        .count()
}

#[test]
fn a_bpf_agent_is_attached_from_a_request_to_its_answer_only() {
    let way = needs!(permitted().remove("bpf-agent"));
    let place = Place::new();
    let script = "read go; read child </proc/$$/task/$$/children; ls -l /proc/$child/fd >attached; echo $child; read end";
    let mut child = started(&mut launcher(&place.path(), &way, &["sh", "-c", script]));
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut helper = String::new();
    output.read_line(&mut helper).unwrap();
    let during = place.read("attached");
    assert_eq!(
        (during.matches("bpf").count(), bpf_objects(helper.trim())),
        (4, 2),
        "{during}"
    );
    drop(child.stdin.take());
    child.wait().unwrap();
    output.read_to_end(&mut Vec::new()).unwrap();
    wait_until(|| place.processes().is_empty());
}

#[test]
fn what_takes_root_says_so() {
    if !geteuid().is_root() {
        return skip("not root: no other user to be");
    }
    let place = Place::new();
    let arguments = "run id.getppid --time 0.1 --env loop-ext4,bpf-agent";
    let said = stderr(&place.command_as_nobody(arguments).output().unwrap());
    for name in ["loop-ext4", "bpf-agent"] {
        let line = said
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("{name}: {said}"));
        assert!(
            line.contains("this takes root, or the capability for it")
                || line.contains("not on PATH"),
            "{line}"
        );
    }
}

#[test]
fn the_exit_status_is_the_programs() {
    for (name, way) in permitted() {
        assert_eq!(
            run(&way, "read line; [ \"$line\" = go ] && exit 7")
                .status
                .code(),
            Some(7),
            "{name}"
        );
        if name != "namespaces" {
            // Process 1 of a namespace ignores signals from itself.
            assert_eq!(
                run(&way, "kill -TERM $$").status.signal(),
                Some(15),
                "{name}"
            );
        }
    }
}

#[test]
fn the_launcher_becomes_the_program_unless_it_must_stay() {
    for (name, way) in permitted() {
        let place = Place::new();
        let child = started(&mut launcher(&place.path(), &way, &["sh", "-c", "echo $$"]));
        let pid = child.id().to_string();
        let said = stdout(&child.wait_with_output().unwrap());
        assert_eq!(
            said.trim_end() == pid,
            !["namespaces", "ptrace"].contains(&name.as_str()),
            "{name}"
        );
    }
}

#[test]
fn a_program_ends_with_its_launcher() {
    for (name, way) in permitted() {
        let place = Place::new();
        let mut child = started(&mut launcher(
            &place.path(),
            &way,
            &["sh", "-c", "echo up; read a; read b"],
        ));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n", "{name}");
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).unwrap();
        // The end of its output comes when nobody has it open any more.
        output.read_to_end(&mut Vec::new()).unwrap();
        child.wait().unwrap();
        wait_until(|| place.processes().is_empty() && loops_of(&place.path()).is_empty());
    }
}

#[test]
fn what_cannot_be_done_is_a_line_of_the_protocol() {
    let root = geteuid().is_root();
    for (way, expected) in [
        (
            "nonsense --",
            "error - confine: no such way (docs/options.md lists them)\n",
        ),
        ("seccomp --", "error - confine: no such filter\n"),
        (
            "loop xfs --",
            "error - confine: loop needs TYPE MEBIBYTES MKFS...\n",
        ),
        (
            "tmpfs",
            "error - confine WAY [ARGUMENT...] -- PROGRAM [ARGUMENT...]\n",
        ),
    ] {
        let output = run(&words(way), "exit 0");
        assert_eq!(
            (stdout(&output).as_str(), output.status.code()),
            (expected, Some(1)),
            "{way}"
        );
    }
    let place = Place::new();
    let way = words("seccomp numbers --");
    let output = started(&mut launcher(&place.path(), &way, &["./no-such-program"]))
        .wait_with_output()
        .unwrap();
    assert_eq!(
        stdout(&output),
        "error ENOENT ./no-such-program: No such file or directory\n"
    );
    if !root || refusal(&words("loop ext4 64 mkfs.ext4 -q -F --")).is_some() {
        return skip("needs root and loop devices for the rest");
    }
    for (way, expected) in [
        (
            "loop nofs 8 true --",
            "error ENOTSUP mount of nofs, which this kernel does not have: No such device: Operation not supported\n",
        ),
        (
            "loop ext4 8 false --",
            "error EIO false ended with status 1: Input/output error\n",
        ),
        (
            "loop ext4 8 no-such-mkfs --",
            "error ENOTSUP no-such-mkfs cannot be started: Operation not supported\n",
        ),
    ] {
        assert_eq!(stdout(&run(&words(way), "exit 0")), expected, "{way}");
    }
}

#[test]
fn an_ordinary_user_has_rows_or_reasons_and_leaves_nothing() {
    if !geteuid().is_root() {
        return skip("the tests do not run as root, so that of all environments is this one");
    }
    let place = Place::new();
    let walked: Vec<String> = walked().into_keys().collect();
    let environments = format!("native,{}", walked.join(","));
    let arguments = format!("run --env {environments} --time 3 --precision 50 --format json");
    let output = place
        .command_as_nobody((&arguments, OPERATIONS))
        .output()
        .unwrap();
    let (document, said) = (json(&output), stderr(&output));
    let records = list(&document["records"]);
    for record in records {
        if let Some(reason) = record["error"]["message"].as_str() {
            let name = record["environment"].as_str().unwrap();
            expect_in(&said, &format!("environment {name} fails: {reason}"));
            if record["operation"] == OPERATIONS[0] {
                skip(&format!("{name}: {reason}"));
            }
            continue;
        }
        assert!(
            record["median_ns"].as_f64().is_some_and(|ns| ns > 1.0),
            "{record:#}"
        );
        let is_traced = ["ptrace", "strace"].contains(&record["environment"].as_str().unwrap());
        assert_eq!(record["entries"].is_object(), !is_traced, "{record:#}");
    }
    assert_eq!(records.len(), (walked.len() + 1) * OPERATIONS.len());
    let clean = || {
        place.processes().is_empty()
            && place.left_behind().is_empty()
            && loops_of(&place.path()).is_empty()
    };
    wait_until(clean);
}
