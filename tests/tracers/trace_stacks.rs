//! `trace --stacks` against programs whose functions are known: without frame pointers, short-lived, in other roots and mount
//! namespaces, with maps that somebody planted.

use crate::bpf_support as support;
use crate::common::*;

use model::{Profile, StackCount};
use support::run_command_with;
use trace::{Detail, More};

/// A program in tests/trace_stacks; `None` where nothing can be traced, or there is no such compiler, which is said. Several tests
/// run one of a name: it is built once.
fn compiled(source: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    static BUILT: Mutex<BTreeMap<String, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    support::workload()?;
    let mut built = BUILT.lock().unwrap();
    let program = built
        .entry(name.to_string())
        .or_insert_with(|| compile(source, name, flags));
    program.clone()
}

/// So that no register is left for frame pointers.
fn compile(source: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let of = root().join("tests/trace_stacks").join(source);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiler = match source.rsplit('.').next() {
        Some("rs") => "rustc",
        Some("cc") => "c++",
        _ => "cc",
    };
    let plain: &[&str] = if compiler == "rustc" {
        &["-O"]
    } else {
        &["-O2", "-fomit-frame-pointer", "-pthread"]
    };
    let status = Command::new(compiler)
        .args(plain)
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg(of)
        .stderr(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        skip(&format!("{compiler} cannot build {source}"));
        return None;
    }
    Some(program)
}

fn traced(command: impl Line) -> Profile {
    let more = More {
        stacks: true,
        ..More::default()
    };
    run_command_with(command, Detail::Times, more)
}

fn of_getppid(collected: &Profile) -> (Vec<&StackCount>, u64) {
    let rows: Vec<_> = collected
        .stacks
        .iter()
        .filter(|row| row.call == "getppid" && row.process != "sh")
        .collect();
    let calls = rows.iter().map(|row| row.calls).sum();
    (rows, calls)
}

fn calls_from(collected: &Profile, name: &str) -> u64 {
    let (rows, _) = of_getppid(collected);
    rows.iter()
        .filter(|row| row.frames.iter().any(|frame| frame == name))
        .map(|row| row.calls)
        .sum()
}

/// The functions from `main` on, but the last: what those of the C library are called differs.
fn own(frames: &[String]) -> Vec<&str> {
    let main = frames
        .iter()
        .position(|frame| frame == "main")
        .unwrap_or_else(|| panic!("no main in {frames:?}"));
    frames[main..frames.len() - 1]
        .iter()
        .map(String::as_str)
        .collect()
}

#[test]
fn a_chain_of_functions_without_frame_pointers_is_named_exactly() {
    let program = needs!(compiled("chain.c", "stacks-chain", &[]));
    let collected = traced(format!("{} 20", program.display()));
    let (rows, calls) = of_getppid(&collected);
    assert_eq!((rows.len(), calls), (1, 20), "{rows:?}");
    assert_eq!(
        own(&rows[0].frames),
        ["main", "outer", "middle", "inner"],
        "{rows:?}"
    );
    assert_eq!(rows[0].frames[0], "_start", "{rows:?}");
    // Every other call of a program that ends at once has a name too, and so has its loader.
    let all: u64 = collected.stacks.iter().map(|row| row.calls).sum();
    let is_named = |row: &&StackCount| {
        row.frames
            .iter()
            .all(|frame| frame != "[unknown]" && !frame.contains("+0x"))
    };
    let named: u64 = collected
        .stacks
        .iter()
        .filter(is_named)
        .map(|row| row.calls)
        .sum();
    assert!(
        named * 100 >= all * 95,
        "{named} of {all}: {:?}",
        collected.stacks
    );
    let counted: u64 = collected
        .groups
        .iter()
        .flat_map(|group| &group.calls)
        .map(|row| row.calls - row.unfinished)
        .sum();
    assert_eq!(all, counted, "{:?}", collected.warnings);
    assert!(
        collected
            .stacks_sampled
            .is_some_and(|sampled| sampled <= all && sampled > all / 2),
        "{collected:?}"
    );
}

#[test]
fn a_sample_divides_the_calls_of_one_place_and_loses_none() {
    let program = needs!(compiled("chain.c", "stacks-sampled", &[]));
    let collected = traced(format!("{} 100000", program.display()));
    let (rows, calls) = of_getppid(&collected);
    assert_eq!(calls, 100_000);
    assert!(
        rows.iter()
            .all(|row| own(&row.frames)[1..] == ["outer", "middle", "inner"]),
        "{rows:?}"
    );
    let sampled = collected.stacks_sampled.unwrap();
    assert!(sampled > 128 && sampled < 10_000, "{sampled}");
    // One in four calls goes through `seldom`, at the same depth and from the same instruction.
    let mixed = traced(format!("{} 100000 mixed", program.display()));
    let (often, seldom) = (calls_from(&mixed, "often"), calls_from(&mixed, "seldom"));
    assert_eq!(often + seldom, 100_000);
    // Far more than a sample of some hundred stacks can miss.
    assert!((5_000..50_000).contains(&seldom), "{seldom}");
}

