//! Labels that the user gives a run, such as pool, commit or instance type.

use std::str::FromStr;

/// Then `label_KEY` is a column's name in every engine without quotes, and no two keys differ in case only.
const KEY: &str = "a lower-case letter, then lower-case letters, digits and '_', 48 at most";

const LONGEST_KEY: usize = 48;

const LONGEST_VALUE: usize = 4096;

/// `pool=web`
#[derive(Clone)]
pub struct Label {
    pub key: String,
    pub value: String,
}

impl Label {
    /// The error states the limit.
    pub fn check_value(value: &str) -> Result<(), String> {
        if value.len() <= LONGEST_VALUE {
            Ok(())
        } else {
            Err(format!(
                "the value has {} bytes, {LONGEST_VALUE} at most",
                value.len()
            ))
        }
    }

    /// The error states the rule.
    pub fn check_key(key: &str) -> Result<(), String> {
        if key.starts_with(|c: char| c.is_ascii_lowercase())
            && key
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && key.len() <= LONGEST_KEY
        {
            Ok(())
        } else {
            Err(format!("must be {KEY}"))
        }
    }
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Label, String> {
        let (key, value) = text
            .split_once('=')
            .ok_or("must be KEY=VALUE, e.g. pool=web")?;
        Label::check_key(key).map_err(|what| format!("the key {what}, e.g. instance_type"))?;
        Label::check_value(value)?;
        Ok(Label {
            key: key.to_string(),
            value: value.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_and_values_are_any_text() {
        fn label(text: &str) -> Result<(String, String), String> {
            text.parse::<Label>().map(|label| (label.key, label.value))
        }

        assert_eq!(
            label("pool=a=b\n'\""),
            Ok(("pool".into(), "a=b\n'\"".into()))
        );
        assert_eq!(label("a_1="), Ok(("a_1".into(), String::new())));
        for wrong in [
            "pool",
            "=x",
            "Pool=x",
            "1a=x",
            "a-b=x",
            "ä=x",
            &format!("{}=x", "a".repeat(49)),
        ] {
            assert!(label(wrong).is_err(), "{wrong}");
        }
    }
}
