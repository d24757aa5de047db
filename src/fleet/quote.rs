//! Fills templates. A place in a template says how its value is quoted, so that no value can be more than a value there:
//!
//! - `@sh:NAME@`: one word of a POSIX shell, of a list one word each
//! - `@yaml:NAME@`: a double-quoted scalar, of a list a flow sequence
//! - `@kube:NAME@`: the same for Kubernetes, which expands `$(VAR)` in commands
//! - `@plain:NAME@`: as it is: numbers, and names that were checked
//! - `@if:NAME@` at the beginning of a line: the line is left out unless NAME is given

use std::collections::BTreeMap;
use std::fmt::Write;

pub type Values = BTreeMap<&'static str, Value>;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    List(Vec<String>),
}

/// `template` with `values` in their places.
///
/// # Panics
/// If the template, which is part of this program, has a place without a value; a test fills every template.
pub fn fill(template: &str, values: &Values) -> String {
    let lines = template.split_inclusive('\n').filter_map(|line| kept(line, values));
    lines.map(|line| filled(line, values)).collect()
}

fn kept<'a>(line: &'a str, values: &Values) -> Option<&'a str> {
    match line.strip_prefix("@if:").and_then(|rest| rest.split_once('@')) {
        Some((name, rest)) => values.contains_key(name).then_some(rest),
        None => Some(line),
    }
}

fn filled(line: &str, values: &Values) -> String {
    let mut written = String::new();
    let mut rest = line;
    while let Some((before, place, after)) = next_place(rest) {
        let (quoting, name) = place;
        let value = values.get(name).unwrap_or_else(|| panic!("the template names {name}, which has no value"));
        written.push_str(before);
        written.push_str(&quoted(quoting, value));
        rest = after;
    }
    written + rest
}

/// What is before the first place, its quoting and name, and what is after it.
fn next_place(text: &str) -> Option<(&str, (&str, &str), &str)> {
    let (before, rest) = text.split_once('@')?;
    let (place, after) = rest.split_once('@')?;
    Some((before, place.split_once(':')?, after))
}

fn quoted(quoting: &str, value: &Value) -> String {
    let (quote, [open, between, close]): (fn(&str) -> String, _) = match quoting {
        "sh" => (sh, ["", " ", ""]),
        "yaml" => (yaml, ["[", ", ", "]"]),
        "kube" => (kube, ["[", ", ", "]"]),
        "plain" => (str::to_string, ["", ",", ""]),
        other => panic!("the template asks for {other}, which is no quoting"),
    };
    match value {
        Value::Text(text) => quote(text),
        Value::List(all) => {
            let words: Vec<String> = all.iter().map(|text| quote(text)).collect();
            format!("{open}{}{close}", words.join(between))
        }
    }
}

/// One word of a POSIX shell.
pub fn sh(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A double-quoted scalar, on several lines if the text has several. YAML 1.1 and 1.2 read it alike.
fn yaml(text: &str) -> String {
    let mut quoted = String::from("\"");
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            quoted.push_str("\\n\\\n          ");
        }
        // A continued line loses its leading blanks unless the first is escaped.
        if i > 0 && line.starts_with(' ') {
            quoted.push('\\');
        }
        line.chars().for_each(|c| escape(c, &mut quoted));
    }
    quoted.push('"');
    quoted
}

fn escape(c: char, out: &mut String) {
    match c {
        '"' | '\\' => out.extend(['\\', c]),
        ' '..='~' => out.push(c),
        c if c.is_alphanumeric() => out.push(c),
        c => write!(out, "\\U{:08x}", u32::from(c)).unwrap_or_default(),
    }
}

/// `$$` is one dollar, and `$(NAME)` a variable.
fn kube(text: &str) -> String {
    yaml(&text.replace('$', "$$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(value: &str) -> Values {
        let list = Value::List(vec!["a".into(), value.into()]);
        BTreeMap::from([("one", Value::Text(value.into())), ("all", list)])
    }

    #[test]
    fn each_place_says_how_it_is_quoted() {
        let template = "@if:one@x=@sh:one@ @sh:all@\n@if:none@gone @sh:none@\n@yaml:one@ @kube:all@ @plain:one@\n";
        let written = fill(template, &values("$1 'q'"));
        assert_eq!(written, "x='$1 '\\''q'\\''' a '$1 '\\''q'\\'''\n\"$1 'q'\" [\"a\", \"$$1 'q'\"] $1 'q'\n");
    }

    #[test]
    fn a_shell_gives_back_what_was_quoted() {
        let hostile = [
            "", "'", "\"", "a'b\"c", "$(id)", "`id`", "\n", "a\nb\n", "\\", "\\'", "!", "*", "~", "#", "-n", "{{ a }}",
        ];
        for text in hostile.into_iter().chain(["ä\u{202e}"]) {
            let script = format!("printf %s {}", sh(text));
            let done = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(done.stdout).unwrap(), text);
        }
    }

    #[test]
    fn a_value_is_not_searched_for_places() {
        assert_eq!(fill("@sh:one@", &values("@plain:none@")), "'@plain:none@'");
    }

    #[test]
    fn yaml_has_no_character_that_a_parser_could_fold_or_refuse() {
        assert_eq!(
            yaml("a\n  b\u{85}\u{7f}\tä\"\\"),
            "\"a\\n\\\n          \\  b\\U00000085\\U0000007f\\U00000009ä\\\"\\\\\""
        );
    }
}
