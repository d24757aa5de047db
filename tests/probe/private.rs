//! The run's directory: nobody else gets at it, nobody makes the janitor remove what is not the run's, and what a dead
//! run left is removed by the next one.

use crate::common::*;
const SHORT: &str = "run id.getppid --no-verify --time 0.1";
const LONG: &str = "run mem.shmat_shmdt --no-verify --time 600 --precision 0.0001";

fn with_umask(umask: &str, command: &Command) -> Command {
    in_shell(&format!("umask {umask}; exec \"$@\""), command)
}

/// Starts a long run; returns when its worker has made its segment, with the run's directory and number.
fn begin(place: &Place, mut command: Command) -> (Job, PathBuf, u32) {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let job = Job::of(command.spawn().unwrap());
    let number = wait_for(|| {
        run_numbers(&place.tmp())
            .into_iter()
            .find(|run| !objects_of(*run).is_empty())
    });
    let number = number.expect("the run made a segment");
    (
        job,
        place.tmp().join(format!("syscost-run-{number:08x}")),
        number,
    )
}

fn end(job: Job) -> Output {
    kill(job.pid(), Signal::SIGTERM).unwrap();
    job.output()
}

fn janitor(place: &Place) -> Pid {
    let found = place
        .processes()
        .into_iter()
        .find(|process| process.worker.is_none() && is_traced(process.pid).is_some());
    Pid::from_raw(found.expect("a janitor").pid)
}

fn expect_nothing_left(place: &Place, numbers: &[u32]) {
    let objects = || {
        numbers
            .iter()
            .flat_map(|run| objects_of(*run))
            .collect::<BTreeSet<_>>()
    };
    let clean =
        || place.processes().is_empty() && place.left_behind().is_empty() && objects().is_empty();
    wait_until(clean);
}

fn everything_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                [everything_below(&path), vec![path]].concat()
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn nobody_else_gets_into_the_directory_whatever_the_umask() {
    let place = Place::new();
    let (job, directory, number) = begin(&place, with_umask("000", &place.command(LONG)));
    assert_eq!(directory.metadata().unwrap().mode() & 0o7777, 0o700);
    let paths = everything_below(&directory);
    assert!(
        paths.iter().any(|path| path.ends_with("probe")),
        "{paths:?}"
    );
    for path in paths {
        let mode = path.symlink_metadata().unwrap().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
    }
    end(job);
    expect_nothing_left(&place, &[number]);
}

#[test]
fn a_umask_that_forbids_everything_does_no_harm() {
    let place = Place::new();
    let arguments = "run file.lstat dir --no-verify --time 0.2";
    let command = place.command_without_rights(arguments);
    let mut shell = with_umask("777", &command);
    if geteuid().is_root() {
        shell.uid(NOBODY).gid(NOBODY);
    }
    let output = shell.output().unwrap();
    expect_status(&output, 0);
    expect_nothing_left(&place, &[]);
}

/// Makes a segment by another program, perhaps as another user; `None` where that cannot be done.
fn foreign_segment(key: u32, user: Option<u32>) -> Option<i32> {
    let mut perl = Command::new("perl");
    perl.args([
        "-e",
        "$id = shmget($ARGV[0], 4096, 01600); print defined $id ? $id : 'none'",
        "--",
        &key.cast_signed().to_string(),
    ]);
    if let Some(user) = user {
        perl.uid(user).gid(user);
    }
    String::from_utf8(perl.output().ok()?.stdout)
        .ok()?
        .parse()
        .ok()
}

fn has_segment(id: i32) -> bool {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    table
        .lines()
        .any(|line| line.split_whitespace().nth(1) == Some(&id.to_string()))
}