#[test]
fn threads_and_children_have_their_stacks() {
    let program = needs!(compiled("chain.c", "stacks-threads", &[]));
    for kind in ["thread", "fork", "exec"] {
        let collected = traced(format!("{} 20 {kind}", program.display()));
        assert_eq!(
            (
                calls_from(&collected, "inner"),
                calls_from(&collected, "outer")
            ),
            (20, 20),
            "{kind}"
        );
    }
}

#[test]
fn a_stripped_program_has_the_addresses_of_its_functions() {
    let program = needs!(compiled("chain.c", "stacks-stripped", &["-s"]));
    let collected = traced(format!("{} 20", program.display()));
    let (rows, calls) = of_getppid(&collected);
    assert_eq!((rows.len(), calls), (1, 20), "{rows:?}");
    let own = rows[0]
        .frames
        .iter()
        .filter(|frame| frame.starts_with("stacks-stripped:0x"))
        .count();
    // main, outer, middle and inner. Where a program begins is known without symbols.
    assert_eq!((own, rows[0].frames[0].as_str()), (4, "_start"), "{rows:?}");
}

#[test]
fn names_of_cpp_and_rust_are_as_they_were_written() {
    if let Some(program) = compiled("names.cc", "stacks-cc", &[]) {
        let collected = traced([program.to_str().unwrap()]);
        assert_eq!(
            calls_from(&collected, "app::Asker::ask<long>"),
            20,
            "{:?}",
            of_getppid(&collected)
        );
    }
    if let Some(program) = compiled("names.rs", "stacks-rs", &[]) {
        let collected = traced([program.to_str().unwrap()]);
        let (rows, calls) = of_getppid(&collected);
        let frames = &rows[0].frames;
        assert_eq!(
            (rows.len(), calls, frames[0].as_str()),
            (1, 20, "_start"),
            "{rows:?}"
        );
        assert_eq!(
            frames[frames.len() - 3..frames.len() - 1],
            ["names::main", "names::app::ask"],
            "{rows:?}"
        );
    }
}

/// A directory with a statically linked chain program, whose inner function has the given name, at `bin/program`.
fn root_with(inner: &str) -> Option<tempfile::TempDir> {
    let name = format!("-Dinner={inner}");
    let program = compiled("chain.c", &format!("stacks-{inner}"), &["-static", &name])?;
    let root = tempfile::tempdir().unwrap();
    for directory in ["bin", "tmp"] {
        fs::create_dir(root.path().join(directory)).unwrap();
    }
    copy_program(program, &root.path().join("bin/program"));
    Some(root)
}

#[test]
fn programs_in_other_roots_have_their_own_names() {
    let (Some(one), Some(other)) = (root_with("one"), root_with("other")) else {
        return;
    };
    if !geteuid().is_root() {
        return skip("only root can change the root");
    }
    let script = format!(
        "PATH=$PATH:/usr/sbin; chroot {} /bin/program 20 & chroot {} /bin/program 30; wait",
        one.path().display(),
        other.path().display()
    );
    let collected = traced(["sh", "-c", &script]);
    assert_eq!(
        (
            calls_from(&collected, "one"),
            calls_from(&collected, "other")
        ),
        (20, 30),
        "{:?}",
        of_getppid(&collected)
    );
}

#[test]
fn unlike_programs_at_one_path_of_two_mount_namespaces_have_their_own_names() {
    let (Some(one), Some(other)) = (root_with("here"), root_with("there")) else {
        return;
    };
    if !Command::new("unshare")
        .args(["-m", "true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        return skip("no mount namespace can be made");
    }
    let place = tempfile::tempdir().unwrap();
    let inside = |root: &Path, count: u32| {
        format!(
            "unshare -m sh -c 'mount --bind {} {1} && exec {1}/bin/program {count}'",
            root.display(),
            place.path().display()
        )
    };
    let script = format!(
        "{} & {}; wait",
        inside(one.path(), 20),
        inside(other.path(), 30)
    );
    let collected = traced(["sh", "-c", &script]);
    assert_eq!(
        (
            calls_from(&collected, "here"),
            calls_from(&collected, "there")
        ),
        (20, 30),
        "{:?}",
        of_getppid(&collected)
    );
}

/// A compiler at run time, in a root of its own, whose `/tmp/perf-PID.map` is as `how` says.
fn compiling(how: &str) -> Option<Profile> {
    let program = compiled("compiler.c", "stacks-compiler", &["-static"])?;
    if !geteuid().is_root() {
        skip("only root can change the root");
        return None;
    }
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("tmp");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o1777)).unwrap();
    copy_program(program, &root.path().join("program"));
    let script = "PATH=$PATH:/usr/sbin chroot \"$0\" /program \"$1\"";
    Some(traced(format!(
        "sh -c '{script}' {} {how}",
        root.path().display()
    )))
}

