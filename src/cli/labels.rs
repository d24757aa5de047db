//! Labels of a run, from `--label` and the environment into its file.

use super::error::usage;
use crate::model::Label;
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Environment variables that begin so are labels; the rest of the name, in lower case, is the key.
const VARIABLE: &str = "SYSCOST_LABEL_";

/// The labels of a run: those of the environment, and those that were `asked` for, which go first. Errors: which
/// variable is no label.
pub fn of_run(asked: &[Label]) -> Result<BTreeMap<String, String>> {
    let mut labels = usage(from_environment(std::env::vars_os()))?;
    labels.extend(asked.iter().map(|label| (label.key.clone(), label.value.clone())));
    Ok(labels)
}

fn from_environment(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for (variable, value) in variables {
        let variable = variable.to_string_lossy().into_owned();
        let Some(key) = variable.strip_prefix(VARIABLE).map(str::to_ascii_lowercase) else { continue };
        let wrong = |what: &str| anyhow!("{variable}: {what}; unset it, or use --label");
        let value = value.into_string().map_err(|_| wrong("the value is not UTF-8"))?;
        let label = Label::new(&key, &value).map_err(|what| wrong(&what))?;
        if labels.insert(label.key, label.value).is_some() {
            return Err(wrong("another variable differs from it in case only"));
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_labels() {
        let of = |variables: &[(&str, &str)]| {
            let variables: Vec<_> = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
            from_environment(variables.into_iter())
        };
        let labels =
            of(&[("SYSCOST_LABEL_INSTANCE_TYPE", "m7 x\n"), ("HOME", "/"), ("SYSCOST_LABEL_pool", "")]).unwrap();
        assert_eq!(labels, [("instance_type", "m7 x\n"), ("pool", "")].map(|(k, v)| (k.into(), v.into())).into());
        assert!(of(&[("SYSCOST_LABEL_", "x")]).is_err());
        assert!(of(&[("SYSCOST_LABEL_1", "x")]).is_err());
        let twice = of(&[("SYSCOST_LABEL_A", "x"), ("SYSCOST_LABEL_a", "y")]).unwrap_err().to_string();
        assert!(twice.contains("SYSCOST_LABEL_a") && twice.contains("case only"), "{twice}");
    }
}
