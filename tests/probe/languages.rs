//! Snippets on the real kernel: every example of every language that is installed enters what it declares, and what is
//! wrong with a snippet is one row, in the language's own words and the user's own lines.
use crate::common::*;
use model::{Entries, Expectation};
use toml::Table;

/// One look is enough: what is tested here are entries and messages.
pub const SHORT: &str = "run --format json --time 0.3 --precision 100 --quiet";

pub static KNOWN: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let found = Place::new().document("list --languages");
    let languages = list(&found["languages"]).clone();
    languages
        .into_iter()
        .map(|language| (text(&language, "name").to_string(), language))
        .collect()
});

pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} of {value}"))
}

pub fn toml(language: &str, file: &str) -> Table {
    let path = root().join("languages").join(language).join(file);
    fs::read_to_string(path).unwrap().parse().unwrap()
}

pub fn installed(language: &str) -> bool {
    let found = KNOWN[language]["path"].is_string();
    if !found {
        skip(&format!(
            "{language} is not installed (usual package: {})",
            text(&KNOWN[language], "package")
        ));
    }
    found
}

/// The program in a place that also holds what it builds. Go's own cache stays where it was: it would be filled anew.
pub fn command(place: &Place, arguments: impl Line) -> Command {
    let mut command = place.command(arguments);
    command.env("XDG_CACHE_HOME", place.path().join("cache"));
    let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    if let (None, Some(home)) = (std::env::var_os("GOCACHE"), home) {
        command.env("GOCACHE", home.join("go-build"));
    }
    command
}

fn run(place: &Place, arguments: impl Line) -> Output {
    command(place, (SHORT, arguments)).output().unwrap()
}

/// The records of a run that ended with `status` and left nothing behind.
fn records(place: &Place, output: &Output, status: i32) -> Vec<Value> {
    expect_status(output, status);
    assert!(place.processes().is_empty(), "{:?}", place.processes());
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    json(output)["records"].as_array().unwrap().clone()
}

/// The counted entries of a row that was measured. What enters the kernel costs more than the loop around it; what does not may
/// have a net cost below 0 beside other programs.
fn entries(record: &Value) -> Entries {
    assert_eq!(record["entries_status"], "verified", "{record:#}");
    let counted: Entries = serde_json::from_value(record["entries"].clone()).unwrap();
    let median = record["median_ns"].as_f64();
    assert!(
        median.is_some_and(|median| median > 0.0 || counted.total() < 1.0),
        "{record:#}"
    );
    counted
}

/// Whether entries can be counted on this machine at all.
fn countable() -> bool {
    static REFUSED: LazyLock<Option<String>> = LazyLock::new(|| {
        let record = json(&Place::new().run((SHORT, "id.getppid")))["records"][0].clone();
        (record["entries_status"] != "verified").then(|| record["warnings"].to_string())
    });
    if let Some(reason) = &*REFUSED {
        skip(&format!("kernel entries cannot be counted here: {reason}"));
    }
    REFUSED.is_none()
}

#[derive(Clone)]
struct Example {
    body: String,
    prelude: String,
    setup: String,
    entries: String,
}

fn examples(language: &str) -> Vec<Example> {
    let all = toml(language, "examples.toml");
    let field = |example: &Table, name: &str| {
        example
            .get(name)
            .map_or("", |v| v.as_str().unwrap())
            .to_string()
    };
    let tables = all["example"]
        .as_array()
        .unwrap()
        .iter()
        .map(|example| example.as_table().unwrap());
    let read = |example: &Table| Example {
        body: field(example, "body"),
        prelude: field(example, "prelude"),
        setup: field(example, "setup"),
        entries: example["entries"].as_str().unwrap().to_string(),
    };
    tables.map(read).collect()
}

fn groups(examples: Vec<Example>) -> Vec<Vec<Example>> {
    let mut groups: BTreeMap<(String, String), Vec<Example>> = BTreeMap::new();
    for example in examples {
        groups
            .entry((example.prelude.clone(), example.setup.clone()))
            .or_default()
            .push(example);
    }
    groups.into_values().collect()
}

fn run_examples(language: &str, group: &[Example]) -> Vec<Value> {
    let (prelude, setup) = (
        format!("{language}:{}", group[0].prelude),
        format!("{language}:{}", group[0].setup),
    );
    let bodies: Vec<String> = group
        .iter()
        .map(|example| format!("{language}:{}", example.body))
        .collect();
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
    let why = format!("{counted}, but {declared} is declared: {record:#}");
    assert!(declared.matches(&counted, &BTreeMap::new()), "{why}");
}

fn check_language(language: &str) {
    if !installed(language) || !countable() {
        return;
    }
    let examples = examples(language);
    let mut measured = BTreeMap::new();
    for group in groups(examples.clone()) {
        let records = run_examples(language, &group);
        assert_eq!(records.len(), group.len());
        for (example, record) in group.iter().zip(&records) {
            check_example(example, record);
            measured.insert(example.body.clone(), entries(record));
        }
    }
    assert!(
        measured.contains_key(""),
        "{language} has no example with an empty body"
    );
    assert!(
        examples.iter().any(makes_one_call),
        "{language} has no example of one line that makes one call"
    );
}

