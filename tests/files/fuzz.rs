//! Every parser, and what reads its results, with hostile inputs: the corpus in fuzz/corpus and mutations of it, the same
//! ones each time. SYSCOST_FUZZ_SECONDS=N goes on with others for N seconds a target; see fuzz/README.md.

mod mutate;
#[path = "../../fuzz/src/lib.rs"]
mod targets;

use crate::common::*;
use mutate::Mutator;
use std::panic::catch_unwind;
use std::time::SystemTime;
use targets::{TARGETS, Target};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz");
/// Seconds a target that inputs are made for; without it, the number that the table names.
const SECONDS: &str = "SYSCOST_FUZZ_SECONDS";
/// The target that this process is a child for.
const CHILD: &str = "SYSCOST_FUZZ_CHILD";

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(ROOT).join("corpus").join(name);
    let entries =
        fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!seeds.is_empty(), "{} is empty", directory.display());
    seeds
}

/// Runs one input; where the target panics, it is kept and named.
fn stands(target: &Target, bytes: &[u8]) {
    if catch_unwind(|| targets::run(target.name, bytes)).is_err() {
        let kept = keep(target.name, bytes);
        panic!("{} panicked; its input is {}", target.name, kept.display());
    }
}

fn keep(name: &str, bytes: &[u8]) -> PathBuf {
    let directory = Path::new(ROOT).join("artifacts").join(name);
    fs::create_dir_all(&directory).unwrap();
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    let path = directory.join(format!("crash-{sum:016x}"));
    fs::write(&path, bytes).unwrap();
    path
}

/// The corpus, and mutations of it: as many as the table says, or a third.
fn bounded(name: &str) {
    if std::env::var_os(SECONDS).is_some() {
        return;
    }
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let seeds = corpus(name);
    seeds.iter().for_each(|seed| stands(target, seed));
    let mut mutator = Mutator::new(1);
    let mutations = target.mutations / if cfg!(feature = "heavy") { 1 } else { 3 };
    (0..mutations).for_each(|_| stands(target, &mutator.next(&seeds)));
}

macro_rules! bounded {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            bounded(stringify!($name));
        })*
        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

bounded!(
    result,
    profile,
    explained,
    strace,
    study,
    settings,
    expectation,
    catalogue,
    ready,
    reply,
    sampled,
    singles,
    snippet,
    language,
    environment,
    btf,
    stat,
    maps,
    host,
    symbols,
);

#[test]
fn every_target_has_its_test_its_corpus_and_its_file() {
    let names: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, TESTED.iter().copied().collect());
    let manifest = fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap();
    for name in names {
        let file =
            fs::read_to_string(Path::new(ROOT).join(format!("fuzz_targets/{name}.rs"))).unwrap();
        expect_in(&file, &format!("run(\"{name}\", bytes)"));
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
        assert!(!corpus(name).is_empty());
    }
}

/// Answers in JSON with another value in any one place: empty lists, wrong types, numbers beyond all bounds.
#[test]
fn answers_with_any_one_value_replaced() {
    let target = TARGETS
        .iter()
        .find(|target| target.name == "explained")
        .unwrap();
    let others = [
        "null",
        "[]",
        "{}",
        "\"\"",
        "0",
        "-1",
        "18446744073709551615",
        "1e308",
        "-1e308",
        "5e-324",
        "[[]]",
    ];
    let others = others.map(|other| serde_json::from_str::<Value>(other).unwrap());
    let answers = corpus("explained")
        .into_iter()
        .filter(|bytes| bytes.len() < 8 << 10);
    let mut tried = 0;
    for answer in answers.filter_map(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
        // One place in four, or all.
        let step = if cfg!(feature = "heavy") { 1 } else { 4 };
        for place in places(&answer, String::new()).iter().step_by(step) {
            for other in &others {
                let mut changed = answer.clone();
                *changed.pointer_mut(place).unwrap() = other.clone();
                stands(target, changed.to_string().as_bytes());
                tried += 1;
            }
        }
    }
    assert!(tried > 500, "{tried}");
}

/// JSON pointers to all values in `value`, which is at `place`.
fn places(value: &Value, place: String) -> Vec<String> {
    let inner: Vec<String> = match value {
        Value::Array(all) => all
            .iter()
            .enumerate()
            .flat_map(|(i, one)| places(one, format!("{place}/{i}")))
            .collect(),
        Value::Object(all) => all
            .iter()
            .flat_map(|(name, one)| places(one, format!("{place}/{name}")))
            .collect(),
        _ => Vec::new(),
    };
    [vec![place], inner].concat()
}

/// For as long as one likes: a child process for each target, so that an abort or a hang is found too.
#[test]
fn as_long_as_asked() {
    let Ok(seconds) = std::env::var(SECONDS) else {
        return;
    };
    if let Ok(name) = std::env::var(CHILD) {
        return child(
            TARGETS.iter().find(|target| target.name == name).unwrap(),
            seconds.parse().unwrap(),
        );
    }
    let only = std::env::var("SYSCOST_FUZZ_TARGET").ok();
    let chosen = TARGETS
        .iter()
        .filter(|target| only.as_ref().is_none_or(|name| name == target.name));
    let failed: Vec<&str> = chosen
        .filter(|target| !survives(target))
        .map(|target| target.name)
        .collect();
    assert!(
        failed.is_empty(),
        "failed: {}; the inputs are in {ROOT}/artifacts",
        failed.join(", ")
    );
}

fn survives(target: &Target) -> bool {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program);
    child
        .args(["--exact", "fuzz::as_long_as_asked", "--nocapture"])
        .env(CHILD, target.name)
        .stdout(Stdio::null());
    let done = child.status().unwrap().success();
    if !done {
        let current = current(target.name);
        let kept = fs::read(&current).map(|bytes| keep(target.name, &bytes));
        eprintln!("{}: FAILED, the input is {kept:?}", target.name);
    }
    let _ = fs::remove_file(current(target.name));
    done
}

fn current(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("syscost-fuzz-{name}"))
}

fn child(target: &Target, seconds: u64) {
    let (started, mut seeds) = (Instant::now(), corpus(target.name));
    let seed = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    let (mut mutator, mut runs, mut slowest) = (Mutator::new(seed), 0u64, Duration::ZERO);
    let first = seeds.len();
    while started.elapsed() < Duration::from_secs(seconds) {
        let bytes = mutator.next(&seeds);
        fs::write(current(target.name), &bytes).unwrap();
        let begun = Instant::now();
        (target.run)(&bytes);
        slowest = slowest.max(begun.elapsed());
        runs += 1;
        // Mutations of mutations: one in a hundred becomes a seed, in the place of another one that did.
        if runs.is_multiple_of(100) {
            if seeds.len() < first + 50 {
                seeds.push(bytes)
            } else {
                seeds[first + (runs / 100) as usize % 50] = bytes
            }
        }
    }
    eprintln!(
        "{:<18} {runs:>9} inputs, the slowest took {} ms",
        target.name,
        slowest.as_millis()
    );
}
