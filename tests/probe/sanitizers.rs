//! The probe under AddressSanitizer and UndefinedBehaviorSanitizer: every operation as it is declared, with parameters
//! that make no sense, and at the limits that it names. What it is asked for it does, or says in one line why not.
//!
//! Leaks are not looked for: what an operation's set-up allocates lives as long as its process.

use crate::common::*;
use std::os::unix::process::ExitStatusExt;

const HOSTILE: [&str; 6] = [
    "0",
    "1",
    "2147483648",
    "9223372036854775807",
    "18446744073709551615",
    "1000000G",
];
/// Values at whose limits a run takes too much time or memory for a test.
const COSTLY: [&str; 5] = ["entries", "fds", "procs", "rss", "ws"];
/// Memory that is too much is refused, as without sanitizers. What would need a thread of theirs is left out: some
/// operations are for processes with one thread.
const OPTIONS: &str = "allocator_may_return_null=1:max_allocation_size_mb=4096:detect_leaks=0";
const SANITIZERS: [&str; 4] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-g",
];

fn probe() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(build).as_deref();
    if built.is_none() {
        skip("cc has no -fsanitize=address,undefined here (gcc: libasan and libubsan)");
    }
    built
}

/// What the sanitizers lack is the compiler's matter; what else fails to build is a failure.
fn build() -> Option<PathBuf> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sanitized-probe");
    fs::create_dir_all(&out).unwrap();
    let empty = out.join("empty.c");
    fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
    let words = |file: &str| vec![file.to_string()];
    if !compile(&words(empty.to_str()?), &out.join("empty"))
        || !Command::new(out.join("empty"))
            .status()
            .is_ok_and(|s| s.success())
    {
        return None;
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/probe");
    for program in assets::build::programs(root, &sources(root), out.to_str()?, true) {
        let sanitized = program.name == "probe";
        let built = match sanitized {
            true => compile(&program.arguments, &out.join(program.name)),
            false => Command::new("cc")
                .args(program.arguments)
                .arg("-o")
                .arg(out.join(program.name))
                .status()
                .unwrap()
                .success(),
        };
        assert!(built || program.optional, "{} does not build", program.name);
    }
    Some(out.join("probe"))
}

fn compile(arguments: &[String], target: &Path) -> bool {
    let mut command = Command::new("cc");
    command
        .args(SANITIZERS)
        .args(arguments)
        .arg("-o")
        .arg(target)
        .stderr(Stdio::null());
    command.status().unwrap().success()
}

fn sources(root: &str) -> Vec<String> {
    let directories = [root.to_string(), format!("{root}/ops")];
    let files = directories
        .iter()
        .flat_map(|directory| fs::read_dir(directory).unwrap());
    let paths = files.map(|entry| entry.unwrap().path().to_str().unwrap().to_string());
    paths.filter(|path| path.ends_with(".c")).collect()
}

struct Operation {
    id: String,
    parameters: Vec<String>,
    limit: u64,
}

fn catalogue(probe: &Path) -> Vec<Operation> {
    let listed = Command::new(probe).arg("--list").output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let operations: Vec<Operation> = text.lines().map(operation).collect();
    assert!(operations.len() > 100, "{}", operations.len());
    operations
}

fn operation(line: &str) -> Operation {
    let fields: Vec<&str> = line.split('\t').collect();
    let names = fields[4]
        .split("; ")
        .filter_map(|parameter| Some(parameter.split_once('=')?.0.to_string()));
    Operation {
        id: fields[0].to_string(),
        parameters: names.collect(),
        limit: fields[8].parse().unwrap(),
    }
}

fn ask(probe: &Path, question: &str) -> String {
    ask_in(&std::env::temp_dir(), probe, question)
}

