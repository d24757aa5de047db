//! Snippets on the real kernel: every example of every language that is installed enters what it declares, and what is
//! wrong with a snippet is one row, in the language's own words and the user's own lines.

mod common;

use common::{Place, json, skip, stderr, stdout};
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use syscost::model::{Entries, Expectation};
use toml::Table;

/// One look is enough: what is tested here are entries and messages.
const SHORT: [&str; 8] = ["run", "--format", "json", "--time", "0.3", "--precision", "100", "--quiet"];

/// The call that comes once where a language has no getppid of its own (languages/*/examples.toml).
const NEAREST: [(&str, &str, &str); 4] = [
    ("bash", "umask 022", "umask"),
    ("java", "Thread.yield()", "sched_yield"),
    ("lua", "os.clock()", "clock_gettime"),
    ("tcl", "pid", "getpid"),
];

/// What `list --languages` knows, by name.
static KNOWN: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let list = json(&Place::new().run(&["list", "--languages", "--format", "json"]));
    let languages = list["languages"].as_array().unwrap().clone();
    languages.into_iter().map(|language| (text(&language, "name").to_string(), language)).collect()
});

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} of {value}"))
}

fn toml(language: &str, file: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("languages").join(language).join(file);
    fs::read_to_string(path).unwrap().parse().unwrap()
}

/// Whether `language` is here; said where it is not.
fn installed(test: &str, language: &str) -> bool {
    let found = KNOWN[language]["path"].is_string();
    if !found {
        skip(test, &format!("{language} is not installed (usual package: {})", text(&KNOWN[language], "package")));
    }
    found
}

/// The program in a place that also holds what it builds. Go's own cache stays where it was: it would be filled anew.
fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("XDG_CACHE_HOME", place.path().join("cache"));
    let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    if let (None, Some(home)) = (std::env::var_os("GOCACHE"), home) {
        command.env("GOCACHE", home.join("go-build"));
    }
    command
}

fn run(place: &Place, arguments: &[&str]) -> Output {
    command(place, &[&SHORT[..], arguments].concat()).output().unwrap()
}

/// The records of a run that ended with `status` and left nothing behind.
fn records(place: &Place, output: &Output, status: i32) -> Vec<Value> {
    assert_eq!(output.status.code(), Some(status), "{}{}", stdout(output), stderr(output));
    assert!(place.processes().is_empty(), "{:?}", place.processes());
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    json(output)["records"].as_array().unwrap().clone()
}

fn entries(record: &Value) -> Entries {
    assert!(record["median_ns"].as_f64().is_some_and(|median| median > 0.0), "{record:#}");
    assert_eq!(record["entries_status"], "verified", "{record:#}");
    serde_json::from_value(record["entries"].clone()).unwrap()
}

/// Whether entries can be counted on this machine at all.
fn countable(test: &str) -> bool {
    static REFUSED: LazyLock<Option<String>> = LazyLock::new(|| {
        let record = json(&Place::new().run(&[&SHORT[..], &["id.getppid"]].concat()))["records"][0].clone();
        (record["entries_status"] != "verified").then(|| record["warnings"].to_string())
    });
    if let Some(reason) = &*REFUSED {
        skip(test, &format!("kernel entries cannot be counted here: {reason}"));
    }
    REFUSED.is_none()
}

/// One `[[example]]`.
#[derive(Clone)]
struct Example {
    body: String,
    prelude: String,
    setup: String,
    entries: String,
}

fn examples(language: &str) -> Vec<Example> {
    let all = toml(language, "examples.toml");
    let field = |example: &Table, name: &str| example.get(name).map_or("", |v| v.as_str().unwrap()).to_string();
    let tables = all["example"].as_array().unwrap().iter().map(|example| example.as_table().unwrap());
    let read = |example: &Table| Example {
        body: field(example, "body"),
        prelude: field(example, "prelude"),
        setup: field(example, "setup"),
        entries: example["entries"].as_str().unwrap().to_string(),
    };
    tables.map(read).collect()
}