fn makes_one_call(example: &Example) -> bool {
    let counts = example
        .entries
        .split_whitespace()
        .skip(1)
        .step_by(2)
        .filter(|count| *count != "x?");
    !example.body.trim().contains('\n') && counts.collect::<Vec<_>>() == ["x1"]
}

const KINDS: [&str; 2] = ["c", "perl"];

/// Checks each language, as many at once as there are processors; `ONLY=perl` leaves out the others.
fn check_each(check: fn(&str)) {
    let mut wanted: Vec<&str> = known().collect();
    match std::env::var("ONLY") {
        Ok(only) => wanted.retain(|name| *name == only),
        Err(_) => wanted = one_of_each_kind(&wanted, &KINDS),
    }
    let (left, failed) = (Mutex::new(wanted.into_iter()), Mutex::new(Vec::new()));
    let next = || left.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(language) = next() {
                    if std::panic::catch_unwind(|| check(language)).is_err() {
                        failed.lock().unwrap().push(language);
                    }
                }
            });
        }
    });
    assert_eq!(
        failed.into_inner().unwrap(),
        [""; 0],
        "these failed, see above"
    );
}

pub fn known() -> impl Iterator<Item = &'static str> {
    KNOWN.keys().map(String::as_str)
}

#[test]
fn every_language_keeps_its_examples() {
    check_each(check_language);
}

/// Calls that a snippet makes once in so many iterations, among them more than an untimed pass makes, and one that it keeps.
fn check_rare(place: &Place, mut command: Command) {
    // However busy the machine is, each is timed over far more iterations than the longest period.
    command.args(["--format", "json", "--cpu-seconds", "0.1", "--quiet"]);
    command.args([
        "time.time",
        "call.direct",
        "c:static int pid; keep(pid ? pid : (pid = getpid()))",
    ]);
    let periods = [1 << 10, 1 << 15, 1 << 20];
    command.args(
        periods.map(|period| format!("c:static long i; if (++i % {period} == 0) getppid();")),
    );
    let records = records(place, &command.output().unwrap(), 0);
    assert_eq!(records.len(), 6);
    for silent in &records[..3] {
        assert_eq!(entries(silent), Entries::default(), "{silent:#}");
        assert!(
            silent["entries_iterations"].as_u64().is_some(),
            "{silent:#}"
        );
    }
    for (record, period) in records[3..].iter().zip(periods) {
        let found = entries(record);
        assert_eq!(found.names().collect::<Vec<_>>(), ["getppid"], "{record:#}");
        // So many iterations that it was certain to be seen, and at most once more or less often.
        let seen = found.get("getppid") * f64::from(period);
        let n = record["entries_iterations"].as_f64();
        let times = n.map_or(f64::INFINITY, |n| n / f64::from(period));
        assert!(
            times > 1.0 && (seen - 1.0).abs() <= 1.0 / times,
            "{record:#}"
        );
    }
}

#[test]
fn a_call_that_is_rarely_made_is_seen() {
    if !installed("c") || !countable() {
        return;
    }
    let place = Place::new();
    check_rare(&place, command(&place, "run"));
    if is_left_to_heavy("as an ordinary user") {
        return;
    }
    let place = Place::new();
    check_rare(&place, place.command_without_rights("run"));
}

#[test]
fn what_is_in_the_folder_is_a_language() {
    let entries = fs::read_dir(root().join("languages"))
        .unwrap()
        .map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(known().collect::<Vec<_>>(), names);
}

/// Snippets of one language that go wrong, each in its way: `[wrong]`. What is told of line 2 stands in line 2.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrong {
    #[serde(skip)]
    language: String,
    good: String,
    syntax: (String, String),
    throws: (String, String),
    /// Where the language says of an error at run time no line, as C does not.
    #[serde(default)]
    lineless: bool,
    exits: [String; 2],
    /// Prints; reads standard input. Both are measured.
    harmless: [String; 2],
    hangs: String,
}

impl Wrong {
    fn of(language: &str) -> Option<Wrong> {
        let wrong = toml(language, "examples.toml").remove("wrong")?;
        Some(Wrong {
            language: language.to_string(),
            ..wrong.try_into().unwrap()
        })
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
        expect_in(message, part);
    }
}

/// What does not compile is refused before anything is measured, where the language can tell without running it.
fn check_syntax(
    Wrong {
        language,
        good,
        syntax,
        ..
    }: &Wrong,
) {
    let place = Place::new();
    let [good, bad] = [good, &syntax.0].map(|body| format!("{language}:{body}"));
    let output = run(&place, [good, bad]);
    let parts = ["line 2 of the body: ", &syntax.1];
    if toml(language, "language.toml")
        .get("build")
        .is_none_or(|build| build.as_array().unwrap().is_empty())
    {
        return expect_error(&records(&place, &output, 3)[1], "failed", &parts);
    }
    expect_refused(&output, 1, &parts);
}