/// What a probe said on its standard output. Panics where a sanitizer speaks, or it does not end as the protocol has it.
fn ask_in(directory: &Path, probe: &Path, question: &str) -> String {
    let place = tempfile::tempdir_in(directory).unwrap();
    let mut command = Command::new(probe);
    command
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.env("ASAN_OPTIONS", OPTIONS);
    let mut child = command.process_group(0).spawn().unwrap();
    // It may have ended before it read all.
    let _ = child.stdin.take().unwrap().write_all(question.as_bytes());
    let status = wait_for(|| child.try_wait().unwrap());
    if status.is_none() {
        sys::process::kill_group(child.id());
        child.wait().unwrap();
    }
    let (output, errors) = (
        text(child.stdout.take().unwrap()),
        text(child.stderr.take().unwrap()),
    );
    let status =
        status.unwrap_or_else(|| panic!("{question:?} takes more than {PATIENCE:?}: {output}"));
    assert!(
        errors.is_empty() && status.signal().is_none(),
        "{question:?}: {status}: {output}{errors}"
    );
    let said = output.lines().any(|line| line.starts_with("error "));
    assert_eq!(
        status.code(),
        Some(i32::from(said)),
        "{question:?}: {output}"
    );
    assert!(
        said || output.starts_with("ready "),
        "{question:?}: {output}"
    );
    output
}