/// Examples that can be in one run: those with the same prelude and set-up.
fn groups(examples: Vec<Example>) -> Vec<Vec<Example>> {
    let mut groups: BTreeMap<(String, String), Vec<Example>> = BTreeMap::new();
    for example in examples {
        groups.entry((example.prelude.clone(), example.setup.clone())).or_default().push(example);
    }
    groups.into_values().collect()
}

fn run_examples(language: &str, group: &[Example]) -> Vec<Value> {
    let (prelude, setup) = (format!("{language}:{}", group[0].prelude), format!("{language}:{}", group[0].setup));
    let bodies: Vec<String> = group.iter().map(|example| format!("{language}:{}", example.body)).collect();
    let mut arguments = vec!["--prelude", &prelude, "--setup", &setup];
    arguments.extend(bodies.iter().map(String::as_str));
    let place = Place::new();
    let output = run(&place, &arguments);
    records(&place, &output, 0)
}

fn check_example(example: &Example, record: &Value) {
    let counted = entries(record);
    if example.entries == "?" {
        return;
    }
    let declared: Expectation = example.entries.parse().unwrap();
    let why = format!("{counted}, declared are {declared}: {record:#}");
    assert!(declared.matches(&counted, &BTreeMap::new()), "{why}");
}

fn check_language(language: &str) {
    if !installed(language, language) || !countable(language) {
        return;
    }
    let groups = groups(examples(language));
    let mut measured = BTreeMap::new();
    for group in groups {
        let records = run_examples(language, &group);
        assert_eq!(records.len(), group.len());
        for (example, record) in group.iter().zip(&records) {
            check_example(example, record);
            measured.insert(example.body.clone(), entries(record));
        }
    }
    assert!(measured.contains_key(""), "{language} has no example with an empty body");
    expect_one_call(language, &measured);
}

/// The plainest system call of the language comes exactly once an iteration.
fn expect_one_call(language: &str, measured: &BTreeMap<String, Entries>) {
    let nearest = NEAREST.iter().find(|(name, _, _)| *name == language);
    let (counted, call) = match nearest {
        Some((_, body, call)) => (&measured[*body], *call),
        None => {
            let one = measured.iter().find(|(body, counted)| is_one_line(body) && counted.get("getppid") == 1.0);
            (one.unwrap_or_else(|| panic!("{language}: no getppid in {measured:?}")).1, "getppid")
        }
    };
    assert_eq!(counted.get(call), 1.0, "{language}: {counted}");
}

fn is_one_line(body: &str) -> bool {
    !body.trim().contains('\n')
}

macro_rules! languages {
    ($($language:ident)*) => {
        const TESTED: &[&str] = &[$(stringify!($language)),*];

        mod examples_of {
            $(#[test]
            fn $language() {
                super::check_language(stringify!($language));
            })*
        }
    };
}

languages! { bash c cpp go java lua node perl php python ruby rust tcl }

#[test]
fn every_language_is_tested() {
    let known: Vec<&str> = KNOWN.keys().map(String::as_str).collect();
    assert_eq!(TESTED, known);
}