fn remove_segment(id: i32) {
    assert!(
        Command::new("perl")
            .args(["-e", "shmctl($ARGV[0], 0, 0)", &id.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn what_is_planted_in_the_directory_is_not_believed() {
    let Some(id) = foreign_segment(0, None) else {
        return skip("no perl that makes a segment");
    };
    let place = Place::new();
    let (job, directory, number) = begin(&place, place.command(LONG));
    for planted in [directory.clone(), directory.join("worker-1")] {
        fs::write(planted.join(format!(".sysv-shm-{id}")), "").unwrap();
    }
    kill(job.pid(), Signal::SIGKILL).unwrap();
    drop(job.output());
    expect_nothing_left(&place, &[number]);
    assert!(has_segment(id));
    remove_segment(id);
}

#[test]
fn anothers_object_is_left_alone_also_under_a_key_of_the_run() {
    if !geteuid().is_root() {
        return skip("only root can make objects of others");
    }
    let place = Place::new();
    let (job, _, number) = begin(&place, place.command(LONG));
    let keys = number..number + (1 << 11);
    let Some(id) = keys
        .rev()
        .take(8)
        .find_map(|key| foreign_segment(key, Some(NOBODY)))
    else {
        return skip("no perl that makes a segment");
    };
    kill(job.pid(), Signal::SIGKILL).unwrap();
    drop(job.output());
    wait_until(|| objects_of(number) == BTreeSet::from([("shm", id)]));
    remove_segment(id);
    expect_nothing_left(&place, &[number]);
}

#[test]
fn what_a_dead_run_left_is_removed_by_the_next() {
    let place = Place::new();
    let (job, directory, number) = begin(&place, place.command(LONG));
    fs::create_dir(directory.join("worker-1/closed")).unwrap();
    fs::write(directory.join("worker-1/closed/file"), "").unwrap();
    fs::set_permissions(
        directory.join("worker-1/closed"),
        Permissions::from_mode(0o000),
    )
    .unwrap();
    // A worker that runs would see the end of its input, and remove its segment itself.
    for worker in place
        .processes()
        .into_iter()
        .filter(|process| process.worker.is_some())
    {
        kill(Pid::from_raw(worker.pid), Signal::SIGSTOP).unwrap();
    }
    kill(janitor(&place), Signal::SIGKILL).unwrap();
    kill(job.pid(), Signal::SIGKILL).unwrap();
    drop(job.output());
    assert!(directory.exists() && !objects_of(number).is_empty());
    let output = place.run(SHORT);
    expect_status(&output, 0);
    expect_nothing_left(&place, &[number]);
}

#[test]
fn a_living_run_is_left_alone() {
    let place = Place::new();
    let (job, directory, number) = begin(&place, place.command(LONG));
    // Even when only its driver is left to hold it.
    kill(janitor(&place), Signal::SIGKILL).unwrap();
    assert!(place.run(SHORT).status.success());
    assert!(directory.join("probe").exists() && !objects_of(number).is_empty());
    assert_eq!(end(job).status.code(), Some(130));
    expect_nothing_left(&place, &[number]);
}

#[test]
fn only_directories_of_ones_own_are_swept() {
    let place = Place::new();
    let (precious, linked) = (
        place.path().join("precious"),
        place.tmp().join("syscost-run-00000800"),
    );
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "").unwrap();
    symlink(&precious, &linked).unwrap();
    let mut kept = vec![precious.join("file"), linked];
    // Names that are not quite a run's, and a file with the name of one.
    for name in [
        "syscost-run-00000801",
        "syscost-run-00000000",
        "syscost-run-0000080",
        "syscost-run-deadbe00x",
        "syscost",
    ] {
        fs::create_dir(place.tmp().join(name)).unwrap();
        kept.push(place.tmp().join(name));
    }
    fs::write(place.tmp().join("syscost-run-00001000"), "").unwrap();
    kept.push(place.tmp().join("syscost-run-00001000"));
    let (dead, others) = (
        place.tmp().join("syscost-run-00001800"),
        place.tmp().join("syscost-run-00002000"),
    );
    fs::create_dir_all(dead.join("worker-1")).unwrap();
    symlink(&precious, dead.join("worker-1/link")).unwrap();
    if geteuid().is_root() {
        fs::create_dir(&others).unwrap();
        chown(&others, Some(NOBODY), Some(NOBODY)).unwrap();
        kept.push(others);
    }
    assert!(place.run(SHORT).status.success());
    assert!(!dead.exists());
    for path in kept {
        assert!(path.symlink_metadata().is_ok(), "{}", path.display());
    }
}

#[test]
fn a_deep_tree_is_removed_too() {
    let place = Place::new();
    let dead = place.tmp().join("syscost-run-00001800");
    let deep = (0..1500).fold(dead, |path, _| path.join("d"));
    fs::create_dir_all(deep).unwrap();
    let mut command = with_umask("022; ulimit -n 256", &place.command(SHORT));
    let output = command.output().unwrap();
    expect_status(&output, 0);
    expect_nothing_left(&place, &[]);
}

#[test]
fn a_snippets_daemon_does_not_outlive_the_run() {
    let place = Place::new();
    let note = place.path().join("pid");
    let daemon = "if (!$pid) { setsid; chdir '/'; POSIX::close($_) for 3, 4; sleep 600; exit }";
    let tell = format!(
        "open my $f, '>', '{}'; print $f $pid; close $f; select undef, undef, undef, 0.2;",
        note.display()
    );
    let setup = format!("perl:use POSIX 'setsid'; my $pid = fork; {daemon} {tell}");
    let output = place.run(format!(
        "run perl:getppid() --setup \"{setup}\" --no-verify --time 0.1"
    ));
    let said = stdout(&output);
    if said.contains("not on PATH") {
        return skip("no perl");
    }
    let pid = fs::read_to_string(&note).unwrap_or_else(|e| panic!("{e}: {said}"));
    wait_until(|| !runs(pid.parse().unwrap()));
}

fn runs(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .lines()
        .any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// A run with this TMPDIR fails, says so, and makes nothing in the current directory instead.
fn expect_refusal(place: &Place, tmpdir: &Path, reason: &str) {
    let mut command = place.command_without_rights(SHORT);
    let before = everything_below(&place.path());
    let output = command.env("TMPDIR", tmpdir).output().unwrap();
    let message = stderr(&output);
    expect_status(&output, 2);
    expect_start(&message, format!("syscost: TMPDIR {}: ", tmpdir.display()));
    assert!(
        message.contains(reason) && message.contains("; set TMPDIR to a directory of yours"),
        "{message}"
    );
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert_eq!(everything_below(&place.path()), before);
}

#[test]
fn a_tmpdir_that_is_no_good_is_named() {
    let place = Place::new();
    expect_refusal(
        &place,
        &place.path().join("missing"),
        "No such file or directory",
    );
    let closed = place.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o555)).unwrap();
    expect_refusal(&place, &closed, "mkdir: Permission denied");
    let open = place.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    expect_refusal(
        &place,
        &open,
        "anybody (mode 777, not sticky) could replace files in ",
    );
    // Nor may anybody exchange a directory on the way.
    fs::create_dir(open.join("below")).unwrap();
    expect_refusal(&place, &open.join("below"), "could replace files in ");
}

/// A run by root or in a user namespace, on a small file system that nobody else sees and that is gone with it.
fn on_file_system(place: &Place, options: &str) -> Output {
    let script = format!("mount -t tmpfs -o {options} tmpfs \"$TMPDIR\" || exit 99; exec \"$@\"");
    let unshare = [
        "unshare",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        &script,
        "sh",
    ];
    behind(unshare, &place.command(SHORT)).output().unwrap()
}

#[test]
fn a_tmpdir_that_is_full_or_noexec_is_named() {
    for (options, reason) in [
        ("size=32k", "No space left"),
        ("nr_inodes=1", "No space left"),
        ("noexec", "cannot be executed"),
    ] {
        let place = Place::new();
        let output = on_file_system(&place, options);
        let message = stderr(&output);
        if !message.starts_with("syscost: ") {
            return skip(&format!("no file system of one's own: {}", message.trim()));
        }
        assert!(
            message.starts_with("syscost: TMPDIR ") && message.contains(reason),
            "{options}: {message}"
        );
        expect_in(&message, "; set TMPDIR to ");
        assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
    }
}

/// A compiler that tells where it works, and stays there until it is killed if asked to.
const COMPILER: &str = r#"#!/bin/sh
case " $* " in *" --version "*) echo "cc 1.0"; exit 0;; esac
echo "$TMPDIR" > "$PLACE/cc-tmp"; pwd > "$PLACE/cc-cwd"
stat -c '%a' . "$TMPDIR" probe.c > "$PLACE/cc-modes"
: > "$TMPDIR/ccabcdef.s"
[ -z "$STAY" ] || { echo $$ > "$PLACE/cc-pid"; sleep 600; }
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then printf '#!/bin/sh\n' > "$2"; fi; shift; done
"#;

fn compiler(place: &Place) -> PathBuf {
    let path = place.path().join("cc");
    write_program(&path, COMPILER);
    path
}

fn building(place: &Place) -> Command {
    let mut command = place.command("probe build -o made");
    command
        .env("CC", compiler(place))
        .env("PLACE", place.path());
    command
}

#[test]
fn a_probe_is_built_where_nobody_else_can_change_it() {
    let place = Place::new();
    let output = with_umask("000", &building(&place))
        .current_dir(place.path())
        .output()
        .unwrap();
    expect_status(&output, 0);
    let told = |name: &str| place.read(name);
    let run = place.tmp().join("syscost-run-");
    for name in ["cc-tmp", "cc-cwd"] {
        assert!(
            told(name).starts_with(run.to_str().unwrap()),
            "{name}: {}",
            told(name)
        );
    }
    assert_eq!(told("cc-modes"), "700\n700\n700\n");
    assert_eq!(
        place.path().join("made").metadata().unwrap().mode() & 0o7777,
        0o755
    );
    expect_nothing_left(&place, &[]);
    fs::set_permissions(place.tmp(), Permissions::from_mode(0o777)).unwrap();
    let refused = building(&place).output().unwrap();
    expect_in(
        stderr(&refused),
        "anybody (mode 777, not sticky) could replace files in ",
    );
    expect_status(&refused, 2);
}

#[test]
fn a_killed_build_leaves_nothing() {
    let place = Place::new();
    let mut child = building(&place)
        .env("STAY", "1")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = wait_for(|| {
        fs::read_to_string(place.path().join("cc-pid"))
            .ok()
            .filter(|text| text.ends_with('\n'))
    });
    assert!(pid.is_some(), "the compiler was not started");
    assert_ne!(place.left_behind().len(), 0);
    child.kill().unwrap();
    child.wait().unwrap();
    expect_nothing_left(&place, &[]);
    let ended = wait_for(|| {
        (!Path::new("/proc")
            .join(pid.as_ref().unwrap().trim())
            .exists())
        .then_some(())
    });
    assert!(ended.is_some(), "the compiler still runs");
}

#[test]
fn a_pipe_in_place_of_state_does_not_stop_a_run() {
    let place = Place::new();
    let state = place.path().join("state/syscost");
    fs::create_dir_all(&state).unwrap();
    for directory in [place.path().join("state"), state.clone()] {
        fs::set_permissions(directory, Permissions::from_mode(0o700)).unwrap();
    }
    nix::unistd::mkfifo(
        &state.join("levels.jsonl"),
        nix::sys::stat::Mode::from_bits_truncate(0o600),
    )
    .unwrap();
    let job = Job::of(
        place
            .command("run call id --no-verify --time 0.2")
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let pid = job.pid();
    let ended = wait_for(|| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains(") Z ").then_some(())
    });
    assert!(ended.is_some(), "it waits for the pipe");
    drop(job.output());
}

/// What is executed if a program is looked for in the user's directory, and what compilers and interpreters look for there.
const TRAPS: [&str; 22] = [
    "cc",
    "gcc",
    "clang",
    "cat",
    "sh",
    "git",
    "perl",
    "python3",
    "bash",
    "awk",
    "uname",
    "podman",
    "bwrap",
    "strace",
    "qemu-system-x86_64",
    "apt-get",
    "apt-cache",
    "apt-config",
    "tar",
    "dpkg-deb",
    "rustc",
    "go",
];

#[test]
fn nothing_in_the_users_directory_is_executed() {
    let place = Place::new();
    let marker = place.path().join("executed");
    let hostile = hostile_directory(&place, &marker);
    place.write(
        "apt.conf",
        "Dir::Etc::sourcelist \"/dev/null\"; Dir::Etc::sourceparts \"/dev/null\";",
    );
    // An honest compiler that gives up at once: building takes long.
    let honest = place.path().join("honest");
    fs::create_dir(&honest).unwrap();
    write_program(&honest.join("cc"), "#!/bin/sh\nexit 1\n");
    let path = std::env::var("PATH").unwrap();
    for arguments in [
        "doctor",
        "list --envs",
        "list --languages",
        "list --studies",
        "kernel list --available",
        "probe build --target no-such-system -o made",
        "probe build -o made",
        "run id.getppid c:getppid() perl:getppid() python:os.getppid() --time 0.1",
        "run id.getppid --env strace --env bwrap --time 0.1",
    ] {
        let first = if arguments == "probe build -o made" {
            honest.to_str().unwrap()
        } else {
            "/bin"
        };
        let mut command = place.command(arguments);
        command.env("APT_CONFIG", place.path().join("apt.conf"));
        let output = command
            .env("PATH", format!(".::hostile:{first}:{path}"))
            .current_dir(&hostile)
            .output()
            .unwrap();
        let executed = fs::read_to_string(&marker).unwrap_or_default();
        assert_eq!(executed, "", "{arguments}: {}", stderr(&output));
    }
}

/// Programs and settings of those names, each of which writes to `marker` if it is executed.
fn hostile_directory(place: &Place, marker: &Path) -> PathBuf {
    let hostile = place.path().join("hostile");
    fs::create_dir_all(hostile.join(".git")).unwrap();
    fs::create_dir_all(hostile.join("studies")).unwrap();
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", marker.display());
    for name in TRAPS {
        write_program(&hostile.join(name), &script);
    }
    let python = format!("open({:?}, 'a').write('python')\n", marker.display());
    for name in ["ziglang.py", "sitecustomize.py", "os.py"] {
        fs::write(hostile.join(name), &python).unwrap();
    }
    fs::write(
        hostile.join("rust-toolchain.toml"),
        format!("[toolchain]\npath = {hostile:?}\n"),
    )
    .unwrap();
    fs::write(
        hostile.join(".git/config"),
        format!("[core]\n\tfsmonitor = {}\n", hostile.join("git").display()),
    )
    .unwrap();
    fs::write(
        hostile.join("studies/who-am-i.toml"),
        "title = 'x'\nquestion = 'x'\npatterns = ['perl:system(\"./sh\")']\n",
    )
    .unwrap();
    hostile
}
