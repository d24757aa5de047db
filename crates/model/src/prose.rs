//! Numbers of things, long lists of names shortened, and text broken into lines.

use itertools::Itertools;
use std::fmt::Display;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// `a, b and 3 more`
pub fn some<T: AsRef<str>>(names: impl IntoIterator<Item = T>, most: usize) -> String {
    let names: Vec<T> = names.into_iter().collect();
    let shown = names.iter().take(most).map(AsRef::as_ref).join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

pub const MOST_IN_A_NOTE: usize = 6;

/// The first names of a note, and the number of the others.
pub fn few<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    some(names, MOST_IN_A_NOTE)
}

/// `all rows` if these are all `rows` of several.
pub fn few_of(names: Vec<String>, rows: usize) -> String {
    if rows > 1 && names.len() == rows {
        "all rows".to_string()
    } else {
        few(names)
    }
}

/// `TEXT: a, b and 3 more`; `None` without names.
pub fn note_on<T: AsRef<str>>(text: &str, names: impl IntoIterator<Item = T>) -> Option<String> {
    let names = few(names);
    if names.is_empty() {
        return None;
    }
    Some(format!("{text}: {names}"))
}

/// `3 TEXT`; `None` for 0.
pub fn more(number: usize, text: &str) -> Option<String> {
    if number == 0 {
        return None;
    }
    Some(format!("{number} {text}"))
}

/// `1 row`, `2 rows`
pub fn counted<N: Copy + Display + From<u8> + PartialEq>(number: N, noun: &str) -> String {
    format!("{number} {}", plural(number, noun))
}

/// `rows`, but `row` after 1.
pub fn plural<N: From<u8> + PartialEq>(number: N, noun: &str) -> String {
    let ending = match number == N::from(1) {
        true => "",
        false if noun.ends_with('s') || noun.ends_with("ch") => "es",
        false => "s",
    };
    format!("{noun}{ending}")
}

/// The text broken between words into lines of `width` characters: the first line begins with `first`, the others with `rest`. A word
/// that is longer than a line is not broken.
/// broken.
pub fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    // Names hold hyphens and paths: a line ends at spaces only.
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options)
        .into_iter()
        .map(|line| line.into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_shown_and_the_others_counted() {
        assert_eq!(
            [some(["a", "b", "c"], 3), some(["a", "b", "c"], 1)],
            ["a, b, c", "a and 2 more"]
        );
        assert_eq!(some([""; 0], 3), "");
        assert_eq!(note_on("x", [""; 0]), None);
    }

    #[test]
    fn nouns_are_as_many_as_their_number_says() {
        let files = [0, 1, 2].map(|number| counted(number, "file"));
        assert_eq!(files, ["0 files", "1 file", "2 files"]);
        assert_eq!(
            [0.5, 1.0].map(|number| plural(number, "page fault")),
            ["page faults", "page fault"]
        );
        assert_eq!(
            ["process", "switch", "path"].map(|noun| plural(2, noun)),
            ["processes", "switches", "paths"]
        );
    }

    #[test]
    fn lines_break_between_words_only() {
        assert_eq!(
            wrapped("one two three", 12, "    ", "      "),
            ["    one two", "      three"]
        );
        assert_eq!(
            wrapped("clock_nanosleep-absolute x1", 10, "", "  "),
            ["clock_nanosleep-absolute", "  x1"]
        );
        assert_eq!(
            wrapped("  an indent stays", usize::MAX, "", ""),
            ["  an indent stays"]
        );
        assert_eq!(wrapped("", 10, "", "  "), [""]);
    }
}
