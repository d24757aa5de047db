//! The command line as it was typed, made into the words of the parser: a pattern without a command is measured, and old names of
//! commands stand for the new ones. Pure; `cli` calls it.

use std::ffi::OsString;

/// The old name of a command, and its words now.
const RENAMED: [(&str, &[&str]); 1] = [("rows", &["fleet", "rows"])];

/// What every command understands, so that the command is still to come.
const ANYWHERE: [&str; 2] = ["-q", "--quiet"];

/// What stands without a command.
const ALONE: [&str; 5] = ["-h", "--help", "--help-all", "-V", "--version"];

/// Similarity from which a word is a misspelt command, which the parser then names.
const LIKE: f64 = 0.75;

/// The words for the parser.
pub struct Words {
    pub words: Vec<OsString>,
    /// What to say about an old name.
    pub note: Option<String>,
}

/// `typed` begins with the program.
pub fn understood(typed: Vec<OsString>, commands: &[&str]) -> Words {
    let is_first = |word: &&OsString| !ANYWHERE.iter().any(|flag| *word == flag);
    let Some(at) = typed.iter().skip(1).position(|word| is_first(&word)).map(|at| at + 1) else {
        return Words { words: typed, note: None };
    };
    let first = typed[at].to_string_lossy().into_owned();
    let renamed = RENAMED.iter().find(|(old, _)| *old == first);
    let note = renamed.map(|(old, new)| format!("'{old}' is now '{}'", new.join(" ")));
    let mut words = typed;
    if let Some((_, new)) = renamed {
        words.splice(at..=at, new.iter().map(OsString::from));
    } else if first == "help" {
        words.remove(at);
        words.push("--help".into());
    } else if !ALONE.contains(&first.as_str()) && !commands.iter().any(|name| is_like(name, &first)) {
        words.insert(at, "run".into());
    }
    Words { words, note }
}

fn is_like(command: &str, typed: &str) -> bool {
    strsim::normalized_damerau_levenshtein(command, typed) >= LIKE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(typed: &str) -> (String, Option<String>) {
        let typed = typed.split(' ').map(OsString::from).collect();
        let Words { words, note } = understood(typed, &["run", "show"]);
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        (words.join(" "), note)
    }

    #[test]
    fn a_pattern_without_a_command_is_measured() {
        let words = |typed| of(typed).0;
        assert_eq!(words("syscost getpid --time 1"), "syscost run getpid --time 1");
        assert_eq!(words("syscost -q --time 1 getpid"), "syscost -q run --time 1 getpid");
        for kept in ["syscost", "syscost -q", "syscost show a", "syscost -q show a", "syscost --help", "syscost shwo a"]
        {
            assert_eq!(words(kept), kept);
        }
    }

    #[test]
    fn old_names_stand_for_the_new_ones() {
        let (words, note) = of("syscost -q rows a --where x=y");
        assert_eq!((&*words, &*note.unwrap()), ("syscost -q fleet rows a --where x=y", "'rows' is now 'fleet rows'"));
        assert_eq!(of("syscost help show"), ("syscost show --help".to_string(), None));
        assert_eq!(of("syscost show rows"), ("syscost show rows".to_string(), None));
    }
}