fn text(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

fn short_run(operation: &Operation, parameters: &str) -> String {
    let n = if operation.limit == 0 {
        3
    } else {
        operation.limit.min(3)
    };
    format!("op {}{parameters}\n{n} 2\n1 1\nsample 2\n", operation.id)
}

fn for_all<T: Sync>(items: &[T], act: impl Fn(&T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            act(item);
        }
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
}

#[test]
fn every_operation_runs_clean() {
    let probe = needs!(probe());
    for_all(&catalogue(probe), |operation| {
        drop(ask(probe, &short_run(operation, "")))
    });
}

#[test]
fn every_parameter_is_used_or_refused_by_name() {
    let probe = needs!(probe());
    let operations = catalogue(probe);
    let parameters: usize = operations
        .iter()
        .map(|operation| operation.parameters.len())
        .sum();
    assert!(parameters > 40, "{parameters}");
    let limits = Mutex::new(BTreeSet::new());
    for_all(&operations, |operation| {
        // What cannot be done here whatever the parameter gives no answer to it.
        if operation.parameters.is_empty()
            || ask(probe, &short_run(operation, "")).contains("error ")
        {
            return;
        }
        for name in &operation.parameters {
            let answers = HOSTILE.map(|value| given(probe, operation, name, value));
            let most = answers
                .iter()
                .find_map(|answer| Some(limit_in(answer.as_deref()?)?.to_string()));
            let Some(most) = most.filter(|_| !COSTLY.contains(&name.as_str())) else {
                continue;
            };
            // Operations of an area share their set-up.
            let area = operation.id.split('.').next().unwrap().to_string();
            if limits
                .lock()
                .unwrap()
                .insert((area, name.clone(), most.clone()))
            {
                let answer = given(probe, operation, name, &most);
                let refused = answer.as_deref().and_then(limit_in);
                assert_eq!(refused, None, "{} {name}={most}", operation.id);
            }
        }
    });
    assert!(limits.lock().unwrap().len() > 4, "{limits:?}");
}

fn given(probe: &Path, operation: &Operation, name: &str, value: &str) -> Option<String> {
    let output = ask(probe, &short_run(operation, &format!(" {name}={value}")));
    let error = output.lines().find(|line| line.starts_with("error "))?;
    expect_in(error, &format!("parameter {name}"));
    Some(error.to_string())
}

/// A hole may be of any size there, so that only mapping it is refused.
#[test]
fn a_file_that_cannot_be_mapped_is_refused_by_the_name_of_its_size() {
    let probe = needs!(probe());
    let question = "op mem.mmap_file_munmap size=1000000G\n1 1\n";
    let output = ask_in(Path::new("/dev/shm"), probe, question);
    expect_start(output, "error ENOMEM parameter size: mmap()");
}

/// `1M` of "error EINVAL parameter size: from 1 to 1M: Invalid argument".
fn limit_in(error: &str) -> Option<&str> {
    error.split_once(" to ")?.1.split([':', ',']).next()
}

#[test]
fn crowds_are_bounded() {
    let probe = needs!(probe());
    for threads in ["0", "1", "2", "1025", "2147483648", "18446744073709551615"] {
        for shared in ["0", "1", "18446744073709551615"] {
            let output = ask(
                probe,
                &format!("op id.getppid threads={threads} shared={shared}\n3 2\n"),
            );
            let refused = output.contains("error - parameter threads")
                || output.contains("error - more threads than CPUs");
            assert_eq!(refused, threads.len() > 3, "threads={threads}: {output}");
        }
    }
}

#[test]
fn displacing_is_bounded() {
    let probe = needs!(probe());
    for (cold, valid) in [
        ("0", true),
        ("4K", true),
        ("12K", true),
        ("1M", true),
        ("1", false),
        ("2G", false),
    ] {
        let output = ask(probe, &format!("op fd.close cold={cold}\n3 2\n1 1\n"));
        assert_eq!(
            output.contains("error EINVAL parameter cold"),
            !valid,
            "cold={cold}: {output}"
        );
        assert_eq!(
            output.matches("\ntotal ").count(),
            if valid { 2 } else { 0 },
            "cold={cold}: {output}"
        );
    }
}

#[test]
fn what_is_no_protocol_is_one_line() {
    let probe = needs!(probe());
    let long = format!("op file.stat depth={}\n", "1".repeat(5000));
    let words = [
        "",
        "x",
        "-1",
        "+1",
        "4Q",
        "4KK",
        "99999999999999999999",
        "18014398509481984K",
        " 1",
    ];
    let parameters = words.map(|word| format!("op file.stat depth={word}\n1 1\n"));
    let requests = [
        "0 1",
        "1 0",
        "-1 1",
        "1 -1",
        "1 4097",
        "18446744073709551616 1",
        "1",
        "1 1 1",
        "sample 0",
        "sample 60001",
    ];
    let requests = requests.map(|request| format!("op id.getppid\n{request}\n"));
    let others = [
        "op\n",
        "op nosuch\n",
        "hello\n",
        "op file.stat no=1\n",
        "op file.stat depth\n",
    ]
    .map(str::to_string);
    for question in parameters
        .iter()
        .chain(&requests)
        .chain(&others)
        .chain([&long])
    {
        assert!(ask(probe, question).contains("error "), "{question:?}");
    }
}

/// On a file system of 4 MiB and 20 files, a file or directory that does not fit is refused before it is begun.
#[test]
fn a_full_file_system_is_refused_before_it_is_filled() {
    let probe = needs!(probe());
    let place = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=4m,nr_inodes=20 tmpfs . && cd "$PWD" && printf '%s\n1 1\n' "$2" | "$1"; ls | wc -l"#;
    for (question, refusal) in [
        (
            "op io.read_file size=1M",
            "a file that is larger than what the file system has free",
        ),
        (
            "op file.stat entries=100",
            "parameter entries: more files than the file system has room for",
        ),
        (
            "op dir.getdents64 entries=100",
            "parameter entries: more files than the file system has room for",
        ),
    ] {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", script, "sh"])
            .arg(probe)
            .arg(question)
            .current_dir(place.path());
        let Ok(output) = command
            .env("ASAN_OPTIONS", OPTIONS)
            .stderr(Stdio::null())
            .output()
        else {
            return skip("no unshare(1)");
        };
        let output = String::from_utf8(output.stdout).unwrap();
        if !output.contains("ready") && !output.contains("error") {
            return skip("mounting one needs root");
        }
        let expected = format!("error ENOSPC {refusal}: No space left on device\n0\n");
        assert_eq!(output, expected, "{question}");
    }
}