/// Exit status 2 and so many lines, all of which have these parts.
pub fn expect_refused(output: &Output, lines: usize, parts: &[&str]) {
    let said = stderr(output);
    assert_eq!(
        (output.status.code(), stdout(output).as_str()),
        (Some(2), ""),
        "{said}"
    );
    assert_eq!(said.lines().count(), lines, "{said}");
    assert!(
        parts.iter().all(|part| said.contains(part)),
        "no {parts:?} in: {said}"
    );
}

fn check_wrong(language: &str) {
    let wrong = needs!(Wrong::of(language));
    if !installed(language) {
        return;
    }
    let Wrong {
        good,
        throws,
        exits,
        harmless,
        ..
    } = &wrong;
    check_syntax(&wrong);
    let bodies = [
        good,
        &throws.0,
        &exits[0],
        &exits[1],
        &harmless[0],
        &harmless[1],
    ];
    let words: Vec<String> = bodies.iter().map(|body| wrong.word(body)).collect();
    let place = Place::new();
    let output = run(&place, words.iter().map(String::as_str).collect::<Vec<_>>());
    let records = records(&place, &output, 3);
    let told: Vec<&str> = records
        .iter()
        .map(|record| text(record, "operation"))
        .collect();
    assert_eq!(told, bodies);
    let line = if wrong.lineless {
        ""
    } else {
        "line 2 of the body: "
    };
    expect_error(&records[1], "crashed", &[line, &throws.1]);
    expect_error(&records[2], "crashed", &["exit status 0"]);
    expect_error(&records[3], "crashed", &["exit status 3"]);
    for measured in [&records[0], &records[4], &records[5]] {
        assert!(
            measured["error"].is_null() && measured["median_ns"].is_f64(),
            "{measured:#}"
        );
    }
}

#[test]
fn wrong_snippets_are_rows() {
    check_each(check_wrong);
}

/// Two rows: a snippet that never ends, and an operation that is measured beside it.
fn expect_timeout(wrong: &Wrong, more: impl Line) {
    let place = Place::new();
    let output = run(
        &place,
        (
            "--timeout 1",
            [&wrong.word(&wrong.hangs), "id.getppid"],
            more,
        ),
    );
    let records = records(&place, &output, 3);
    expect_error(&records[0], "timeout", &["(--timeout allows more)"]);
    assert!(records[1]["median_ns"].is_f64(), "{:#}", records[1]);
}

fn check_hanging(language: &str) {
    let wrong = Wrong::of(language).filter(|_| installed(language));
    wrong
        .iter()
        .for_each(|wrong| expect_timeout(wrong, "--no-verify"));
}

#[test]
fn a_snippet_that_hangs_is_a_row() {
    check_each(check_hanging);
}

#[test]
fn a_snippet_that_hangs_while_its_entries_are_counted_is_a_row() {
    if installed("perl") && countable() {
        expect_timeout(&Wrong::of("perl").unwrap(), "");
    }
}

#[test]
fn a_folded_body_is_warned_about() {
    if !installed("c") || !countable() {
        return;
    }
    let place = Place::new();
    let setup = "--setup 'c:volatile int one = 1;'";
    let bodies = run(&place, format!("{setup} c:1+1 c:one c:getppid()"));
    let records = records(&place, &bodies, 0);
    let folded: Vec<bool> = records[..3]
        .iter()
        .map(|record| record["warnings"].to_string().contains("folded_body"))
        .collect();
    assert_eq!(folded, [true, false, false], "{records:#?}");
}

#[test]
fn a_call_that_is_named_but_not_made_is_warned_about() {
    if !installed("c") || !countable() {
        return;
    }
    let place = Place::new();
    let records = records(
        &place,
        &run(&place, "--setup 'c:pid_t getpid = 1;' c:getpid"),
        0,
    );
    let warnings = list(&records[0]["warnings"]);
    assert!(
        warnings.contains(&json!({"kind": "not_entered", "name": "getpid"})),
        "{warnings:?}"
    );
}

#[test]
fn a_c_snippet_is_built_statically() {
    if !installed("c") || !countable() {
        return;
    }
    let place = Place::new();
    let output = run(&place, "--env static c:getppid() c:sqrt(errno)");
    let first = &json(&output)["records"][0];
    if first["error"]["kind"] == "unsupported" {
        return skip(text(&first["error"], "message"));
    }
    let records = records(&place, &output, 0);
    assert_eq!(records[0]["environment"], "static");
    assert_eq!(entries(&records[0]).to_string(), "getppid x1");
    assert_eq!(entries(&records[1]).to_string(), "none");
}
