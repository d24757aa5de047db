use super::*;
use model::FailureKind;

fn shell(script: &str, timeout: Duration) -> Child {
    let run = Rc::new(RefCell::new(RunDirectory::create().unwrap()));
    Child::start(
        |_| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        },
        &run,
        &Interrupt::default(),
        timeout,
        None,
    )
    .unwrap()
}

fn reply_of(script: &str, timeout: Duration) -> Failure {
    shell(script, timeout).reply().unwrap_err()
}

fn state(pid: u32) -> Option<char> {
    let stat = sys::proc_stat::text(pid);
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn a_flood_is_stopped_and_reported() {
    let endless = reply_of("yes | tr -d '\\n'", TIMEOUT);
    assert_eq!(endless.kind, FailureKind::Crashed);
    assert!(
        endless.message.starts_with("the worker printed "),
        "{endless}"
    );
    assert!(
        endless.message.contains(" bytes without a line end"),
        "{endless}"
    );
    let lines = reply_of("yes '1 0'", TIMEOUT);
    assert!(
        lines.message.contains("lines of more than 4096 batches"),
        "{lines}"
    );
}

#[test]
fn a_timeout_names_the_whole_wait() {
    let trickle = reply_of(
        "while :; do echo 1 0; sleep 0.05; done",
        Duration::from_secs(1),
    );
    assert_eq!(trickle.kind, FailureKind::Timeout);
    assert!(
        trickle.message.starts_with("no answer within 1 s"),
        "{trickle}"
    );
}

#[test]
fn only_a_part_of_a_wait_may_count() {
    fn over(elapsed: u64, counted: u64) -> bool {
        is_over(
            Duration::from_secs(elapsed),
            Duration::from_secs(counted),
            Duration::from_secs(60),
        )
    }

    // Touching memory for 50 of 100 s is 50 s of anything else.
    assert_eq!(
        [over(59, 59), over(60, 60), over(100, 50), over(1200, 50)],
        [false, true, false, true]
    );
    let failure = shell("exec sleep 600", Duration::from_secs(1))
        .ready()
        .unwrap_err();
    assert!(
        failure.message.starts_with("no answer within 1 s"),
        "{failure}"
    );
}

#[test]
fn long_errors_are_read_from_both_ends() {
    let failure = reply_of(
        "echo first >&2; yes | head -c 10000000 >&2; echo last >&2; exit 7",
        TIMEOUT,
    );
    assert_eq!(
        failure.message,
        "the probe ended without an answer (exit status 7): last"
    );
    let text = "first\n".to_string() + &"x".repeat(MOST_OF_ERRORS as usize * 3) + "last";
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, text).unwrap();
    let read = read_errors(file.path()).unwrap();
    assert!(read.starts_with("first\n") && read.ends_with("last"));
    assert_eq!(read.len() as u64, 2 * MOST_OF_ERRORS);
    fs::write(&file, "all of it").unwrap();
    assert_eq!(read_errors(file.path()).unwrap(), "all of it");
}

const TIMEOUT: Duration = Duration::from_secs(600);

#[test]
fn a_leader_is_reaped_only_after_its_group_was_killed() {
    let mut child = shell("sleep 600 >/dev/null & echo $!; exit 3", TIMEOUT);
    let sleeper: u32 = child
        .line(child.deadline(TIMEOUT))
        .unwrap()
        .parse()
        .unwrap();
    let failure = child.reply().unwrap_err();
    assert_eq!(
        failure.message,
        "the probe ended without an answer (exit status 3)"
    );
    assert_eq!(
        state(child.pid()),
        Some('Z'),
        "its number could be another's"
    );
    let pid = child.pid();
    drop(child);
    assert_eq!(state(pid), None);
    expect_ended(sleeper);
}

fn expect_ended(pid: u32) {
    let deadline = Instant::now() + TIMEOUT;
    while !has_ended(pid) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(has_ended(pid));
}

fn has_ended(pid: u32) -> bool {
    state(pid).is_none_or(|state| state == 'Z')
}
