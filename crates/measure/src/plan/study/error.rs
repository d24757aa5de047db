//! Errors in a study: file, line, key, allowed values.

use anyhow::{Error, anyhow};
use model::clean::excerpt;
use std::fmt::Display;

/// Enough for lists of allowed values, but not for arbitrary text from the file.
const LONGEST: usize = 4000;

pub struct StudyText<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl StudyText<'_> {
    pub fn line(&self, offset: usize) -> usize {
        self.text
            .bytes()
            .take(offset)
            .filter(|byte| *byte == b'\n')
            .count()
            + 1
    }

    pub fn error(&self, line: usize, what: impl Display) -> Error {
        anyhow!(excerpt(&format!("{}:{line}: {what}", self.file), LONGEST))
    }

    pub fn unknown<S: AsRef<str>>(
        &self,
        line: usize,
        key: &str,
        value: &str,
        allowed: &[S],
    ) -> Error {
        let allowed: Vec<&str> = allowed.iter().map(AsRef::as_ref).collect();
        self.error(
            line,
            format!(
                "key '{key}': unknown value '{value}'; allowed: {}",
                allowed.join(", ")
            ),
        )
    }

    pub fn toml(&self, error: &toml::de::Error) -> Error {
        let line = self.line(error.span().map_or(0, |span| span.start));
        self.error(line, self.reword(error.message(), line))
    }

    fn reword(&self, message: &str, line: usize) -> String {
        if let Some((key, allowed)) = message
            .strip_prefix("unknown field `")
            .and_then(|m| m.split_once("`, expected "))
        {
            let allowed = allowed.trim_start_matches("one of ").replace('`', "");
            return format!("unknown key '{key}'; allowed: {allowed}");
        }
        if let Some(key) = message
            .strip_prefix("missing field `")
            .and_then(|m| m.strip_suffix('`'))
        {
            return format!("key '{key}' is missing");
        }
        match self.key_of(line) {
            Some(key) if message.contains("expected") => format!("key '{key}': {message}"),
            _ => message.to_string(),
        }
    }

    fn key_of(&self, line: usize) -> Option<&str> {
        let above = self.text.lines().take(line).collect::<Vec<_>>();
        above.iter().rev().find_map(|text| {
            let key = text.split_once('=')?.0.trim();
            key.chars()
                .all(|c| c.is_alphanumeric() || "._-\"".contains(c))
                .then_some(key)
        })
    }
}