#[test]
fn only_the_users_own_map_names_what_was_compiled_at_run_time() {
    let all = ["own", "foreign", "link", "fifo", "large", "none"];
    for how in one_of_each_kind(&all, &["own", "foreign", "link"]) {
        let named = if how == "own" { 50 } else { 0 };
        let collected = needs!(compiling(how));
        assert_eq!(of_getppid(&collected).1, 50, "{how}");
        assert_eq!(
            calls_from(&collected, "compiled_at_run_time"),
            named,
            "{how}: {:?}",
            of_getppid(&collected)
        );
        assert_eq!(
            calls_from(&collected, "main"),
            50,
            "{how}: {:?}",
            of_getppid(&collected)
        );
    }
}

#[test]
fn symbols_of_files_win_over_a_map() {
    // Its map claims all addresses.
    let collected = needs!(compiling("claims"));
    assert_eq!(
        calls_from(&collected, "main"),
        50,
        "{:?}",
        of_getppid(&collected)
    );
    // The function that was compiled is one frame of the stack.
    let claimed = |row: &StackCount| {
        row.frames
            .iter()
            .filter(|frame| *frame == "claimed")
            .count()
    };
    let (rows, _) = of_getppid(&collected);
    assert!(rows.iter().all(|row| claimed(row) == 1), "{rows:?}");
    assert_eq!(
        collected
            .stacks
            .iter()
            .filter(|row| claimed(row) > 0)
            .map(|row| row.calls)
            .sum::<u64>(),
        50
    );
}

/// With what `why` records.
fn with_callers(command: impl Line) -> Profile {
    let more = More {
        waits: true,
        callers: true,
        ..More::default()
    };
    run_command_with(command, Detail::Times, more)
}

/// The function that makes most of the calls of one name.
fn caller<'a>(collected: &'a Profile, call: &str) -> Option<&'a str> {
    let mut sums: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for row in collected.stacks.iter().filter(|row| row.call == call) {
        *sums.entry(row.function.as_deref()).or_default() += row.calls;
    }
    sums.into_iter().max_by_key(|(_, calls)| *calls)?.0
}

#[test]
fn a_sample_of_each_class_has_the_function_and_its_line() {
    let program = needs!(compiled("chain.c", "stacks-lines", &["-g"]));
    let collected = with_callers(format!("{} 100000", program.display()));
    let (rows, calls) = of_getppid(&collected);
    assert_eq!(calls, 100_000, "{rows:?}");
    assert_eq!(caller(&collected, "getppid"), Some("inner (chain.c:17)"));
    let sampled = collected.stacks_sampled.unwrap();
    assert!(sampled < 5_000, "{sampled}");
    // Debug information may be compressed.
    let program = needs!(compiled("chain.c", "stacks-compressed", &["-g", "-gz"]));
    let collected = with_callers(format!("{} 100000", program.display()));
    assert_eq!(caller(&collected, "getppid"), Some("inner (chain.c:17)"));
    // Long enough for hundreds of samples, as the share is known no better than they are many.
    let mixed = with_callers(format!("{} 1000000 mixed", program.display()));
    let seldom = calls_from(&mixed, "seldom");
    assert!((100_000..400_000).contains(&seldom), "{seldom}");
}

#[test]
fn functions_of_python_have_their_lines() {
    needs!(support::workload());
    let script = root().join("tests/trace_stacks/load.py");
    for version in ["3.11", "3.12", "3.13", "3.14"] {
        let python = format!("python{version}");
        let run = Command::new(&python).arg(&script).output();
        if !run.is_ok_and(|run| run.status.success()) {
            skip(&format!("no {python}"));
            continue;
        }
        let collected = with_callers(format!("{python} {}", script.display()));
        let found = ["openat", "read"].map(|call| caller(&collected, call));
        assert_eq!(
            found,
            [
                Some("load_config (load.py:5)"),
                Some("load_config (load.py:6)")
            ],
            "{python}"
        );
    }
}
