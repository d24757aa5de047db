//! Fills holes such as `{dir}` in words of commands.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The command that is started by these words.
pub fn command(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Each `{NAME}` is replaced by the value of that name.
pub fn filled<V: ToString>(text: &str, values: &BTreeMap<String, V>) -> String {
    values.iter().fold(text.to_string(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), &value.to_string())
    })
}

/// Paths keep their bytes, and filled-in text is not searched for holes.
pub fn replaced(word: &str, holes: &[(&str, &OsStr)]) -> OsString {
    let first = holes
        .iter()
        .filter_map(|(hole, fill)| Some((word.find(hole)?, hole, fill)))
        .min_by_key(|(start, ..)| *start);
    let Some((start, hole, fill)) = first else {
        return word.into();
    };
    let mut whole = OsString::from(&word[..start]);
    whole.push(fill);
    whole.push(replaced(&word[start + hole.len()..], holes));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn holes_are_filled_with_the_bytes_of_paths() {
        let path = OsStr::from_bytes(b"/d\xff/{source}");
        let holes = [("{dir}", path), ("{source}", OsStr::new("x.c"))];
        assert_eq!(
            replaced("-I{dir}/{source}:{dir}", &holes).as_bytes(),
            b"-I/d\xff/{source}/x.c:/d\xff/{source}"
        );
        assert_eq!(replaced("{else}", &holes), "{else}");
    }
}
