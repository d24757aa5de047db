//! Checks that say what they saw when they fail: exit statuses, texts, golden files, documents by their schemas.

use super::*;
use snapbox::data::DataFormat;

/// Fails unless the JSON `document` is valid by the schema `name`.
pub fn expect_valid(name: &str, document: &(impl ToString + ?Sized)) {
    let document: Value = serde_json::from_str(&document.to_string()).unwrap();
    static COMPILED: Mutex<BTreeMap<String, Arc<jsonschema::Validator>>> =
        Mutex::new(BTreeMap::new());
    let compile = || Arc::new(jsonschema::validator_for(&schema(name)).unwrap());
    let mut compiled = COMPILED.lock().unwrap();
    let validator = compiled.entry(name.into()).or_insert_with(compile).clone();
    drop(compiled);
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
    assert!(
        !validator.is_valid(&Value::Null),
        "the schema accepts anything"
    );
}

pub fn schema(name: &str) -> Value {
    let mut all = cli::schemas::all().into_iter();
    let found = all.find(|(kind, schema)| name == xtask::schema_name(kind, schema));
    found.unwrap_or_else(|| panic!("no schema {name}")).1
}

/// Compares `actual` with the golden file at `path`, below the repository.
pub fn expect_file(path: impl AsRef<Path>, actual: &str) {
    let golden = snapbox::Data::read_from(&root().join(path), Some(DataFormat::Text)).raw();
    snapbox::assert_data_eq!(actual, golden);
}

/// Reads `bytes` as a file. The message of a failure must be one printable line that names the file; what follows is returned.
pub fn read_as<T, E: std::fmt::Display>(
    bytes: &[u8],
    read: impl Fn(&Path) -> Result<T, E>,
) -> Result<T, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    read(file.path()).map_err(|error| {
        let message = error.to_string();
        let is_line = !message.chars().any(char::is_control) && message.len() < 1500;
        assert!(is_line, "{message}");
        let name = file.path().to_str().unwrap();
        message
            .strip_prefix(name)
            .unwrap_or_else(|| panic!("{message}"))
            .to_string()
    })
}

/// Compares what is said of each mistake with the golden file mistakes-NAME, but for where it stands, which a new field moves.
pub fn expect_mistakes(name: &str, messages: &[String]) {
    let place = regex_lite::Regex::new("line [0-9]+, column [0-9]+, ").unwrap();
    let text = place
        .replace_all(&(messages.join("\n") + "\n"), "")
        .into_owned();
    expect_file(format!("tests/golden/mistakes-{name}.txt"), &text);
}

/// Fails, with all that it printed, unless a program ended with this exit status.
#[track_caller]
pub fn expect_status(output: &Output, status: i32) {
    assert_eq!(
        output.status.code(),
        Some(status),
        "{}{}",
        stdout(output),
        stderr(output)
    );
}

pub trait Parts {
    fn parts(&self) -> Vec<&str>;
}

impl Parts for &str {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl Parts for &&str {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl Parts for &String {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl<const N: usize> Parts for [&str; N] {
    fn parts(&self) -> Vec<&str> {
        self.to_vec()
    }
}

/// A text in one line: sentences may be wrapped between any two words.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
pub fn expect_in(text: impl AsRef<str>, parts: impl Parts) {
    for part in parts.parts() {
        assert!(
            text.as_ref().contains(part),
            "no {part:?} in\n{}",
            text.as_ref()
        );
    }
}

#[track_caller]
pub fn expect_not_in(text: impl AsRef<str>, parts: impl Parts) {
    for part in parts.parts() {
        assert!(
            !text.as_ref().contains(part),
            "{part:?} in\n{}",
            text.as_ref()
        );
    }
}

#[track_caller]
pub fn expect_start(text: impl AsRef<str>, start: impl AsRef<str>) {
    let (text, start) = (text.as_ref(), start.as_ref());
    assert!(text.starts_with(start), "{text}");
}

/// Fails unless a program ended with this exit status, and its messages have these parts.
#[track_caller]
pub fn expect_error(output: &Output, status: i32, parts: impl Parts) {
    expect_status(output, status);
    expect_in(stderr(output), parts);
}

#[track_caller]
pub fn expect_width(text: &str, width: usize) {
    let long = text.lines().find(|line| line.chars().count() > width);
    assert_eq!(long, None, "{text}");
}