/// Snippets of one language that go wrong, each in its way. What is told of line 2 stands in line 2.
struct Wrong {
    language: &'static str,
    good: &'static str,
    /// Does not compile, and what the language says of it.
    syntax: (&'static str, &'static str),
    /// Throws, and what the language says of it.
    throws: (&'static str, &'static str),
    /// Where the language says of an error at run time no line, as C does not.
    lineless: bool,
    exits: [&'static str; 2],
    /// Prints; reads standard input. Both are measured.
    harmless: [&'static str; 2],
    hangs: &'static str,
}

const WRONG: [Wrong; 7] = [
    Wrong {
        language: "perl",
        good: "getppid",
        syntax: ("my $x = 1;\n$x = = 2;", "syntax error"),
        throws: ("1;\ndie 'no luck'", "no luck at "),
        lineless: false,
        exits: ["exit 0", "exit 3"],
        harmless: ["print 'x'", "my $line = <STDIN>"],
        hangs: "1 while 1",
    },
    Wrong {
        language: "python",
        good: "os.getppid()",
        syntax: ("x = 1\nx = = 2", "SyntaxError: invalid syntax"),
        throws: ("pass\nraise ValueError('no luck')", "ValueError: no luck"),
        lineless: false,
        exits: ["sys.exit(0)", "sys.exit(3)"],
        harmless: ["print('x')", "sys.stdin.readline()"],
        hangs: "while True: pass",
    },
    Wrong {
        language: "c",
        good: "getppid()",
        syntax: ("int x = 1;\nnonesuch(x);", "error: implicit declaration of function"),
        throws: ("char *none = NULL;\n*(volatile char *)none = 1;", "killed by SIGSEGV"),
        lineless: true,
        exits: ["exit(0);", "exit(3);"],
        harmless: ["puts(\"x\")", "getchar()"],
        hangs: "for (;;) {}",
    },
    Wrong {
        language: "node",
        good: "process.ppid",
        syntax: ("1;\nlet a b;", "SyntaxError: Unexpected identifier"),
        throws: ("1;\nthrow new Error('no luck')", "Error: no luck"),
        lineless: false,
        exits: ["process.exit(0)", "process.exit(3)"],
        harmless: ["console.log('x')", "fs.readFileSync(0)"],
        hangs: "for (;;) {}",
    },
    Wrong {
        language: "ruby",
        good: "Process.ppid",
        syntax: ("x = 1\nx = = 2", "syntax error"),
        throws: ("x = 1\nraise 'no luck'", "no luck"),
        lineless: false,
        exits: ["exit 0", "exit 3"],
        harmless: ["puts 'x'", "$stdin.gets"],
        hangs: "loop {}",
    },
    Wrong {
        language: "go",
        good: "os.Getppid()",
        syntax: ("x := 1\nx = = 2", "syntax error"),
        throws: ("x := 1\npanic(x)", "panic: 1"),
        lineless: false,
        exits: ["os.Exit(0)", "os.Exit(3)"],
        harmless: ["os.Stdout.WriteString(\"x\")", "os.Stdin.Read(make([]byte, 1))"],
        hangs: "for {}",
    },
    Wrong {
        language: "java",
        good: "Thread.yield()",
        syntax: ("int x = 1;\nx = = 2;", "illegal start of expression"),
        throws: ("int x = 1;\nif (x == 1) throw new RuntimeException(\"no luck\");", "no luck"),
        lineless: false,
        exits: ["System.exit(0)", "System.exit(3)"],
        harmless: ["System.out.println()", "System.in.read()"],
        hangs: "while (System.nanoTime() > 0) {}",
    },
];

impl Wrong {
    fn of(language: &str) -> &'static Wrong {
        WRONG.iter().find(|wrong| wrong.language == language).unwrap()
    }

    fn word(&self, body: &str) -> String {
        format!("{}:{body}", self.language)
    }
}

fn expect_error(record: &Value, kind: &str, parts: &[&str]) {
    assert!(record["median_ns"].is_null(), "{record:#}");
    assert_eq!(record["error"]["kind"], kind, "{record:#}");
    let message = text(&record["error"], "message");
    assert!(!message.contains('\n'), "{message}");
    for part in parts {
        assert!(message.contains(part), "no '{part}' in: {message}");
    }
}

fn check_wrong(language: &str) {
    if !installed(&format!("wrong snippets in {language}"), language) {
        return;
    }
    let wrong = Wrong::of(language);
    let bodies = [wrong.syntax.0, wrong.throws.0, wrong.exits[0], wrong.exits[1]];
    let bodies = [&[wrong.good], &bodies[..], &wrong.harmless].concat();
    let words: Vec<String> = bodies.iter().map(|body| wrong.word(body)).collect();
    let place = Place::new();
    let output = run(&place, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let records = records(&place, &output, 3);
    let told: Vec<&str> = records.iter().map(|record| text(record, "operation")).collect();
    assert_eq!(told, bodies);
    let line = if wrong.lineless { "" } else { "line 2 of the body: " };
    expect_error(&records[1], "failed", &["line 2 of the body: ", wrong.syntax.1]);
    expect_error(&records[2], "crashed", &[line, wrong.throws.1]);
    expect_error(&records[3], "crashed", &["exit status 0"]);
    expect_error(&records[4], "crashed", &["exit status 3"]);
    for measured in [&records[0], &records[5], &records[6]] {
        assert!(measured["error"].is_null() && measured["median_ns"].is_f64(), "{measured:#}");
    }
}

macro_rules! wrong {
    ($($language:ident)*) => {
        mod wrong_snippets_in {
            $(#[test]
            fn $language() {
                super::check_wrong(stringify!($language));
            })*
        }
    };
}

wrong! { perl python c node ruby go java }

/// Two rows: a snippet that never ends, and an operation that is measured beside it.
fn expect_timeout(wrong: &Wrong, more: &[&str]) {
    let place = Place::new();
    let output = run(&place, &[&["--timeout", "1", &wrong.word(wrong.hangs), "id.getppid"], more].concat());
    let records = records(&place, &output, 3);
    expect_error(&records[0], "timeout", &["(--timeout allows more)"]);
    assert!(records[1]["median_ns"].is_f64(), "{:#}", records[1]);
}

#[test]
fn a_snippet_that_hangs_is_a_row() {
    for wrong in WRONG.iter().filter(|wrong| installed("a_snippet_that_hangs_is_a_row", wrong.language)) {
        expect_timeout(wrong, &["--no-verify"]);
    }
}

#[test]
fn a_snippet_that_hangs_while_its_entries_are_counted_is_a_row() {
    let test = "a_snippet_that_hangs_while_its_entries_are_counted_is_a_row";
    if installed(test, "perl") && countable(test) {
        expect_timeout(Wrong::of("perl"), &[]);
    }
}

#[test]
fn a_missing_interpreter_is_named_with_its_package() {
    let place = Place::new();
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let words: Vec<String> = TESTED.iter().map(|language| format!("{language}:1")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["id.getppid"]).collect();
    let output = command(&place, &[&SHORT[..], &words].concat()).env("PATH", &empty).output().unwrap();
    let records = records(&place, &output, 3);
    for (language, record) in TESTED.iter().zip(&records) {
        let toml = toml(language, "language.toml");
        let package = format!("(usual package: {})", toml["package"].as_str().unwrap());
        expect_error(record, "unsupported", &[toml["programs"][0].as_str().unwrap(), "not on PATH", &package]);
    }
    assert!(records.last().unwrap()["median_ns"].is_f64(), "{records:?}");
}

#[test]
fn an_unknown_language_is_told_which_there_are() {
    let all = TESTED.join(", ");
    for arguments in [&["run", "cobol:1"][..], &["run", "id.getppid", "--setup", "cobol:1"]] {
        let output = Place::new().run(arguments);
        assert_eq!(output.status.code(), Some(2));
        let message = stderr(&output);
        assert!(message.contains(&format!("there is no language 'cobol'; available: {all}")), "{message}");
    }
}

#[test]
fn the_languages_are_listed_with_version_and_path() {
    let output = Place::new().command(&["list", "--languages"]).env("COLUMNS", "400").output().unwrap();
    let table = stdout(&output);
    for (name, language) in KNOWN.iter() {
        let row = table.lines().find(|line| line.split_whitespace().next() == Some(name));
        let row = row.unwrap_or_else(|| panic!("{name} is not in\n{table}"));
        match language["path"].as_str() {
            Some(path) => assert!(row.contains(path) && row.contains(version(language)), "{row}"),
            None => assert!(row.contains(text(language, "package")), "{row}"),
        }
    }
}

/// As it was found; none where the language has no option that prints it.
fn version(language: &Value) -> &str {
    let asked = toml(text(language, "name"), "language.toml")["version"].as_array().is_some_and(|v| !v.is_empty());
    if asked { text(language, "version") } else { "" }
}

/// The difference from the empty loop decides, which on a busy machine may be anything once, but not each time.
#[test]
fn a_folded_body_is_warned_about() {
    let test = "a_folded_body_is_warned_about";
    if !installed(test, "c") {
        return;
    }
    let warned = || {
        let place = Place::new();
        let records = records(&place, &run(&place, &["c:1+1", "c:getppid()"]), 0);
        let [folded, call] = [0, 1].map(|i| records[i]["warnings"].to_string().contains("folded_body"));
        assert!(!call, "{:#}", records[1]);
        folded
    };
    assert!((0..8).any(|_| warned()));
}

#[test]
fn a_call_that_is_named_but_not_made_is_warned_about() {
    let test = "a_call_that_is_named_but_not_made_is_warned_about";
    if !installed(test, "c") || !countable(test) {
        return;
    }
    let place = Place::new();
    let records = records(&place, &run(&place, &["--setup", "c:pid_t getpid = 1;", "c:getpid"]), 0);
    let warnings = records[0]["warnings"].as_array().unwrap();
    assert!(warnings.contains(&value!({"kind": "not_entered", "name": "getpid"})), "{warnings:?}");
}

#[test]
fn a_c_snippet_is_built_statically() {
    let test = "a_c_snippet_is_built_statically";
    if !installed(test, "c") || !countable(test) {
        return;
    }
    let place = Place::new();
    let output = run(&place, &["--env", "static", "c:getppid()", "c:sqrt(errno)"]);
    let first = &json(&output)["records"][0];
    if first["error"]["kind"] == "unsupported" {
        return skip(test, text(&first["error"], "message"));
    }
    let records = records(&place, &output, 0);
    assert_eq!(records[0]["environment"], "static");
    assert_eq!(entries(&records[0]).to_string(), "getppid x1");
    assert_eq!(entries(&records[1]).to_string(), "none");
}

/// A C compiler in `directory` that has no 32-bit library.
fn compiler_without_m32(directory: &Path, real: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\nfor word; do\n  if [ \"$word\" = -m32 ]; then\n    echo '/usr/include/stdio.h:27:10: fatal error: \
         bits/libc-header-start.h: No such file or directory' >&2\n    exit 1\n  fi\ndone\nexec '{real}' \"$@\"\n"
    );
    fs::create_dir(directory).unwrap();
    let path = directory.join("cc");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn without_a_32_bit_library_it_is_said_what_to_install() {
    let test = "without_a_32_bit_library_it_is_said_what_to_install";
    if !installed(test, "c") {
        return;
    }
    let place = Place::new();
    let directory = place.path().join("bin");
    let compiler = compiler_without_m32(&directory, text(&KNOWN["c"], "path"));
    let path =
        std::env::join_paths([directory].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())));
    let arguments = [&SHORT[..], &["--env", "native,m32", "c:getppid()", "id.getppid"]].concat();
    let output = command(&place, &arguments).env("PATH", path.unwrap()).env("CC", compiler).output().unwrap();
    let records = records(&place, &output, 3);
    let by_environment = |name: &str| records.iter().filter(|r| r["environment"] == name).collect::<Vec<_>>();
    assert!(by_environment("native").iter().all(|record| record["median_ns"].is_f64()), "{records:#?}");
    let failed = by_environment("m32");
    assert_eq!(failed.len(), 2);
    failed.iter().for_each(|record| expect_error(record, "unsupported", &["gcc-multilib", "libc-header-start.h"]));
}
